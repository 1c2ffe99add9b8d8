/* CSV and the DLIO-shaped summary, read back by Python; docs/metrics.md holds every key. */
#include "tests/unit/sample_result.h"

#include "metrics/metric_rows.h"
#include "metrics/report_csv.h"
#include "metrics/summary_dlio.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static struct arena arena;
static struct result result;
static char folder[32];
static char summary[64], checkpoints[64], passes[64];

static int setup(void **state) {
    (void)state;
    sample_fill(&result, &arena);
    /* In memory where that can be: fsync on a busy disk takes seconds and shows nothing here. */
    snprintf(folder, sizeof folder, "%s/ckptsim_XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(summary, sizeof summary, "%s/summary.json", folder);
    snprintf(checkpoints, sizeof checkpoints, "%s/checkpoints.csv", folder);
    snprintf(passes, sizeof passes, "%s/passes.csv", folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    result_fini(&result);
    arena_fini(&arena);
    unlink(summary);
    unlink(checkpoints);
    unlink(passes);
    return rmdir(folder);
}

/* Has Python assert each expression of s, the summary, its metrics m, and the CSV files as lists of
 * maps: c and p. Skips where there is no Python. */
static void assert_python(const char *const *expressions, size_t count) {
    char script[80], command[128];
    if (system("python3 -c 'import json' 2>/dev/null") != 0) {
        skip();
    }
    snprintf(script, sizeof script, "%s/check.py", folder);
    snprintf(command, sizeof command, "cd %s && python3 check.py", folder);
    FILE *stream = fopen(script, "w");
    fputs("import csv, json, os\n"
          "s = json.load(open('summary.json')) if os.path.exists('summary.json') else {}\n"
          "m = s.get('metric')\n"
          "c, p = [list(csv.DictReader(open(n))) if os.path.exists(n) else []\n"
          "        for n in ('checkpoints.csv', 'passes.csv')]\n",
          stream);
    for (size_t i = 0; i < count; i++) {
        fprintf(stream, "assert %s\n", expressions[i]);
    }
    fclose(stream);
    int code = system(command); /* what failed stands on stderr */
    unlink(script);
    assert_int_equal(code, 0);
}

static void csv_files(void **state) {
    (void)state;
    struct error err;
    result.checkpoints[8].note = "a \"quoted\" note, with a comma\nand a second line";
    assert_int_equal(report_csv_write(&result, folder, &err), OK);
    static const char *const true_of_it[] = {
        "len(c) == 9 and len(p) == 2",
        "c[4]['seconds'] == '14.000000000' and c[4]['complete'] == 'true'",
        "c[8]['device_bytes'] == '' and c[8]['complete'] == 'false'",
        "c[8]['note'] == 'a ' + chr(34) + 'quoted' + chr(34) + ' note, with a comma' + chr(10) + "
        "'and a second line'",
        "c[0]['bytes'] == str(2 << 30)",
        "p[1]['mean_seconds'] == '15' and p[1]['broken'] == '1'",
    };
    assert_python(true_of_it, sizeof true_of_it / sizeof true_of_it[0]);
    assert_int_equal(report_csv_write(&result, "/nonexistent", &err), ERR_FAILED);
}

/* Two checkpoints of 2 GiB; rank 0 takes 1 and 2 s, the slowest 2 and 4 s: DLIO's mean of rates is
 * 1.5 GiB/s, the rules' 0.75. */
static void dlio_summary(void **state) {
    (void)state;
    struct error err;
    result.checkpoint_count = 0;
    sample_checkpoint(&result, 1, 1, 0, 2, 1);
    sample_checkpoint(&result, 1, 2, 2, 4, 2);
    result.elapsed_ns = 3600 * SAMPLE_S + 250000;
    facts_count(&result.machine, "memory_bytes", 32 * SAMPLE_GIB);
    facts_count(&result.machine, "cpus", 8);
    assert_int_equal(summary_dlio_write(&result, summary, &err), OK);
    static const char *const true_of_it[] = {
        "m['save_checkpoint_duration_mean_seconds'] == 1.5",
        "m['save_checkpoint_duration_stdev_seconds'] == 0.5",
        "m['save_checkpoint_io_mean_GB_per_second'] == 1.5",
        "m['save_checkpoint_io_stdev_GB_per_second'] == 0.5",
        "m['checkpoint_size_GB'] == 2",
        "s['start'] == '2024-08-13T10:00:00.000000'",
        "s['end'] == '2024-08-13T11:00:00.000250'",
        "s['num_accelerators'] == 2 and s['num_hosts'] == 1",
        "s['hostname'] == 'box' and s['host_memory_GB'] == [32]",
        "s['host_cpu_count'] == [8]",
        "s['ckptsim']['as_mlperf_rules_say']['mean_gib_per_second'] == 0.75",
        "s['ckptsim']['as_mlperf_rules_say']['min_gib_per_second'] == 0.5",
        "s['ckptsim']['dlio_throughput_off_percent'] == 100",
        "s['ckptsim']['dlio_seconds_off_percent'] == -50",
    };
    assert_python(true_of_it, sizeof true_of_it / sizeof true_of_it[0]);
}

static void an_empty_run_has_null_means(void **state) {
    (void)state;
    struct error err;
    result.checkpoint_count = 0;
    result.started = NULL;
    assert_int_equal(summary_dlio_write(&result, summary, &err), OK);
    static const char *const true_of_it[] = {
        "m['save_checkpoint_io_mean_GB_per_second'] is None and s['end'] is None",
    };
    assert_python(true_of_it, sizeof true_of_it / sizeof true_of_it[0]);
}

static void docs_hold_every_key(void **state) {
    (void)state;
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    metrics_write_docs(stream);
    fclose(stream);
    const struct metric_table *const tables[] = {&metric_checkpoints, &metric_passes,
                                                 &metric_truths, &metric_latencies};
    const char *at = text;
    for (size_t t = 0; t < 4; t++) {
        for (size_t i = 0; i < tables[t]->count; i++) {
            char cell[64];
            snprintf(cell, sizeof cell, "| `%s` |", tables[t]->rows[i].key);
            at = strstr(at, cell); /* in this order */
            assert_non_null(at);
        }
    }
    free(text);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {CASE(csv_files), CASE(dlio_summary),
                                       CASE(an_empty_run_has_null_means),
                                       CASE(docs_hold_every_key)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
