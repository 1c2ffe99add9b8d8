/* The job knows no drive: on an engine that writes nothing, on a drive that is bandwidth alone and
 * on a full model of one it issues the same requests, in the same order, rank by rank. */
#include "tests/unit/support.h"

#include "base/prng.h"
#include "sim/drive/drive_build.h"
#include "sim/job/job.h"
#include "tests/unit/fake_engine.h"

#define DRIVE "x200p-7.68tb"
#define HOST "r760-dlio2"
#define CAPACITY_BYTES UINT64_C(7680000000000)

enum { RANKS_MAX = 512 };

/* What one rank asked for, a number per request. */
struct rank_story {
    uint64_t *requests;
    size_t count, capacity;
};

/* An engine around another one that writes down what is asked. */
struct recording {
    struct engine base;
    struct engine *inner;
    struct rank_story ranks[RANKS_MAX];
    uint64_t submitted, returned, stop_after;
    volatile sig_atomic_t *stop;
};

static uint64_t mix_text(uint64_t hash, const char *text) {
    for (; text != NULL && *text != '\0'; text++) {
        hash = prng_mix(hash ^ (unsigned char)*text);
    }
    return prng_mix(hash);
}

static uint64_t mix_request(const struct io_request *request) {
    uint64_t hash = prng_mix(request->op);
    hash = prng_mix(hash ^ request->offset);
    hash = prng_mix(hash ^ request->length_bytes);
    hash = prng_mix(hash ^ request->pause_ns);
    hash = mix_text(hash, request->path);
    hash = mix_text(hash, request->new_path);
    if (request->file != NULL) {
        hash = mix_text(hash, request->file->path);
        hash = prng_mix(hash ^ request->file->size_bytes);
        hash = prng_mix(hash ^ request->file->mode ^ (uint64_t)request->file->plain << 8);
    }
    return hash;
}

static void recording_submit(struct engine *engine, struct io_request *request) {
    struct recording *recording = (struct recording *)engine;
    struct rank_story *story = &recording->ranks[request->rank];
    if (story->count == story->capacity) {
        story->capacity = story->capacity * 2 + 64;
        story->requests = realloc(story->requests, story->capacity * sizeof *story->requests);
    }
    story->requests[story->count++] = mix_request(request);
    recording->submitted++;
    engine_submit(recording->inner, request);
}

static struct io_request *recording_wait(struct engine *engine, uint64_t timeout_ns) {
    struct recording *recording = (struct recording *)engine;
    struct io_request *request = engine_wait(recording->inner, timeout_ns);
    recording->returned += request != NULL;
    if (recording->stop_after > 0 && recording->returned == recording->stop_after) {
        *recording->stop = 1;
    }
    return request;
}

static uint64_t recording_now(struct engine *engine) {
    return engine_now(((struct recording *)engine)->inner);
}

static void recording_cancel(struct engine *engine) {
    engine_cancel_pauses(((struct recording *)engine)->inner);
}

static int recording_space(struct engine *engine, uint64_t *free_bytes, uint64_t *total_bytes) {
    struct engine *inner = ((struct recording *)engine)->inner;
    return inner->ops->space(inner, free_bytes, total_bytes);
}

static const struct engine_ops recording_ops = {.name = "recording",
                                                .submit = recording_submit,
                                                .wait = recording_wait,
                                                .now = recording_now,
                                                .cancel_pauses = recording_cancel,
                                                .space = recording_space};

static void recording_fini(struct recording *recording) {
    for (int i = 0; i < RANKS_MAX; i++) {
        free(recording->ranks[i].requests);
    }
}

struct bench {
    struct arena arena;
    struct plan plan;
    struct shards shards;
    struct job_config config;
    struct engine_config io;
    uint64_t capacity_bytes;
    volatile sig_atomic_t stop;
};

/* One run of the job on an engine, which is closed by the caller. */
struct told {
    struct recording recording;
    struct result result;
};

static struct told *tell(struct bench *bench, struct engine *engine, uint64_t stop_after) {
    struct told *told = calloc(1, sizeof *told);
    struct recorder recorder;
    struct error err = {0};
    bench->stop = 0;
    told->recording.base.ops = &recording_ops;
    told->recording.inner = engine;
    told->recording.stop = &bench->stop;
    told->recording.stop_after = stop_after;
    told->result.arena = &bench->arena;
    struct job job = {.config = &bench->config,
                      .io = &bench->io,
                      .shards = &bench->shards,
                      .engine = &told->recording.base,
                      .recorder = &recorder,
                      .arena = &bench->arena,
                      .run_id = "test",
                      .stop = &bench->stop};
    recorder_init(&recorder, &told->result, bench->plan.ranks, &bench->arena);
    job_init(&job);
    if (job_run(&job, &err) != OK) {
        fail_msg("%s", err.text);
    }
    job_fini(&job);
    assert_true(told->recording.submitted == told->recording.returned);
    return told;
}

static void drop(struct told *told) {
    recording_fini(&told->recording);
    result_fini(&told->result);
    free(told);
}

static void compare(const struct bench *bench, const struct told *one, const struct told *other,
                    const char *name) {
    for (uint32_t rank = 0; rank < bench->plan.ranks; rank++) {
        const struct rank_story *a = &one->recording.ranks[rank],
                                *b = &other->recording.ranks[rank];
        for (size_t i = 0; i < a->count && i < b->count; i++) {
            if (a->requests[i] != b->requests[i]) {
                fail_msg("%s: rank %u asks for something else in request %zu", name, rank, i);
            }
        }
        if (a->count != b->count) {
            fail_msg("%s: rank %u makes %zu requests instead of %zu", name, rank, b->count,
                     a->count);
        }
    }
    assert_true(one->recording.submitted == other->recording.submitted);
    assert_int_equal(one->result.outcome, other->result.outcome);
    assert_int_equal(one->result.checkpoint_count, other->result.checkpoint_count);
    for (uint32_t i = 0; i < one->result.checkpoint_count; i++) {
        assert_int_equal(one->result.checkpoints[i].pass, other->result.checkpoints[i].pass);
        assert_true(one->result.checkpoints[i].bytes == other->result.checkpoints[i].bytes);
        assert_true(other->result.checkpoints[i].complete);
    }
}

static struct engine *open_null(struct bench *bench) {
    struct engine_config io = bench->io;
    struct engine *engine = NULL;
    struct error err = {0};
    io.quota_bytes = bench->capacity_bytes;
    if (engine_open("null", &io, &engine, &err) != OK) {
        fail_msg("%s", err.text);
    }
    return engine;
}

/* A built-in drive; with all its user bytes spare and nothing written before, as a pipe. */
static struct engine *open_drive(struct bench *bench, const char *name, const char *host_name,
                                 bool pipe, enum placement_policy placement) {
    struct drive_config config = {0};
    struct drive_sheet sheet;
    struct host_config host;
    struct drive_engine_config engine_config;
    struct engine *engine = NULL;
    struct error err = {0};
    if (drive_config_read(name, NULL, &bench->arena, &config, &err) != OK ||
        drive_sheet_make(&config, DRIVE_AS_MEASURED, &bench->arena, &sheet, &err) != OK ||
        host_config_read(host_name, NULL, &bench->arena, &host, &err) != OK) {
        fail_msg("%s", err.text);
    }
    struct drive_choices choices = {.placement = placement,
                                    .buffered = bench->io.direct == IO_DIRECT_OFF,
                                    .used_before = !pipe,
                                    .ranks = bench->plan.ranks,
                                    .memory_limit_bytes = UINT64_C(1) << 31,
                                    .seed = 1};
    drive_build(&sheet, &host, &choices, &bench->arena, &engine_config);
    if (pipe) {
        engine_config.ftl.raw_bytes = 2 * engine_config.ftl.logical_bytes;
    }
    if (drive_engine_open(&engine_config, &engine, &err) != OK) {
        fail_msg("%s", err.text);
    }
    assert_true(engine_config.capacity_bytes == bench->capacity_bytes);
    return engine;
}

static void set_up(struct bench *bench, const struct plan_request *request) {
    struct error err = {0};
    *bench = (struct bench){.capacity_bytes = CAPACITY_BYTES};
    if (plan_build(request, &bench->arena, &bench->plan, &err) != OK) {
        fail_msg("%s", err.text);
    }
    assert_in_range(bench->plan.ranks, 1, RANKS_MAX);
    shards_raw(&bench->plan, &bench->arena, &bench->shards);
    bench->config = (struct job_config){.fill = {.share = 0.88}, .passes = 3};
    bench->io = (struct engine_config){.ranks = bench->plan.ranks,
                                       .chunk_bytes = UINT64_C(1) << 30,
                                       .queue_depth = 2,
                                       .direct = IO_DIRECT_OFF,
                                       .payload = {.compressible = 1, .dedupe = 1}};
}

static void compare_on(struct bench *bench, const struct told *expected, struct engine *drive,
                       const char *name) {
    struct told *told = tell(bench, drive, 0);
    compare(bench, expected, told, name);
    drop(told);
    engine_close(drive);
}

static void same_on_a_pipe(struct bench *bench, const struct told *expected) {
    static const char *const hosts[] = {"r760-dlio2", "ideal"};
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        struct engine *pipe = open_drive(bench, DRIVE, hosts[i], true, PLACEMENT_FIRST_FIT);
        compare_on(bench, expected, pipe, "pipe");
    }
}

static void same_on_a_drive(struct bench *bench, const struct told *expected,
                            enum placement_policy policy) {
    struct engine *drive = open_drive(bench, DRIVE, HOST, false, policy);
    compare_on(bench, expected, drive, placement_policy_name(policy));
}

static const struct plan_request reviews = {.model = "llama405b",
                                            .layout = "dlio2",
                                            .tp = 4,
                                            .pp = 2,
                                            .scale = 1,
                                            .zero_stage = PLAN_ZERO_DEFAULT};

static struct told *tell_null(struct bench *bench) {
    struct engine *null = open_null(bench);
    struct told *told = tell(bench, null, 0);
    engine_close(null);
    assert_int_equal(told->result.outcome, RESULT_COMPLETE);
    return told;
}

/* Where it matters which files are there, the null engine, which has none, cannot tell what to
 * expect; an engine that keeps names in memory can. */
static struct told *tell_fake(struct bench *bench) {
    struct fake_engine *fake = fake_open(bench->capacity_bytes);
    struct told *told = tell(bench, &fake->base, 0);
    fake_close(fake);
    assert_int_equal(told->result.outcome, RESULT_COMPLETE);
    return told;
}

static void the_reviews_job(void **state) {
    (void)state;
    struct bench bench;
    set_up(&bench, &reviews);
    struct told *expected = tell_null(&bench);
    assert_int_equal(expected->result.checkpoint_count, 12);
    same_on_a_pipe(&bench, expected);
    for (enum placement_policy policy = PLACEMENT_EXT4; policy <= PLACEMENT_FIRST_FIT; policy++) {
        same_on_a_drive(&bench, expected, policy);
    }
    drop(expected);
    arena_fini(&bench.arena);
}

static void every_way_of_writing(void **state) {
    (void)state;
    static const int syncs[] = {JOB_FSYNC_NONE, JOB_FSYNC_FILE, JOB_FSYNC_CHECKPOINT};
    static const int reuses[] = {JOB_TRUNCATE, JOB_OVERWRITE, JOB_DELETE};
    for (size_t i = 0; i < 18; i++) {
        struct bench bench;
        set_up(&bench, &reviews);
        bench.config.fsync = syncs[i % 3];
        bench.config.reuse = reuses[i / 3 % 3];
        bench.config.commit = i >= 9;
        bench.config.passes = 2;
        bench.config.checkpoints_per_pass = 2;
        bench.config.interval_ns = i % 2 == 0 ? 0 : 1000;
        bench.io.direct = i % 4 == 0 ? IO_DIRECT_ON : IO_DIRECT_OFF;
        bench.io.queue_depth = 1 + i % 4;
        bool names_matter = bench.config.commit || bench.config.reuse == JOB_DELETE;
        struct told *expected = names_matter ? tell_fake(&bench) : tell_null(&bench);
        same_on_a_pipe(&bench, expected);
        same_on_a_drive(&bench, expected, (enum placement_policy)(i % 4));
        drop(expected);
        arena_fini(&bench.arena);
    }
}

static void hundreds_of_ranks(void **state) {
    (void)state;
    struct bench bench;
    struct plan_request request = reviews;
    request.dp = 64;
    request.scale = 0.02;
    set_up(&bench, &request);
    assert_int_equal(bench.plan.ranks, 512);
    bench.config.passes = 2;
    bench.config.checkpoints_per_pass = 2;
    struct told *expected = tell_null(&bench);
    same_on_a_pipe(&bench, expected);
    same_on_a_drive(&bench, expected, PLACEMENT_EXT4);
    drop(expected);
    arena_fini(&bench.arena);
}

/* Asked to stop, a run ends with what is under way. */
static void stops_soon(void **state) {
    (void)state;
    struct bench bench;
    set_up(&bench, &reviews);
    bench.config.interval_ns = UINT64_C(3600000000000);
    for (uint64_t after = 1; after < 20000; after = after * 3 + 1) {
        struct engine *drive = open_drive(&bench, DRIVE, HOST, false, PLACEMENT_EXT4);
        struct told *told = tell(&bench, drive, after);
        assert_int_equal(told->result.outcome, RESULT_INTERRUPTED);
        /* what was under way, a close for each rank, and removing the broken checkpoint's files */
        uint64_t more = bench.plan.ranks * (bench.io.queue_depth + 2) + bench.plan.files + 16;
        assert_true(told->recording.returned <= after + more);
        drop(told);
        engine_close(drive);
    }
    arena_fini(&bench.arena);
}

/* The records are those of the virtual clock: the same run gives the same ones. */
static void the_clock_is_the_drives(void **state) {
    (void)state;
    struct bench bench;
    set_up(&bench, &reviews);
    struct told *told[2];
    for (int i = 0; i < 2; i++) {
        struct engine *drive = open_drive(&bench, DRIVE, HOST, false, PLACEMENT_EXT4);
        told[i] = tell(&bench, drive, 0);
        assert_true(told[i]->result.elapsed_ns == engine_now(drive));
        engine_close(drive);
    }
    uint64_t end = 0;
    assert_int_equal(told[0]->result.checkpoint_count, 12);
    for (uint32_t i = 0; i < 12; i++) {
        const struct checkpoint_record *one = &told[0]->result.checkpoints[i];
        const struct checkpoint_record *other = &told[1]->result.checkpoints[i];
        assert_true(one->duration_ns == other->duration_ns);
        assert_true(one->start_ns == other->start_ns);
        assert_true(one->start_ns >= end);
        end = one->start_ns + one->duration_ns;
    }
    drop(told[0]);
    drop(told[1]);
    arena_fini(&bench.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reviews_job),         cmocka_unit_test(every_way_of_writing),
        cmocka_unit_test(hundreds_of_ranks),       cmocka_unit_test(stops_soon),
        cmocka_unit_test(the_clock_is_the_drives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
