/* Reads, copies and what they cost writing on a simulated drive; times are worked out by hand. */
#include "tests/unit/drive_play.h"

#include "sim/drive/drive_build.h"
#include "sim/drive/station_share.h"

#define NONE UINT64_MAX

/* Writes at 1 GB/s and reads at 2 GB/s where nothing else limits. */
static struct drive_engine_config reader_config(uint32_t ranks) {
    struct drive_engine_config config = play_config(8 * PLAY_GB / PLAY_BLOCK * PLAY_BLOCK, ranks);
    config.rates.read_bytes_per_s = 2 * PLAY_GB;
    return config;
}

static struct play_file file(uint32_t rank, uint64_t bytes, enum io_mode mode) {
    struct play_file made = {.bytes = bytes, .mode = mode};
    snprintf(made.path, sizeof made.path, "%u", rank);
    return made;
}

/* Every rank gets a file of its own, named after it. */
static void fill(struct play *play, uint64_t bytes) {
    for (uint32_t i = 0; i < play->config.ranks; i++) {
        char path[16];
        snprintf(path, sizeof path, "%u", i);
        assert_int_equal(play_write(play, i, path, bytes, IO_TRUNCATE, true), 0);
    }
}

/* Ranks from .. to - 1 read their files, or write them again, all at once. */
static void start(struct play *play, struct play_file *files, uint32_t from, uint32_t to,
                  uint64_t bytes, enum io_mode mode) {
    for (uint32_t i = from; i < to; i++) {
        files[i] = file(i, bytes, mode);
        play_start(play, i, &files[i], 1);
    }
}

/* Seconds until all ranks have read so much each. */
static double seconds_to_read(const struct drive_engine_config *config, uint64_t bytes) {
    struct play play;
    struct play_file files[64];
    play_open(&play, config);
    fill(&play, bytes);
    uint64_t begin = engine_now(play.engine);
    start(&play, files, 0, config->ranks, bytes, IO_READING);
    play_run(&play);
    double seconds = play_seconds(&play, begin);
    for (uint32_t i = 0; i < config->ranks; i++) {
        assert_int_equal(play.ranks[i].error, 0);
    }
    assert_true(play_stats(&play).read_bytes == bytes * config->ranks);
    play_close(&play);
    return seconds;
}

static void the_slowest_of_all_sets_the_pace(void **state) {
    (void)state;
    struct drive_engine_config config = reader_config(1);
    play_near(seconds_to_read(&config, PLAY_GB), 0.5, 1e-5);
    config.rates.link_bytes_per_s = PLAY_GB / 2;
    play_near(seconds_to_read(&config, PLAY_GB), 2, 1e-5);
    config = reader_config(1);
    config.rates.nand_read_bytes_per_s = PLAY_GB;
    play_near(seconds_to_read(&config, PLAY_GB), 1, 1e-5);
    config = reader_config(1);
    config.host.rank_read_bytes_per_s = PLAY_GB / 4;
    play_near(seconds_to_read(&config, PLAY_GB), 4, 1e-5);
    config = reader_config(1);
    config.host.total_read_bytes_per_s = PLAY_GB / 8;
    play_near(seconds_to_read(&config, PLAY_GB), 8, 1e-5);
}

/* Together no faster than the drive, the link or the host; alone no faster than a rank. */
static void many_ranks_saturate_the_drive(void **state) {
    (void)state;
    struct drive_engine_config config = reader_config(16);
    config.host.rank_read_bytes_per_s = PLAY_GB / 4;
    play_near(seconds_to_read(&config, PLAY_GB / 4), 2, 1e-4); /* 4 GB at 2 GB/s */
    config.rates.read_bytes_per_s = 20 * PLAY_GB;
    config.rates.nand_read_bytes_per_s = 20 * PLAY_GB;
    play_near(seconds_to_read(&config, PLAY_GB / 4), 1, 1e-4); /* each at its own rate */
    config.host.rank_read_bytes_per_s = NONE;
    play_near(seconds_to_read(&config, PLAY_GB / 4), 0.4, 1e-4); /* the link: 10 GB/s */
    config.host.total_read_bytes_per_s = PLAY_GB;
    play_near(seconds_to_read(&config, PLAY_GB / 4), 4, 1e-4);
}

/* One read at a time waits a latency for each; two hide it. */
static void depth_hides_latency(void **state) {
    (void)state;
    for (uint64_t depth = 1; depth <= 4; depth++) {
        struct drive_engine_config config = reader_config(1);
        config.rates.read_latency_ns = 1000000;
        struct play play;
        play_open(&play, &config);
        play.chunk_bytes = 1000 * PLAY_BLOCK;
        play_write(&play, 0, "a", 100 * play.chunk_bytes, IO_TRUNCATE, true);
        uint64_t begin = engine_now(play.engine);
        play.depth = depth;
        play_write(&play, 0, "a", 100 * play.chunk_bytes, IO_READING, false);
        double moving = 100.0 * 1000 * PLAY_BLOCK / 2e9;
        play_near(play_seconds(&play, begin), moving + (depth == 1 ? 0.1 : 0.001), 1e-5);
        play_close(&play);
    }
}

/* All reads of a rank are at the drive at once, so each also waits for those before it. */
static void a_read_begins_when_it_is_submitted(void **state) {
    (void)state;
    struct drive_engine_config config = reader_config(1);
    struct play play;
    play_open(&play, &config);
    play_write(&play, 0, "a", PLAY_GB, IO_TRUNCATE, true);
    struct io_file io = {.path = "a", .mode = IO_READING};
    assert_int_equal(play_one(&play, 0, (struct io_request){.op = IO_OPEN, .file = &io}), 0);
    uint64_t begin = engine_now(play.engine);
    for (uint64_t i = 0; i < 4; i++) {
        play_submit(&play, 0,
                    (struct io_request){.op = IO_READ,
                                        .file = &io,
                                        .offset = i * (PLAY_GB / 4),
                                        .length_bytes = PLAY_GB / 4});
    }
    for (uint64_t i = 1; i <= 4; i++) {
        struct io_request *read = &play_take(&play)->io;
        assert_true(read->begin_ns == begin);
        assert_true(read->offset == (i - 1) * (PLAY_GB / 4));
        assert_true(read->end_ns == begin + i * (PLAY_GB / 8));
    }
    play_close(&play);
}

struct range {
    uint64_t offset, length;
    int error;
    uint64_t done;
};

static void ranges_of_a_file(void **state) {
    (void)state;
    static const uint64_t size = 1000 * PLAY_BLOCK + 1;
    const struct range ranges[] = {
        {0, size, 0, size},
        {0, PLAY_BLOCK, 0, PLAY_BLOCK},
        {500 * PLAY_BLOCK, 500 * PLAY_BLOCK, 0, 500 * PLAY_BLOCK},
        {1000 * PLAY_BLOCK, 1, 0, 1},
        {1000 * PLAY_BLOCK, PLAY_BLOCK, ENODATA, 1},
        {0, 2 * size, ENODATA, size},
        {size, 1, ENODATA, 0},
        {UINT64_MAX - PLAY_BLOCK, PLAY_BLOCK, ENODATA, 0},
        {PLAY_BLOCK, 0, 0, 0},
    };
    struct drive_engine_config config = reader_config(1);
    config.rates.read_latency_ns = 1000;
    struct play play;
    play_open(&play, &config);
    play_write(&play, 0, "a", size, IO_TRUNCATE, true);
    struct io_file io = {.path = "a", .mode = IO_READING};
    assert_int_equal(play_one(&play, 0, (struct io_request){.op = IO_OPEN, .file = &io}), 0);
    for (size_t i = 0; i < COUNT_OF(ranges); i++) {
        const struct range *range = &ranges[i];
        uint64_t begin = engine_now(play.engine), before = play.read_bytes;
        struct io_request read = {
            .op = IO_READ, .file = &io, .offset = range->offset, .length_bytes = range->length};
        assert_int_equal(play_one(&play, 0, read), range->error);
        assert_int_equal(play.read_bytes - before, range->done);
        uint64_t expected = range->done > 0 ? (range->done + 1) / 2 + 1000 : 0;
        assert_true(engine_now(play.engine) - begin == expected);
    }
    assert_int_equal(play_one(&play, 0, (struct io_request){.op = IO_CLOSE, .file = &io}), 0);
    play_close(&play);
}

static void what_cannot_be_read(void **state) {
    (void)state;
    struct drive_engine_config config = reader_config(1);
    struct play play;
    play_open(&play, &config);
    assert_int_equal(play_write(&play, 0, "a", PLAY_MB, IO_READING, false), ENOENT);
    assert_int_equal(play_remove(&play, 0, "a"), ENOENT); /* it was not made */
    assert_int_equal(play_write(&play, 0, "a", PLAY_MB, IO_TRUNCATE, true), 0);
    assert_int_equal(play_rename(&play, 0, "a", "b"), 0);
    assert_int_equal(play_write(&play, 0, "a", PLAY_MB, IO_READING, false), ENOENT);
    assert_int_equal(play_write(&play, 0, "b", PLAY_MB, IO_READING, false), 0);
    assert_int_equal(play_write(&play, 0, "b", PLAY_MB + 1, IO_READING, false), ENODATA);
    assert_int_equal(play_remove(&play, 0, "b"), 0);
    assert_int_equal(play_write(&play, 0, "b", PLAY_MB, IO_READING, false), ENOENT);
    struct io_file io = {.path = "c", .mode = IO_OVERWRITE};
    assert_int_equal(play_one(&play, 0, (struct io_request){.op = IO_OPEN, .file = &io}), 0);
    struct io_request read = {.op = IO_READ, .file = &io, .length_bytes = 1};
    assert_int_equal(play_one(&play, 0, read), EBADF);
    play_close(&play);
}

/* The page cache serves no read, dirty or not, and making a file cold takes no time. */
static void reads_do_not_come_from_memory(void **state) {
    (void)state;
    struct drive_engine_config config = reader_config(1);
    config.buffered = true;
    config.host.dirty_limit_bytes = NONE;
    struct play play;
    play_open(&play, &config);
    play_write(&play, 0, "a", PLAY_GB, IO_TRUNCATE, false);
    assert_true(play_seconds(&play, 0) < 1e-6);
    struct io_file io = {.path = "a", .mode = IO_READING};
    assert_int_equal(play_one(&play, 0, (struct io_request){.op = IO_OPEN, .file = &io}), 0);
    uint64_t begin = engine_now(play.engine);
    struct io_request cold = {.op = IO_COLD, .file = &io, .length_bytes = PLAY_GB};
    assert_int_equal(play_one(&play, 0, cold), 0);
    assert_true(engine_now(play.engine) == begin);
    struct io_request read = {.op = IO_READ, .file = &io, .length_bytes = PLAY_GB};
    assert_int_equal(play_one(&play, 0, read), 0);
    play_near(play_seconds(&play, begin), 1, 0.01); /* write-back has half of the controller */
    play_near((double)play_stats(&play).host_bytes, 0.5e9, 0.02);
    play_close(&play);
}

/* How long rank 0 writes and rank 1 reads, alone or both at once. */
struct beside {
    double writing, reading;
    struct drive_stats stats; /* when the NAND has caught up too */
    uint64_t log;
};

static struct beside play_beside(const struct drive_engine_config *config, uint64_t write_bytes,
                                 uint64_t read_bytes) {
    struct play play;
    struct play_file files[2];
    play_open(&play, config);
    play.depth = 4;
    play_write(&play, 1, "1", read_bytes > 0 ? read_bytes : 1, IO_TRUNCATE, true);
    play_pause(&play, 100 * PLAY_GB);
    uint64_t begin = engine_now(play.engine);
    if (write_bytes > 0) {
        files[0] = file(0, write_bytes, IO_TRUNCATE);
        files[0].sync = true;
        play_start(&play, 0, &files[0], 1);
    }
    if (read_bytes > 0) {
        start(&play, files, 1, 2, read_bytes, IO_READING);
    }
    play_run(&play);
    struct beside beside = {
        .writing = (double)(play.ranks[0].end_ns - begin) / 1e9,
        .reading = (double)(play.ranks[1].end_ns - begin) / 1e9,
        .log = play.log,
    };
    play_pause(&play, 100 * PLAY_GB);
    beside.stats = play_stats(&play);
    play_close(&play);
    return beside;
}

static void reads_and_writes_share_the_controller(void **state) {
    (void)state;
    struct drive_engine_config config = reader_config(2);
    struct beside both = play_beside(&config, PLAY_GB, 2 * PLAY_GB);
    play_near(both.writing, 2, 1e-3); /* half the time each */
    play_near(both.reading, 2, 1e-3);
    both = play_beside(&config, PLAY_GB, PLAY_GB); /* the half of a reader that is done is free */
    play_near(both.reading, 1, 1e-3);
    play_near(both.writing, 1.5, 1e-3);
    config.host.rank_read_bytes_per_s = PLAY_GB / 5; /* a tenth of the controller's time */
    both = play_beside(&config, PLAY_GB, PLAY_GB);
    play_near(both.reading, 5, 1e-3);
    play_near(both.writing, 1 / 0.9, 1e-3);
    config.host.rank_read_bytes_per_s = NONE;
    config.host.rank_new_bytes_per_s = PLAY_GB / 5; /* pieces one by one: a fifth of the time */
    both = play_beside(&config, PLAY_GB, 2 * PLAY_GB);
    assert_true(both.writing < 5.1);
    assert_true(both.reading > 1.2 && both.reading < 1.5);
}

/* Where the page cache is full, writers wait for what the drive takes beside reads. */
static void reads_slow_writers_through_the_page_cache(void **state) {
    (void)state;
    struct drive_engine_config config = reader_config(2);
    config.buffered = true;
    config.host.dirty_limit_bytes = 100 * PLAY_MB;
    struct play play;
    struct play_file files[2];
    play_open(&play, &config);
    play_write(&play, 1, "1", 4 * PLAY_GB, IO_TRUNCATE, true);
    uint64_t begin = engine_now(play.engine);
    start(&play, files, 1, 2, 4 * PLAY_GB, IO_READING);
    start(&play, files, 0, 1, PLAY_GB, IO_TRUNCATE);
    while (play.ranks[0].state != PLAY_DONE) {
        play_go_on(&play, play_take(&play));
        uint64_t dirty = play.completed_bytes - play_stats(&play).host_bytes;
        assert_true(dirty > play.completed_bytes || /* a piece counts when it begins */
                    dirty <= 100 * PLAY_MB + 4 * play.chunk_bytes);
    }
    play_near((double)(play.ranks[0].end_ns - begin) / 1e9, 1.8, 0.02);
    play_run(&play);
    play_close(&play);
}

/* The NAND goes on working for writing when nobody waits for that any more. */
static void reads_share_the_nand_with_what_it_is_behind(void **state) {
    (void)state;
    struct drive_engine_config config = reader_config(1);
    config.rates.controller_bytes_per_s = 100 * PLAY_GB;
    config.rates.link_bytes_per_s = 100 * PLAY_GB;
    config.rates.nand_read_bytes_per_s = 2 * PLAY_GB;
    struct play play;
    play_open(&play, &config);
    uint64_t bytes = 2 * config.ftl.superblock_bytes; /* as much as it may be behind */
    play_write(&play, 0, "a", bytes, IO_TRUNCATE, true);
    uint64_t begin = engine_now(play.engine);
    play_write(&play, 0, "a", bytes, IO_READING, false);
    /* half of the NAND's time while it programs at 1 GB/s, which takes about as long */
    play_near(play_seconds(&play, begin), (double)bytes / 1e9, 0.05);
    begin = engine_now(play.engine);
    play_pause(&play, 10 * PLAY_GB);
    play_write(&play, 0, "a", bytes, IO_READING, false);
    play_near(play_seconds(&play, begin), 10 + (double)bytes / 2e9, 1e-4);
    play_close(&play);
}

static void check_conservative(const struct drive_engine_config *config, uint64_t write_bytes,
                               uint64_t read_bytes) {
    struct beside write = play_beside(config, write_bytes, 0);
    struct beside read = play_beside(config, 0, read_bytes);
    struct beside both = play_beside(config, write_bytes, read_bytes);
    assert_true(play_beside(config, write_bytes, read_bytes).log == both.log);
    /* A piece is so short that where they begin and end matters little. */
    assert_true(both.writing >= write.writing * 0.999);
    assert_true(both.reading >= read.reading - 1e-9);
    assert_true(both.writing <= 2 * write.writing * 1.001);
    assert_true(both.reading <= 2 * read.reading + 1e-6);
    static const enum drive_station shared[] = {DRIVE_STATION_LINK, DRIVE_STATION_CONTROLLER,
                                                DRIVE_STATION_NAND};
    double longest = both.writing > both.reading ? both.writing : both.reading;
    double behind =
        2.0 * (double)config->ftl.superblock_bytes / (double)config->rates.program_bytes_per_s;
    for (size_t i = 0; i < COUNT_OF(shared); i++) {
        /* less what writing the file that is read took before */
        uint64_t before = read.stats.busy_ns[shared[i]];
        double busy =
            (double)(both.stats.busy_ns[shared[i]] - before + both.stats.read_busy_ns[shared[i]]) /
            1e9;
        assert_true(busy <= longest + (shared[i] == DRIVE_STATION_NAND ? behind : 0) + 1e-6);
    }
}

/* As in real drives, a direction of the link carries what the controller does. */
static void sharing_is_conservative(void **state) {
    (void)state;
    uint64_t seed = 7;
    for (int i = 0; i < 150; i++) {
        struct drive_engine_config config = reader_config(2);
        config.rates.controller_bytes_per_s = PLAY_GB / 4 + prng_next(&seed) % (4 * PLAY_GB);
        config.rates.program_bytes_per_s = PLAY_GB / 4 + prng_next(&seed) % (4 * PLAY_GB);
        config.rates.read_bytes_per_s = PLAY_GB / 4 + prng_next(&seed) % (4 * PLAY_GB);
        config.rates.nand_read_bytes_per_s = PLAY_GB / 4 + prng_next(&seed) % (8 * PLAY_GB);
        config.rates.read_latency_ns = prng_next(&seed) % 100000;
        config.buffered = prng_next(&seed) % 2;
        config.host.dirty_limit_bytes = prng_next(&seed) % (200 * PLAY_MB);
        if (prng_next(&seed) % 2) {
            config.host.rank_read_bytes_per_s = PLAY_GB / 100 + prng_next(&seed) % PLAY_GB;
        }
        check_conservative(&config, 600 * PLAY_MB + prng_next(&seed) % PLAY_GB,
                           1 + prng_next(&seed) % (2 * PLAY_GB));
    }
}

static void parts_never_make_more_than_the_whole(void **state) {
    (void)state;
    uint64_t seed = 3;
    assert_true(station_writing_speed(STATION_WHOLE, 0) == STATION_WHOLE);
    assert_true(station_read_rate(PLAY_GB, 0) == PLAY_GB);
    assert_true(station_read_rate(PLAY_GB, STATION_WHOLE) == PLAY_GB / 2);
    assert_true(station_slowed_ns(UINT64_MAX / 2, STATION_WHOLE) == UINT64_MAX / 2);
    assert_true(station_done_ns(UINT64_MAX / 2, STATION_WHOLE) == UINT64_MAX / 2);
    assert_int_equal(station_part(1, 0), 0);
    assert_true(station_part(1, 2) == STATION_WHOLE / 2);
    for (int i = 0; i < 100000; i++) {
        uint64_t rate = 1 + (prng_next(&seed) >> prng_next(&seed) % 60);
        uint64_t writing = prng_next(&seed) >> (32 + prng_next(&seed) % 32);
        uint64_t most = station_read_rate(rate, writing);
        uint64_t reading = station_part(most, rate);
        uint64_t speed = station_writing_speed(writing, reading);
        assert_true(most <= rate);
        assert_true(speed <= STATION_WHOLE && speed >= STATION_WHOLE / 2 - 1);
        assert_true(reading + (uint64_t)((unsigned __int128)writing * speed / STATION_WHOLE) <=
                    STATION_WHOLE);
        uint64_t ns = prng_next(&seed) >> (2 + prng_next(&seed) % 60);
        assert_true(station_done_ns(station_slowed_ns(ns, speed), speed) == ns);
    }
}

/* A drive that nobody writes to is busy as long as it reads, and takes its active power. */
static void stations_are_busy_as_long_as_they_read(void **state) {
    (void)state;
    struct drive_engine_config config = reader_config(1);
    config.host.rank_read_bytes_per_s = PLAY_GB;
    struct play play;
    play_open(&play, &config);
    play_write(&play, 0, "a", PLAY_GB, IO_TRUNCATE, true);
    struct drive_stats before = play_stats(&play);
    play_write(&play, 0, "a", PLAY_GB, IO_READING, false);
    struct drive_stats after = play_stats(&play);
    play_near((double)after.read_busy_ns[DRIVE_STATION_HOST], 1e9, 1e-5);
    play_near((double)after.read_busy_ns[DRIVE_STATION_LINK], 0.1e9, 1e-5);
    play_near((double)after.read_busy_ns[DRIVE_STATION_CONTROLLER], 0.5e9, 1e-5);
    play_near((double)after.read_busy_ns[DRIVE_STATION_NAND], 0.125e9, 1e-5);
    play_near((double)(after.energy_mj - before.energy_mj), 5000 + 10000 * 0.5, 1e-3);
    for (int i = 0; i < DRIVE_STATIONS; i++) {
        assert_int_equal(before.read_busy_ns[i], 0);
        assert_true(after.busy_ns[i] == before.busy_ns[i]);
    }
    play_close(&play);
    config.host.rank_read_bytes_per_s = NONE;
    play_open(&play, &config);
    play_write(&play, 0, "a", PLAY_GB, IO_TRUNCATE, true);
    play_write(&play, 0, "a", PLAY_GB, IO_READING, false);
    assert_int_equal(play_stats(&play).read_busy_ns[DRIVE_STATION_HOST], 0);
    play_close(&play);
}

/* Seconds in which all ranks copy so much each, in pieces. */
static double seconds_to_copy(uint32_t ranks, uint64_t rank_rate, uint64_t total_rate,
                              uint64_t bytes) {
    struct drive_engine_config config = reader_config(ranks);
    config.host.rank_copy_bytes_per_s = rank_rate;
    config.host.total_copy_bytes_per_s = total_rate;
    struct play play;
    play_open(&play, &config);
    struct io_file source = {.path = "never opened", .size_bytes = 4 * bytes};
    for (uint32_t i = 0; i < ranks; i++) {
        for (uint64_t k = 0; k < 4; k++) {
            play_submit(&play, i,
                        (struct io_request){.op = IO_COPY,
                                            .file = &source,
                                            .offset = k * (bytes / 4),
                                            .length_bytes = bytes / 4});
        }
    }
    while (play.under_way > 0) {
        assert_int_equal(play_take(&play)->io.error, 0);
    }
    double seconds = play_seconds(&play, 0);
    struct drive_stats stats = play_stats(&play);
    assert_true(stats.copy_bytes == bytes / 4 * 4 * ranks);
    assert_int_equal(stats.host_bytes, 0); /* nothing is written */
    assert_true(play_free(&play) == config.capacity_bytes);
    play_close(&play);
    return seconds;
}

static void copies_take_the_time_of_memory(void **state) {
    (void)state;
    play_near(seconds_to_copy(1, 50 * PLAY_GB, NONE, 100 * PLAY_GB), 2, 1e-6);
    play_near(seconds_to_copy(8, 50 * PLAY_GB, NONE, 100 * PLAY_GB), 2, 1e-6);
    play_near(seconds_to_copy(8, 50 * PLAY_GB, 200 * PLAY_GB, 100 * PLAY_GB), 4, 1e-6);
    play_near(seconds_to_copy(2, 50 * PLAY_GB, 200 * PLAY_GB, 100 * PLAY_GB), 2, 1e-6);
    assert_true(seconds_to_copy(8, NONE, NONE, 100 * PLAY_GB) < 1e-6);
}

/* Copies and a pause go on beside the writes of the same rank and change nothing in them; so do
 * bytes in memory. */
static uint64_t write_beside(bool beside, void *memory) {
    struct drive_engine_config config = reader_config(1);
    config.host.rank_copy_bytes_per_s = 3 * PLAY_GB;
    config.host.rank_new_bytes_per_s = 700 * PLAY_MB;
    struct play play;
    play_open(&play, &config);
    struct io_file io = {.path = "a", .mode = IO_TRUNCATE, .size_bytes = 3 * PLAY_GB};
    assert_int_equal(play_one(&play, 0, (struct io_request){.op = IO_OPEN, .file = &io}), 0);
    uint64_t pause_ns = beside ? 500 * PLAY_MB : 0;
    play_submit(&play, 0, (struct io_request){.op = IO_PAUSE, .pause_ns = pause_ns});
    for (uint64_t i = 0; i < 3; i++) {
        play_submit(&play, 0,
                    (struct io_request){.op = IO_WRITE,
                                        .file = &io,
                                        .memory = memory,
                                        .offset = i * PLAY_GB,
                                        .length_bytes = PLAY_GB});
        if (beside) {
            play_submit(
                &play, 0,
                (struct io_request){.op = IO_COPY, .file = &io, .length_bytes = PLAY_GB / 7});
        }
    }
    uint64_t log = 0;
    while (play.under_way > 0) {
        struct io_request *io_done = &play_take(&play)->io;
        assert_int_equal(io_done->error, 0);
        if (io_done->op == IO_PAUSE) {
            assert_true(io_done->end_ns == pause_ns);
        } else if (io_done->op == IO_COPY) {
            assert_true(io_done->end_ns < 150 * PLAY_MB);
        } else {
            log = prng_mix(log ^ io_done->begin_ns) ^ io_done->end_ns;
        }
    }
    play_close(&play);
    return log;
}

static void copies_and_pauses_leave_writes_alone(void **state) {
    (void)state;
    static char bytes[PLAY_BLOCK];
    uint64_t alone = write_beside(false, NULL);
    assert_true(write_beside(true, NULL) == alone);
    assert_true(write_beside(true, bytes) == alone);
}

/* A rank writes one file, reads another, copies and pauses at the same time. */
static void a_rank_does_everything_at_once(void **state) {
    (void)state;
    struct drive_engine_config config = reader_config(1);
    config.host.rank_copy_bytes_per_s = PLAY_GB;
    struct play play;
    play_open(&play, &config);
    play_write(&play, 0, "old", PLAY_GB, IO_TRUNCATE, true);
    struct io_file old = {.path = "old", .mode = IO_READING};
    struct io_file new = {.path = "new", .mode = IO_TRUNCATE};
    assert_int_equal(play_one(&play, 0, (struct io_request){.op = IO_OPEN, .file = &old}), 0);
    assert_int_equal(play_one(&play, 0, (struct io_request){.op = IO_OPEN, .file = &new}), 0);
    uint64_t begin = engine_now(play.engine);
    play_submit(&play, 0, (struct io_request){.op = IO_PAUSE, .pause_ns = PLAY_GB / 4});
    static const enum io_op ops[] = {IO_WRITE, IO_READ, IO_COPY};
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        play_submit(&play, 0,
                    (struct io_request){.op = ops[i],
                                        .file = ops[i] == IO_READ ? &old : &new,
                                        .length_bytes = PLAY_GB / 2});
    }
    double ends[IO_OP_COUNT] = {0};
    while (play.under_way > 0) {
        struct io_request *io = &play_take(&play)->io;
        assert_int_equal(io->error, 0);
        ends[io->op] = (double)(io->end_ns - begin) / 1e9;
    }
    play_near(ends[IO_PAUSE], 0.25, 1e-6);
    play_near(ends[IO_COPY], 0.5, 1e-6);
    play_near(ends[IO_READ], 0.5, 1e-3);   /* 0.25 s at half the speed */
    play_near(ends[IO_WRITE], 0.75, 1e-3); /* 0.25 s of its 0.5 are done by then */
    assert_true(play_free(&play) ==
                config.capacity_bytes - play_blocks(PLAY_GB) - play_blocks(PLAY_GB / 2));
    play_close(&play);
}

/* Where memory ran out nobody knows what files hold; a copy needs no drive. */
static void a_failed_simulation_reads_nothing(void **state) {
    (void)state;
    struct drive_engine_config config = reader_config(2);
    config.ftl.memory_limit_bytes = 256 * 1024;
    config.discard = DRIVE_DISCARD_DELETE;
    struct play play;
    play_open(&play, &config);
    play_write(&play, 0, "0", PLAY_MB, IO_TRUNCATE, true);
    play.chunk_bytes = PLAY_BLOCK;
    struct play_file files[2] = {file(0, 400 * PLAY_MB, IO_OVERWRITE),
                                 file(1, 400 * PLAY_MB, IO_OVERWRITE)};
    play_start(&play, 0, &files[0], 1);
    play_start(&play, 1, &files[1], 1);
    play_run(&play);
    assert_int_equal(play.ranks[0].error, ENOMEM);
    assert_int_equal(play_write(&play, 0, "0", PLAY_MB, IO_READING, false), ENOMEM);
    struct io_request copy = {.op = IO_COPY, .length_bytes = PLAY_MB};
    assert_int_equal(play_one(&play, 0, copy), 0);
    play_close(&play);
}

/* Bytes/s at which so many ranks read a built-in drive on a host without limits. */
static double rate_of(const char *name, enum drive_basis basis, uint32_t ranks,
                      struct drive_config *drive) {
    struct arena arena = {0};
    struct drive_sheet sheet;
    struct host_config host;
    struct drive_engine_config config;
    struct error err = {0};
    if (drive_config_read(name, NULL, &arena, drive, &err) != OK ||
        drive_sheet_make(drive, basis, &arena, &sheet, &err) != OK ||
        host_config_read("ideal", NULL, &arena, &host, &err) != OK) {
        fail_msg("%s", err.text);
    }
    struct drive_choices choices = {
        .ranks = ranks, .memory_limit_bytes = UINT64_C(1) << 31, .seed = 1};
    drive_build(&sheet, &host, &choices, &arena, &config);
    uint64_t bytes = 64 * PLAY_GB / ranks;
    struct play play;
    struct play_file files[8];
    play_open(&play, &config);
    play.chunk_bytes = 16 * PLAY_MIB;
    fill(&play, bytes);
    uint64_t begin = engine_now(play.engine);
    start(&play, files, 0, ranks, bytes, IO_READING);
    play_run(&play);
    double rate = (double)(bytes * ranks) / play_seconds(&play, begin);
    struct drive_stats stats = play_stats(&play);
    assert_true(stats.read_busy_ns[DRIVE_STATION_CONTROLLER] > /* the bottleneck's name */
                stats.read_busy_ns[DRIVE_STATION_NAND]);
    play_close(&play);
    arena_fini(&arena);
    return rate;
}

static void reviewed_drives_read_as_their_sheets_say(void **state) {
    (void)state;
    static const char *const names[] = {"x200p-7.68tb", "p5336-122.88tb", "p5336-61.44tb",
                                        "6550ion-61.44tb"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        for (uint32_t ranks = 1; ranks <= 8; ranks *= 8) {
            struct drive_config drive;
            double rate = rate_of(names[i], DRIVE_AS_STATED, ranks, &drive);
            play_near(rate, (double)drive.sequential_read_rate.value, 0.05);
            const struct figure *measured = &drive.measured.sequential_read_rate;
            rate = rate_of(names[i], DRIVE_AS_MEASURED, ranks, &drive);
            play_near(rate,
                      (double)(measured->origin != FIGURE_UNKNOWN
                                   ? measured->value
                                   : drive.sequential_read_rate.value),
                      0.05);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slowest_of_all_sets_the_pace),
        cmocka_unit_test(many_ranks_saturate_the_drive),
        cmocka_unit_test(depth_hides_latency),
        cmocka_unit_test(a_read_begins_when_it_is_submitted),
        cmocka_unit_test(ranges_of_a_file),
        cmocka_unit_test(what_cannot_be_read),
        cmocka_unit_test(reads_do_not_come_from_memory),
        cmocka_unit_test(reads_and_writes_share_the_controller),
        cmocka_unit_test(reads_slow_writers_through_the_page_cache),
        cmocka_unit_test(reads_share_the_nand_with_what_it_is_behind),
        cmocka_unit_test(sharing_is_conservative),
        cmocka_unit_test(parts_never_make_more_than_the_whole),
        cmocka_unit_test(stations_are_busy_as_long_as_they_read),
        cmocka_unit_test(copies_take_the_time_of_memory),
        cmocka_unit_test(copies_and_pauses_leave_writes_alone),
        cmocka_unit_test(a_rank_does_everything_at_once),
        cmocka_unit_test(a_failed_simulation_reads_nothing),
        cmocka_unit_test(reviewed_drives_read_as_their_sheets_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
