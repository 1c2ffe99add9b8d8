/* CRC-32: known values, the definition bit by bit, and parts put together in any order. */
#include "base/prng.h"
#include "io/crc32.h"
#include "tests/unit/support.h"

#include <stdlib.h>
#include <string.h>

static uint32_t bit_by_bit(const uint8_t *bytes, size_t length) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < length; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
        }
    }
    return ~crc;
}

static void test_known_values(void **state) {
    (void)state;
    assert_int_equal(crc32_more(0, "123456789", 9), 0xcbf43926);
    assert_int_equal(crc32_more(0, "", 0), 0);
    assert_int_equal(crc32_zeros(0), 0);
    assert_int_equal(crc32_zeros(4), 0x2144df1c);
    assert_int_equal(crc32_shift(0x12345678, 0), 0x12345678);
}

static void test_definition(void **state) {
    (void)state;
    uint8_t bytes[3000];
    uint64_t random = 1;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)prng_next(&random);
    }
    for (size_t length = 0; length < sizeof bytes; length += 1 + length / 7) {
        assert_int_equal(crc32_more(0, bytes, length), bit_by_bit(bytes, length));
        memset(bytes, 0, length);
        assert_int_equal(crc32_zeros(length), bit_by_bit(bytes, length));
    }
}

/* Parts in the order of a shuffle, each shifted by what follows it. */
static void test_parts_in_any_order(void **state) {
    (void)state;
    enum { PARTS = 50, PART = 1237 };
    uint8_t *bytes = malloc(PARTS * PART);
    uint64_t random = 2;
    size_t order[PARTS];
    for (size_t i = 0; i < PARTS * PART; i++) {
        bytes[i] = (uint8_t)prng_next(&random);
    }
    for (size_t i = 0; i < PARTS; i++) {
        size_t other = prng_next(&random) % (i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    uint32_t crc = 0;
    for (size_t i = 0; i < PARTS; i++) {
        uint32_t part = crc32_more(0, bytes + order[i] * PART, PART);
        crc ^= crc32_shift(part, (PARTS - 1 - order[i]) * PART);
    }
    assert_int_equal(crc, crc32_more(0, bytes, PARTS * PART));
    free(bytes);
}

/* Lengths that no memory holds: shifting twice is shifting by the sum. */
static void test_large_shifts(void **state) {
    (void)state;
    uint64_t random = 3;
    for (int i = 0; i < 1000; i++) {
        uint64_t left = prng_next(&random) >> 1, right = prng_next(&random) >> 1;
        uint32_t crc = (uint32_t)prng_next(&random);
        assert_int_equal(crc32_shift(crc32_shift(crc, left), right),
                         crc32_shift(crc, left + right));
        assert_int_equal(crc32_shift(crc32_zeros(left), right) ^ crc32_zeros(right),
                         crc32_zeros(left + right));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_parts_in_any_order),
        cmocka_unit_test(test_large_shifts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
