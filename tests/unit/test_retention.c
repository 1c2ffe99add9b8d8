/* Which checkpoints stay: the arithmetic against its definition, and a job that keeps to it. */
#include "tests/unit/support.h"

#include "base/prng.h"
#include "sim/job/job.h"
#include "tests/unit/fake_engine.h"

#include <time.h>

enum { SLOTS = 40 };

/* By the definition: among the newest `last`, or a multiple of `every`, or still needed. */
static bool stays(const struct retention *keep, const uint64_t *serials, uint64_t slot,
                  uint64_t first_needed) {
    uint64_t newer = 0;
    for (uint64_t i = 1; i < SLOTS; i++) {
        newer += serials[i] > serials[slot];
    }
    return keep->last == 0 || newer < keep->last || (keep->every > 0 && slot % keep->every == 0) ||
           serials[slot] >= first_needed;
}

static void victims_are_those_of_the_definition(void **state) {
    (void)state;
    const char *given = getenv("SEED");
    uint64_t random = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("# SEED=%llu\n", (unsigned long long)random);
    for (int round = 0; round < 3000; round++) {
        struct retention keep = {prng_next(&random) % 5, prng_next(&random) % 4};
        uint64_t serials[SLOTS] = {0}, wanted[SLOTS] = {0}, serial = 0;
        for (int i = 0; i < 60; i++) { /* slots are written in any order, over passes */
            serials[1 + prng_next(&random) % (SLOTS - 1)] = ++serial;
        }
        uint64_t first_needed = prng_next(&random) % 3 > 0 ? UINT64_MAX : 1 + prng_next(&random) % 60;
        for (uint64_t slot = 1; slot < SLOTS; slot++) {
            bool kept = serials[slot] > 0 && stays(&keep, serials, slot, first_needed);
            wanted[slot] = kept ? serials[slot] : 0;
        }
        uint64_t victim, before = 0;
        while ((victim = retention_victim(&keep, serials, SLOTS, first_needed)) > 0) {
            assert_true(serials[victim] > before); /* the oldest first */
            before = serials[victim];
            serials[victim] = 0;
        }
        assert_memory_equal(serials, wanted, sizeof serials);
    }
}

/* A checkpoint after the other: no more are ever there at once than was said, the newest always is. */
static void no_more_than_was_said(void **state) {
    (void)state;
    for (uint64_t last = 1; last < 6; last++) {
        for (uint64_t every = 0; every < 6; every++) {
            struct retention keep = {last, every};
            uint64_t serials[SLOTS] = {0}, most = 0;
            for (uint64_t slot = 1; slot < SLOTS; slot++) {
                serials[slot] = slot;
                uint64_t count = 0, victim;
                for (uint64_t i = 1; i < SLOTS; i++) {
                    count += serials[i] > 0;
                }
                most = count > most ? count : most;
                while ((victim = retention_victim(&keep, serials, SLOTS, UINT64_MAX)) > 0) {
                    assert_true(victim != slot);
                    serials[victim] = 0;
                }
                assert_true(serials[slot] > 0);
            }
            assert_true(most <= retention_most(&keep, SLOTS - 1));
            assert_true(every > 0 || most == last + 1);
        }
    }
    struct retention all = {0, 0}, huge = {UINT64_MAX, 1};
    assert_true(retention_most(&all, 7) == 7);
    assert_true(retention_most(&huge, 7) == 7);
}

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
};

static int make_bench(void **state) {
    struct bench *bench = calloc(1, sizeof *bench);
    struct plan_request request = {.model = "llama-2-7b", .layout = "dlio2", .tp = 2, .pp = 1,
                                   .scale = 1e-4, .zero_stage = PLAN_ZERO_DEFAULT};
    assert_int_equal(plan_build(&request, &bench->arena, &bench->plan, &bench->err), OK);
    shards_raw(&bench->plan, &bench->arena, &bench->shards);
    bench->config = (struct job_config){.fill = {.share = 1}, .passes = 2, .commit = true,
                                        .checkpoints_per_pass = 7, .keep = {2, 3}};
    bench->io = (struct engine_config){.ranks = 2, .chunk_bytes = 65536, .queue_depth = 2,
                                       .payload = {.seed = 1, .compressible = 1, .dedupe = 1}};
    bench->fake = fake_open(fill_checkpoint_bytes(&bench->shards) * 9);
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

static enum status run(struct bench *bench) {
    bench->job = (struct job){.config = &bench->config, .io = &bench->io, .shards = &bench->shards,
                              .engine = &bench->fake->base, .recorder = &bench->recorder,
                              .arena = &bench->arena, .run_id = "test"};
    recorder_init(&bench->recorder, &bench->result, bench->plan.ranks, &bench->arena);
    job_init(&bench->job);
    return job_run(&bench->job, &bench->err);
}

static bool is_there(const struct bench *bench, int slot) {
    char name[MANIFEST_NAME];
    manifest_name(MANIFEST_COMPLETE, (uint32_t)slot, name);
    return fake_find(bench->fake, name) != NULL;
}

static void a_job_keeps_to_it(void **state) {
    struct bench *bench = *state;
    assert_int_equal(run(bench), OK);
    assert_int_equal(bench->result.checkpoint_count, 14);
    static const bool kept[] = {false, false, false, true, false, false, true, true};
    size_t shards = 0;
    for (int slot = 1; slot <= 7; slot++) {
        assert_int_equal(is_there(bench, slot), kept[slot]);
    }
    for (size_t i = 0; i < bench->fake->file_count; i++) {
        shards += strstr(bench->fake->files[i].path, ".pt") != NULL;
    }
    assert_true(shards == 3 * bench->plan.files); /* 3, 6 and 7 alone, to the last file */
    assert_true(bench->result.checkpoints[1].removal_ns == 0); /* the first two remove nothing */
    assert_true(bench->result.checkpoints[2].removal_ns > 0);
    assert_int_equal(job_remove_files(&bench->job, &bench->err), OK);
    assert_int_equal(bench->fake->file_count, 0);
}

/* Room for few is enough for many where older ones go. */
static void a_small_drive_is_enough(void **state) {
    struct bench *bench = *state;
    bench->config.keep = (struct retention){1, 0};
    bench->config.checkpoints_per_pass = 50;
    uint64_t each = fill_checkpoint_bytes(&bench->shards), room = 2 * each + each / 2;
    bench->fake->capacity_bytes = room;
    assert_true(job_checkpoints_that_fit(&bench->config, &bench->shards, room, room) == 50);
    assert_true(job_checkpoints_that_fit(&bench->config, &bench->shards, each, room) == 1);
    assert_int_equal(run(bench), OK);
    assert_int_equal(bench->result.outcome, RESULT_COMPLETE);
    assert_int_equal(bench->result.checkpoint_count, 100);
    assert_true(is_there(bench, 50) && !is_there(bench, 49));
}

/* The new checkpoint is complete before an older one goes, and the older one's manifest goes first. */
static void the_newest_is_never_in_danger(void **state) {
    struct bench *bench = *state;
    bench->config.keep = (struct retention){1, 0};
    assert_int_equal(run(bench), OK);
    int complete = 0;
    bool manifest[8] = {false};
    for (size_t i = 0; i < bench->fake->log_count; i++) {
        const struct fake_event *event = &bench->fake->log[i];
        int slot;
        char word[20] = "";
        if (sscanf(event->path, "ckpt-%d.%19[a-z]", &slot, word) == 2 && strcmp(word, "manifest") == 0) {
            bool put = event->op == IO_RENAME, gone = event->op == IO_REMOVE;
            complete += put - (gone && manifest[slot]);
            manifest[slot] = put || (manifest[slot] && !gone);
        }
        assert_true(complete >= 1 || bench->fake->log[i].end_ns <
                                         bench->result.checkpoints[0].start_ns +
                                             bench->result.checkpoints[0].duration_ns +
                                             bench->result.checkpoints[0].commit_ns);
        if (event->op == IO_REMOVE && strstr(event->path, ".pt") != NULL) {
            slot = 0;
            const char *dash = strstr(event->path, "-1-");
            sscanf(event->path, "layer-%*d-1-%d-", &slot);
            slot = slot == 0 ? atoi(dash + 3) : slot;
            assert_false(manifest[slot]);
        }
    }
}

/* What cannot be removed ends the run, with the checkpoint it came after complete. */
static void a_removal_that_fails_is_an_error(void **state) {
    struct bench *bench = *state;
    bench->fake->fail_remove = ".pt";
    bench->fake->fail_errno = EIO;
    assert_int_equal(run(bench), ERR_FAILED);
    assert_int_equal(bench->result.checkpoint_count, 3);
    assert_true(bench->result.checkpoints[2].complete);
    assert_non_null(strstr(bench->err.text, "remove '"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(victims_are_those_of_the_definition),
        cmocka_unit_test(no_more_than_was_said),
        cmocka_unit_test_setup_teardown(a_job_keeps_to_it, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(a_small_drive_is_enough, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(the_newest_is_never_in_danger, make_bench, drop_bench),
        cmocka_unit_test_setup_teardown(a_removal_that_fails_is_an_error, make_bench, drop_bench),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
