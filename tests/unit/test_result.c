/* Passes and the two headline truths on hand-made numbers. */
#include "tests/unit/sample_result.h"

#include "base/check.h"
#include "metrics/metric_rows.h"
#include "metrics/truth.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct arena arena;
static struct result result;

static int setup(void **state) {
    (void)state;
    sample_fill(&result, &arena);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    result_fini(&result);
    arena_fini(&arena);
    return 0;
}

#define assert_close(left, right) assert_true(fabs((left) - (right)) < 1e-9 * fabs(right) + 1e-12)

static void pass_1(void **state) {
    (void)state;
    struct pass_record pass;
    assert_int_equal(result_pass_count(&result), 2);
    result_pass(&result, 1, &pass);
    assert_int_equal(pass.checkpoints, 4);
    assert_int_equal(pass.broken, 0);
    assert_close(pass.mean_seconds, 10.0);
    assert_close(pass.stdev_seconds, 0.0);
    assert_close(pass.rank0_mean_seconds, 8.0);
    assert_close(pass.bytes_per_second, 214748364.8);
    assert_close(pass.against_pass1, 0.0);
    assert_close(pass.drift, 0.0);
    assert_close(pass.sync_share, 4.0 / 72.0);
    assert_int_equal(pass.device_bytes, 4 * (2 * SAMPLE_GIB + 4096));
}

static void pass_2_leaves_the_broken_one_out(void **state) {
    (void)state;
    struct pass_record pass;
    result_pass(&result, 2, &pass);
    assert_int_equal(pass.checkpoints, 4);
    assert_int_equal(pass.broken, 1);
    assert_int_equal(pass.bytes, 8 * SAMPLE_GIB);
    assert_int_equal(pass.min_ns, 14 * SAMPLE_S);
    assert_int_equal(pass.max_ns, 16 * SAMPLE_S);
    assert_close(pass.mean_seconds, 15.0);
    assert_close(pass.stdev_seconds, 1.0);
    assert_close(pass.against_pass1, 0.5);
    assert_close(pass.drift, 16.0 / 14.0 - 1);
    assert_int_equal(pass.device_bytes, 4 * (2 * SAMPLE_GIB + 4096));
}

static void all_passes_together(void **state) {
    (void)state;
    struct pass_record all;
    result_all_passes(&result, &all);
    assert_int_equal(all.checkpoints, 8);
    assert_int_equal(all.broken, 1);
    assert_close(all.mean_seconds, 12.5);
    assert_true(isnan(all.against_pass1));
}

static void a_pass_without_a_complete_one_knows_nothing(void **state) {
    (void)state;
    sample_checkpoint(&result, 3, 1, 110, 5, 5)->complete = false;
    struct pass_record pass;
    result_pass(&result, 3, &pass);
    assert_int_equal(result_pass_count(&result), 3);
    assert_int_equal(pass.checkpoints, 0);
    assert_int_equal(pass.broken, 1);
    assert_true(isnan(pass.mean_seconds) && isnan(pass.stdev_seconds) && isnan(pass.drift));
    assert_true(isnan(pass.against_pass1) && isnan(pass.bytes_per_second));
    assert_true(pass.device_bytes == RESULT_UNKNOWN);
}

static void drift_takes_quarters(void **state) {
    (void)state;
    /* Nine checkpoints: a quarter is two. First two 10 and 20, last two 30 and 45: 75/30 - 1. */
    static const uint64_t times[] = {10, 20, 99, 99, 99, 99, 99, 30, 45};
    result.checkpoint_count = 0;
    for (uint32_t i = 0; i < 9; i++) {
        sample_checkpoint(&result, 1, i + 1, 0, times[i], 1);
    }
    struct pass_record pass;
    result_pass(&result, 1, &pass);
    assert_close(pass.drift, 1.5);
    result.checkpoint_count = 1;
    result_pass(&result, 1, &pass);
    assert_true(isnan(pass.drift));
}

static void one_unknown_device_count_spoils_the_sum(void **state) {
    (void)state;
    result.checkpoints[1].device_bytes = RESULT_UNKNOWN;
    struct pass_record pass;
    result_pass(&result, 1, &pass);
    assert_true(pass.device_bytes == RESULT_UNKNOWN);
}

/* Two checkpoints of 2 GiB: rank 0 takes 1 s and 2 s, the slowest 2 s and 4 s. DLIO: mean 1.5 s,
 * rates 2 and 1 GiB/s, mean 1.5 (not 4/3), stdev 0.5. The rules: mean 3 s, rates 1 and 0.5, mean
 * 0.75. */
static void dlio_and_the_rules_on_paper(void **state) {
    (void)state;
    result.checkpoint_count = 0;
    sample_checkpoint(&result, 1, 1, 0, 2, 1);
    sample_checkpoint(&result, 1, 2, 2, 4, 2);
    struct truth dlio = truth_as_dlio_reports(&result), rules = truth_as_mlperf_rules_say(&result);
    assert_int_equal(dlio.checkpoints, 2);
    assert_close(dlio.mean_seconds, 1.5);
    assert_close(dlio.stdev_seconds, 0.5);
    assert_close(dlio.max_seconds, 2.0);
    assert_close(dlio.mean_gib_per_second, 1.5);
    assert_close(dlio.stdev_gib_per_second, 0.5);
    assert_close(dlio.min_gib_per_second, 1.0);
    assert_close(rules.mean_seconds, 3.0);
    assert_close(rules.stdev_seconds, 1.0);
    assert_close(rules.mean_gib_per_second, 0.75);
    assert_close(rules.stdev_gib_per_second, 0.25);
    assert_close(rules.min_gib_per_second, 0.5);
    assert_close(truth_rate_difference_percent(&dlio, &rules), 100.0);
    assert_close(truth_seconds_difference_percent(&dlio, &rules), -50.0);
}

static void no_checkpoint_no_truth(void **state) {
    (void)state;
    result.checkpoint_count = 0;
    struct truth dlio = truth_as_dlio_reports(&result);
    assert_int_equal(dlio.checkpoints, 0);
    assert_true(isnan(dlio.mean_seconds) && isnan(dlio.min_gib_per_second));
    assert_true(isnan(truth_rate_difference_percent(&dlio, &dlio)));
}

static double metric(const struct metric_table *table, const char *key, const void *record) {
    const struct metric_row *row = metric_find(table, key);
    assert_non_null(row);
    struct metric_value value = metric_get(row, &result, record);
    assert_true(value.known);
    return row->kind == METRIC_NS ? (double)value.whole / 1e9 : value.number + (double)value.whole;
}

static void computed_checkpoint_metrics(void **state) {
    (void)state;
    const struct checkpoint_record *record = &result.checkpoints[4]; /* 14 s, rank 0 10 s */
    assert_close(metric(&metric_checkpoints, "seconds", record), 14.0);
    assert_close(metric(&metric_checkpoints, "rank0_seconds", record), 10.0);
    assert_close(metric(&metric_checkpoints, "mean_rank_seconds", record), 12.0);
    assert_close(metric(&metric_checkpoints, "bytes_per_second", record), 2147483648.0 / 14);
    assert_close(metric(&metric_checkpoints, "fsync_share", record), 1.0 / 24);
    assert_close(metric(&metric_checkpoints, "payload_share", record), 0.5 / 24);
    assert_close(metric(&metric_checkpoints, "fill", record), 0.8);
    assert_close(metric(&metric_checkpoints, "slowest_rank", record), 1.0);
}

static const char *limit_of(const struct metric_table *table, const void *record) {
    return metric_get(metric_find(table, "limit"), &result, record).text;
}

/* Checkpoint 4: 14 s and 10 s of two ranks, 2 GiB. */
static void compression_metrics(void **state) {
    (void)state;
    struct checkpoint_record *record = &result.checkpoints[4];
    static const char *const keys[] = {"stored_bytes", "compression_ratio", "limit",
                                       "stored_bytes_per_second", "compress_share",
                                       "compress_seconds_sum", "compress_wall_seconds_sum"};
    struct pass_record pass;
    result_pass(&result, 2, &pass);
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        assert_false(metric_get(metric_find(&metric_checkpoints, keys[i]), &result, record).known);
        assert_false(metric_get(metric_find(&metric_passes, keys[i]), &result, &pass).known);
    }
    result.plan.codec_workers = 2;
    record->stored_bytes = SAMPLE_GIB;
    record->compress_ns_sum = SAMPLE_S;
    record->compress_wall_ns_sum = 12 * SAMPLE_S - 1;
    assert_close(metric(&metric_checkpoints, "compression_ratio", record), 2.0);
    assert_close(metric(&metric_checkpoints, "stored_bytes_per_second", record), 1073741824.0 / 14);
    assert_string_equal(limit_of(&metric_checkpoints, record), "drive");
    record->compress_wall_ns_sum = 12 * SAMPLE_S;
    assert_close(metric(&metric_checkpoints, "compress_share", record), 0.5);
    assert_string_equal(limit_of(&metric_checkpoints, record), "compression");
    result.plan.codec_workers = 1; /* the two ranks share a worker */
    record->compress_wall_ns_sum = 9 * SAMPLE_S;
    assert_close(metric(&metric_checkpoints, "compress_share", record), 0.75);
    result_pass(&result, 2, &pass);
    assert_true(pass.stored_bytes == RESULT_UNKNOWN); /* of the others it is */
    result.plan.codec_workers = 2;
    for (uint32_t i = 4; i < 8; i++) {
        result.checkpoints[i].stored_bytes = SAMPLE_GIB;
        result.checkpoints[i].compress_ns_sum = SAMPLE_S;
        result.checkpoints[i].compress_wall_ns_sum = 3 * SAMPLE_S;
    }
    result_pass(&result, 2, &pass); /* 60 s of slowest ranks, 40 s of rank 0 */
    assert_close(metric(&metric_passes, "compression_ratio", &pass), 2.0);
    assert_close(metric(&metric_passes, "compress_share", &pass), 12.0 / 100);
    assert_close(metric(&metric_passes, "stored_bytes_per_second", &pass), 4 * 1073741824.0 / 60);
    assert_string_equal(limit_of(&metric_passes, &pass), "drive");
}

static void latency_metrics(void **state) {
    (void)state;
    const struct histogram *write = &result.write_latency; /* 1 ms to 1 s */
    assert_close(metric(&metric_latencies, "mean_seconds", write), 0.5005);
    assert_close(metric(&metric_latencies, "min_seconds", write), 0.001);
    assert_close(metric(&metric_latencies, "max_seconds", write), 1.0);
    double p90 = metric(&metric_latencies, "p90_seconds", write);
    assert_true(p90 >= 0.9 && p90 <= 0.9 * (1 + 1.0 / 64));
    assert_close(metric(&metric_latencies, "p99_99_seconds", write), 1.0);
}

static void rows_are_told_apart(void **state) {
    (void)state;
    const struct metric_table *const tables[] = {&metric_checkpoints, &metric_passes,
                                                 &metric_truths, &metric_latencies};
    for (size_t t = 0; t < 4; t++) {
        for (size_t i = 0; i < tables[t]->count; i++) {
            const struct metric_row *row = &tables[t]->rows[i];
            assert_ptr_equal(metric_find(tables[t], row->key), row);
            assert_true((row->size == 0) == (row->compute != NULL));
            assert_true(row->width == 0 || row->title != NULL);
            assert_non_null(row->help);
        }
    }
    assert_null(metric_find(&metric_passes, "no such key"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pass_1, setup, teardown),
        cmocka_unit_test_setup_teardown(pass_2_leaves_the_broken_one_out, setup, teardown),
        cmocka_unit_test_setup_teardown(all_passes_together, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pass_without_a_complete_one_knows_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(drift_takes_quarters, setup, teardown),
        cmocka_unit_test_setup_teardown(one_unknown_device_count_spoils_the_sum, setup, teardown),
        cmocka_unit_test_setup_teardown(dlio_and_the_rules_on_paper, setup, teardown),
        cmocka_unit_test_setup_teardown(no_checkpoint_no_truth, setup, teardown),
        cmocka_unit_test_setup_teardown(computed_checkpoint_metrics, setup, teardown),
        cmocka_unit_test_setup_teardown(compression_metrics, setup, teardown),
        cmocka_unit_test_setup_teardown(latency_metrics, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_are_told_apart, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
