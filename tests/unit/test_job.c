#include "tests/unit/support.h"

#include "sim/job/job.h"
#include "tests/unit/fake_engine.h"

struct bench {
    struct arena arena;
    struct plan plan;
    struct shards shards;
    struct fake_engine *fake;
    struct job_config config;
    struct engine_config io;
    struct result result;
    struct recorder recorder;
    struct job job;
    struct error err;
    volatile sig_atomic_t stop;
    size_t told; /* records that the observer was told of */
    bool last_settled;
};

static enum status observe(void *context, struct checkpoint_record *record, bool settled,
                           struct error *err) {
    struct bench *bench = context;
    (void)record;
    (void)err;
    bench->told++;
    bench->last_settled = settled;
    return OK;
}

/* Eight ranks, 260-odd files of some KB to some hundred KB; chunk 16 KiB. */
static int make_bench(void **state) {
    struct bench *bench = calloc(1, sizeof *bench);
    struct plan_request request = {.model = "llama-2-7b", .layout = "dlio2", .tp = 4, .pp = 2,
                                   .scale = 1e-4, .zero_stage = PLAN_ZERO_DEFAULT};
    assert_int_equal(plan_build(&request, &bench->arena, &bench->plan, &bench->err), OK);
    assert_int_equal(bench->plan.ranks, 8);
    shards_raw(&bench->plan, &bench->arena, &bench->shards);
    bench->config = (struct job_config){.fill = {.share = 1}, .passes = 2, .commit = true,
                                        .fsync = JOB_FSYNC_FILE, .reuse = JOB_TRUNCATE};
    bench->io = (struct engine_config){.ranks = 8, .chunk_bytes = 16384, .queue_depth = 3,
                                       .payload = {.seed = 1, .compressible = 1, .dedupe = 1}};
    bench->fake = fake_open(fill_checkpoint_bytes(&bench->shards) * 3 + 4096);
    bench->result.arena = &bench->arena;
    *state = bench;
    return 0;
}

static int drop_bench(void **state) {
    struct bench *bench = *state;
    fake_close(bench->fake);
    job_fini(&bench->job);
    result_fini(&bench->result);
    arena_fini(&bench->arena);
    free(bench);
    return 0;
}

static void set_up(struct bench *bench) {
    bench->job = (struct job){.config = &bench->config, .io = &bench->io, .shards = &bench->shards,
                              .engine = &bench->fake->base, .recorder = &bench->recorder,
                              .arena = &bench->arena, .run_id = "test", .stop = &bench->stop,
                              .observer = {bench, NULL, observe}};
    bench->fake->stop = &bench->stop;
    recorder_init(&bench->recorder, &bench->result, bench->plan.ranks, &bench->arena);
    job_init(&bench->job);
}

static enum status run(struct bench *bench) {
    set_up(bench);
    return job_run(&bench->job, &bench->err);
}

static bool is_shard(const struct fake_event *event) {
    return strstr(event->path, ".pt") != NULL;
}

static const struct fake_event *find_event(struct bench *bench, size_t from, enum io_op op,
                                           const char *path) {
    for (size_t i = from; i < bench->fake->log_count; i++) {
        if (bench->fake->log[i].op == op && strcmp(bench->fake->log[i].path, path) == 0) {
            return &bench->fake->log[i];
        }
    }
    return NULL;
}

static size_t count_events(struct bench *bench, enum io_op op, bool shards) {
    size_t count = 0;
    for (size_t i = 0; i < bench->fake->log_count; i++) {
        count += bench->fake->log[i].op == op && is_shard(&bench->fake->log[i]) == shards;
    }
    return count;
}

static void fills_in_passes(void **state) {
    struct bench *bench = *state;
    assert_int_equal(run(bench), OK);
    assert_int_equal(bench->result.outcome, RESULT_COMPLETE);
    assert_int_equal(bench->result.checkpoint_count, 6); /* three fit, two passes */
    assert_int_equal(bench->told, 6);
    for (uint32_t i = 0; i < 6; i++) {
        const struct checkpoint_record *record = &bench->result.checkpoints[i];
        assert_int_equal(record->pass, i / 3 + 1);
        assert_int_equal(record->checkpoint, i % 3 + 1);
        assert_true(record->complete);
        assert_true(record->bytes == bench->plan.checkpoint_bytes);
        assert_true(record->stored_bytes == RESULT_UNKNOWN);
        assert_true(record->compress_ns_sum == RESULT_UNKNOWN);
    }
    assert_int_equal(count_events(bench, IO_SYNC, true), 6 * bench->plan.files);
    assert_int_equal(bench->fake->most_writes, 3);
    assert_int_equal(job_remove_files(&bench->job, &bench->err), OK);
    assert_int_equal(bench->fake->file_count, 0);
}

static void times_run_from_barrier_to_slowest(void **state) {
    struct bench *bench = *state;
    bench->config.passes = 1;
    assert_int_equal(run(bench), OK);
    const struct checkpoint_record *record = &bench->result.checkpoints[1];
    uint64_t first = UINT64_MAX, last = 0, rank0_last = 0;
    for (size_t i = 0; i < bench->fake->log_count; i++) {
        const struct fake_event *event = &bench->fake->log[i];
        bool of_second = strstr(event->path, "-1-2-") != NULL; /* epoch 1, step 2 */
        if (!of_second || event->op == IO_REMOVE) {
            continue;
        }
        first = event->begin_ns < first ? event->begin_ns : first;
        last = event->end_ns > last ? event->end_ns : last;
        rank0_last = event->rank == 0 && event->end_ns > rank0_last ? event->end_ns : rank0_last;
    }
    assert_true(record->start_ns <= first);
    assert_true(record->start_ns + record->duration_ns == last);
    assert_true(record->start_ns + record->rank0_ns == rank0_last);
    /* the barrier: nothing of checkpoint 3 begins before checkpoint 2 has ended */
    assert_true(bench->result.checkpoints[2].start_ns >= last);
}

/* The tail follows the last window, in pieces of a chunk. */
static uint64_t check_compressed_file(struct bench *bench, const char *path, bool *several) {
    uint64_t raw = 0, tail = 0, tail_at = UINT64_MAX, tail_end = 0;
    bool ended = false;
    for (size_t i = 0; i < bench->fake->log_count; i++) {
        const struct fake_event *event = &bench->fake->log[i];
        if (strcmp(event->path, path) != 0 || event->op == IO_REMOVE) {
            continue;
        }
        assert_false(ended && event->op == IO_WRITE && !event->literal);
        assert_true(event->length <= bench->io.chunk_bytes);
        if (event->op == IO_WRITE && event->literal) {
            uint64_t end = event->offset + event->length;
            ended = true;
            tail += event->length;
            tail_at = event->offset < tail_at ? event->offset : tail_at;
            tail_end = end > tail_end ? end : tail_end;
        } else if (event->op == IO_WRITE) {
            raw += event->length;
        } else if (event->op == IO_SYNC) {
            assert_true(ended);
        }
    }
    uint64_t windows = codec_windows(raw, bench->io.chunk_bytes);
    assert_true(tail == seek_table_tail_bytes(windows) && tail_end - tail_at == tail);
    *several = *several || tail > bench->io.chunk_bytes;
    return fake_find(bench->fake, path)->size;
}

static void compresses(void **state) {
    struct bench *bench = *state;
    struct plan_request request = {.model = "llama-2-7b", .layout = "dlio2", .tp = 4, .pp = 2,
                                   .scale = 1e-3, .zero_stage = PLAN_ZERO_DEFAULT};
    assert_int_equal(plan_build(&request, &bench->arena, &bench->plan, &bench->err), OK);
    shards_raw(&bench->plan, &bench->arena, &bench->shards);
    bench->io.codec = (struct codec_choice){CODEC_ZSTD, 1};
    bench->io.chunk_bytes = 4096;
    assert_int_equal(shards_compress(&bench->shards, &bench->io.codec, 4096, &bench->err), OK);
    bench->fake->capacity_bytes = fill_checkpoint_bytes(&bench->shards) + 4096;
    bench->config.passes = 1;
    bench->config.checkpoints_per_pass = 1;
    assert_int_equal(run(bench), OK);
    const struct checkpoint_record *record = &bench->result.checkpoints[0];
    assert_true(record->complete && record->bytes == bench->plan.checkpoint_bytes);
    uint64_t stored = 0, windows = 0;
    bool several = false;
    for (uint32_t rank = 0; rank < 8; rank++) {
        for (uint64_t i = 0; i < bench->shards.shares[rank].files; i++) {
            struct shard_file file;
            shards_file(&bench->shards, rank, i, 1, &file);
            uint64_t size = check_compressed_file(bench, file.path, &several);
            assert_int_equal(size, bench->job.stored_bytes[bench->shards.first[rank] + i]);
            stored += size;
            windows += codec_windows(file.bytes, 4096);
        }
    }
    assert_true(several);
    assert_true(record->stored_bytes == stored && stored <= bench->shards.most_bytes);
    assert_true(record->compress_ns_sum == 100 * windows);
    assert_int_equal(job_remove_files(&bench->job, &bench->err), OK);
    assert_int_equal(bench->fake->file_count, 0);
}

/* For every slot and pass: manifest gone before a shard is touched, back after the last sync. */
static void commits_in_order(void **state) {
    struct bench *bench = *state;
    assert_int_equal(run(bench), OK);
    bool manifest[8] = {false}, listed[8] = {false};
    int latest = 0;
    for (size_t i = 0; i < bench->fake->log_count; i++) {
        const struct fake_event *event = &bench->fake->log[i];
        int slot = 0;
        bool of_manifest = strstr(event->path, ".manifest") != NULL;
        if (sscanf(event->path, "ckpt-%d.", &slot) == 1) {
            if (event->op == IO_RENAME) {
                (of_manifest ? manifest : listed)[slot] = true;
            } else if (event->op == IO_REMOVE && of_manifest) {
                manifest[slot] = false;
            }
        } else if (strcmp(event->path, MANIFEST_LATEST MANIFEST_TORN) == 0 && event->op == IO_RENAME) {
            latest++;
        } else if (is_shard(event)) {
            const char *dash = strstr(event->path, "-1-");
            assert_non_null(dash);
            slot = atoi(dash + 3);
            if (strncmp(event->path, "layer-", 6) == 0) {
                sscanf(event->path, "layer-%*d-1-%d-", &slot);
            }
            assert_in_range(slot, 1, 3);
            assert_false(manifest[slot]);
            assert_true(listed[slot]);
        }
    }
    assert_int_equal(latest, 6);
    const struct fake_event *put = find_event(bench, 0, IO_RENAME, "ckpt-0001.manifest.tmp");
    const struct fake_event *synced = find_event(bench, 0, IO_SYNC, "ckpt-0001.manifest.tmp");
    assert_non_null(put);
    assert_non_null(synced);
    assert_true(synced < put);
}

static void syncs_as_asked(void **state) {
    struct bench *bench = *state;
    bench->config.passes = 1;
    bench->config.checkpoints_per_pass = 1;
    bench->config.fsync = JOB_FSYNC_NONE;
    assert_int_equal(run(bench), OK);
    assert_int_equal(count_events(bench, IO_SYNC, true), 0);
    assert_int_equal(count_events(bench, IO_SYNC, false), 0);
    assert_int_equal(count_events(bench, IO_SYNC_DIR, false), 0);
}

/* Names of new files count once the folders that lead to them are synced, innermost first, and the
 * manifest comes after that. */
static void syncs_folders_outwards(void **state) {
    struct bench *bench = *state;
    struct plan_request request = {.model = "llama-2-7b", .layout = "megatron", .tp = 4, .pp = 2,
                                   .scale = 1e-5, .zero_stage = PLAN_ZERO_DEFAULT};
    assert_int_equal(plan_build(&request, &bench->arena, &bench->plan, &bench->err), OK);
    shards_raw(&bench->plan, &bench->arena, &bench->shards);
    bench->config.passes = 1;
    bench->config.checkpoints_per_pass = 1;
    assert_int_equal(run(bench), OK);
    size_t synced[3] = {0}, manifest = 0;
    static const char *const folders[] = {"iter_0000001/mp_rank_03_001", "iter_0000001", ""};
    for (size_t i = 0; i < bench->fake->log_count; i++) {
        const struct fake_event *event = &bench->fake->log[i];
        for (size_t k = 0; k < 3 && event->op == IO_SYNC_DIR; k++) {
            bool listing = k == 2 && synced[1] == 0; /* of the list of names, before the shards */
            if (strcmp(event->path, folders[k]) == 0 && synced[k] == 0 && !listing) {
                synced[k] = i;
            }
        }
        if (strcmp(event->path, "ckpt-0001.manifest.tmp") == 0 && manifest == 0) {
            manifest = i;
        }
    }
    assert_true(synced[0] > 0 && synced[0] < synced[1]);
    assert_true(synced[1] < synced[2] && synced[2] < manifest);
    assert_non_null(find_event(bench, manifest, IO_RENAME, "latest_checkpointed_iteration.txt.tmp"));
}

static void syncs_a_checkpoint_as_a_whole(void **state) {
    struct bench *bench = *state;
    bench->config.passes = 1;
    bench->config.checkpoints_per_pass = 1;
    bench->config.fsync = JOB_FSYNC_CHECKPOINT;
    assert_int_equal(run(bench), OK);
    assert_int_equal(count_events(bench, IO_SYNC, true), bench->plan.files);
    size_t last_write[8] = {0}, first_sync[8] = {0};
    for (size_t i = 0; i < bench->fake->log_count; i++) {
        const struct fake_event *event = &bench->fake->log[i];
        if (is_shard(event) && event->op == IO_WRITE) {
            last_write[event->rank] = i;
        } else if (is_shard(event) && event->op == IO_SYNC && first_sync[event->rank] == 0) {
            first_sync[event->rank] = i;
        }
    }
    for (int rank = 0; rank < 8; rank++) {
        assert_true(first_sync[rank] > last_write[rank]);
    }
}

static void deletes_before_a_pass(void **state) {
    struct bench *bench = *state;
    bench->config.reuse = JOB_DELETE;
    assert_int_equal(run(bench), OK);
    assert_int_equal(bench->result.checkpoint_count, 6);
    size_t removed = count_events(bench, IO_REMOVE, true);
    assert_int_equal(removed, 3 * bench->plan.files); /* all before pass 2 */
}

static void a_drive_that_fills_early_is_an_outcome(void **state) {
    struct bench *bench = *state;
    bench->config.passes = 3;
    bench->fake->hidden_limit_bytes = bench->plan.checkpoint_bytes * 5 / 2;
    assert_int_equal(run(bench), OK);
    assert_int_equal(bench->result.outcome, RESULT_DRIVE_FULL);
    assert_int_equal(bench->result.checkpoint_count, 7); /* 2 + broken one, then 2, then 2 */
    const struct checkpoint_record *broken = &bench->result.checkpoints[2];
    assert_false(broken->complete);
    assert_non_null(strstr(broken->note, "no space left on device (ENOSPC)"));
    assert_null(fake_find(bench->fake, "ckpt-0003.files"));
    assert_null(fake_find(bench->fake, "model-1-3-0.pt"));
    assert_non_null(fake_find(bench->fake, "ckpt-0002.manifest"));
    assert_non_null(fake_find(bench->fake, "model-1-2-0.pt"));
}

static void an_io_error_ends_the_run(void **state) {
    struct bench *bench = *state;
    set_up(bench);
    uint64_t per_checkpoint = 0;
    for (uint32_t rank = 0; rank < 8; rank++) {
        for (uint64_t i = 0; i < bench->plan.shares[rank].files; i++) {
            struct shard_file shard;
            plan_file(&bench->plan, rank, i, 1, &shard);
            per_checkpoint += (shard.bytes + 16383) / 16384;
        }
    }
    bench->fake->fail_write = per_checkpoint + 5;
    bench->fake->fail_errno = EIO;
    assert_int_equal(job_run(&bench->job, &bench->err), ERR_FAILED);
    assert_int_equal(bench->result.outcome, RESULT_FAILED);
    assert_int_equal(bench->result.checkpoint_count, 2);
    assert_true(bench->result.checkpoints[0].complete);
    assert_false(bench->result.checkpoints[1].complete);
    assert_non_null(strstr(bench->err.text, "pass 1, checkpoint 2: write '"));
    assert_non_null(strstr(bench->err.text, "input/output error (EIO)"));
    assert_false(bench->last_settled);
    assert_int_equal(bench->fake->pending_count, 0);
    assert_null(fake_find(bench->fake, "ckpt-0002.files")); /* the broken one is gone at once */
    assert_non_null(fake_find(bench->fake, "ckpt-0001.manifest"));
    assert_int_equal(job_remove_files(&bench->job, &bench->err), OK);
    assert_int_equal(bench->fake->file_count, 0);
}

static void stops_soon_when_told(void **state) {
    struct bench *bench = *state;
    bench->fake->stop_write = 40;
    assert_int_equal(run(bench), OK);
    assert_int_equal(bench->result.outcome, RESULT_INTERRUPTED);
    assert_int_equal(bench->result.checkpoint_count, 1);
    assert_false(bench->result.checkpoints[0].complete);
    assert_true(bench->fake->writes <= 40 + 8 * 3); /* no more than what was under way */
    assert_int_equal(bench->fake->file_count, 0);
    assert_false(bench->last_settled);
}

static void resumes_at_the_next_checkpoint(void **state) {
    struct bench *bench = *state;
    struct checkpoint_record last = {.pass = 1, .checkpoint = 2, .complete = true};
    bench->config.passes = 2;
    bench->config.checkpoints_per_pass = 3;
    set_up(bench);
    job_resume(&bench->job, &last, 2, 2);
    assert_int_equal(job_run(&bench->job, &bench->err), OK);
    assert_int_equal(bench->result.checkpoint_count, 4);
    assert_int_equal(bench->result.checkpoints[0].pass, 1);
    assert_int_equal(bench->result.checkpoints[0].checkpoint, 3);
    assert_int_equal(bench->result.checkpoints[1].pass, 2);
    assert_int_equal(bench->result.checkpoints[3].checkpoint, 3);
}

static void computes_between_checkpoints(void **state) {
    struct bench *bench = *state;
    bench->config.interval_ns = 5000000;
    assert_int_equal(run(bench), OK);
    assert_int_equal(count_events(bench, IO_PAUSE, false), 5); /* none after the last */
}

static void fill_arithmetic(void **state) {
    (void)state;
    struct fill full = {.share = 1}, some = {.share = 0.88, .reserve_bytes = 10},
                bounded = {.share = 1, .max_bytes = 300};
    assert_true(fill_room(&full, 900, 1000, 0) == 900);
    assert_true(fill_room(&some, 900, 1000, 0) == 780);
    assert_true(fill_room(&some, 100, 1000, 0) == 0);
    assert_true(fill_room(&some, 125, 1000, 0) == 5);
    assert_true(fill_room(&bounded, 900, 1000, 200) == 100);
    assert_true(fill_room(&bounded, 900, 1000, 400) == 0);
    assert_true(fill_room(&bounded, 50, 1000, 0) == 50);
}

#define WITH_BENCH(test) cmocka_unit_test_setup_teardown(test, make_bench, drop_bench)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_BENCH(fills_in_passes),
        WITH_BENCH(compresses),
        WITH_BENCH(times_run_from_barrier_to_slowest),
        WITH_BENCH(commits_in_order),
        WITH_BENCH(syncs_as_asked),
        WITH_BENCH(syncs_folders_outwards),
        WITH_BENCH(syncs_a_checkpoint_as_a_whole),
        WITH_BENCH(deletes_before_a_pass),
        WITH_BENCH(a_drive_that_fills_early_is_an_outcome),
        WITH_BENCH(an_io_error_ends_the_run),
        WITH_BENCH(stops_soon_when_told),
        WITH_BENCH(resumes_at_the_next_checkpoint),
        WITH_BENCH(computes_between_checkpoints),
        cmocka_unit_test(fill_arithmetic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
