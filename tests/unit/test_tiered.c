/* Checkpoints copied to a second folder in the background, on an engine in memory. */
#include "tests/unit/support.h"

#include "sim/job/job.h"
#include "sim/job/snapshot.h"
#include "sim/job/tier_copy.h"
#include "tests/unit/fake_engine.h"

#include <errno.h>

enum { CHUNK = 65536, COPIERS = 2, RANKS = 2 };

struct bench {
    struct arena arena;
    struct plan plan;
    struct shards shards;
    struct fake_engine *fake;
    struct job_config config;
    struct engine_config io;
    struct snapshot_plan snapshot;
    struct buffer_pool pool, drain_pool;
    struct result result;
    struct recorder recorder;
    struct job job;
    struct error err;
    volatile sig_atomic_t stop;
    size_t told;
    bool refuse_told;
};

static enum status observe(void *context, struct checkpoint_record *record, bool settled,
                           struct error *err) {
    (void)context, (void)record, (void)settled, (void)err;
    return OK;
}

static enum status observe_copy(void *context, const struct checkpoint_record *record, uint64_t index,
                                struct error *err) {
    struct bench *bench = context;
    assert_ptr_equal(record, &bench->result.checkpoints[index]);
    assert_true(record->copy_ns != RESULT_UNKNOWN);
    bench->told++;
    return bench->refuse_told ? error_set(err, ERR_FAILED, "no room in the journal") : OK;
}

static int make_bench(void **state) {
    struct bench *bench = calloc(1, sizeof *bench);
    struct plan_request request = {.model = "llama-2-7b", .layout = "deepspeed", .tp = 1, .pp = 1,
                                   .dp = 2, .scale = 1e-4, .zero_stage = PLAN_ZERO_DEFAULT};
    assert_int_equal(plan_build(&request, &bench->arena, &bench->plan, &bench->err), OK);
    assert_int_equal(bench->plan.ranks, RANKS);
    shards_raw(&bench->plan, &bench->arena, &bench->shards);
    bench->config = (struct job_config){.fill = {.share = 1}, .passes = 2, .commit = true,
                                        .checkpoints_per_pass = 4, .fsync = JOB_FSYNC_FILE,
                                        .mode = JOB_TIERED, .drain_ranks = COPIERS};
    bench->io = (struct engine_config){.ranks = RANKS + COPIERS, .chunk_bytes = CHUNK,
                                       .queue_depth = 3,
                                       .payload = {.seed = 1, .compressible = 1, .dedupe = 1}};
    bench->fake = fake_open(fill_checkpoint_bytes(&bench->shards) * 200);
    bench->result.arena = &bench->arena;
    assert_int_equal(buffer_open(&bench->drain_pool, COPIERS, 3, CHUNK, &bench->err), OK);
    *state = bench;
    return 0;
}

static int drop_bench(void **state) {
    struct bench *bench = *state;
    fake_close(bench->fake);
    job_fini(&bench->job);
    buffer_close(&bench->pool);
    buffer_close(&bench->drain_pool);
    result_fini(&bench->result);
    arena_fini(&bench->arena);
    free(bench);
    return 0;
}

static void set_up(struct bench *bench) {
    bench->job = (struct job){.config = &bench->config, .io = &bench->io, .shards = &bench->shards,
                              .engine = &bench->fake->base, .recorder = &bench->recorder,
                              .arena = &bench->arena, .run_id = "test", .stop = &bench->stop,
                              .snapshot_plan = &bench->snapshot, .snapshot_pool = &bench->pool,
                              .drain_pool = &bench->drain_pool,
                              .observer = {bench, NULL, observe, observe_copy}};
    bench->fake->stop = &bench->stop;
    recorder_init(&bench->recorder, &bench->result, bench->plan.ranks, &bench->arena);
    job_init(&bench->job);
}

static enum status run(struct bench *bench) {
    set_up(bench);
    enum status status = job_run(&bench->job, &bench->err);
    assert_int_equal(bench->fake->pending_count, 0);
    assert_null(bench->fake->pause);
    assert_int_equal(bench->job.copy->copiers_left, 0);
    assert_false(bench->job.copy->running);
    return status;
}

/* Everything that was written is taken away again, in both folders. */
static void remove_all(struct bench *bench) {
    bench->stop = 0;
    assert_int_equal(job_remove_files(&bench->job, &bench->err), OK);
    assert_int_equal(bench->fake->file_count, 0);
    job_fini(&bench->job);
    result_fini(&bench->result);
    bench->fake->log_count = 0;
}

static bool is_complete(const struct bench *bench, uint8_t tier, uint32_t slot) {
    char name[MANIFEST_NAME];
    manifest_name(MANIFEST_COMPLETE, slot, name);
    return fake_find_in(bench->fake, tier, name) != NULL;
}

/* A complete checkpoint has all its files, of their sizes and of one checkpoint's content; of what has
 * no list of names there is nothing. */
static void check_folder(const struct bench *bench, uint8_t tier) {
    for (uint32_t slot = 1; slot <= 20; slot++) {
        char name[MANIFEST_NAME];
        manifest_name(MANIFEST_FILES, slot, name);
        bool listed = fake_find_in(bench->fake, tier, name) != NULL;
        bool complete = is_complete(bench, tier, slot);
        assert_true(listed || !complete);
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            for (uint64_t i = 0; i < bench->shards.shares[rank].files; i++) {
                struct shard_file shard;
                shards_file(&bench->shards, rank, i, slot, &shard);
                const struct fake_file *file = fake_find_in(bench->fake, tier, shard.path);
                assert_true(listed || file == NULL);
                assert_true(!complete || (file != NULL && file->size == shard.bytes));
            }
        }
    }
}

static void check_folders(const struct bench *bench) {
    check_folder(bench, 0);
    check_folder(bench, 1);
}

static void all_is_copied_behind_the_job(void **state) {
    struct bench *bench = *state;
    bench->config.interval_ns = 100000000;
    assert_int_equal(run(bench), OK);
    assert_int_equal(bench->result.outcome, RESULT_COMPLETE);
    assert_int_equal(bench->result.checkpoint_count, 8);
    assert_int_equal(bench->told, 8);
    for (uint32_t i = 0; i < 8; i++) {
        const struct checkpoint_record *record = &bench->result.checkpoints[i];
        assert_true(record->copy_wait_ns == 0);
        assert_true(record->copy_ns > 0 && record->copy_lag_ns > record->copy_ns);
        assert_true(record->copy_lag_ns < bench->config.interval_ns);
        assert_true(record->stall_ns == RESULT_UNKNOWN);
    }
    check_folders(bench);
    for (uint32_t slot = 1; slot <= 4; slot++) {
        assert_true(is_complete(bench, 1, slot));
    }
    size_t local = 0, second = 0; /* markers and all */
    for (size_t i = 0; i < bench->fake->file_count; i++) {
        local += bench->fake->files[i].tier == 0;
        second += bench->fake->files[i].tier == 1;
    }
    assert_int_equal(local, second);
    remove_all(bench);
}

/* For every slot and pass: in the second folder the manifest is gone before a shard is touched and back
 * after the last sync; and no shard of the local one is written while it is still to be copied. */
static void copies_are_safe(void **state) {
    struct bench *bench = *state;
    bench->fake->drain_last = true; /* the second folder does not keep up */
    bench->fake->drain_rank = RANKS;
    bench->config.passes = 3;
    assert_int_equal(run(bench), OK);
    bool manifest[5] = {false}, owed[5] = {false};
    for (size_t i = 0; i < bench->fake->log_count; i++) {
        const struct fake_event *event = &bench->fake->log[i];
        int slot = 0;
        char word[20] = "";
        if (sscanf(event->path, "ckpt-%d.%19[a-z]", &slot, word) == 2 && strcmp(word, "manifest") == 0) {
            bool put = event->op == IO_RENAME;
            if (event->tier == 0) {
                owed[slot] = owed[slot] || put;
            } else if (put) {
                assert_true(owed[slot]);
                manifest[slot] = true;
                owed[slot] = false;
            } else if (event->op == IO_REMOVE) {
                manifest[slot] = false;
            }
            continue;
        }
        const char *step = strstr(event->path, "global_step");
        if (step == NULL || event->plain || event->op == IO_SYNC_DIR) {
            continue;
        }
        slot = atoi(step + 11);
        assert_in_range(slot, 1, 4);
        if (event->tier == 1) {
            assert_false(manifest[slot]);
        } else if (event->op == IO_WRITE || (event->op == IO_OPEN && event->mode != IO_READING)) {
            assert_false(owed[slot]);
        }
    }
    uint64_t waited = 0;
    for (uint32_t i = 0; i < bench->result.checkpoint_count; i++) {
        waited += bench->result.checkpoints[i].copy_wait_ns;
    }
    assert_true(waited > 0);
    assert_int_equal(bench->told, 12);
    check_folders(bench);
}

/* More are never queued than there is room for, which the queue holds itself. */
static void the_queue_is_bounded(void **state) {
    struct bench *bench = *state;
    bench->fake->drain_last = true;
    bench->fake->drain_rank = RANKS;
    bench->config.checkpoints_per_pass = 20;
    bench->config.passes = 1;
    assert_int_equal(run(bench), OK);
    assert_int_equal(bench->told, 20);
    for (uint32_t i = 0; i < 20; i++) {
        bool waits = bench->result.checkpoints[i].copy_wait_ns > 0;
        assert_int_equal(waits, i >= TIER_COPY_QUEUE);
    }
    check_folders(bench);
}

/* What is still to be copied stays though it is beyond what the local folder keeps; ranks wait for it. */
static void retention_waits_for_copies(void **state) {
    struct bench *bench = *state;
    bench->fake->drain_last = true;
    bench->fake->drain_rank = RANKS;
    bench->config.keep = (struct retention){1, 0};
    bench->config.drain_keep = (struct retention){2, 3};
    bench->config.checkpoints_per_pass = 7;
    bench->config.passes = 2;
    assert_int_equal(run(bench), OK);
    assert_int_equal(bench->told, 14);
    assert_true(bench->result.checkpoints[4].copy_wait_ns > 0);
    for (uint32_t slot = 1; slot <= 7; slot++) {
        assert_int_equal(is_complete(bench, 0, slot), slot == 7);
        assert_int_equal(is_complete(bench, 1, slot), slot == 3 || slot >= 6);
    }
    check_folders(bench);
    remove_all(bench);
}

/* An error in the second folder: the run fails, the checkpoint is complete locally, the older ones are
 * complete there too, and nothing half is left. */
static void an_error_there_ends_the_run(void **state) {
    struct bench *bench = *state;
    bench->config.interval_ns = 1000000;
    for (uint64_t at = 1; at < 200; at += 13) {
        bench->fake->fail_errno = EIO;
        bench->fake->drain_writes = 0;
        bench->fake->fail_drain_write = at;
        bench->told = 0;
        enum status status = run(bench);
        check_folders(bench);
        if (status == OK) {
            assert_true(at > 100); /* all was written before */
        } else {
            assert_int_equal(status, ERR_FAILED);
            assert_non_null(strstr(bench->err.text, "copying checkpoint"));
            assert_non_null(strstr(bench->err.text, "--drain-to: write '"));
            assert_int_equal(bench->result.outcome, RESULT_FAILED);
            const struct checkpoint_record *last =
                &bench->result.checkpoints[bench->result.checkpoint_count - 1];
            assert_true(last->complete && last->copy_ns == RESULT_UNKNOWN);
            assert_true(is_complete(bench, 0, last->checkpoint));
            size_t complete = 0, lists = 0;
            for (uint32_t slot = 1; slot <= 4; slot++) {
                char name[MANIFEST_NAME];
                manifest_name(MANIFEST_FILES, slot, name);
                complete += is_complete(bench, 1, slot);
                lists += fake_find_in(bench->fake, 1, name) != NULL;
            }
            assert_int_equal(complete, lists);
            assert_true(complete >= (bench->told < 4 ? bench->told : 3));
        }
        bench->fake->fail_drain_write = 0;
        remove_all(bench);
    }
}

static void a_full_second_folder_is_an_outcome(void **state) {
    struct bench *bench = *state;
    bench->config.interval_ns = 1000000;
    bench->fake->drain_limit_bytes = fill_checkpoint_bytes(&bench->shards) * 5 / 2;
    assert_int_equal(run(bench), OK);
    assert_int_equal(bench->result.outcome, RESULT_DRIVE_FULL);
    assert_non_null(strstr(bench->result.outcome_text, "--drain-to was full: checkpoint 3"));
    check_folders(bench);
    assert_int_equal(bench->job.slots, 2); /* later passes write what fits */
    assert_true(is_complete(bench, 1, 1) && is_complete(bench, 1, 2) && !is_complete(bench, 1, 3));
    assert_true(is_complete(bench, 0, 3));
    remove_all(bench);
}

/* What is read is not what the manifest will say: nothing of it may pass for a checkpoint. */
static void damage_is_not_passed_on(void **state) {
    struct bench *bench = *state;
    bench->config.passes = bench->config.checkpoints_per_pass = 1;
    bench->fake->damage_reads = true;
    assert_int_equal(run(bench), ERR_FAILED);
    assert_non_null(strstr(bench->err.text, "checksum"));
    assert_false(is_complete(bench, 1, 1));
    assert_true(is_complete(bench, 0, 1));
    check_folders(bench);
    remove_all(bench);
}

static void an_error_in_reading_is_one(void **state) {
    struct bench *bench = *state;
    bench->fake->fail_read = 5;
    bench->fake->fail_errno = EIO;
    assert_int_equal(run(bench), ERR_FAILED);
    assert_non_null(strstr(bench->err.text, "--drain-to: read '"));
    check_folders(bench);
    remove_all(bench);
}

static void a_record_that_cannot_be_kept_ends_the_run(void **state) {
    struct bench *bench = *state;
    bench->refuse_told = true;
    bench->config.interval_ns = 100000000;
    assert_int_equal(run(bench), ERR_FAILED);
    assert_string_equal(bench->err.text, "no room in the journal");
    assert_int_equal(bench->told, 1);
    assert_true(bench->result.checkpoint_count < 8);
}

/* Ctrl-C while anything is under way: what is unfinished in either folder goes. */
static void stops_soon_when_told(void **state) {
    struct bench *bench = *state;
    for (int mode = JOB_ASYNC; mode <= JOB_TIERED; mode++) {
        bench->config.mode = mode;
        assert_int_equal(snapshot_plan(&bench->shards, CHUNK, 8 * CHUNK, &bench->snapshot, &bench->err),
                         OK);
        buffer_close(&bench->pool);
        assert_int_equal(buffer_open(&bench->pool, 1, 8, CHUNK, &bench->err), OK);
        for (uint64_t at = 1; at < 120; at += 7) {
            bench->config.interval_ns = at % 2 * 40000;
            bench->fake->drain_cost_ns = at % 3 * 5000;
            bench->fake->writes = 0;
            bench->fake->stop_write = at;
            assert_int_equal(run(bench), OK);
            check_folders(bench);
            bench->fake->stop_write = 0;
            remove_all(bench);
        }
    }
}

static void goes_with_snapshots(void **state) {
    struct bench *bench = *state;
    bench->config.mode = JOB_ASYNC;
    bench->config.interval_ns = 50000000;
    assert_int_equal(snapshot_plan(&bench->shards, CHUNK, UINT64_MAX, &bench->snapshot, &bench->err), OK);
    assert_int_equal(buffer_open(&bench->pool, 1, bench->snapshot.buffers, CHUNK, &bench->err), OK);
    assert_int_equal(run(bench), OK);
    assert_int_equal(bench->told, 8);
    for (uint32_t i = 0; i < 8; i++) {
        const struct checkpoint_record *record = &bench->result.checkpoints[i];
        assert_true(record->stall_ns < record->duration_ns && record->blocked_ns == 0);
        assert_true(record->copy_lag_ns > 0 && record->copy_wait_ns == 0);
    }
    check_folders(bench);
}

static void modes_of_fsync_and_reuse(void **state) {
    struct bench *bench = *state;
    for (int fsync = JOB_FSYNC_NONE; fsync <= JOB_FSYNC_CHECKPOINT; fsync++) {
        for (int reuse = JOB_TRUNCATE; reuse <= JOB_DELETE; reuse++) {
            bench->config.fsync = fsync;
            bench->config.reuse = reuse;
            bench->fake->drain_cost_ns = 3000;
            bench->told = 0;
            assert_int_equal(run(bench), OK);
            assert_int_equal(bench->told, 8);
            check_folders(bench);
            remove_all(bench);
        }
    }
}

/* What an earlier process left to be copied is copied first. */
static void a_resumed_run_copies_what_was_left(void **state) {
    struct bench *bench = *state;
    bench->config.passes = 1;
    bench->config.checkpoints_per_pass = 2;
    assert_int_equal(run(bench), OK);
    uint64_t sums[64];
    assert_in_range(bench->shards.files, 1, 64);
    memcpy(sums, bench->job.sums, bench->shards.files * sizeof sums[0]);
    struct checkpoint_record last = bench->result.checkpoints[1];
    job_fini(&bench->job);
    bench->config.checkpoints_per_pass = 3;
    bench->result.checkpoints[1].copy_ns = RESULT_UNKNOWN;
    set_up(bench);
    job_resume(&bench->job, &last, 2, 2);
    tier_set_held(&bench->job.local, 2, true);
    tier_set_complete(&bench->job.local, 2, 2);
    struct checkpoint left = {.slot = 2, .serial = 2, .sums = sums};
    tier_copy_add(bench->job.copy, &left, 1, RESULT_UNKNOWN);
    bench->told = 0;
    assert_int_equal(job_run(&bench->job, &bench->err), OK);
    assert_int_equal(bench->told, 2);
    assert_true(bench->result.checkpoints[1].copy_ns != RESULT_UNKNOWN);
    assert_true(bench->result.checkpoints[1].copy_lag_ns == RESULT_UNKNOWN);
    assert_true(is_complete(bench, 1, 3));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_is_copied_behind_the_job, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(copies_are_safe, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(the_queue_is_bounded, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(retention_waits_for_copies, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(an_error_there_ends_the_run, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(a_full_second_folder_is_an_outcome, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(damage_is_not_passed_on, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(an_error_in_reading_is_one, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(a_record_that_cannot_be_kept_ends_the_run, make_bench,
                                        drop_bench),
        cmocka_unit_test_setup_teardown(stops_soon_when_told, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(goes_with_snapshots, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(modes_of_fsync_and_reuse, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(a_resumed_run_copies_what_was_left, make_bench, drop_bench),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
