#include "sim/drive/flow.h"

#include "tests/unit/support.h"

#define SECOND UINT64_C(1000000000)
#define NO_LIMIT UINT64_MAX

enum { MOST = 16 };

struct bench {
    struct flow_set set;
    struct flow flows[MOST];
};

static void set_up(struct bench *bench, uint64_t new_limit, uint64_t reused_limit) {
    uint64_t limits[FLOW_CLASSES] = {new_limit, reused_limit};
    *bench = (struct bench){0};
    flow_set_init(&bench->set, limits, MOST);
}

static uint64_t rate_of(const struct bench *bench, enum flow_class class) {
    return bench->set.clocks[class].rate_bytes_per_s;
}

static void one_flow_runs_at_its_own_limit(void **state) {
    (void)state;
    struct bench bench;
    set_up(&bench, 500, 400);
    flow_add(&bench.set, &bench.flows[0], FLOW_NEW, 1000);
    flow_share(&bench.set, NO_LIMIT);
    assert_int_equal(flow_total_rate(&bench.set), 500);
    assert_int_equal(flow_next_ns(&bench.set), 2 * SECOND);
    flow_advance(&bench.set, SECOND);
    assert_int_equal(flow_left(&bench.set, &bench.flows[0]), 500);
    assert_null(flow_take_ended(&bench.set));
    flow_advance(&bench.set, SECOND);
    assert_ptr_equal(flow_take_ended(&bench.set), &bench.flows[0]);
    assert_null(flow_take_ended(&bench.set));
    assert_int_equal(flow_count(&bench.set), 0);
    flow_set_fini(&bench.set);
}

static void equal_flows_share_equally(void **state) {
    (void)state;
    struct bench bench;
    set_up(&bench, 500, 500);
    for (int i = 0; i < 4; i++) {
        flow_add(&bench.set, &bench.flows[i], FLOW_NEW, 100 * ((uint64_t)i + 1));
    }
    flow_share(&bench.set, 1000);
    assert_int_equal(rate_of(&bench, FLOW_NEW), 250);
    assert_int_equal(flow_total_rate(&bench.set), 1000);
    assert_int_equal(flow_wanted_rate(&bench.set), 2000);
    /* 100 bytes end after 0.4 s; then three share, 333 bytes/s each, and so on */
    flow_advance(&bench.set, flow_next_ns(&bench.set));
    assert_ptr_equal(flow_take_ended(&bench.set), &bench.flows[0]);
    flow_share(&bench.set, 1000);
    assert_int_equal(rate_of(&bench, FLOW_NEW), 333);
    assert_int_equal(flow_left(&bench.set, &bench.flows[3]), 300);
    flow_set_fini(&bench.set);
}

/* Who needs less than an equal share gets it, the rest is shared by the others. */
static void classes_are_shared_max_min(void **state) {
    (void)state;
    static const struct {
        uint64_t limits[2], counts[2], total, rates[2];
    } rows[] = {
        {{100, 300}, {2, 1}, 500, {100, 300}},
        {{100, 300}, {2, 1}, 400, {100, 200}},
        {{100, 300}, {2, 1}, 240, {80, 80}},
        {{300, 100}, {2, 1}, 500, {200, 100}},
        {{300, 100}, {1, 3}, 200, {50, 50}},
        {{300, 100}, {0, 3}, 1000, {0, 100}},
        {{300, 100}, {2, 0}, 1000, {300, 100}},
        {{NO_LIMIT, 100}, {1, 2}, 1000, {800, 100}},
        {{NO_LIMIT, NO_LIMIT}, {2, 2}, 1000, {250, 250}},
        {{100, 300}, {2, 1}, 0, {0, 0}},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bench bench;
        int next = 0;
        set_up(&bench, rows[i].limits[0], rows[i].limits[1]);
        for (enum flow_class class = FLOW_NEW; class < FLOW_CLASSES; class ++) {
            for (uint64_t k = 0; k < rows[i].counts[class]; k++) {
                flow_add(&bench.set, &bench.flows[next++], class, 1000);
            }
        }
        flow_share(&bench.set, rows[i].total);
        for (enum flow_class class = FLOW_NEW; class < FLOW_CLASSES; class ++) {
            if (rows[i].counts[class] > 0) {
                assert_int_equal(rate_of(&bench, class), rows[i].rates[class]);
            }
        }
        assert_true(flow_total_rate(&bench.set) <= rows[i].total);
        flow_set_fini(&bench.set);
    }
}

static void ties_go_to_the_first_added(void **state) {
    (void)state;
    struct bench bench;
    set_up(&bench, 10, 10);
    for (int i = 0; i < 8; i++) {
        flow_add(&bench.set, &bench.flows[i], FLOW_REUSED, 100);
    }
    flow_share(&bench.set, NO_LIMIT);
    flow_advance(&bench.set, flow_next_ns(&bench.set));
    for (int i = 0; i < 8; i++) {
        assert_ptr_equal(flow_take_ended(&bench.set), &bench.flows[i]);
    }
    flow_set_fini(&bench.set);
}

static void nothing_moves_without_bandwidth(void **state) {
    (void)state;
    struct bench bench;
    set_up(&bench, 10, 10);
    flow_share(&bench.set, 100);
    assert_true(flow_next_ns(&bench.set) == UINT64_MAX);
    flow_add(&bench.set, &bench.flows[0], FLOW_NEW, 100);
    flow_share(&bench.set, 0);
    assert_true(flow_next_ns(&bench.set) == UINT64_MAX);
    flow_advance(&bench.set, 5 * SECOND);
    assert_int_equal(flow_left(&bench.set, &bench.flows[0]), 100);
    flow_set_fini(&bench.set);
}

static void empty_flows_end_at_once(void **state) {
    (void)state;
    struct bench bench;
    set_up(&bench, 10, 10);
    flow_add(&bench.set, &bench.flows[0], FLOW_NEW, 1000);
    flow_add(&bench.set, &bench.flows[1], FLOW_NEW, 0);
    flow_share(&bench.set, 0);
    assert_int_equal(flow_next_ns(&bench.set), 0);
    assert_ptr_equal(flow_take_ended(&bench.set), &bench.flows[1]);
    assert_null(flow_take_ended(&bench.set));
    flow_set_fini(&bench.set);
}

/* The largest sizes and rates there are neither wrap nor stand still. */
static void no_limit_and_exabytes(void **state) {
    (void)state;
    struct bench bench;
    set_up(&bench, NO_LIMIT, NO_LIMIT);
    for (int i = 0; i < 3; i++) {
        flow_add(&bench.set, &bench.flows[i], FLOW_NEW, UINT64_C(1) << 60);
    }
    flow_share(&bench.set, NO_LIMIT);
    assert_true(flow_wanted_rate(&bench.set) == UINT64_MAX);
    assert_true(flow_total_rate(&bench.set) <= NO_LIMIT);
    uint64_t ns = flow_next_ns(&bench.set);
    assert_true(ns > 180000000 && ns < 190000000); /* 3 x 2^60 bytes at 2^64 bytes/s: 3/16 s */
    flow_advance(&bench.set, ns);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(flow_take_ended(&bench.set), &bench.flows[i]);
    }
    flow_set_fini(&bench.set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_flow_runs_at_its_own_limit),
        cmocka_unit_test(equal_flows_share_equally),
        cmocka_unit_test(classes_are_shared_max_min),
        cmocka_unit_test(ties_go_to_the_first_added),
        cmocka_unit_test(nothing_moves_without_bandwidth),
        cmocka_unit_test(empty_flows_end_at_once),
        cmocka_unit_test(no_limit_and_exabytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
