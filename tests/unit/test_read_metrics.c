/* What is said of restores: statistics, headlines, JSON, CSV, DLIO's summary and text, of a result
 * made by hand. Four restores of 2 GiB: cold 10 s (rank 0: 8 s), cold 14 s (rank 0: 10 s), one that
 * came from the page cache, one that broke. */
#include "tests/unit/support.h"

#include "metrics/read_recorder.h"
#include "metrics/read_statistics.h"
#include "metrics/report_csv.h"
#include "metrics/report_reads.h"
#include "metrics/report_text.h"
#include "metrics/result_json.h"
#include "metrics/summary_dlio.h"
#include "metrics/truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S UINT64_C(1000000000)
#define GIB UINT64_C(1073741824)

struct bench {
    struct arena arena;
    struct result result;
    char *text;
};

static void add(struct bench *bench, uint64_t slowest_s, uint64_t rank0_s) {
    struct read_record *record = result_add_read(&bench->result);
    *record = (struct read_record){.read = bench->result.read_count,
                                   .checkpoint = 7,
                                   .complete = true,
                                   .verified = true,
                                   .duration_ns = slowest_s * S,
                                   .rank0_ns = rank0_s * S,
                                   .slowest_rank = 1,
                                   .bytes = 2 * GIB,
                                   .rank_ns_sum = (slowest_s + rank0_s) * S,
                                   .verify_ns_sum = 3 * S};
}

static int make_bench(void **state) {
    struct bench *bench = calloc(1, sizeof *bench);
    bench->result = (struct result){.outcome = RESULT_FAILED,
                                    .started = "2024-08-13T10:00:00Z",
                                    .elapsed_ns = 60 * S,
                                    .arena = &bench->arena};
    bench->result.plan = (struct result_plan){.model = "m",
                                              .layout = "fsdp",
                                              .ranks = 2,
                                              .tp = 1,
                                              .pp = 1,
                                              .dp = 2,
                                              .scale = 1,
                                              .checkpoint_bytes = 2 * GIB};
    bench->result.restore = (struct result_restore){.reads = 4,
                                                    .checkpoint = "newest",
                                                    .readers = "all",
                                                    .ranks = 2,
                                                    .files = 2,
                                                    .bytes = 2 * GIB,
                                                    .needed_bytes = 2 * GIB,
                                                    .distinct_bytes = 2 * GIB,
                                                    .verify = true};
    add(bench, 10, 8);
    add(bench, 14, 10);
    add(bench, 1, 1);
    bench->result.reads[2].cached = true;
    bench->result.reads[2].cached_bytes = 2 * GIB;
    add(bench, 3, 3);
    bench->result.reads[3].complete = false;
    bench->result.reads[3].note =
        "read 'a, b' at byte 7: not the bytes that were written (EBADMSG)";
    *state = bench;
    return 0;
}

static int drop_bench(void **state) {
    struct bench *bench = *state;
    result_fini(&bench->result);
    arena_fini(&bench->arena);
    free(bench->text);
    free(bench);
    return 0;
}

static const char *written(struct bench *bench, void (*write)(const struct result *, FILE *)) {
    size_t size;
    free(bench->text);
    FILE *stream = open_memstream(&bench->text, &size);
    write(&bench->result, stream);
    fclose(stream);
    return bench->text;
}

static void has(const char *text, const char *words) {
    if (strstr(text, words) == NULL) {
        fail_msg("'%s' is not in '%.3000s'", words, text);
    }
}

static void near(double found, double wanted) {
    if (!(fabs(found - wanted) <= 1e-12 * fabs(wanted))) {
        fail_msg("%.17g is not %.17g", found, wanted);
    }
}

static void statistics_of_cold_ones(void **state) {
    struct bench *bench = *state;
    struct read_statistics statistics;
    read_statistics(&bench->result, &statistics);
    assert_int_equal(statistics.restores, 2);
    assert_int_equal(statistics.cached, 1);
    assert_int_equal(statistics.broken, 1);
    assert_int_equal(statistics.min_ns, 10 * S);
    assert_int_equal(statistics.max_ns, 14 * S);
    near(statistics.mean_seconds, 12);
    near(statistics.stdev_seconds, 2);
    near(statistics.rank0_mean_seconds, 9);
    near(statistics.bytes_per_second, 4.0 * GIB / 24);
    near(statistics.verify_share, 6.0 / 42);
}

static void no_cold_one(void **state) {
    struct bench *bench = *state;
    struct read_statistics statistics;
    bench->result.reads[0].cached = bench->result.reads[1].cached = true;
    read_statistics(&bench->result, &statistics);
    assert_int_equal(statistics.restores, 0);
    assert_int_equal(statistics.cached, 3);
    assert_true(isnan(statistics.mean_seconds) && isnan(statistics.bytes_per_second));
    assert_int_equal(truth_of_reads_as_mlperf_rules_say(&bench->result).checkpoints, 0);
    has(written(bench, report_reads), "there is no cold read");
    has(written(bench, result_write_stream), "\"mean_seconds\": null");
    assert_null(strstr(written(bench, report_passes), "cold restores"));
}

/* A share of nothing is not none. */
static void not_verified(void **state) {
    struct bench *bench = *state;
    struct read_statistics statistics;
    bench->result.restore.verify = false;
    for (uint32_t i = 0; i < 4; i++) {
        bench->result.reads[i].verified = false;
    }
    read_statistics(&bench->result, &statistics);
    assert_true(isnan(statistics.verify_share));
    has(written(bench, report_reads), "NOTHING IS VERIFIED");
    has(written(bench, report_plan), "NOTHING IS VERIFIED");
    has(written(bench, result_write_stream), "\"verify\": false");
    has(written(bench, summary_dlio_write_stream), "\"load_verified\": false");
}

static void two_headlines(void **state) {
    struct bench *bench = *state;
    struct truth dlio = truth_of_reads_as_dlio_reports(&bench->result);
    struct truth rules = truth_of_reads_as_mlperf_rules_say(&bench->result);
    assert_int_equal(dlio.checkpoints, 2);
    near(dlio.mean_seconds, 9);
    near(rules.mean_seconds, 12);
    near(dlio.mean_gib_per_second, (2.0 / 8 + 2.0 / 10) / 2);
    near(rules.min_gib_per_second, 2.0 / 14);
    has(written(bench, report_passes), "two headlines, cold restores");
    bench->result.reads[0].rank0_ns = 0; /* it had nothing to read: no rate of its own */
    dlio = truth_of_reads_as_dlio_reports(&bench->result);
    assert_int_equal(dlio.checkpoints, 1);
    near(dlio.mean_gib_per_second, 0.2);
}

static void written_down(void **state) {
    struct bench *bench = *state;
    const char *json = written(bench, result_write_stream);
    has(json, "\"restores\": 2");
    has(json, "\"reads\": [");
    has(json, "\"cached_bytes\": 2147483648");
    has(json, "\"rank0_mean_seconds\": 9");
    has(json, "\"passes\": []");
    const char *csv = written(bench, report_csv_reads);
    has(csv, "read,checkpoint,complete,cached,verified,start_seconds,seconds,");
    has(csv, "\"read 'a, b' at byte 7: not the bytes that were written (EBADMSG)\"");
    const char *summary = written(bench, summary_dlio_write_stream);
    has(summary, "\"load_checkpoint_duration_mean_seconds\": 9");
    has(summary, "\"load_checkpoint_io_mean_GB_per_second\": 0.225");
    assert_null(strstr(summary, "save_checkpoint"));
    bench->result.restore.reads = 0;
    bench->result.plan.passes = 1;
    summary = written(bench, summary_dlio_write_stream);
    has(summary, "save_checkpoint_duration_mean_seconds");
    assert_null(strstr(summary, "load_"));
    assert_null(strstr(written(bench, result_write_stream), "\"reads\""));
}

static void in_text(void **state) {
    struct bench *bench = *state;
    bench->result.restore.rank_shift = 1;
    bench->result.restore.distinct_bytes = GIB;
    bench->result.restore.needed_bytes = GIB + GIB / 2;
    const char *text = written(bench, report_plan);
    has(text, "4 of checkpoint newest by 2 ranks, each what the rank 1 behind it wrote");
    has(text, "several ranks read the same");
    has(text, "1.6 GB (1.5 GiB) of it needed");
    has(text, "a rank wrote");
    assert_null(strstr(text, "passes"));
    text = written(bench, report_passes);
    has(text, "1 more came from the page cache");
    assert_null(strstr(text, "what changed"));
    size_t size;
    free(bench->text);
    FILE *stream = open_memstream(&bench->text, &size);
    report_read_row(&bench->result, &bench->result.reads[2], stream);
    report_read_row(&bench->result, &bench->result.reads[3], stream);
    fclose(stream);
    has(bench->text, " c\n");
    has(bench->text, " !\n   ! broken");
}

/* The slowest, the fastest of those that read anything, and what broke. */
static void recorded(void **state) {
    struct bench *bench = *state;
    struct read_recorder recorder;
    struct read_record begin = {.read = 5, .start_ns = 100, .verified = true};
    read_recorder_init(&recorder, &bench->result, 3, &bench->arena);
    read_recorder_begin(&recorder, &begin);
    read_recorder_request(&recorder, 0, 110, 150, 7, 4096);
    read_recorder_request(&recorder, 2, 110, 130, 7, 4096);
    read_recorder_request(&recorder, 2, 110, 120, 7, 4096); /* out of order */
    read_recorder_reached(&recorder, 1, 105);
    const struct read_record *record = read_recorder_end(&recorder, true, NULL);
    assert_int_equal(record->duration_ns, 50);
    assert_int_equal(record->slowest_rank, 0);
    assert_int_equal(record->fastest_rank, 2);
    assert_int_equal(record->fastest_ns, 30);
    assert_int_equal(record->rank_ns_sum, 50 + 5 + 30);
    assert_int_equal(record->verify_ns_sum, 21);
    assert_int_equal(record->bytes, 3 * 4096);
    assert_int_equal(bench->result.read_latency.count, 3);
    assert_int_equal(bench->result.read_latency.maximum, 40);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make_bench, drop_bench)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(statistics_of_cold_ones),
        CASE(no_cold_one),
        CASE(not_verified),
        CASE(two_headlines),
        CASE(written_down),
        CASE(in_text),
        CASE(recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
