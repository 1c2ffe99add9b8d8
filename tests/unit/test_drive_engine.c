/* A simulated drive behind the engine contract: what happens to files, space and dirty data. Times
 * are in test_drive_timing.c, random stories in tests/property/test_drive_story.c. */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overwriting_in_place_copies_nothing),
        cmocka_unit_test(tails_take_whole_units),
        cmocka_unit_test(a_full_file_system_is_an_answer),
        cmocka_unit_test(small_files_take_whole_blocks),
        cmocka_unit_test(dirty_data_can_die_in_memory),
        cmocka_unit_test(renaming_takes_dirty_data_along),
        cmocka_unit_test(what_is_not_there_is_an_error),
        cmocka_unit_test(freed_space_is_told_as_configured),
        cmocka_unit_test(freed_space_waits_for_the_journal),
        cmocka_unit_test(trimming_spares_shared_units),
        cmocka_unit_test(a_used_drive_is_full_of_old_data),
        cmocka_unit_test(memory_has_a_limit),
        cmocka_unit_test(impossible_drives_do_not_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
