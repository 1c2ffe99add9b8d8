/* How long things take on a simulated drive, worked out by hand. */
#include "tests/unit/drive_play.h"

#define NONE UINT64_MAX

static struct play_file file(const char *path, uint64_t bytes, enum io_mode mode, bool sync) {
    struct play_file made = {.bytes = bytes, .mode = mode, .sync = sync};
    snprintf(made.path, sizeof made.path, "%s", path);
    return made;
}

static struct drive_engine_config direct(uint32_t ranks) {
    return play_config(4 * PLAY_GB / PLAY_BLOCK * PLAY_BLOCK, ranks);
}

static struct drive_engine_config buffered(uint32_t ranks, uint64_t dirty_limit) {
    struct drive_engine_config config = direct(ranks);
    config.buffered = true;
    config.host.dirty_limit_bytes = dirty_limit;
    return config;
}

/* Seconds that one rank needs for a GB. */
static double seconds_for_a_gb(const struct drive_engine_config *config, bool sync) {
    struct play play;
    play_open(&play, config);
    play.depth = 4;
    assert_int_equal(play_write(&play, 0, "a", PLAY_GB, IO_TRUNCATE, sync), 0);
    double seconds = play_seconds(&play, 0);
    play_close(&play);
    return seconds;
}

static void the_slowest_station_sets_the_pace(void **state) {
    (void)state;
    struct drive_engine_config config = direct(1);
    play_near(seconds_for_a_gb(&config, true), 1, 1e-5); /* the controller: 1 GB/s */
    config.rates.link_bytes_per_s = PLAY_GB / 4;
    play_near(seconds_for_a_gb(&config, true), 4, 1e-5);
    config = direct(1);
    config.host.rank_new_bytes_per_s = PLAY_GB / 2;
    play_near(seconds_for_a_gb(&config, true), 2, 0.005); /* and its last chunk on the drive */
    config = direct(1);
    config.host.total_bytes_per_s = PLAY_GB / 10;
    play_near(seconds_for_a_gb(&config, true), 10, 0.005);
    /* NAND of half the speed may be behind by its reserve: two superblocks of 62.5 MB */
    config = direct(1);
    config.rates.program_bytes_per_s = PLAY_GB / 2;
    play_near(seconds_for_a_gb(&config, true), 2 - 0.25, 1e-3);
}

static void through_the_page_cache(void **state) {
    (void)state;
    struct drive_engine_config config = buffered(1, NONE);
    assert_true(seconds_for_a_gb(&config, false) < 1e-6); /* memory takes it at once */
    play_near(seconds_for_a_gb(&config, true), 1, 1e-5);
    config = buffered(1, 100 * PLAY_MB); /* the last 100 MB are still dirty when the rank is done */
    play_near(seconds_for_a_gb(&config, false), 0.9, 0.01);
    play_near(seconds_for_a_gb(&config, true), 1, 1e-5);
    config = buffered(1, 0);
    play_near(seconds_for_a_gb(&config, false), 1, 0.01);
    config = buffered(1, NONE);
    config.host.rank_new_bytes_per_s = PLAY_GB / 2;
    play_near(seconds_for_a_gb(&config, false), 2, 1e-5);
}

/* Shares of ranks are unequal; the run takes as long as the host's slowest or the drive needs. */
static double unequal_ranks(uint64_t rank_rate, uint64_t total_rate, bool sync) {
    struct drive_engine_config config = buffered(8, NONE);
    config.host.rank_new_bytes_per_s = rank_rate;
    config.host.total_bytes_per_s = total_rate;
    struct play play;
    struct play_file files[8];
    play_open(&play, &config);
    for (uint32_t i = 0; i < 8; i++) { /* 36 parts of 50 MB: 1.8 GB, the heaviest rank 400 MB */
        char path[8];
        snprintf(path, sizeof path, "%u", i);
        files[i] = file(path, (i + 1) * 50 * PLAY_MB, IO_TRUNCATE, sync);
        play_start(&play, i, &files[i], 1);
    }
    play_run(&play);
    double seconds = play_seconds(&play, 0);
    play_close(&play);
    return seconds;
}

static void ranks_with_unequal_shares(void **state) {
    (void)state;
    play_near(unequal_ranks(PLAY_GB / 10, NONE, true), 4, 0.01); /* 400 MB at 0.1 GB/s */
    play_near(unequal_ranks(PLAY_GB, NONE, true), 1.8, 0.01);    /* 1.8 GB at 1 GB/s */
    play_near(unequal_ranks(PLAY_GB / 10, NONE, false), 4, 1e-5);
    play_near(unequal_ranks(PLAY_GB, NONE, false), 0.4, 1e-5);
    play_near(unequal_ranks(NONE, 900 * PLAY_MB, false), 2, 1e-5); /* 1.8 GB at 0.9 GB/s */
    play_near(unequal_ranks(NONE, 450 * PLAY_MB, true), 4, 0.01);
}

static void writing_again_has_its_own_rate(void **state) {
    (void)state;
    struct drive_engine_config config = direct(1);
    config.host.rank_new_bytes_per_s = PLAY_GB / 2;
    config.host.rank_reused_bytes_per_s = PLAY_GB / 5;
    static const enum io_mode modes[] = {IO_TRUNCATE, IO_OVERWRITE};
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        struct play play;
        play_open(&play, &config);
        play_write(&play, 0, "a", PLAY_GB, IO_TRUNCATE, true);
        uint64_t again = engine_now(play.engine);
        play_near(play_seconds(&play, 0), 2, 0.01);
        play_write(&play, 0, "a", PLAY_GB, modes[i], true);
        play_near(play_seconds(&play, again), 5, 0.01);
        play_remove(&play, 0, "a"); /* what was removed is new again */
        again = engine_now(play.engine);
        play_write(&play, 0, "a", PLAY_GB, IO_TRUNCATE, true);
        play_near(play_seconds(&play, again), 2, 0.01);
        play_close(&play);
    }
}

static void what_is_dirty_has_a_limit(void **state) {
    (void)state;
    struct drive_engine_config config = buffered(4, 100 * PLAY_MB);
    struct play play;
    struct play_file files[4];
    play_open(&play, &config);
    for (uint32_t i = 0; i < 4; i++) {
        char path[8];
        snprintf(path, sizeof path, "%u", i);
        files[i] = file(path, 200 * PLAY_MB, IO_TRUNCATE, false);
        play_start(&play, i, &files[i], 1);
    }
    uint64_t most = 0;
    while (play.under_way > 0) {
        play_go_on(&play, play_take(&play));
        uint64_t dirty = play.completed_bytes - play_stats(&play).host_bytes;
        most = dirty > most && dirty < play.submitted_bytes ? dirty : most;
    }
    /* beyond it by no more than what was on its way when it was reached */
    assert_true(most >= 90 * PLAY_MB);
    assert_true(most <= 100 * PLAY_MB + 4 * play.chunk_bytes + config.host.write_back_bytes);
    play_close(&play);
}

/* What was written back, cut or removed makes room in memory again. */
static void memory_is_used_again(void **state) {
    (void)state;
    struct drive_engine_config config = buffered(1, 100 * PLAY_MB);
    struct play play;
    play_open(&play, &config);
    for (int i = 0; i < 5; i++) {
        uint64_t begin = engine_now(play.engine);
        play_write(&play, 0, "a", 90 * PLAY_MB, IO_TRUNCATE, false);
        assert_true(play_seconds(&play, begin) < 0.001);
        if (i % 2 == 0) {
            play_pause(&play, PLAY_GB);
        } else {
            play_remove(&play, 0, "a");
        }
    }
    play_close(&play);
}

/* Sync comes back when everything the rank wrote before is on the drive, whatever others wait for.
 */
static void sync_waits_for_what_the_rank_wrote(void **state) {
    (void)state;
    struct drive_engine_config config = buffered(2, NONE);
    struct play play;
    play_open(&play, &config);
    play_write(&play, 0, "early", 100 * PLAY_MB, IO_TRUNCATE, false);
    play_write(&play, 1, "other", 500 * PLAY_MB, IO_TRUNCATE, false);
    uint64_t before = play_stats(&play).host_bytes;
    play_write(&play, 0, "late", 10 * PLAY_MB, IO_TRUNCATE, true);
    /* 110 MB of its own; the other rank's pieces take turns with them */
    play_near(play_seconds(&play, 0), 0.22, 0.05);
    assert_true(play_stats(&play).host_bytes - before >= 110 * PLAY_MB);
    uint64_t now = engine_now(play.engine);
    struct play_file again = file("late", 0, IO_EXISTING, true);
    play_start(&play, 0, &again, 1);
    play_run(&play);
    assert_true(engine_now(play.engine) == now); /* nothing of this rank is dirty */
    play_close(&play);
}

static void a_pause_is_time_for_write_back(void **state) {
    (void)state;
    struct drive_engine_config config = buffered(1, NONE);
    struct play play;
    play_open(&play, &config);
    play_write(&play, 0, "a", PLAY_GB, IO_TRUNCATE, false);
    play_pause(&play, PLAY_GB / 2);
    play_near((double)play_stats(&play).host_bytes, 0.5e9, 0.01);
    play_pause(&play, PLAY_GB);
    assert_true(play_stats(&play).host_bytes == PLAY_GB);
    uint64_t now = engine_now(play.engine);
    play_submit(&play, 0, (struct io_request){.op = IO_PAUSE, .pause_ns = UINT64_C(1) << 62});
    engine_cancel_pauses(play.engine); /* a run that stops does not wait for it */
    assert_int_equal(play_take(&play)->io.error, 0);
    assert_true(engine_now(play.engine) == now);
    play_close(&play);
}

static void stations_are_busy_as_long_as_they_work(void **state) {
    (void)state;
    struct drive_engine_config config = direct(1);
    config.rates.program_bytes_per_s = PLAY_GB / 2;
    struct play play;
    play_open(&play, &config);
    play_write(&play, 0, "a", PLAY_GB, IO_TRUNCATE, true);
    struct drive_stats stats = play_stats(&play);
    play_near((double)stats.busy_ns[DRIVE_STATION_LINK], 0.1e9, 1e-5);
    play_near((double)stats.busy_ns[DRIVE_STATION_CONTROLLER], 1e9, 1e-5);
    play_near((double)stats.busy_ns[DRIVE_STATION_NAND], 2e9, 1e-5);
    play_near((double)stats.energy_mj, 5000 * 1.75 + 10000 * 2, 1e-3);
    assert_string_equal(drive_station_name(DRIVE_STATION_HOST), "host");
    assert_string_equal(drive_station_name(DRIVE_STATION_NAND), "nand");
    assert_string_equal(drive_discard_name(DRIVE_DISCARD_FSTRIM), "fstrim");
    play_close(&play);
}

/* Writing all over a small drive in any order, so that garbage collection copies. */
static void churn(struct play *play, uint64_t seed, int times) {
    char path[PLAY_PATH];
    for (int i = 0; i < times && play->ranks[0].error == 0; i++) {
        snprintf(path, sizeof path, "%d", (int)(prng_next(&seed) % 40));
        uint64_t bytes = 1 + prng_next(&seed) % (play->config.capacity_bytes / 50);
        play_write(play, 0, path, bytes, prng_next(&seed) % 2 ? IO_TRUNCATE : IO_OVERWRITE,
                   prng_next(&seed) % 2);
    }
}

static void garbage_collection_slows_down(void **state) {
    (void)state;
    struct drive_engine_config config = play_config(20000 * PLAY_BLOCK, 1);
    config.ftl.raw_bytes = config.capacity_bytes + 5 * config.ftl.superblock_bytes;
    config.used_before = true;
    struct play play;
    play_open(&play, &config);
    play.chunk_bytes = 16 * PLAY_BLOCK;
    churn(&play, 3, 600);
    struct drive_stats stats = play_stats(&play);
    assert_true(stats.gc_bytes > stats.host_bytes / 20);
    assert_true(stats.ftl.victims > 0);
    double programmed = (double)(stats.unit_bytes + stats.gc_bytes);
    play_near((double)stats.busy_ns[DRIVE_STATION_NAND], programmed, 1e-3);
    /* what the NAND needs, but for its reserve of two superblocks */
    assert_true((double)stats.now_ns >= programmed - 3.0 * (double)config.ftl.superblock_bytes);
    play_close(&play);
}

static void hundreds_of_ranks(void **state) {
    (void)state;
    enum { RANKS = 512, FILES = 3 };
    static struct play_file files[RANKS][FILES];
    for (int is_buffered = 0; is_buffered < 2; is_buffered++) {
        struct drive_engine_config config =
            is_buffered ? buffered(RANKS, 100 * PLAY_MB) : direct(RANKS);
        config.host.rank_new_bytes_per_s = PLAY_GB / 1000;
        struct play play;
        play_open(&play, &config);
        uint64_t total = 0;
        for (uint32_t i = 0; i < RANKS; i++) {
            for (int k = 0; k < FILES; k++) {
                char path[PLAY_PATH];
                snprintf(path, sizeof path, "%u/%d", i, k);
                files[i][k] = file(path, (i % 7 + 1) * 400000, IO_TRUNCATE, true);
                total += files[i][k].bytes;
            }
            play_start(&play, i, files[i], FILES);
        }
        play_run(&play);
        for (uint32_t i = 0; i < RANKS; i++) {
            assert_int_equal(play.ranks[i].error, 0);
            assert_int_equal(play.ranks[i].state, PLAY_DONE);
        }
        assert_true(play_stats(&play).host_bytes == total);
        /* 8.4 MB of the heaviest at 1 MB/s; the drive needs 2.5 s for all, the last of each file
         * apart */
        play_near(play_seconds(&play, 0), 8.4, 0.05);
        play_close(&play);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slowest_station_sets_the_pace),
        cmocka_unit_test(through_the_page_cache),
        cmocka_unit_test(ranks_with_unequal_shares),
        cmocka_unit_test(writing_again_has_its_own_rate),
        cmocka_unit_test(what_is_dirty_has_a_limit),
        cmocka_unit_test(memory_is_used_again),
        cmocka_unit_test(sync_waits_for_what_the_rank_wrote),
        cmocka_unit_test(a_pause_is_time_for_write_back),
        cmocka_unit_test(stations_are_busy_as_long_as_they_work),
        cmocka_unit_test(garbage_collection_slows_down),
        cmocka_unit_test(hundreds_of_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
