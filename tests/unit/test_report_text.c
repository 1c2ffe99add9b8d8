/* The text report of a result made by hand. Every figure below was worked out on paper: pass 2
 * takes 15 s against 10 s and at its end 14.3 % longer than at its start (16 to 14 s); rank 0 takes
 * 8 and 10 s; 2 GiB in 10 s are 0.2147 GB/s; the bucket of 500 ms ends at 503.316 ms. */
#include "tests/unit/sample_result.h"

#include "metrics/report_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* clang-format off: as it looks. */
static const char golden_plan[] =
    "model           llama3.1-8b, 8,030,261,248 parameters\n"
    "layout          dlio2; leaves out: nothing of note\n"
    "ranks           2 = TP 2 x PP 1 x DP 1, ZeRO stage 1\n"
    "checkpoint      2.1 GB (2.0 GiB) in 4 files; model 536.9 MB (512.0 MiB), optimizer 1.6 GB "
    "(1.5 GiB)\n"
    "a rank writes   1.1 GB (1,024.0 MiB) to 1.1 GB (1.0 GiB)\n"
    "scale           0.02: every tensor is shrunk by this, so sizes above are not the model's own\n"
    "run             2 passes x 5 checkpoints, 21.5 GB (20.0 GiB) in all (computed)\n"
    "engine          unknown\n"
    "file system     type ext4\n"
    "device          unknown\n"
    "machine         hostname box\n"
    "memory          268.4 MB (256.0 MiB) at most\n"
    "payload         one worker makes 8.00 GB/s (measured): a ceiling per worker that is ours, not "
    "the\n"
    "                drive's\n"
    "not default     passes 2 (command line)\n";

static const char golden_rows[] =
    "pass  ckpt    start s    seconds by rank  fastest s by rank     GB/s  fsync %  fill %\n"
    "   1     1      0.000     10.000       1      8.000       0    0.215      5.6    20.0\n"
    "   1     2     10.000     10.000       1      8.000       0    0.215      5.6    40.0\n"
    "   1     3     20.000     10.000       1      8.000       0    0.215      5.6    60.0\n"
    "   1     4     30.000     10.000       1      8.000       0    0.215      5.6    80.0\n"
    "   2     1     40.000     14.000       1     10.000       0    0.153      4.2    80.0\n"
    "   2     2     55.000     14.000       1     10.000       0    0.153      4.2    80.0\n"
    "   2     3     70.000     16.000       1     10.000       0    0.134      3.8    80.0\n"
    "   2     4     85.000     16.000       1     10.000       0    0.134      3.8    80.0\n"
    "   2     5    100.000      3.000       1      3.000       0    0.089     16.7    80.0 !\n"
    "   ! broken     write of 'pass_2/ckpt_5/rank1.pt' at 268435456: no space left on device\n";

static const char golden_passes[] =
    "pass  ckpts  broken     mean s      min s      max s   stdev s     GB/s  vs pass 1    drift\n"
    "   1      4       0     10.000     10.000     10.000     0.000    0.215        0.0      0.0\n"
    "   2      4       1     15.000     14.000     16.000     1.000    0.143       50.0     14.3\n"
    "(seconds per complete checkpoint, by its slowest rank; vs pass 1 and drift in %)\n"
    "\n"
    "seconds         ▅▅▅▅ ▇▇██\n"
    "                a mark is 1 checkpoint; the highest is 16.000 s, heights count from 0\n"
    "what changed\n"
    "                pass 2 took 50.0 % longer per checkpoint than pass 1 (15.00 s against 10.00 "
    "s)\n"
    "\n"
    "two headlines, one run             as DLIO reports   as MLPerf rules say    difference\n"
    "                                   (rank 0's time)      (slowest rank's)\n"
    "seconds per checkpoint, mean                 9.000                12.500        -28.0 %\n"
    "seconds per checkpoint, stdev                1.000                 2.598\n"
    "seconds per checkpoint, max                 10.000                16.000\n"
    "GiB/s, mean                                  0.225                 0.167        +34.8 %\n"
    "GiB/s, stdev                                 0.025                 0.034\n"
    "GiB/s, min                                   0.200                 0.125\n"
    "\n"
    "ms         requests      mean       min       p50       p90       p99     p99.9    p99.99     "
    "  max\n"
    "write          1000   500.500     1.000   503.316   905.970   998.244  1000.000  1000.000  "
    "1000.000\n"
    "fsync             1     0.250     0.250     0.250     0.250     0.250     0.250     0.250     "
    "0.250\n"
    "\n"
    "block device    counted 17.2 GB (16.0 GiB) written while 17.2 GB (16.0 GiB) of checkpoints "
    "were\n"
    "                (x1.000)\n"
    "write amplif.   not available: no counters were read\n"
    "figures         all times and bytes are measured; means, rates, shares, percentiles and "
    "differences\n"
    "                are computed from them\n"
    "outcome         drive_full after 2 m 05 s: pass 2 ended at checkpoint 5: no space left on "
    "device\n";

/* clang-format on */

static struct arena arena;
static struct result result;
static char *text;
static size_t length;

static int setup(void **state) {
    (void)state;
    sample_fill(&result, &arena);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    result_fini(&result);
    arena_fini(&arena);
    free(text);
    text = NULL;
    return 0;
}

static const char *written_by(void (*report)(const struct result *, FILE *)) {
    free(text);
    FILE *stream = open_memstream(&text, &length);
    report(&result, stream);
    fclose(stream);
    return text;
}

static void write_rows(const struct result *of, FILE *stream) {
    report_checkpoint_head(of, stream);
    for (uint32_t i = 0; i < of->checkpoint_count; i++) {
        report_checkpoint_row(of, &of->checkpoints[i], stream);
    }
}

static void assert_holds(const char *words) {
    if (strstr(text, words) == NULL) {
        fail_msg("'%s' is not in:\n%s", words, text);
    }
}

static void the_plan(void **state) {
    (void)state;
    assert_string_equal(written_by(report_plan), golden_plan);
}

static void the_rows(void **state) {
    (void)state;
    assert_string_equal(written_by(write_rows), golden_rows);
}

static void the_passes(void **state) {
    (void)state;
    assert_string_equal(written_by(report_passes), golden_passes);
}

static void a_change_within_the_spread_is_none(void **state) {
    (void)state;
    result.checkpoint_count = 0;
    sample_checkpoint(&result, 1, 1, 0, 100, 1);
    sample_checkpoint(&result, 1, 2, 0, 110, 1);
    sample_checkpoint(&result, 2, 1, 0, 107, 1);
    sample_checkpoint(&result, 2, 2, 0, 107, 1);
    written_by(report_passes);
    /* 107 against 105 is +1.9 %; the larger deviation is pass 1's, 5 of 105, which is 4.8 %. */
    assert_holds("pass 2 against pass 1: no change beyond the spread of checkpoints within a pass");
    assert_holds("(+1.9 %, standard deviation 4.8 %)");
    result.checkpoints[2].duration_ns = result.checkpoints[3].duration_ns = 90 * SAMPLE_S;
    written_by(report_passes);
    assert_holds(
        "pass 2 took 14.3 % less time per checkpoint than pass 1 (90.00 s against 105.0 s)");
}

/* Eighths of the highest time, rounded up. */
static void the_chart_counts_from_zero(void **state) {
    (void)state;
    static const uint64_t times[] = {80, 11, 31, 51, 40};
    result.checkpoint_count = 0;
    for (uint32_t i = 0; i < 5; i++) {
        sample_checkpoint(&result, i / 4 + 1, i % 4 + 1, 0, times[i], 1);
    }
    written_by(report_passes);
    assert_holds("seconds         █▂▄▆ ▄\n");
}

/* 10 11 12 13 rises in every pair; 13 10 11 9 falls in all but one, as one in six orders does. */
static void drift_is_told_where_it_is_no_chance(void **state) {
    (void)state;
    static const uint64_t times[] = {10, 11, 12, 13, 13, 10, 11, 9};
    result.checkpoint_count = 0;
    for (uint32_t i = 0; i < 8; i++) {
        sample_checkpoint(&result, i / 4 + 1, i % 4 + 1, 0, times[i], 1);
    }
    written_by(report_passes);
    assert_holds("within pass 1 times rose by 30.0 % from the first quarter");
    assert_null(strstr(text, "within pass 2"));
}

static void single_checkpoints_know_no_spread(void **state) {
    (void)state;
    result.checkpoint_count = 0;
    sample_checkpoint(&result, 1, 1, 0, 4, 1);
    written_by(report_passes);
    assert_holds("there is no second pass to compare with");
    sample_checkpoint(&result, 2, 1, 0, 5, 1);
    written_by(report_passes);
    assert_holds("pass 2 took 25.0 % longer per checkpoint than pass 1 (5.000 s against 4.000 s)");
    assert_holds("spread is not known");
    assert_null(strstr(text, "a mark is"));
}

static void nothing_completed(void **state) {
    (void)state;
    result.checkpoint_count = 0;
    result.outcome = RESULT_FAILED;
    result.outcome_text = "write of 'x': input/output error";
    written_by(report_passes);
    assert_holds("no checkpoint completed");
    assert_holds("PARTIAL: failed after 2 m 05 s: write of 'x': input/output error");
    assert_holds("bytes written are not available: no counter was read");
}

static void a_broken_pass_is_named(void **state) {
    (void)state;
    for (uint32_t i = 4; i < 9; i++) {
        result.checkpoints[i].complete = false;
    }
    written_by(report_passes);
    assert_holds("pass 2 has no complete checkpoint");
}

static void simulated_says_so(void **state) {
    (void)state;
    result.kind = RESULT_SIMULATED;
    written_by(report_passes);
    assert_holds("all times and bytes are simulated, none was taken on a drive");
}

static void the_drives_own_counters(void **state) {
    (void)state;
    facts_count(&result.device, "media_written_bytes", 3600);
    facts_count(&result.device, "host_written_bytes", 1000);
    written_by(report_passes);
    assert_holds("write amplif.   3.60: the drive wrote 3.6 kB (3.5 KiB) to its media for 1.0 kB");
    result.device.count = 0;
    facts_text(&result.device, "write_amplification_missing", "not an NVMe device");
    facts_text(&result.device, "counters_missing", "tmpfs has no block device");
    result.checkpoints[0].device_bytes = RESULT_UNKNOWN;
    written_by(report_passes);
    assert_holds("write amplif.   not available: not an NVMe device");
    assert_holds("bytes written are not available: tmpfs has no block device");
}

/* The chart of a long run: 198 checkpoints in groups of three stay under 80 marks and 100 columns.
 */
static void long_runs_stay_within_100_columns(void **state) {
    (void)state;
    result.checkpoint_count = 0;
    for (uint32_t i = 0; i < 198; i++) {
        sample_checkpoint(&result, i / 66 + 1, i % 66 + 1, 10000 * i, 9999, 16383)->slowest_rank =
            16383;
        result.checkpoints[i].start_ns = 99999 * SAMPLE_S;
    }
    written_by(report_passes);
    assert_holds("the mean of up to 3 checkpoints");
    written_by(write_rows);
    size_t line = 0;
    for (const char *at = text; *at != '\0'; at++) {
        line = *at == '\n' ? 0 : line + (((unsigned char)*at & 0xc0) != 0x80);
        assert_true(line <= 100);
    }
}

static void subsets_and_full_size(void **state) {
    (void)state;
    result.plan.dp = 4;
    result.plan.scale = 1;
    result.plan.checkpoints_per_pass = 0;
    written_by(report_plan);
    assert_holds("the first 2 of 8 = TP 2 x PP 1 x DP 4, ZeRO stage 1");
    assert_holds("1, full size");
    assert_holds("2 passes, each until the drive is as full as asked");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(the_plan),
        CASE(the_rows),
        CASE(the_passes),
        CASE(a_change_within_the_spread_is_none),
        CASE(the_chart_counts_from_zero),
        CASE(drift_is_told_where_it_is_no_chance),
        CASE(single_checkpoints_know_no_spread),
        CASE(nothing_completed),
        CASE(a_broken_pass_is_named),
        CASE(simulated_says_so),
        CASE(the_drives_own_counters),
        CASE(long_runs_stay_within_100_columns),
        CASE(subsets_and_full_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
