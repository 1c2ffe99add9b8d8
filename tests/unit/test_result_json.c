/* result.json and the journal: another reader parses them, and the journal comes back whole. */
#include "tests/unit/sample_result.h"

#include "metrics/journal.h"
#include "metrics/metric_rows.h"
#include "metrics/result_json.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static struct arena arena;
static struct result result;
static struct histogram delta, empty;
static char folder[32];
static char path[64];

static int setup(void **state) {
    (void)state;
    sample_fill(&result, &arena);
    memset(&delta, 0, sizeof delta);
    memset(&empty, 0, sizeof empty);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    result_fini(&result);
    arena_fini(&arena);
    unlink(path);
    return 0;
}

static int make_folder(void **state) {
    (void)state;
    /* In memory where that can be: fsync on a busy disk takes seconds and shows nothing here. */
    snprintf(folder, sizeof folder, "%s/ckptsim_XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(path, sizeof path, "%s/file", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

/* Has Python read the file as r and assert each expression; skips where there is no Python. */
static void assert_python(const char *const *expressions, size_t count) {
    char script[80], command[128];
    if (system("python3 -c 'import json' 2>/dev/null") != 0) {
        skip();
    }
    snprintf(script, sizeof script, "%s/check.py", folder);
    snprintf(command, sizeof command, "python3 %s", script);
    FILE *stream = fopen(script, "w");
    fprintf(stream, "import json\nr = json.load(open('%s'))\n", path);
    for (size_t i = 0; i < count; i++) {
        fprintf(stream, "assert %s\n", expressions[i]);
    }
    fclose(stream);
    int code = system(command); /* what failed stands on stderr */
    unlink(script);
    assert_int_equal(code, 0);
}

static void python_reads_the_result(void **state) {
    (void)state;
    struct error err;
    assert_int_equal(result_write(&result, path, &err), OK);
    static const char *const true_of_it[] = {
        "r['version'] == 1 and r['kind'] == 'measured'",
        "r['outcome'] == 'drive_full' and r['partial'] is False",
        "r['elapsed_seconds'] == 125",
        "r['settings']['passes'] == {'value': '2', 'origin': 'command line'}",
        "r['settings']['engine']['value'] is None",
        "r['machine']['hostname'] == 'box'",
        "r['plan']['checkpoint_bytes'] == 2 << 30 and r['plan']['ranks'] == 2",
        "len(r['checkpoints']) == 9 and len(r['passes']) == 2",
        "r['checkpoints'][4]['seconds'] == 14",
        "r['checkpoints'][4]['rank0_seconds'] == 10",
        "r['checkpoints'][8]['complete'] is False",
        "r['checkpoints'][8]['device_bytes'] is None",
        "'no space' in r['checkpoints'][8]['note']",
        "r['passes'][1]['mean_seconds'] == 15",
        "abs(r['passes'][1]['against_pass1'] - 0.5) < 1e-12",
        "r['latency']['write']['count'] == 1000",
        "sum(c for i, c in r['latency']['write']['histogram']['buckets']) == 1000",
        "r['latency']['fsync']['p99_9_seconds'] == 0.00025",
        "r['truths']['as_dlio_reports']['mean_seconds'] == 9",
        "r['truths']['as_mlperf_rules_say']['mean_seconds'] == 12.5",
        "abs(r['truths']['difference']['seconds_percent'] + 28) < 1e-9",
    };
    assert_python(true_of_it, sizeof true_of_it / sizeof true_of_it[0]);
}

static void an_empty_result_is_json_too(void **state) {
    (void)state;
    struct error err;
    result_fini(&result);
    result = (struct result){.arena = &arena};
    assert_int_equal(result_write(&result, path, &err), OK);
    static const char *const true_of_it[] = {
        "r['outcome'] == 'running' and r['partial'] is True",
        "r['checkpoints'] == [] and r['passes'] == [] and r['run_id'] is None",
        "r['truths']['as_dlio_reports']['mean_seconds'] is None",
        "r['latency']['write']['p50_seconds'] is None",
    };
    assert_python(true_of_it, sizeof true_of_it / sizeof true_of_it[0]);
}

static void a_failed_write_leaves_nothing(void **state) {
    (void)state;
    struct error err;
    assert_int_equal(result_write(&result, "/nonexistent/result.json", &err), ERR_FAILED);
    assert_non_null(strstr(err.text, "/nonexistent/result.json.tmp': no such file"));
    /* A folder under the final name: the rename fails and the temporary file goes. */
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(result_write(&result, path, &err), ERR_FAILED);
    char temporary[80];
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    assert_int_equal(access(temporary, F_OK), -1);
    assert_int_equal(rmdir(path), 0);
}

/* Four checkpoints, each with a write latency of its own. */
static void write_journal(uint32_t count) {
    struct journal journal;
    struct error err;
    assert_int_equal(journal_create(&journal, path, &result, &err), OK);
    for (uint32_t i = 0; i < count; i++) {
        memset(&delta, 0, sizeof delta);
        histogram_add(&delta, 1000 * (i + 1));
        const struct checkpoint_record *record = &result.checkpoints[i % result.checkpoint_count];
        assert_int_equal(journal_add(&journal, &result, record, i != 8, &delta, &empty, &err), OK);
    }
    journal_close(&journal);
}

static void assert_same_record(const struct checkpoint_record *left,
                               const struct checkpoint_record *right) {
    for (size_t i = 0; i < metric_checkpoints.count; i++) {
        const struct metric_row *row = &metric_checkpoints.rows[i];
        struct metric_value a = metric_get(row, &result, left), b = metric_get(row, &result, right);
        assert_int_equal(a.known, b.known);
        assert_true(a.whole == b.whole && a.number == b.number);
        assert_true(a.text == b.text || strcmp(a.text, b.text) == 0);
    }
}

static void the_journal_comes_back(void **state) {
    (void)state;
    result.checkpoints[0].start_ns = UINT64_C(18446744073709551614); /* every digit counts */
    result.checkpoints[1].duration_ns = UINT64_C(9007199254740993);
    write_journal(9);
    struct error err;
    struct journal_content *content = arena_new(&arena, 1, sizeof *content);
    assert_int_equal(journal_read(path, &arena, content, &err), OK);
    assert_string_equal(content->run_id, "run-1");
    assert_string_equal(content->version, "0.1.0");
    assert_int_equal(content->setting_count, 2);
    assert_string_equal(content->settings[0].name, "passes");
    assert_string_equal(content->settings[0].value, "2");
    assert_string_equal(content->settings[0].origin, "command line");
    assert_null(content->settings[1].value);
    assert_int_equal(content->checkpoint_count, 9);
    for (uint32_t i = 0; i < 9; i++) {
        assert_same_record(&content->checkpoints[i], &result.checkpoints[i]);
        assert_int_equal(content->settled[i], i != 8);
    }
    assert_int_equal(content->write_latency.count, 9);
    assert_int_equal(content->write_latency.sum, 45000);
    assert_int_equal(content->sync_latency.count, 0);
    assert_false(content->torn);
}

static off_t file_size(void) {
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_size;
}

static void a_torn_last_line_at_every_byte(void **state) {
    (void)state;
    write_journal(2);
    off_t before = file_size();
    write_journal(3);
    off_t whole = file_size();
    for (off_t size = whole - 1; size >= before; size--) {
        struct error err;
        struct arena own = {0};
        struct journal_content *content = arena_new(&own, 1, sizeof *content);
        assert_int_equal(truncate(path, size), 0);
        assert_int_equal(journal_read(path, &own, content, &err), OK);
        assert_int_equal(content->checkpoint_count, 2);
        assert_int_equal(content->write_latency.count, 2);
        assert_int_equal(content->torn, size > before);
        assert_int_equal(content->whole_bytes, before);
        arena_fini(&own);
    }
}

static void put_bytes(off_t at, const char *bytes, size_t length) {
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, bytes, length, at), (ssize_t)length);
    close(fd);
}

static void it_goes_on_after_a_torn_line(void **state) {
    (void)state;
    write_journal(3);
    assert_int_equal(truncate(path, file_size() - 20), 0);
    struct error err;
    struct journal journal;
    struct journal_content *content = arena_new(&arena, 1, sizeof *content);
    assert_int_equal(journal_read(path, &arena, content, &err), OK);
    assert_true(content->torn);
    assert_int_equal(journal_resume(&journal, path, content, &err), OK);
    assert_int_equal(
        journal_add(&journal, &result, &result.checkpoints[8], false, &empty, &empty, &err), OK);
    journal_close(&journal);
    assert_int_equal(journal_read(path, &arena, content, &err), OK);
    assert_int_equal(content->checkpoint_count, 3);
    assert_false(content->torn);
    assert_same_record(&content->checkpoints[2], &result.checkpoints[8]);
}

static void zeros_at_the_end_count_as_torn(void **state) {
    (void)state;
    write_journal(1);
    off_t size = file_size();
    put_bytes(size, "\0\0\0\0\0\n", 6);
    struct error err;
    struct journal_content *content = arena_new(&arena, 1, sizeof *content);
    assert_int_equal(journal_read(path, &arena, content, &err), OK);
    assert_int_equal(content->checkpoint_count, 1);
    assert_true(content->torn);
    assert_int_equal(content->whole_bytes, size);
}

static void damage_in_the_middle_is_an_error(void **state) {
    (void)state;
    write_journal(1);
    off_t second = file_size();
    write_journal(3);
    put_bytes(second + 3, "#", 1);
    struct error err;
    struct journal_content *content = arena_new(&arena, 1, sizeof *content);
    assert_int_equal(journal_read(path, &arena, content, &err), ERR_FAILED);
    assert_non_null(strstr(err.text, "line 3"));
}

static void not_a_journal(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",     "{\"journal\":1", "{\"journal\":2,\"settings\":{}}\n",
        "{}\n", "[]\n",           "{\"journal\":1,\"settings\":{\"a\":1}}\n"};
    struct journal_content *content = arena_new(&arena, 1, sizeof *content);
    struct error err;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        FILE *stream = fopen(path, "w");
        fputs(texts[i], stream);
        fclose(stream);
        assert_int_equal(journal_read(path, &arena, content, &err), ERR_FAILED);
    }
    assert_int_equal(journal_read("/nonexistent/journal", &arena, content, &err), ERR_FAILED);
    assert_int_equal(journal_read(folder, &arena, content, &err), ERR_FAILED);
}

static void it_fills_a_result_again(void **state) {
    (void)state;
    write_journal(9);
    struct error err;
    struct journal_content *content = arena_new(&arena, 1, sizeof *content);
    assert_int_equal(journal_read(path, &arena, content, &err), OK);
    static struct result again;
    again = (struct result){.arena = &arena};
    journal_restore(content, &again);
    struct pass_record pass;
    result_pass(&again, 2, &pass);
    assert_true(pass.mean_seconds == 15.0);
    assert_int_equal(again.write_latency.count, 9);
    result_fini(&again);
}

/* A long run's journal: lines with a latency histogram of some hundred buckets. */
static void many_lines(void **state) {
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    enum { LINES = 1000, BUCKETS = 100 }; /* watched memory is seven times slower */
#else
    enum { LINES = 10000, BUCKETS = 100 };
#endif
    for (uint64_t i = 0; i < BUCKETS; i++) {
        histogram_add(&delta, 1000000 + i * 20000);
    }
    struct journal journal;
    struct error err;
    assert_int_equal(journal_create(&journal, path, &result, &err), OK);
    off_t first = file_size();
    assert_int_equal(
        journal_add(&journal, &result, &result.checkpoints[0], true, &delta, &empty, &err), OK);
    journal_close(&journal);
    /* The other lines are copies: ten thousand fdatasync calls are not what is tested. */
    static char line[65536];
    int fd = open(path, O_RDWR | O_APPEND);
    ssize_t length = pread(fd, line, sizeof line, first);
    assert_true(length > 0 && (size_t)length < sizeof line);
    for (int i = 1; i < LINES; i++) {
        assert_int_equal(write(fd, line, (size_t)length), length);
    }
    close(fd);
    struct timespec begin, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    struct journal_content *content = arena_new(&arena, 1, sizeof *content);
    assert_int_equal(journal_read(path, &arena, content, &err), OK);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    assert_int_equal(content->checkpoint_count, LINES);
    assert_int_equal(content->write_latency.count, LINES * BUCKETS);
    printf("# %d lines of %zd bytes read in %.2f s of processor time\n", LINES, length,
           (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(python_reads_the_result),
        CASE(an_empty_result_is_json_too),
        CASE(a_failed_write_leaves_nothing),
        CASE(the_journal_comes_back),
        CASE(a_torn_last_line_at_every_byte),
        CASE(it_goes_on_after_a_torn_line),
        CASE(zeros_at_the_end_count_as_torn),
        CASE(damage_in_the_middle_is_an_error),
        CASE(not_a_journal),
        CASE(it_fills_a_result_again),
        CASE(many_lines),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
