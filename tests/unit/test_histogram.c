/* Histograms: exact small values, the error bound on random ones, and the way through JSON. */
#include "base/memory.h"
#include "base/prng.h"
#include "metrics/histogram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROUNDS = 60, VALUES = 2000 };

static struct histogram one, two, three; /* each 30 KB: too large for comfort on a stack */

static void clear(void) {
    memset(&one, 0, sizeof one);
    memset(&two, 0, sizeof two);
    memset(&three, 0, sizeof three);
}

static void small_values_are_exact(void **state) {
    (void)state;
    clear();
    for (uint64_t value = 1; value <= 100; value++) {
        histogram_add(&one, value % 64);
    }
    histogram_add(&two, 7);
    assert_int_equal(histogram_percentile(&one, 0.5), 25);
    assert_int_equal(histogram_percentile(&one, 0), 0);
    assert_int_equal(histogram_percentile(&one, 1), 63);
    assert_int_equal(one.count, 100);
    assert_int_equal(histogram_percentile(&two, 0.0001), 7);
    assert_int_equal(histogram_percentile(&two, 0.9999), 7);
}

static void ranks_do_not_slip_by_rounding(void **state) {
    (void)state;
    clear();
    for (uint64_t value = 1; value <= 100; value++) {
        histogram_add(&one, value < 63 ? value : 63);
    }
    /* 0.07 * 100 is 7.000000000000001 in a double; the 7th of 1 2 3 ... is 7. */
    assert_int_equal(histogram_percentile(&one, 0.07), 7);
    assert_int_equal(histogram_percentile(&one, 0.07001), 8);
    assert_int_equal(histogram_percentile(&one, 0.5), 50);
    assert_int_equal(histogram_percentile(&one, 0.99), 63);
}

static void an_empty_one_says_zero(void **state) {
    (void)state;
    clear();
    assert_int_equal(histogram_percentile(&one, 0.5), 0);
    histogram_merge(&two, &one);
    assert_int_equal(two.count, 0);
    assert_int_equal(two.minimum, 0);
}

static void the_ends_of_the_range_fit(void **state) {
    (void)state;
    clear();
    histogram_add(&one, 0);
    histogram_add(&one, UINT64_MAX);
    assert_int_equal(one.buckets[HISTOGRAM_BUCKETS - 1], 1);
    assert_int_equal(histogram_percentile(&one, 0.5), 0);
    assert_true(histogram_percentile(&one, 1) == UINT64_MAX);
    histogram_add(&one, UINT64_MAX);
    assert_true(one.sum == UINT64_MAX); /* saturated, not wrapped */
}

static int compare(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static uint64_t random_value(uint64_t *seed) {
    uint64_t value = prng_next(seed);
    return value >> (prng_next(seed) % 64);
}

static uint64_t run_seed(void) {
    const char *given = getenv("SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : 20240813;
    printf("# SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

/* Every percentile lies on or above the true one, by at most 1/64 of it. */
static void percentiles_keep_the_error_bound(void **state) {
    (void)state;
    static uint64_t values[VALUES];
    uint64_t seed = run_seed();
    for (int round = 0; round < ROUNDS; round++) {
        clear();
        for (int i = 0; i < VALUES; i++) {
            values[i] = random_value(&seed);
            histogram_add(&one, values[i]);
        }
        qsort(values, VALUES, sizeof values[0], compare);
        for (int i = 0; i < VALUES; i++) {
            uint64_t got = histogram_percentile(&one, (double)(i + 1) / VALUES);
            assert_true(got >= values[i]);
            assert_true(got - values[i] <= values[i] / 64);
        }
        assert_true(one.minimum == values[0] && one.maximum == values[VALUES - 1]);
    }
}

static void merging_equals_adding_all(void **state) {
    (void)state;
    uint64_t seed = run_seed();
    clear();
    for (int i = 0; i < VALUES; i++) {
        uint64_t value = random_value(&seed) >> 12; /* the sum must not saturate */
        histogram_add(i % 3 == 0 ? &one : &two, value);
        histogram_add(&three, value);
    }
    histogram_merge(&one, &two);
    assert_memory_equal(&one, &three, sizeof one);
}

static void merging_keeps_the_outer_ends(void **state) {
    (void)state;
    clear();
    histogram_add(&one, 10);
    histogram_add(&one, 20);
    histogram_add(&two, 5);
    histogram_add(&two, 30);
    three = one;
    histogram_merge(&one, &two);
    histogram_merge(&two, &three);
    assert_int_equal(one.minimum, 5);
    assert_int_equal(one.maximum, 30);
    assert_memory_equal(&one, &two, sizeof one);
}

static char *to_json(const struct histogram *histogram, size_t *length) {
    char *text = NULL;
    struct json json = {.stream = open_memstream(&text, length)};
    histogram_write_json(histogram, &json, NULL);
    fclose(json.stream);
    return text;
}

static enum status from_json(const char *text, struct histogram *histogram, struct error *err) {
    struct arena arena = {0};
    struct yaml_node *root;
    enum status status = yaml_read_text("text", text, strlen(text), &arena, &root, err);
    if (status == OK) {
        status = histogram_read(root, histogram, err);
    }
    arena_fini(&arena);
    return status;
}

static void json_brings_it_back(void **state) {
    (void)state;
    uint64_t seed = run_seed();
    clear();
    for (int i = 0; i <= VALUES; i++) {
        size_t length;
        char *text = to_json(&one, &length);
        struct error err;
        if (i % 500 == 0) {
            assert_int_equal(from_json(text, &two, &err), OK);
            assert_memory_equal(&one, &two, sizeof one);
        }
        free(text);
        histogram_add(&one, random_value(&seed));
    }
}

static void damage_is_noticed(void **state) {
    (void)state;
    static const char *const bad[] = {
        "{count: 2, sum_ns: 3, min_ns: 1, max_ns: 2, buckets: [[1, 1]]}",
        "{count: 2, sum_ns: 3, min_ns: 1, max_ns: 2, buckets: [[2, 1], [1, 1]]}",
        "{count: 2, sum_ns: 3, min_ns: 0, max_ns: 2, buckets: [[1, 1], [2, 1]]}",
        "{count: 2, sum_ns: 3, min_ns: 1, max_ns: 9, buckets: [[1, 1], [2, 1]]}",
        "{count: 1, sum_ns: 3, min_ns: 1, max_ns: 1, buckets: [[3776, 1]]}",
        "{count: 0, sum_ns: 3, min_ns: 1, max_ns: 1, buckets: [[1, 0]]}",
        "{count: 1, sum_ns: 3, min_ns: 1, max_ns: 1, buckets: [1]}",
        "{count: 1, sum_ns: 3, min_ns: 1, max_ns: 1}",
        "{count: x, sum_ns: 3, min_ns: 1, max_ns: 1, buckets: []}",
        "[]",
    };
    struct error err;
    clear();
    assert_int_equal(
        from_json("{count: 2, sum_ns: 3, min_ns: 1, max_ns: 2, buckets: [[1, 1], [2, 1]]}", &one,
                  &err),
        OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(from_json(bad[i], &one, &err), ERR_USAGE);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_values_are_exact),
        cmocka_unit_test(ranks_do_not_slip_by_rounding),
        cmocka_unit_test(an_empty_one_says_zero),
        cmocka_unit_test(the_ends_of_the_range_fit),
        cmocka_unit_test(percentiles_keep_the_error_bound),
        cmocka_unit_test(merging_equals_adding_all),
        cmocka_unit_test(merging_keeps_the_outer_ends),
        cmocka_unit_test(json_brings_it_back),
        cmocka_unit_test(damage_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
