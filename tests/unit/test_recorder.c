/* The recorder on hand-made completions: three ranks, of which the slowest is not rank 0. */
#include "metrics/recorder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct arena arena;
static struct result result;
static struct recorder recorder;

static int setup(void **state) {
    (void)state;
    memset(&result, 0, sizeof result);
    result.arena = &arena;
    recorder_init(&recorder, &result, 3, &arena);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    result_fini(&result);
    arena_fini(&arena);
    return 0;
}

/* All ranks start at 1000. Rank 0 ends at 1500, rank 1 at 1900, rank 2 at 1300. */
static void record_one(bool complete, const char *note) {
    recorder_begin(&recorder, 2, 7, 1000);
    recorder_request(&recorder, 0, RECORDER_WRITE, 1000, 1400, 30, 4096);
    recorder_request(&recorder, 1, RECORDER_WRITE, 1010, 1600, 40, 8192);
    recorder_request(&recorder, 2, RECORDER_WRITE, 1020, 1250, 5, 100);
    recorder_request(&recorder, 0, RECORDER_SYNC, 1400, 1490, 0, 0);
    recorder_request(&recorder, 2, RECORDER_SYNC, 1250, 1300, 0, 0);
    recorder_rank_end(&recorder, 0, 1500);
    recorder_rank_end(&recorder, 2, 1300);
    if (complete) {
        recorder_request(&recorder, 1, RECORDER_SYNC, 1600, 1850, 0, 0);
        recorder_rank_end(&recorder, 1, 1900);
    }
    recorder_end(&recorder, complete, note);
}

static void every_figure_of_a_complete_one(void **state) {
    (void)state;
    record_one(true, NULL);
    const struct checkpoint_record *record = &result.checkpoints[0];
    assert_int_equal(result.checkpoint_count, 1);
    assert_int_equal(record->pass, 2);
    assert_int_equal(record->checkpoint, 7);
    assert_true(record->complete);
    assert_int_equal(record->start_ns, 1000);
    assert_int_equal(record->duration_ns, 900);
    assert_int_equal(record->slowest_rank, 1);
    assert_int_equal(record->rank0_ns, 500);
    assert_int_equal(record->fastest_ns, 300);
    assert_int_equal(record->fastest_rank, 2);
    assert_int_equal(record->bytes, 12388);
    assert_int_equal(record->rank_ns_sum, 500 + 900 + 300);
    assert_int_equal(record->sync_ns_sum, 90 + 250 + 50);
    assert_int_equal(record->payload_ns_sum, 75);
    assert_true(record->device_bytes == RESULT_UNKNOWN);
    assert_null(record->note);
}

static void compression_adds_up(void **state) {
    (void)state;
    recorder_begin(&recorder, 1, 1, 1000);
    assert_true(recorder.now.stored_bytes == RESULT_UNKNOWN);
    recorder_request(&recorder, 0, RECORDER_WRITE, 1000, 1400, 30, 8192);
    recorder_compressed(&recorder, 4096, 250, 400);
    recorder_request(&recorder, 1, RECORDER_WRITE, 1000, 1400, 30, 8192);
    recorder_compressed(&recorder, 8192, 300, 300);
    recorder_request(&recorder, 1, RECORDER_WRITE, 1400, 1500, 0, 0);
    recorder_compressed(&recorder, 4096, 0, 0);
    for (uint32_t rank = 0; rank < 3; rank++) {
        recorder_rank_end(&recorder, rank, 1500);
    }
    const struct checkpoint_record *record = recorder_end(&recorder, true, NULL);
    assert_int_equal(record->bytes, 16384);
    assert_int_equal(record->stored_bytes, 16384);
    assert_int_equal(record->compress_ns_sum, 550);
    assert_int_equal(record->compress_wall_ns_sum, 700);
    recorder_begin(&recorder, 1, 2, 2000);
    assert_true(recorder.now.compress_ns_sum == RESULT_UNKNOWN);
}

static void latencies_go_to_both(void **state) {
    (void)state;
    record_one(true, NULL);
    record_one(true, NULL);
    assert_int_equal(recorder.write_latency.count, 3);
    assert_int_equal(recorder.write_latency.minimum, 230);
    assert_int_equal(recorder.write_latency.maximum, 590);
    assert_int_equal(recorder.sync_latency.count, 3);
    assert_int_equal(result.write_latency.count, 6);
    assert_int_equal(result.sync_latency.count, 6);
    assert_int_equal(result.sync_latency.sum, 2 * (90 + 250 + 50));
}

static void a_broken_one_runs_to_the_last_completion(void **state) {
    (void)state;
    char note[] = "no space left on device";
    record_one(false, note);
    note[0] = 'X'; /* it was copied */
    const struct checkpoint_record *record = &result.checkpoints[0];
    assert_false(record->complete);
    assert_string_equal(record->note, "no space left on device");
    assert_int_equal(record->duration_ns, 600);
    assert_int_equal(record->slowest_rank, 1);
    assert_int_equal(record->bytes, 12388);
    assert_int_equal(result.write_latency.count, 3);
}

static void a_rank_without_bytes_is_not_the_fastest(void **state) {
    (void)state;
    recorder_begin(&recorder, 1, 1, 50);
    recorder_rank_end(&recorder, 0, 50);
    recorder_request(&recorder, 1, RECORDER_WRITE, 50, 60, 0, 1);
    recorder_rank_end(&recorder, 1, 60);
    recorder_request(&recorder, 2, RECORDER_WRITE, 50, 70, 0, 1);
    recorder_rank_end(&recorder, 2, 70);
    const struct checkpoint_record *record = recorder_end(&recorder, true, NULL);
    assert_int_equal(record->fastest_rank, 1);
    assert_int_equal(record->fastest_ns, 10);
    assert_int_equal(record->slowest_rank, 2);
    assert_int_equal(record->rank0_ns, 0);
}

static void equal_times_go_to_the_lower_rank(void **state) {
    (void)state;
    recorder_begin(&recorder, 1, 1, 0);
    for (uint32_t rank = 0; rank < 3; rank++) {
        recorder_request(&recorder, rank, RECORDER_WRITE, 0, 10, 0, 1);
        recorder_rank_end(&recorder, rank, 10);
    }
    const struct checkpoint_record *record = recorder_end(&recorder, true, NULL);
    assert_int_equal(record->slowest_rank, 0);
    assert_int_equal(record->fastest_rank, 0);
}

static void live_figures(void **state) {
    (void)state;
    recorder_begin(&recorder, 1, 1, 0);
    assert_int_equal(recorder_bytes(&recorder), 0);
    assert_int_equal(recorder_furthest_behind(&recorder), 0);
    recorder_request(&recorder, 0, RECORDER_WRITE, 0, 1, 0, 10);
    recorder_request(&recorder, 1, RECORDER_WRITE, 0, 1, 0, 5);
    recorder_request(&recorder, 2, RECORDER_WRITE, 0, 1, 0, 7);
    assert_int_equal(recorder_bytes(&recorder), 22);
    assert_int_equal(recorder_furthest_behind(&recorder), 1);
    recorder_rank_end(&recorder, 1, 1);
    assert_int_equal(recorder_furthest_behind(&recorder), 2);
    recorder_rank_end(&recorder, 0, 1);
    recorder_rank_end(&recorder, 2, 1);
    assert_int_equal(recorder_furthest_behind(&recorder), UINT32_MAX);
    recorder_end(&recorder, true, NULL);
}

static void many_checkpoints_keep_their_records(void **state) {
    (void)state;
    for (uint32_t i = 1; i <= 1000; i++) {
        recorder_begin(&recorder, 1, i, i);
        for (uint32_t rank = 0; rank < 3; rank++) {
            recorder_rank_end(&recorder, rank, i + rank);
        }
        recorder_end(&recorder, true, NULL);
    }
    assert_int_equal(result.checkpoint_count, 1000);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(result.checkpoints[i].checkpoint, i + 1);
        assert_int_equal(result.checkpoints[i].duration_ns, 2);
        assert_int_equal(result.checkpoints[i].rank_ns_sum, 3);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_figure_of_a_complete_one, setup, teardown),
        cmocka_unit_test_setup_teardown(compression_adds_up, setup, teardown),
        cmocka_unit_test_setup_teardown(latencies_go_to_both, setup, teardown),
        cmocka_unit_test_setup_teardown(a_broken_one_runs_to_the_last_completion, setup, teardown),
        cmocka_unit_test_setup_teardown(a_rank_without_bytes_is_not_the_fastest, setup, teardown),
        cmocka_unit_test_setup_teardown(equal_times_go_to_the_lower_rank, setup, teardown),
        cmocka_unit_test_setup_teardown(live_figures, setup, teardown),
        cmocka_unit_test_setup_teardown(many_checkpoints_keep_their_records, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
