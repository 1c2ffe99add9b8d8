/* Checkpoints copied into memory and written while ranks compute, on an engine in memory. */
#include "tests/unit/support.h"

#include "sim/job/job.h"
#include "sim/job/snapshot.h"
#include "tests/unit/fake_engine.h"

#include <errno.h>

enum { CHUNK = 16384 };

struct bench {
    struct arena arena;
    struct plan plan;
    struct shards shards;
    struct fake_engine *fake;
    struct job_config config;
    struct engine_config io;
    struct snapshot_plan snapshot;
    struct buffer_pool pool;
    struct result result;
    struct recorder recorder;
    struct job job;
    struct error err;
    volatile sig_atomic_t stop;
    size_t told;
};

static enum status observe(void *context, struct checkpoint_record *record, bool settled,
                           struct error *err) {
    (void)record, (void)settled, (void)err;
    ((struct bench *)context)->told++;
    return OK;
}

/* Eight ranks, 260-odd files of some KB to some hundred KB. */
static int make_bench(void **state) {
    struct bench *bench = calloc(1, sizeof *bench);
    struct plan_request request = {.model = "llama-2-7b", .layout = "dlio2", .tp = 4, .pp = 2,
                                   .scale = 1e-4, .zero_stage = PLAN_ZERO_DEFAULT};
    assert_int_equal(plan_build(&request, &bench->arena, &bench->plan, &bench->err), OK);
    shards_raw(&bench->plan, &bench->arena, &bench->shards);
    bench->config = (struct job_config){.fill = {.share = 1}, .passes = 2, .commit = true,
                                        .checkpoints_per_pass = 3, .fsync = JOB_FSYNC_FILE,
                                        .mode = JOB_ASYNC};
    bench->io = (struct engine_config){.ranks = 8, .chunk_bytes = CHUNK, .queue_depth = 3,
                                       .payload = {.seed = 1, .compressible = 1, .dedupe = 1}};
    bench->fake = fake_open(fill_checkpoint_bytes(&bench->shards) * 4);
    bench->result.arena = &bench->arena;
    *state = bench;
    return 0;
}

static int drop_bench(void **state) {
    struct bench *bench = *state;
    fake_close(bench->fake);
    job_fini(&bench->job);
    buffer_close(&bench->pool);
    result_fini(&bench->result);
    arena_fini(&bench->arena);
    free(bench);
    return 0;
}

/* With this many buffers; 0: as many as a checkpoint has chunks. */
static enum status run(struct bench *bench, uint64_t buffers) {
    uint64_t limit = buffers == 0 ? UINT64_MAX : buffers * CHUNK;
    assert_int_equal(snapshot_plan(&bench->shards, CHUNK, limit, &bench->snapshot, &bench->err), OK);
    assert_int_equal(buffer_open(&bench->pool, 1, bench->snapshot.buffers, CHUNK, &bench->err), OK);
    bench->job = (struct job){.config = &bench->config, .io = &bench->io, .shards = &bench->shards,
                              .engine = &bench->fake->base, .recorder = &bench->recorder,
                              .arena = &bench->arena, .run_id = "test", .stop = &bench->stop,
                              .snapshot_plan = &bench->snapshot, .snapshot_pool = &bench->pool,
                              .observer = {bench, NULL, observe}};
    bench->fake->stop = &bench->stop;
    recorder_init(&bench->recorder, &bench->result, bench->plan.ranks, &bench->arena);
    job_init(&bench->job);
    enum status status = job_run(&bench->job, &bench->err);
    assert_int_equal(bench->fake->pending_count, 0); /* nothing is left under way, no pause either */
    assert_null(bench->fake->pause);
    return status;
}

static const struct fake_event *nth(const struct bench *bench, enum io_op op, const char *path,
                                    size_t number) {
    for (size_t i = 0; i < bench->fake->log_count; i++) {
        const struct fake_event *event = &bench->fake->log[i];
        if (event->op == op && strcmp(event->path, path) == 0 && --number == 0) {
            return event;
        }
    }
    return NULL;
}

static uint64_t stall_end_ns(const struct checkpoint_record *record) {
    return record->start_ns + record->stall_ns;
}

/* The memory holds a checkpoint, the interval is long: ranks wait for the copies alone. */
static void ranks_compute_while_it_is_written(void **state) {
    struct bench *bench = *state;
    bench->config.interval_ns = UINT64_C(1000000000);
    assert_int_equal(run(bench, 0), OK);
    assert_int_equal(bench->result.outcome, RESULT_COMPLETE);
    assert_int_equal(bench->result.checkpoint_count, 6);
    assert_int_equal(bench->told, 6);
    uint64_t copies_ns = 0;
    for (size_t i = 0; i < bench->fake->log_count && bench->fake->log[i].op != IO_OPEN; i++) {
        copies_ns += bench->fake->log[i].op == IO_COPY;
    }
    for (uint32_t i = 0; i < 6; i++) {
        const struct checkpoint_record *record = &bench->result.checkpoints[i];
        assert_true(record->complete);
        assert_true(record->bytes == bench->plan.checkpoint_bytes);
        assert_true(record->stall_ns > 0 && record->stall_ns < record->duration_ns);
        assert_true(record->blocked_ns == 0);
        if (i > 0) { /* the next barrier: the interval after the stall, and its invalidation */
            const struct checkpoint_record *before = &bench->result.checkpoints[i - 1];
            uint64_t due_ns = stall_end_ns(before) + bench->config.interval_ns;
            assert_true(record->start_ns >= due_ns);
            assert_true(record->start_ns - due_ns < 1000000);
        }
    }
    /* The manifest is in place long before computing ends. */
    const struct fake_event *put = nth(bench, IO_RENAME, "ckpt-0001.manifest.tmp", 1);
    assert_true(put->end_ns < stall_end_ns(&bench->result.checkpoints[0]) + 500000000);
    assert_int_equal(bench->fake->pauses, 6);
}

/* What ranks wait for is then the drain: one checkpoint at a time. */
static void a_short_interval_holds_ranks_up(void **state) {
    struct bench *bench = *state;
    bench->config.interval_ns = 1000;
    assert_int_equal(run(bench, 0), OK);
    for (uint32_t i = 0; i < 6; i++) {
        const struct checkpoint_record *record = &bench->result.checkpoints[i];
        uint64_t end_ns = record->start_ns + record->duration_ns + record->commit_ns;
        assert_true(record->blocked_ns > 0);
        assert_true(stall_end_ns(record) + 1000 + record->blocked_ns == end_ns);
        if (i + 1 < 6) {
            assert_true(bench->result.checkpoints[i + 1].start_ns >= end_ns);
        }
    }
}

static void without_an_interval_all_of_the_drain_blocks(void **state) {
    struct bench *bench = *state;
    assert_int_equal(run(bench, 0), OK);
    const struct checkpoint_record *record = &bench->result.checkpoints[2];
    assert_true(record->stall_ns + record->blocked_ns == record->duration_ns + record->commit_ns);
    assert_int_equal(bench->fake->pauses, 0);
}

/* With less memory the copies wait for the writes, and ranks with them; what is written is right,
 * which the engine's marks hold, and its sums are those of a synchronous run. */
static void a_small_pool_stalls_longer(void **state) {
    struct bench *bench = *state;
    static const uint64_t buffers[] = {8, 9, 40, 0};
    uint64_t stalls[4];
    bench->config.passes = 1;
    bench->config.checkpoints_per_pass = 1;
    bench->config.interval_ns = 1000000;
    uint64_t *sums[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(run(bench, buffers[i]), OK);
        assert_true(bench->snapshot.buffers == (buffers[i] > 0 ? buffers[i] : bench->snapshot.chunks));
        const struct checkpoint_record *record =
            &bench->result.checkpoints[bench->result.checkpoint_count - 1];
        assert_true(record->complete);
        stalls[i] = record->stall_ns;
        sums[i] = bench->job.sums;
        job_fini(&bench->job);
        buffer_close(&bench->pool);
        bench->fake->file_count = 0;
    }
    assert_true(stalls[0] > stalls[2] && stalls[2] > stalls[3]);
    bench->config.mode = JOB_SYNC;
    assert_int_equal(run(bench, 0), OK);
    for (int i = 0; i < 4; i++) {
        assert_memory_equal(sums[i], bench->job.sums, bench->shards.files * sizeof(uint64_t));
    }
    assert_true(bench->result.checkpoints[4].stall_ns == RESULT_UNKNOWN);
    assert_true(bench->result.checkpoints[4].blocked_ns == RESULT_UNKNOWN);
}

/* Nothing of a rank is written before its memory is full or holds all. */
static void writing_begins_behind_the_copies(void **state) {
    struct bench *bench = *state;
    bench->config.passes = bench->config.checkpoints_per_pass = 1;
    assert_int_equal(run(bench, 0), OK);
    uint64_t last_copy[8] = {0}, first_open[8] = {0};
    for (size_t i = 0; i < bench->fake->log_count; i++) {
        const struct fake_event *event = &bench->fake->log[i];
        if (event->op == IO_COPY) {
            last_copy[event->rank] = i;
        } else if (event->op == IO_OPEN && !event->plain && first_open[event->rank] == 0) {
            first_open[event->rank] = i;
        }
    }
    for (int rank = 0; rank < 8; rank++) {
        assert_true(first_open[rank] > last_copy[rank]);
    }
}

static void memory_need_not_be_there(void **state) {
    struct bench *bench = *state;
    bench->config.interval_ns = 1000;
    assert_int_equal(snapshot_plan(&bench->shards, CHUNK, 8 * CHUNK, &bench->snapshot, &bench->err),
                     OK);
    bench->job = (struct job){.config = &bench->config, .io = &bench->io, .shards = &bench->shards,
                              .engine = &bench->fake->base, .recorder = &bench->recorder,
                              .arena = &bench->arena, .run_id = "test",
                              .snapshot_plan = &bench->snapshot};
    recorder_init(&bench->recorder, &bench->result, bench->plan.ranks, &bench->arena);
    job_init(&bench->job);
    assert_int_equal(job_run(&bench->job, &bench->err), OK);
    assert_int_equal(bench->result.outcome, RESULT_COMPLETE);
}

static void modes_of_fsync_and_reuse(void **state) {
    struct bench *bench = *state;
    for (int fsync = JOB_FSYNC_NONE; fsync <= JOB_FSYNC_CHECKPOINT; fsync++) {
        for (int reuse = JOB_TRUNCATE; reuse <= JOB_DELETE; reuse++) {
            bench->config.fsync = fsync;
            bench->config.reuse = reuse;
            bench->config.interval_ns = 5000;
            assert_int_equal(run(bench, 20), OK);
            assert_int_equal(bench->result.outcome, RESULT_COMPLETE);
            assert_int_equal(job_remove_files(&bench->job, &bench->err), OK);
            assert_int_equal(bench->fake->file_count, 0);
            job_fini(&bench->job);
            buffer_close(&bench->pool);
            bench->fake->log_count = 0;
        }
    }
}

/* An error at any time: the ranks give up, computing ends, the broken checkpoint goes. */
static void errors_end_the_run(void **state) {
    struct bench *bench = *state;
    bench->config.interval_ns = UINT64_C(1000000000000);
    for (uint64_t at = 1; at < 700; at += 29) {
        for (int copy = 0; copy < 2; copy++) {
            struct fake_engine *fake = bench->fake;
            fake->fail_errno = EIO;
            fake->writes = fake->copies = 0;
            fake->fail_write = copy ? 0 : at;
            fake->fail_copy = copy ? at : 0;
            uint64_t start_ns = fake->clock_ns;
            assert_int_equal(run(bench, 12), ERR_FAILED);
            assert_non_null(strstr(bench->err.text, copy ? "copy '" : "write '"));
            assert_int_equal(bench->result.outcome, RESULT_FAILED);
            const struct checkpoint_record *record =
                &bench->result.checkpoints[bench->result.checkpoint_count - 1];
            assert_false(record->complete);
            assert_true(record->stall_ns == RESULT_UNKNOWN);
            /* the checkpoint that broke is not computed after */
            assert_true(fake->clock_ns - start_ns <
                        bench->config.interval_ns * bench->result.checkpoint_count);
            assert_int_equal(job_remove_files(&bench->job, &bench->err), OK);
            assert_int_equal(fake->file_count, 0);
            job_fini(&bench->job);
            buffer_close(&bench->pool);
            result_fini(&bench->result);
            fake->log_count = 0;
        }
    }
}

static void a_full_drive_is_an_outcome(void **state) {
    struct bench *bench = *state;
    bench->config.interval_ns = 1000000;
    bench->fake->hidden_limit_bytes = bench->plan.checkpoint_bytes * 5 / 2;
    assert_int_equal(run(bench, 40), OK);
    assert_int_equal(bench->result.outcome, RESULT_DRIVE_FULL);
    assert_int_equal(bench->job.slots, 2);
    assert_int_equal(bench->result.checkpoint_count, 5); /* 2, a broken one, 2 */
    assert_false(bench->result.checkpoints[2].complete);
}

static void stops_soon_when_told(void **state) {
    struct bench *bench = *state;
    bench->config.interval_ns = UINT64_C(1000000000000);
    for (uint64_t at = 1; at < 600; at += 37) {
        bench->stop = 0;
        bench->fake->writes = 0;
        bench->fake->stop_write = at;
        uint64_t start_ns = bench->fake->clock_ns;
        assert_int_equal(run(bench, 12), OK);
        assert_int_equal(bench->result.outcome, RESULT_INTERRUPTED);
        assert_true(bench->fake->clock_ns - start_ns <
                    bench->config.interval_ns * bench->result.checkpoint_count);
        bench->stop = 0;
        assert_int_equal(job_remove_files(&bench->job, &bench->err), OK);
        assert_int_equal(bench->fake->file_count, 0);
        job_fini(&bench->job);
        buffer_close(&bench->pool);
        result_fini(&bench->result);
        bench->fake->log_count = 0;
    }
}

/* Every rank with something to write has a buffer, all together no more than there are. */
static void the_pool_is_divided(void **state) {
    struct bench *bench = *state;
    struct snapshot_plan plan;
    uint64_t whole = snapshot_whole_bytes(&bench->shards, CHUNK) / CHUNK;
    for (uint64_t buffers = 8; buffers < whole + 40; buffers += 7) {
        assert_int_equal(snapshot_plan(&bench->shards, CHUNK, buffers * CHUNK + CHUNK - 1, &plan,
                                       &bench->err), OK);
        assert_true(plan.buffers == (buffers < whole ? buffers : whole));
        bench->job = (struct job){.io = &bench->io, .shards = &bench->shards, .arena = &bench->arena};
        const struct snapshot *snapshots = snapshots_new(&bench->job, &plan);
        uint64_t used = 0;
        for (uint32_t rank = 0; rank < 8; rank++) {
            assert_true(snapshots[rank].buffers >= 1);
            assert_true(snapshots[rank].first_buffer == used);
            used += snapshots[rank].buffers;
        }
        assert_true(used <= plan.buffers && used + 8 > plan.buffers);
    }
    assert_int_equal(snapshot_plan(&bench->shards, CHUNK, 8 * CHUNK - 1, &plan, &bench->err),
                     ERR_USAGE);
    assert_non_null(strstr(bench->err.text, "--snapshot-memory"));
    assert_non_null(strstr(bench->err.text, "8 ranks"));
}

/* What is copied is compressed as it is written, however long a writer waits for its next chunk. */
static void compresses_what_was_copied(void **state) {
    struct bench *bench = *state;
    bench->io.codec = (struct codec_choice){CODEC_ZSTD, 1};
    assert_int_equal(shards_compress(&bench->shards, &bench->io.codec, CHUNK, &bench->err), OK);
    bench->fake->capacity_bytes = fill_checkpoint_bytes(&bench->shards) * 4;
    bench->fake->late_copies = true;
    assert_int_equal(run(bench, 11), OK);
    assert_int_equal(bench->result.outcome, RESULT_COMPLETE);
    uint64_t windows = 0;
    for (uint32_t rank = 0; rank < 8; rank++) {
        for (uint64_t i = 0; i < bench->shards.shares[rank].files; i++) {
            struct shard_file file;
            shards_file(&bench->shards, rank, i, 1, &file);
            windows += codec_windows(file.bytes, CHUNK);
        }
    }
    for (uint32_t i = 0; i < bench->result.checkpoint_count; i++) {
        const struct checkpoint_record *record = &bench->result.checkpoints[i];
        assert_true(record->complete && record->bytes == bench->plan.checkpoint_bytes);
        assert_true(record->compress_ns_sum == 100 * windows);
        assert_true(record->stored_bytes > 0 && record->stored_bytes < bench->shards.most_bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ranks_compute_while_it_is_written, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(a_short_interval_holds_ranks_up, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(without_an_interval_all_of_the_drain_blocks, make_bench,
                                        drop_bench),
        cmocka_unit_test_setup_teardown(a_small_pool_stalls_longer, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(writing_begins_behind_the_copies, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(memory_need_not_be_there, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(modes_of_fsync_and_reuse, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(errors_end_the_run, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(a_full_drive_is_an_outcome, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(stops_soon_when_told, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(the_pool_is_divided, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(compresses_what_was_copied, make_bench, drop_bench),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
