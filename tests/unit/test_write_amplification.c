/* The closed forms against published values and against each other. */
#include "tests/unit/support.h"

#include "sim/drive/ftl_span.h"
#include "sim/drive/write_amplification.h"

#include <math.h>

static void assert_near(double value, double expected, double tolerance) {
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.4f is not within %.4f of %.4f", value, tolerance, expected);
    }
}

/* Fill; FIFO; greedy with 64, 256, 1024 units per superblock. */
static const double table[][5] = {
    {1 / 1.07, 7.82, 7.01, 7.60, 7.76},  {0.93, 7.32, 6.62, 7.12, 7.27},
    {1 / 1.125, 4.68, 4.39, 4.60, 4.66}, {1 / 1.2, 3.19, 3.05, 3.15, 3.18},
    {1 / 1.28, 2.48, 2.40, 2.46, 2.48},  {0.72, 1.99, 1.94, 1.98, 1.99},
    {1 / 1.5, 1.72, 1.68, 1.71, 1.71},
};

static void fifo_and_greedy(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        assert_near(write_amplification_fifo(table[i][0]), table[i][1], 0.0051);
        assert_near(write_amplification_greedy(table[i][0], 64), table[i][2], 0.0051);
        assert_near(write_amplification_greedy(table[i][0], 256), table[i][3], 0.0051);
        assert_near(write_amplification_greedy(table[i][0], 1024), table[i][4], 0.0051);
    }
    /* Xiang and Kurkoski print 2.36 for 30 % more raw than logical capacity. */
    assert_near(write_amplification_fifo(1 / 1.3), 2.364, 0.001);
    assert_near(write_amplification_greedy(0.93, 1 << 20), write_amplification_fifo(0.93), 0.001);
}

static void d_choices(void **state) {
    (void)state;
    assert_near(write_amplification_d_choices(0.93, 256, 2), 9.905, 0.001);
    assert_near(write_amplification_d_choices(0.93, 256, 10), 7.339, 0.001);
    assert_near(write_amplification_d_choices(0.93, 256, 30), 7.159, 0.001);
    assert_near(write_amplification_d_choices(0.93, 256, 1e6),
                write_amplification_greedy(0.93, 256), 0.001);
}

static void finite_drives(void **state) {
    (void)state;
    static const double expected[][2] = {{256, 8.382}, {1024, 7.399}, {4096, 7.191}};
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        double fill = write_amplification_finite_fill(0.93, expected[i][0], 3);
        assert_near(write_amplification_greedy(fill, 256), expected[i][1], 0.001);
    }
}

static void trims(void **state) {
    (void)state;
    static const double expected[][3] = {
        {0.05, 0.947, 4.40}, {0.10, 0.889, 3.08}, {0.20, 0.750, 1.86}, {0.30, 0.571, 1.31}};
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        double live = write_amplification_live_share(expected[i][0]);
        assert_near(live, expected[i][1], 0.0006);
        assert_near(write_amplification_greedy(live / 1.07, 128), expected[i][2], 0.006);
    }
}

static void writes_below_a_unit(void **state) {
    (void)state;
    enum { KIB = 1024 };
    double op_7 = write_amplification_greedy(1 / 1.07, 256);
    double op_28 = write_amplification_greedy(1 / 1.28, 256);
    assert_near(write_amplification_sub_unit(op_7, 4 * KIB, 4 * KIB, 16 * KIB), 30.4, 0.05);
    assert_near(write_amplification_sub_unit(op_28, 4 * KIB, 4 * KIB, 16 * KIB), 9.8, 0.06);
    assert_near(write_amplification_sub_unit(op_7, 64 * KIB, 64 * KIB, 16 * KIB), 7.6, 0.05);
    assert_near(write_amplification_sub_unit(1, 128 * KIB, 4 * KIB, 16 * KIB), 8.75 / 8, 1e-9);
    assert_near(write_amplification_touched_units(4 * KIB, 16 * KIB, 16 * KIB), 1, 1e-9);
}

/* The mean over all places where a write may begin is the formula's, unit by unit. */
static void spans_average_to_the_formula(void **state) {
    (void)state;
    enum { UNIT = 16384, ALIGN = 512 };
    for (uint64_t length = ALIGN; length < UINT64_C(4) * UNIT; length += 7 * ALIGN) {
        uint64_t touched = 0;
        for (uint64_t offset = 0; offset < UNIT; offset += ALIGN) {
            touched += ftl_span(offset, length, UNIT).units;
        }
        double mean = (double)touched / (UNIT / ALIGN);
        assert_near(write_amplification_touched_units((double)length, ALIGN, UNIT), mean, 1e-9);
    }
}

static void spans(void **state) {
    (void)state;
    struct ftl_span whole = ftl_span(16384, 32768, 16384);
    assert_int_equal(whole.first_unit, 1);
    assert_int_equal(whole.units, 2);
    assert_int_equal(whole.partial_units, 0);
    struct ftl_span inside = ftl_span(16384 + 512, 1024, 16384);
    assert_int_equal(inside.units, 1);
    assert_int_equal(inside.partial_units, 1);
    struct ftl_span across = ftl_span(512, 32768, 16384);
    assert_int_equal(across.units, 3);
    assert_int_equal(across.partial_units, 2);
    assert_int_equal(ftl_span(512, 0, 16384).units, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fifo_and_greedy),
        cmocka_unit_test(d_choices),
        cmocka_unit_test(finite_drives),
        cmocka_unit_test(trims),
        cmocka_unit_test(writes_below_a_unit),
        cmocka_unit_test(spans_average_to_the_formula),
        cmocka_unit_test(spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
