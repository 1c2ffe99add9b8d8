/* The closed forms against hand-made and published numbers. The simulation is held against them in
 * test_queue_depth.c. */
#include "tests/unit/support.h"

#include "sim/drive/queue_model.h"

#include <math.h>

static void assert_near(double value, double expected, double share) {
    if (!(fabs(value / expected - 1) <= share)) {
        fail_msg("%.6g is not within %g of %.6g", value, share, expected);
    }
}

static struct queue_network one_center(double servers, double service_ns) {
    return (struct queue_network){.centers = {{servers, service_ns}}, .count = 1};
}

static void equal_servers_have_the_balanced_form(void **state) {
    (void)state;
    for (uint32_t servers = 1; servers <= 512; servers *= 4) {
        struct queue_network network = one_center(servers, 75000);
        for (uint32_t q = 1; q <= 256; q *= 2) {
            assert_near(queue_network_iops(&network, q), queue_balanced_iops(servers, 75000, q),
                        1e-9);
        }
    }
    /* 16 requests on 2 dies of 100 us: 16 x 2 / (17 x 100 us). */
    assert_near(queue_balanced_iops(2, 100000, 16), 18823.53, 1e-6);
}

/* By hand: one request takes 10 + 20 us; the second finds 1/3 and 2/3 of it there, so 13.33 + 33.33
 * us. */
static void two_stations_by_hand(void **state) {
    (void)state;
    struct queue_network network = {.centers = {{1, 10000}, {1, 20000}}, .count = 2};
    assert_near(queue_network_iops(&network, 1), 1e9 / 30000, 1e-12);
    assert_near(queue_network_iops(&network, 2), 2e9 / (40000 / 3.0 + 100000 / 3.0), 1e-12);
    network.delay_ns = 30000;
    assert_near(queue_network_iops(&network, 1), 1e9 / 60000, 1e-12);
}

/* 512 dies of 75 us, 1.05 us a command, 25 us fixed; the last 5.3 us of the 106.4 us that one
 * request takes are the transfer on one of 32 channels. */
static void a_drive_of_512_dies(void **state) {
    (void)state;
    static const double expected[][2] = {
        {1, 9.4e3}, {16, 148e3}, {64, 557e3}, {128, 938e3}, {256, 952e3}};
    struct queue_network network = {
        .centers = {{1, 1050}, {512, 75000}, {32, 5300}}, .count = 3, .delay_ns = 25000};
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_near(queue_network_iops(&network, (uint32_t)expected[i][0]), expected[i][1], 0.002);
    }
}

static void no_network_passes_its_limit(void **state) {
    (void)state;
    struct queue_network network = {
        .centers = {{1, 1050}, {512, 75000}, {32, 5300}}, .count = 3, .delay_ns = 25000};
    for (uint32_t q = 1; q <= 4096; q *= 2) {
        assert_true(queue_network_iops(&network, q) <= queue_network_limit(&network, q) * 1.000001);
    }
    assert_near(queue_network_limit(&network, 1), 1e9 / 106350, 1e-9);
    assert_near(queue_network_limit(&network, 4096), 1e9 / 1050, 1e-9);
    assert_near(queue_network_iops(&network, 4096), 1e9 / 1050, 1e-9);
}

static void a_configuration_becomes_a_network(void **state) {
    (void)state;
    struct queue_depth_config config = {.drive = {.link_bytes_per_s = UINT64_C(4096000000),
                                                  .command_ps = 500000,
                                                  .read_bytes_per_s = UINT64_C(2048000000),
                                                  .read_delay_ps = 9000000,
                                                  .dies = 8,
                                                  .planes = 4,
                                                  .channels = 2,
                                                  .channel_bytes_per_s = UINT64_C(1024000000),
                                                  .page_bytes = 16384,
                                                  .read_ps = 40000000},
                                        .jobs = 3,
                                        .host_ps = 6000000,
                                        .block_bytes = 4096};
    static const double expected[][2] = {{3, 6000}, {1, 2000}, {32, 40000}, {2, 4000}, {1, 1000}};
    struct queue_network network;
    queue_network_of(&config, &network);
    assert_int_equal(network.count, COUNT_OF(expected));
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_near(network.centers[i].servers, expected[i][0], 1e-12);
        assert_near(network.centers[i].service_ns, expected[i][1], 1e-12);
    }
    assert_near(network.delay_ns, 9000, 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_servers_have_the_balanced_form),
        cmocka_unit_test(two_stations_by_hand),
        cmocka_unit_test(a_drive_of_512_dies),
        cmocka_unit_test(no_network_passes_its_limit),
        cmocka_unit_test(a_configuration_becomes_a_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
