#include "tests/unit/support.h"

#include "metrics/mlperf_rules.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT = 10 };
#define SECOND UINT64_C(1000000000)

struct spec {
    int rules;
    const char *fsync;
};

static const struct setting_row rows[] = {
    {.name = "rules", .type = SETTING_CHOICE, .choices = "none|mlperf", .fallback = "mlperf",
     .field = offsetof(struct spec, rules), .commands = 1},
    {.name = "fsync", .type = SETTING_TEXT, .fallback = "file",
     .field = offsetof(struct spec, fsync), .commands = 1},
};

struct run {
    struct arena arena;
    struct spec spec;
    struct settings settings;
    struct checkpoint_record checkpoints[COUNT + 1];
    struct read_record reads[COUNT + 1];
    struct result result;
    struct rule_finding findings[RULES_MAX];
    size_t count;
};

/* A run that keeps all rules. */
static int make(void **state) {
    struct run *run = calloc(1, sizeof *run);
    settings_init(&run->settings, rows, COUNT_OF(rows), 1, &run->spec, &run->arena);
    struct result *result = &run->result;
    *result = (struct result){
        .plan = {.model = "llama3_8b", .layout = "dlio", .format = "torch", .ranks = 8, .scale = 1,
                 .checkpoint_bytes = 112425623552},
        .settings = &run->settings,
        .checkpoint_count = COUNT,
        .checkpoints = run->checkpoints,
        .read_count = COUNT,
        .reads = run->reads,
        .restore = {.reads = COUNT, .rank_shift = 1, .verify = true},
    };
    result->sync_latency.count = COUNT * 16;
    for (uint32_t i = 0; i < COUNT; i++) {
        run->checkpoints[i] = (struct checkpoint_record){
            .complete = true, .start_ns = i * 15 * SECOND, .duration_ns = 10 * SECOND};
        run->reads[i] = (struct read_record){.complete = true, .verified = true};
    }
    result->machine.arena = result->file_system.arena = &run->arena;
    facts_count(&result->machine, "memory_bytes", UINT64_C(1) << 40);
    facts_text(&result->file_system, "results", "on another file system");
    *state = run;
    return 0;
}

static int drop(void **state) {
    struct run *run = *state;
    arena_fini(&run->arena);
    free(run);
    return 0;
}

static void check(struct run *run) { run->count = mlperf_rules_check(&run->result, run->findings); }

/* The rule with this word in it; the only one that is not met, or one that is. */
static void only_missed(struct run *run, const char *word) {
    check(run);
    for (size_t i = 0; i < run->count; i++) {
        bool wanted = strstr(run->findings[i].rule, word) != NULL;
        if (wanted != (run->findings[i].verdict == RULE_NOT_MET)) {
            fail_msg("%s: %s, %s", run->findings[i].rule,
                     rule_verdict_name(run->findings[i].verdict), run->findings[i].found);
        }
    }
}

static void all_met(void **state) {
    struct run *run = *state;
    assert_true(mlperf_rules_apply(&run->result));
    check(run);
    size_t unchecked = 0;
    for (size_t i = 0; i < run->count; i++) {
        assert_int_not_equal(run->findings[i].verdict, RULE_NOT_MET);
        unchecked += run->findings[i].verdict == RULE_NOT_CHECKED;
    }
    assert_int_equal(unchecked, 1); /* that another client reads */
}

static void each_is_missed(void **state) {
    struct run *run = *state;
    run->result.plan.scale = 0.5;
    only_missed(run, "whole");
    run->result.plan.scale = 1;
    run->result.plan.ranks = 16;
    only_missed(run, "processes");
    run->result.plan.ranks = 8;
    run->result.plan.layout = "dlio2";
    only_missed(run, "optimizer");
    run->result.plan.layout = "dlio";
    run->checkpoints[3].complete = false;
    only_missed(run, "10 checkpoints written");
    run->checkpoints[3].complete = true;
    run->result.read_count = 9;
    only_missed(run, "checkpoints read back");
    run->result.read_count = COUNT;
    run->checkpoints[4].duration_ns += 1;
    only_missed(run, "5 seconds");
    run->checkpoints[4].duration_ns -= 1;
    run->result.sync_latency.count = 0;
    only_missed(run, "synced");
    run->result.sync_latency.count = 1;
    run->reads[7].cached = true;
    only_missed(run, "memory");
    run->reads[7].cached = false;
    facts_text(&run->result.file_system, "x", "y");
    run->result.file_system.items[0].text = "on this file system";
    only_missed(run, "file systems");
}

/* Ten checkpoints of four times the memory: no cache can hold them. */
static void large_writes_need_no_cold_cache(void **state) {
    struct run *run = *state;
    run->reads[7].cached = true;
    run->result.machine.items[0].number = UINT64_C(200) << 30;
    check(run);
    for (size_t i = 0; i < run->count; i++) {
        assert_int_not_equal(run->findings[i].verdict, RULE_NOT_MET);
    }
}

static void a_subset_is_of_the_8b_model_alone(void **state) {
    struct run *run = *state;
    run->result.plan.model = "mlperf-llama3-70b";
    only_missed(run, "processes");
    run->result.plan.model = "llama-2-7b";
    check(run);
    assert_int_equal(run->findings[0].verdict, RULE_NOT_MET);
}

static void asked_for_or_not(void **state) {
    struct run *run = *state;
    struct error err;
    assert_int_equal(settings_set(&run->settings, "rules", "none", "test", &err), OK);
    assert_false(mlperf_rules_apply(&run->result));
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    mlperf_rules_report(&run->result, stream);
    fclose(stream);
    assert_int_equal(length, 0);
    free(text);
    run->result.settings = NULL;
    assert_false(mlperf_rules_apply(&run->result));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_met, make, drop),
        cmocka_unit_test_setup_teardown(each_is_missed, make, drop),
        cmocka_unit_test_setup_teardown(large_writes_need_no_cold_cache, make, drop),
        cmocka_unit_test_setup_teardown(a_subset_is_of_the_8b_model_alone, make, drop),
        cmocka_unit_test_setup_teardown(asked_for_or_not, make, drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
