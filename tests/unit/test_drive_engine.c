/* A simulated drive behind the engine contract: times worked out by hand, and what happens to
 * files, space and dirty data. Random stories are in tests/property/test_drive_story.c. */
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

/* Sequential overwriting in place copies nothing, whatever the over-provisioning, new drive or old.
 */
static void overwriting_in_place_copies_nothing(void **state) {
    (void)state;
    for (int variant = 0; variant < 8; variant++) {
        struct drive_engine_config config = variant & 1 ? direct(1) : buffered(1, 50 * PLAY_MB);
        config.used_before = (variant & 2) != 0;
        config.ftl.raw_bytes =
            config.capacity_bytes + (variant & 4 ? 5 : 40) * config.ftl.superblock_bytes;
        struct play play;
        play_open(&play, &config);
        struct play_file files[3] = {
            file("a", 1000 * PLAY_BLOCK, IO_OVERWRITE, true),
            file("b", 400 * PLAY_MIB, IO_OVERWRITE, true),
            file("c", 3000 * PLAY_MB / PLAY_BLOCK * PLAY_BLOCK, IO_OVERWRITE, true)};
        uint64_t free_bytes = 0, mapped = 0;
        for (int pass = 0; pass < 4; pass++) {
            play_start(&play, 0, files, 3);
            play_run(&play);
            struct drive_stats stats = play_stats(&play);
            assert_int_equal(stats.gc_bytes, 0);
            assert_true(stats.unit_bytes == stats.host_bytes);
            assert_true(stats.host_bytes == play.submitted_bytes);
            if (pass > 0) { /* the same extents: no block more, none elsewhere */
                assert_true(play_free(&play) == free_bytes);
                assert_true(stats.ftl.mapped_units == mapped);
            }
            free_bytes = play_free(&play);
            mapped = stats.ftl.mapped_units;
        }
        play_close(&play);
    }
}

/* The last bytes of a file take a whole block, and a unit; the next file does not begin in it. */
static void tails_take_whole_units(void **state) {
    (void)state;
    struct drive_engine_config config = direct(1);
    config.placement = PLACEMENT_NEXT_FIT;
    config.ftl.unit_bytes = 4 * PLAY_BLOCK;
    config.ftl.superblock_bytes = 100 * config.ftl.unit_bytes;
    config.capacity_bytes = config.ftl.logical_bytes = 2000 * config.ftl.unit_bytes;
    config.ftl.raw_bytes = 2 * config.capacity_bytes;
    struct play play;
    play_open(&play, &config);
    play_write(&play, 0, "a", 1, IO_TRUNCATE, true);
    assert_int_equal(play_stats(&play).unit_bytes, 4 * PLAY_BLOCK);
    assert_true(play_free(&play) == config.capacity_bytes - PLAY_BLOCK);
    play_write(&play, 0, "b", 3 * PLAY_BLOCK, IO_TRUNCATE, true); /* in the rest of the same unit */
    assert_int_equal(play_stats(&play).unit_bytes, 8 * PLAY_BLOCK);
    assert_int_equal(play_stats(&play).ftl.mapped_units, 1);
    play.chunk_bytes = PLAY_BLOCK; /* neighbours merge in the write buffer */
    play_write(&play, 0, "c", 16 * PLAY_BLOCK, IO_TRUNCATE, true);
    assert_int_equal(play_stats(&play).unit_bytes, 24 * PLAY_BLOCK);
    play_close(&play);
}

static void a_full_file_system_is_an_answer(void **state) {
    (void)state;
    for (int is_buffered = 0; is_buffered < 2; is_buffered++) {
        struct drive_engine_config config = is_buffered ? buffered(1, NONE) : direct(1);
        config.host.rank_new_bytes_per_s = PLAY_GB;
        struct play play;
        play_open(&play, &config);
        assert_int_equal(play_write(&play, 0, "a", 3 * PLAY_GB, IO_TRUNCATE, false), 0);
        assert_int_equal(play_write(&play, 0, "b", 3 * PLAY_GB, IO_TRUNCATE, true), ENOSPC);
        assert_true(play_free(&play) < play.chunk_bytes);
        assert_int_equal(play_remove(&play, 0, "a"), 0);
        assert_int_equal(play_write(&play, 0, "b", 3 * PLAY_GB, IO_TRUNCATE, true), 0);
        assert_int_equal(play_remove(&play, 0, "b"), 0);
        assert_true(play_free(&play) == config.capacity_bytes);
        assert_int_equal(play_write(&play, 0, "c", config.capacity_bytes, IO_TRUNCATE, true), 0);
        assert_int_equal(play_free(&play), 0);
        uint64_t begin = engine_now(play.engine);
        assert_int_equal(play_write(&play, 0, "d", PLAY_GB, IO_TRUNCATE, false), ENOSPC);
        assert_true(engine_now(play.engine) == begin); /* to be refused takes no time */
        play_close(&play);
    }
}

/* As many files of a byte as there are blocks fit, also where they are all promised before the
 * first one is placed. */
static void small_files_take_whole_blocks(void **state) {
    (void)state;
    for (int is_buffered = 0; is_buffered < 2; is_buffered++) {
        struct drive_engine_config config = play_config(1000 * PLAY_BLOCK, 1);
        config.buffered = is_buffered;
        config.host.dirty_limit_bytes = NONE;
        struct play play;
        char path[16];
        play_open(&play, &config);
        for (int i = 0; i < 1001; i++) {
            snprintf(path, sizeof path, "%d", i);
            assert_true(play_free(&play) == (uint64_t)(1000 - i) * PLAY_BLOCK);
            assert_int_equal(play_write(&play, 0, path, 1, IO_TRUNCATE, false),
                             i < 1000 ? 0 : ENOSPC);
            if (i == 1000) {
                break;
            }
        }
        play_pause(&play, PLAY_GB);
        assert_int_equal(play_stats(&play).host_bytes, 1000);
        assert_int_equal(play_free(&play), 0);
        play_close(&play);
    }
}

/* Dirty data of a file that is cut, written over or removed need not go to the drive any more. */
static void dirty_data_can_die_in_memory(void **state) {
    (void)state;
    for (int what = 0; what < 3; what++) {
        struct drive_engine_config config = buffered(1, NONE);
        struct play play;
        play_open(&play, &config);
        play_write(&play, 0, "a", 500 * PLAY_MB, IO_TRUNCATE, false);
        assert_true(play_stats(&play).host_bytes <= config.host.write_back_bytes);
        uint64_t kept = 0;
        if (what == 0) {
            play_remove(&play, 0, "a");
        } else {
            kept = 400 * PLAY_MB / PLAY_BLOCK * PLAY_BLOCK;
            play_write(&play, 0, "a", kept, what == 1 ? IO_TRUNCATE : IO_OVERWRITE, false);
        }
        uint64_t size = what == 2 ? play_blocks(500 * PLAY_MB) : kept;
        assert_true(play_free(&play) == config.capacity_bytes - size);
        play_pause(&play, 10 * PLAY_GB);
        struct drive_stats stats = play_stats(&play);
        assert_true(stats.host_bytes >= kept);
        assert_true(stats.host_bytes <= kept + config.host.write_back_bytes);
        assert_true(play_free(&play) == config.capacity_bytes - size);
        assert_true(stats.ftl.mapped_units * PLAY_BLOCK <= kept + config.host.write_back_bytes);
        play_close(&play);
    }
}

/* Dirty data follows a file to its new name. */
static void renaming_takes_dirty_data_along(void **state) {
    (void)state;
    struct drive_engine_config config = buffered(1, NONE);
    struct play play;
    play_open(&play, &config);
    for (int i = 1; i <= 5; i++) {
        uint64_t bytes = (uint64_t)i * 100 * PLAY_BLOCK;
        play_write(&play, 0, "a.tmp", bytes, IO_TRUNCATE, false);
        assert_int_equal(play_rename(&play, 0, "a.tmp", "a"), 0);
        assert_true(play_free(&play) == config.capacity_bytes - bytes);
        play_pause(&play, PLAY_GB);
        assert_true(play_stats(&play).host_bytes == play.completed_bytes);
        assert_true(play_free(&play) == config.capacity_bytes - bytes);
    }
    assert_int_equal(play_remove(&play, 0, "a.tmp"), ENOENT);
    assert_int_equal(play_rename(&play, 0, "a", "a"), 0);
    assert_int_equal(play_remove(&play, 0, "a"), 0);
    assert_true(play_free(&play) == config.capacity_bytes);
    play_close(&play);
}

static void what_is_not_there_is_an_error(void **state) {
    (void)state;
    struct drive_engine_config config = direct(1);
    struct play play;
    play_open(&play, &config);
    assert_int_equal(play_remove(&play, 0, "a"), ENOENT);
    assert_int_equal(play_rename(&play, 0, "a", "b"), ENOENT);
    assert_int_equal(play_write(&play, 0, "a", 0, IO_EXISTING, true), ENOENT);
    assert_int_equal(play_write(&play, 0, "a", PLAY_MB, IO_OVERWRITE, true), 0);
    assert_int_equal(play_write(&play, 0, "a", 0, IO_EXISTING, true), 0);
    assert_int_equal(play_remove(&play, 0, "a"), 0);
    assert_int_equal(play_remove(&play, 0, "a"), ENOENT);
    assert_int_equal(play_write(&play, 0, "a", 0, IO_EXISTING, true), ENOENT);
    assert_int_equal(play_one(&play, 0, (struct io_request){.op = IO_SYNC_DIR, .path = ""}), 0);
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

static void freed_space_is_told_as_configured(void **state) {
    (void)state;
    static const uint64_t bytes = 1000 * PLAY_BLOCK;
    for (enum drive_discard discard = DRIVE_DISCARD_NONE; discard <= DRIVE_DISCARD_FSTRIM;
         discard++) {
        struct drive_engine_config config = direct(1);
        config.discard = discard;
        config.commit_ns = 5 * PLAY_GB; /* trimming does not wait for the journal */
        struct play play;
        play_open(&play, &config);
        play_write(&play, 0, "a", bytes, IO_TRUNCATE, true);
        play_write(&play, 0, "b", bytes, IO_TRUNCATE, true);
        assert_int_equal(play_stats(&play).ftl.mapped_units, 2000);
        play_remove(&play, 0, "a");
        assert_int_equal(play_stats(&play).ftl.mapped_units,
                         discard == DRIVE_DISCARD_DELETE ? 1000 : 2000);
        drive_engine_trim_free(play.engine);
        assert_int_equal(play_stats(&play).ftl.mapped_units, 1000);
        assert_int_equal(play_stats(&play).ftl.trimmed_units, 1000);
        play_remove(&play, 0, "b");
        play_close(&play);
    }
}

/* Freed space is used again after the journal's commit, not before. */
static void freed_space_waits_for_the_journal(void **state) {
    (void)state;
    struct drive_engine_config config = direct(1);
    config.placement = PLACEMENT_FIRST_FIT;
    config.commit_ns = 5 * PLAY_GB;
    struct play play;
    play_open(&play, &config);
    play_write(&play, 0, "a", 1000 * PLAY_BLOCK, IO_TRUNCATE, true);
    play_remove(&play, 0, "a");
    play_write(&play, 0, "b", 300 * PLAY_BLOCK, IO_TRUNCATE, true);
    assert_int_equal(play_stats(&play).ftl.mapped_units, 1300);
    play_pause(&play, 5 * PLAY_GB);
    play_write(&play, 0, "c", 1000 * PLAY_BLOCK, IO_TRUNCATE, true);
    assert_int_equal(play_stats(&play).ftl.mapped_units, 1300);
    play_close(&play);
}

/* Units that still hold a byte of somebody else are not trimmed. */
static void trimming_spares_shared_units(void **state) {
    (void)state;
    struct drive_engine_config config = direct(1);
    config.discard = DRIVE_DISCARD_DELETE;
    config.placement = PLACEMENT_NEXT_FIT;
    config.ftl.unit_bytes = 4 * PLAY_BLOCK;
    config.ftl.superblock_bytes = config.ftl.superblock_bytes / (4 * PLAY_BLOCK) * (4 * PLAY_BLOCK);
    struct play play;
    play_open(&play, &config);
    play_write(&play, 0, "a", 10 * PLAY_BLOCK, IO_TRUNCATE, true); /* units 0, 1 and half of 2 */
    play_write(&play, 0, "b", 10 * PLAY_BLOCK, IO_TRUNCATE, true); /* half of 2, 3 and 4 */
    assert_int_equal(play_stats(&play).ftl.mapped_units, 5);
    play_remove(&play, 0, "b");
    assert_int_equal(play_stats(&play).ftl.mapped_units, 3);
    play_remove(&play, 0, "a");
    assert_int_equal(play_stats(&play).ftl.mapped_units, 1); /* the file system asked for no more */
    drive_engine_trim_free(play.engine);
    assert_int_equal(play_stats(&play).ftl.mapped_units, 0);
    play_close(&play);
}

static void a_used_drive_is_full_of_old_data(void **state) {
    (void)state;
    struct drive_engine_config config = direct(1);
    config.used_before = true;
    struct play play;
    play_open(&play, &config);
    struct drive_stats stats = play_stats(&play);
    assert_true(stats.ftl.mapped_units * PLAY_BLOCK == config.capacity_bytes);
    assert_int_equal(stats.host_bytes, 0); /* that was before this run */
    assert_int_equal(stats.unit_bytes, 0);
    assert_int_equal(stats.now_ns, 0);
    assert_true(play_free(&play) ==
                config.capacity_bytes); /* the file system is new all the same */
    drive_engine_trim_free(play.engine);
    assert_int_equal(play_stats(&play).ftl.mapped_units, 0);
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

static void memory_has_a_limit(void **state) {
    (void)state;
    for (int is_buffered = 0; is_buffered < 2; is_buffered++) {
        struct drive_engine_config config = play_config(200000 * PLAY_BLOCK, 4);
        config.buffered = is_buffered;
        config.host.dirty_limit_bytes = 10 * PLAY_MB;
        config.ftl.memory_limit_bytes = 128 * 1024;
        config.discard = DRIVE_DISCARD_DELETE;
        struct play play;
        struct play_file files[4];
        play_open(&play, &config);
        play.chunk_bytes =
            PLAY_BLOCK; /* four ranks in turn, a block each: as scattered as can be */
        for (uint32_t i = 0; i < 4; i++) {
            char path[8];
            snprintf(path, sizeof path, "%u", i);
            files[i] = file(path, 60 * PLAY_MB, IO_TRUNCATE, true);
            play_start(&play, i, &files[i], 1);
        }
        play_run(&play); /* everything comes back */
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(play.ranks[i].error, ENOMEM);
        }
        struct error why = {0};
        assert_int_equal(drive_engine_failure(play.engine, &why), ERR_USAGE);
        assert_non_null(strstr(why.text, "131072 bytes"));
        /* nothing goes on as if it had not happened, and nothing hangs */
        assert_int_equal(play_write(&play, 1, "more", PLAY_MB, IO_TRUNCATE, true), ENOMEM);
        play_pause(&play, PLAY_GB);
        for (uint32_t i = 0; i < 4; i++) { /* not even when there is memory again */
            assert_int_equal(play_remove(&play, 0, files[i].path), 0);
        }
        assert_int_equal(play_write(&play, 1, "again", PLAY_BLOCK, IO_TRUNCATE, true), ENOMEM);
        play_close(&play);
    }
}

static void impossible_drives_do_not_open(void **state) {
    (void)state;
    struct engine *engine = NULL;
    struct error err = {0};
    struct drive_engine_config config = direct(1);
    config.ftl.raw_bytes = config.ftl.logical_bytes;
    assert_int_equal(drive_engine_open(&config, &engine, &err), ERR_USAGE);
    config = direct(1);
    config.ftl.memory_limit_bytes = 100;
    assert_int_equal(drive_engine_open(&config, &engine, &err), ERR_USAGE);
    config = direct(1);
    config.used_before = true; /* the state of a drive that was filled does not fit */
    config.ftl.unit_bytes = 512;
    config.ftl.memory_limit_bytes = 200000;
    assert_int_not_equal(drive_engine_open(&config, &engine, &err), OK);
    assert_null(engine);
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
        cmocka_unit_test(overwriting_in_place_copies_nothing),
        cmocka_unit_test(tails_take_whole_units),
        cmocka_unit_test(a_full_file_system_is_an_answer),
        cmocka_unit_test(small_files_take_whole_blocks),
        cmocka_unit_test(dirty_data_can_die_in_memory),
        cmocka_unit_test(renaming_takes_dirty_data_along),
        cmocka_unit_test(what_is_not_there_is_an_error),
        cmocka_unit_test(a_pause_is_time_for_write_back),
        cmocka_unit_test(freed_space_is_told_as_configured),
        cmocka_unit_test(freed_space_waits_for_the_journal),
        cmocka_unit_test(trimming_spares_shared_units),
        cmocka_unit_test(a_used_drive_is_full_of_old_data),
        cmocka_unit_test(stations_are_busy_as_long_as_they_work),
        cmocka_unit_test(garbage_collection_slows_down),
        cmocka_unit_test(memory_has_a_limit),
        cmocka_unit_test(impossible_drives_do_not_open),
        cmocka_unit_test(hundreds_of_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
