/* Queue depth, simulated: against mean value analysis, Little's law and numbers known of a drive of
 * 512 dies; then what programs, copies and the buffer do. Under a sanitizer the runs are shorter
 * and the claims looser. */
#include "tests/unit/support.h"

#include "sim/drive/queue_depth.h"
#include "sim/drive/queue_model.h"

#include <math.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
enum { REQUESTS = 50000 };
#define TOLERANCE 0.02
#else
enum { REQUESTS = 1000000 };
#define TOLERANCE 0.002
#endif

#define US UINT64_C(1000000)
#define GB UINT64_C(1000000000)
enum { KIB = 1024 };

/* 5.3 us are one 4 KiB transfer on one of 32 channels. */
static struct queue_depth_config dies_512(void) {
    return (struct queue_depth_config){
        .drive = {.command_ps = 1050000,
                  .read_delay_ps = 25 * US,
                  .dies = 512,
                  .planes = 1,
                  .channels = 32,
                  .channel_bytes_per_s = UINT64_C(4096) * 1000000000 / 5300,
                  .page_bytes = 16 * KIB,
                  .read_ps = 75 * US},
        .jobs = 1,
        .block_bytes = 4 * KIB,
        .requests = REQUESTS,
        .seed = 1};
}

/* A drive that writes 8.7 GB/s in order. */
static struct queue_depth_config dies_64(void) {
    return (struct queue_depth_config){.drive = {.link_bytes_per_s = 15 * GB,
                                                 .command_ps = 333333,
                                                 .read_bytes_per_s = 148 * GB / 10,
                                                 .read_delay_ps = 14 * US,
                                                 .write_delay_ps = 9 * US,
                                                 .dies = 64,
                                                 .planes = 4,
                                                 .channels = 16,
                                                 .channel_bytes_per_s = 2 * GB,
                                                 .page_bytes = 16 * KIB,
                                                 .read_ps = 45 * US,
                                                 .program_bytes = 192 * KIB,
                                                 .program_ps = 1200 * US,
                                                 .program_bytes_per_s = 87 * GB / 10,
                                                 .buffer_bytes = UINT64_C(16) << 20,
                                                 .unit_bytes = 4 * KIB},
                                       .jobs = 1,
                                       .depth = 64,
                                       .block_bytes = 4 * KIB,
                                       .requests = REQUESTS / 10,
                                       .seed = 2};
}

static struct queue_depth_result run(struct queue_depth_config config) {
    struct queue_depth_result result;
    struct error err = {0};
    if (queue_depth_run(&config, &result, &err) != OK) {
        fail_msg("%s", err.text);
    }
    assert_true(result.requests >= config.requests);
    assert_int_equal(result.reads.count + result.writes.count, result.requests);
    return result;
}

static void assert_near(double value, double expected, double share) {
    if (!(fabs(value / expected - 1) <= share)) {
        fail_msg("%.6g is not within %g of %.6g", value, share, expected);
    }
}

static const uint32_t depths[] = {1, 16, 64, 128, 256};

static void exponential_service_is_mean_value_analysis(void **state) {
    (void)state;
    static const double published[] = {9.4e3, 148e3, 557e3, 938e3, 952e3};
    struct queue_depth_config config = dies_512();
    struct queue_network network;
    config.service = QUEUE_EXPONENTIAL;
    queue_network_of(&config, &network);
    for (size_t i = 0; i < COUNT_OF(depths); i++) {
        config.depth = depths[i];
        double iops = (double)run(config).iops;
        assert_near(iops, queue_network_iops(&network, depths[i]), TOLERANCE);
        assert_near(iops, published[i], TOLERANCE + 0.0015);
    }
}

/* Dies alone, of which a request chooses one. */
static void equal_dies_have_the_balanced_form(void **state) {
    (void)state;
    struct queue_depth_config config = dies_512();
    config.service = QUEUE_EXPONENTIAL;
    config.drive =
        (struct queue_drive){.dies = 16, .planes = 1, .page_bytes = 16 * KIB, .read_ps = 75 * US};
    for (uint32_t q = 1; q <= 64; q *= 8) {
        config.depth = q;
        assert_near((double)run(config).iops, queue_balanced_iops(16, 75000, q), TOLERANCE);
    }
}

struct known {
    uint32_t depth;
    double iops, p50_us, p99_us, p99_9_us;
};

static void deterministic_service(void **state) {
    (void)state;
    static const struct known known[] = {{16, 149e3, 0, 147, 0},
                                         {64, 581e3, 107, 177, 222},
                                         {128, 952e3, 129, 206, 0},
                                         {256, 952e3, 265, 343, 0}};
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        struct queue_depth_config config = dies_512();
        config.depth = known[i].depth;
        struct queue_depth_result result = run(config);
        assert_near((double)result.iops, known[i].iops, TOLERANCE + 0.002);
        const double expected[] = {known[i].p50_us, known[i].p99_us, known[i].p99_9_us};
        const uint64_t found[] = {result.reads.p50_ns, result.reads.p99_ns, result.reads.p99_9_ns};
        for (int k = 0; k < 3; k++) {
            if (expected[k] > 0) {
                assert_near((double)found[k] / 1000, expected[k], 0.02);
            }
        }
        assert_true(result.reads.p50_ns <= result.reads.p90_ns);
        assert_true(result.reads.p99_9_ns <= result.reads.p99_99_ns);
        assert_true(result.reads.p99_99_ns <= result.reads.max_ns);
    }
}

static void littles_law_holds_exactly(void **state) {
    (void)state;
    for (uint32_t writes = 0; writes <= 1000; writes += 250) {
        struct queue_depth_config config = dies_64();
        config.write_permille = writes;
        config.jobs = 4;
        config.host_ps = 2 * US;
        config.drive.copied_millionths = 3 * US;
        config.drive.copy_pages_millionths = 300000;
        struct queue_depth_result result = run(config);
        assert_true(result.residence_ps == 4 * 64 * result.elapsed_ps);
        double mean_ns = ((double)result.reads.mean_ns * (double)result.reads.count +
                          (double)result.writes.mean_ns * (double)result.writes.count) /
                         (double)result.requests;
        assert_near(mean_ns, 256e9 / (double)result.iops, 20 * TOLERANCE);
    }
}

static void the_bottleneck_has_a_name(void **state) {
    (void)state;
    struct queue_depth_config config = dies_512();
    config.requests = REQUESTS / 10;
    config.depth = 256;
    struct queue_depth_result result = run(config);
    assert_string_equal(queue_station_name(result.bottleneck), "controller");
    assert_true(result.utilization_permille[QUEUE_CONTROLLER] >= 999);
    assert_near(result.utilization_permille[QUEUE_DIES], 1000 / 1.05 * 75 / 512, 0.02);
    config.drive.dies = 32;
    assert_string_equal(queue_station_name(run(config).bottleneck), "dies");
    config.host_ps = 5 * US;
    result = run(config);
    assert_string_equal(queue_station_name(result.bottleneck), "host CPU");
    assert_near((double)result.iops, 200000, 0.001);
    config.jobs = 2; /* two jobs have two CPUs */
    assert_near((double)run(config).iops, 380000, 0.07);
}

/* A block of several pages is read from planes that lie side by side, at the same time. */
static void large_reads_spread_over_planes(void **state) {
    (void)state;
    struct queue_depth_config config = dies_64();
    config.block_bytes = 128 * KIB;
    config.depth = 1;
    config.requests = REQUESTS / 100;
    /* 8.856 us controller, 14 us delay, 45 us, four pages on each of two channels, 8.738 us link */
    double alone_us = 131072 / 14.8e3 + 14 + 45 + 4 * 8.192 + 131072 / 15e3;
    assert_near((double)run(config).reads.mean_ns / 1000, alone_us, 0.001);
    config.sequential = true;
    config.depth = 32;
    struct queue_depth_result result = run(config);
    assert_near((double)result.bytes_per_s, 14.8e9, 0.001);
    assert_string_equal(queue_station_name(result.bottleneck), "controller");
}

static void a_write_is_done_when_buffered(void **state) {
    (void)state;
    struct queue_depth_config config = dies_64();
    config.write_permille = 1000;
    config.depth = 1;
    struct queue_depth_result result = run(config);
    assert_near((double)result.writes.max_ns, 273 + 333 + 9000, 0.001);
    assert_int_equal(result.reads.count, 0);
    assert_true(result.utilization_permille[QUEUE_BUFFER] < 500);
}

/* Steady writes are what programming leaves to the host. */
static void copies_share_the_programming_rate(void **state) {
    (void)state;
    for (uint64_t copied = 0; copied <= 6; copied += 2) {
        struct queue_depth_config config = dies_64();
        config.write_permille = 1000;
        config.drive.copied_millionths = copied * US;
        struct queue_depth_result result = run(config);
        assert_near((double)result.bytes_per_s, 8.7e9 / (double)(copied + 1), 0.01);
        assert_string_equal(queue_station_name(result.bottleneck), "programming");
        assert_true(result.utilization_permille[QUEUE_BUFFER] > 900);
    }
}

/* Without a ceiling the dies limit: 64 of 192 KiB in 1.2 ms, 10.49 GB/s; erasing takes 3 ms in
 * every ten programs of it, copying four reads of 45 us a program. */
static void dies_are_shared_by_all(void **state) {
    (void)state;
    struct queue_depth_config config = dies_64();
    double dies = 64 * 192 * 1024 / 1.2e-3;
    config.write_permille = 1000;
    config.requests = 100000;
    config.drive.program_bytes_per_s = 0;
    config.drive.buffer_bytes = UINT64_C(64) << 20;
    assert_near((double)run(config).bytes_per_s, dies, 0.01);
    config.drive.erase_ps = 3000 * US;
    config.drive.programs_per_erase = 10;
    assert_near((double)run(config).bytes_per_s, dies * 1.2 / 1.5, 0.02);
    config.drive.erase_ps = 0;
    config.drive.copied_millionths = 1000000;
    config.drive.copy_pages_millionths = 333334; /* 16 pages a program */
    struct queue_depth_result result = run(config);
    assert_near((double)result.bytes_per_s, dies * 1.2 / (2.4 + 0.18), 0.02);
    assert_string_equal(queue_station_name(result.bottleneck), "dies");
}

/* 4 KiB in units of 16 KiB: four bytes programmed for one, and one page read for each. */
static void less_than_a_unit_costs_a_unit(void **state) {
    (void)state;
    struct queue_depth_config config = dies_64();
    config.write_permille = 1000;
    config.drive.unit_bytes = 16 * KIB;
    config.drive.program_bytes_per_s = 4 * GB;
    struct queue_depth_result result = run(config);
    assert_near((double)result.bytes_per_s, 1e9, 0.01);
    /* 20,345 programs a second take 4 planes for 1.2 ms, their 244,141 reads one for 45 us. */
    assert_near(result.utilization_permille[QUEUE_DIES],
                1000 * (20345.05 * 1.2e-3 / 64 + 244140.6 * 45e-6 / 256), 0.02);
    config.sequential = true; /* neighbours complete each other's units */
    assert_near((double)run(config).bytes_per_s, 4e9, 0.01);
}

static void a_small_buffer_does_not_stick(void **state) {
    (void)state;
    struct queue_depth_config config = dies_64();
    config.write_permille = 1000;
    config.requests = REQUESTS / 100;
    config.drive.buffer_bytes = 32 * KIB; /* less than a program */
    assert_true(run(config).iops > 0);
    config.drive.buffer_bytes = 2 * KIB;
    struct queue_depth_result result;
    struct error err = {0};
    assert_int_equal(queue_depth_run(&config, &result, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "does not fit into the write buffer"));
}

/* Reads go before programs that wait; with suspends also before those that run. */
static void suspending_shortens_the_tail_of_reads(void **state) {
    (void)state;
    struct queue_depth_config config = dies_64();
    config.write_permille = 300;
    config.depth = 16;
    struct queue_depth_result waits = run(config);
    config.drive.suspend_ps = 30 * US;
    config.drive.suspends_max = 8;
    struct queue_depth_result suspends = run(config);
    assert_true(waits.reads.p99_ns > 800000);
    assert_true(suspends.reads.p99_ns < 200000);
    assert_true(suspends.reads.mean_ns < waits.reads.mean_ns);
    /* Even reads without end let programs through. */
    config.drive.dies = 2;
    config.depth = 256;
    config.drive.buffer_bytes = UINT64_C(1) << 20;
    struct queue_depth_result crowded = run(config);
    assert_true(crowded.writes.count > 0);
    assert_near((double)crowded.writes.count / (double)crowded.requests, 0.3, 0.05);
}

static void same_seed_same_result(void **state) {
    (void)state;
    struct queue_depth_config config = dies_64();
    config.write_permille = 300;
    config.service = QUEUE_EXPONENTIAL;
    config.drive.suspend_ps = 30 * US;
    config.drive.suspends_max = 2;
    struct queue_depth_result first = run(config), second = run(config);
    assert_memory_equal(&first, &second, sizeof first);
    config.seed++;
    second = run(config);
    assert_true(first.elapsed_ps != second.elapsed_ps);
}

static void impossible_loads(void **state) {
    (void)state;
    struct queue_depth_result result;
    struct error err;
    struct queue_depth_config config = dies_64();
    config.depth = 0;
    assert_int_equal(queue_depth_run(&config, &result, &err), ERR_USAGE);
    config.depth = 100000;
    assert_int_equal(queue_depth_run(&config, &result, &err), ERR_USAGE);
    config = dies_64();
    config.drive.planes = 0;
    assert_int_equal(queue_depth_run(&config, &result, &err), ERR_USAGE);
    config = dies_64();
    config.block_bytes = UINT64_C(1) << 30;
    assert_int_equal(queue_depth_run(&config, &result, &err), ERR_USAGE);
    config = dies_64();
    config.write_permille = 1;
    config.drive.unit_bytes = 1 << 20;
    assert_int_equal(queue_depth_run(&config, &result, &err), ERR_USAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponential_service_is_mean_value_analysis),
        cmocka_unit_test(equal_dies_have_the_balanced_form),
        cmocka_unit_test(deterministic_service),
        cmocka_unit_test(littles_law_holds_exactly),
        cmocka_unit_test(the_bottleneck_has_a_name),
        cmocka_unit_test(large_reads_spread_over_planes),
        cmocka_unit_test(a_write_is_done_when_buffered),
        cmocka_unit_test(copies_share_the_programming_rate),
        cmocka_unit_test(dies_are_shared_by_all),
        cmocka_unit_test(less_than_a_unit_costs_a_unit),
        cmocka_unit_test(a_small_buffer_does_not_stick),
        cmocka_unit_test(suspending_shortens_the_tail_of_reads),
        cmocka_unit_test(same_seed_same_result),
        cmocka_unit_test(impossible_loads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
