/* Pickles against the bytes of Python's own pickler, protocol 2. */
#include "io/format_pickle.h"
#include "tests/unit/support.h"

#include <stdio.h>
#include <string.h>

static void expect(struct pickle *pickle, const char *hex) {
    char found[256] = "";
    pickle_end(pickle);
    for (size_t i = 0; i < pickle->bytes.used && i < sizeof found / 2 - 1; i++) {
        snprintf(found + 2 * i, 3, "%02x", pickle->bytes.data[i]);
    }
    assert_string_equal(found, hex);
    pickle_fini(pickle);
}

static void test_numbers(void **state) {
    (void)state;
    static const struct {
        uint64_t number;
        const char *hex;
    } rows[] = {
        {0, "80024b002e"},
        {255, "80024bff2e"},
        {256, "80024d00012e"},
        {65535, "80024dffff2e"},
        {65536, "80024a000001002e"},
        {2147483647, "80024affffff7f2e"},
        {2147483648, "80028a0500000080002e"},
        {UINT64_C(549755813887), "80028a05ffffffff7f2e"},
        {UINT64_C(549755813888), "80028a060000000080002e"},
        {UINT64_C(9223372036854775807), "80028a08ffffffffffffff7f2e"},
        {UINT64_C(9223372036854775808), "80028a090000000000000080002e"},
        {UINT64_MAX, "80028a09ffffffffffffffff002e"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pickle pickle;
        pickle_begin(&pickle);
        pickle_number(&pickle, rows[i].number);
        expect(&pickle, rows[i].hex);
    }
}

/* pickle.dumps((1, 2, 3, 4), 2), (), ("ab",) */
static void test_tuples(void **state) {
    (void)state;
    static const uint64_t numbers[] = {1, 2, 3, 4};
    struct pickle pickle;
    pickle_begin(&pickle);
    pickle_number_tuple(&pickle, numbers, 4);
    expect(&pickle, "8002284b014b024b034b047471002e");
    pickle_begin(&pickle);
    pickle_number_tuple(&pickle, numbers, 0);
    expect(&pickle, "8002292e");
    pickle_begin(&pickle);
    pickle_text(&pickle, "ab");
    pickle_tuple(&pickle, 1);
    expect(&pickle, "80025802000000616271008571012e");
}

/* An object that comes twice is fetched: of the first 256 with a short opcode. */
static void test_memo(void **state) {
    (void)state;
    struct pickle pickle;
    pickle_begin(&pickle);
    pickle_constant(&pickle, "ab");
    pickle_constant(&pickle, "ab");
    pickle_tuple(&pickle, 2);
    expect(&pickle, "800258020000006162710068008671012e");
    pickle_begin(&pickle);
    pickle_fetch(&pickle, 255);
    pickle_fetch(&pickle, 256);
    expect(&pickle, "800268ff6a000100002e");
}

static size_t count_byte(const struct pickle *pickle, uint8_t byte) {
    size_t count = 0;
    for (size_t i = 0; i < pickle->bytes.used; i++) {
        count += pickle->bytes.data[i] == byte ? 1 : 0;
    }
    return count;
}

/* {0: 0, ...}: batches of 1,000, one more of none behind full ones, and none for a single item. */
static void test_batches(void **state) {
    (void)state;
    static const struct {
        uint64_t items;
        size_t marks, sets, single_sets;
    } rows[] = {{0, 0, 0, 0},    {1, 0, 0, 1},    {2, 1, 1, 0},    {999, 1, 1, 0},
                {1000, 2, 2, 0}, {1001, 2, 2, 0}, {2000, 3, 3, 0}, {2001, 3, 3, 0}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pickle pickle;
        pickle_begin(&pickle);
        pickle_empty_dict(&pickle);
        for (uint64_t item = 0; item < rows[i].items; item++) {
            pickle_begin_item(&pickle, item, rows[i].items);
            pickle_number(&pickle, 0);
            pickle_number(&pickle, 0);
            pickle_end_dict_item(&pickle, item, rows[i].items);
        }
        pickle_end(&pickle);
        assert_int_equal(count_byte(&pickle, '('), rows[i].marks);
        assert_int_equal(count_byte(&pickle, 'u'), rows[i].sets);
        assert_int_equal(count_byte(&pickle, 's'), rows[i].single_sets);
        pickle_fini(&pickle);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_tuples),
        cmocka_unit_test(test_memo),
        cmocka_unit_test(test_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
