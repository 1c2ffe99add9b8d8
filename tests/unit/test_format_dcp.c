/* What becomes of the items of a distributed checkpoint in its metadata. Whether torch reads it is
 * asked by tests/cli/test_formats. */
#include "io/format_dcp_metadata.h"
#include "tests/unit/support.h"

#include <string.h>

/* Four of the eight rows of a tensor. */
static struct tensor make_rows(uint64_t first) {
    struct tensor tensor = {.name = "layers.weight",
                            .datatype = DATATYPE_BF16,
                            .dimensions = 2,
                            .shape = {4, 5},
                            .whole = {8, 5},
                            .offset = {first, 0}};
    tensor_count(&tensor);
    return tensor;
}

static size_t count_text(const struct format_file *file, const char *text) {
    const uint8_t *bytes = file->segments[0].literal;
    size_t count = 0, length = strlen(text);
    for (uint64_t i = 0; i + length <= file->size_bytes; i++) {
        count += memcmp(bytes + i, text, length) == 0 ? 1 : 0;
    }
    return count;
}

static void test_parts(void **state) {
    (void)state;
    struct arena arena = {0};
    struct error err;
    struct format_file file;
    struct tensor parts[] = {make_rows(0), make_rows(4)};
    struct format_place place = {.item_offset = 70000, .item_bytes = 1234};
    /* The second part comes twice, from two ranks; the first of them counts. */
    struct format_dcp_item items[] = {{&parts[1], &place, "__1_0.distcp"},
                                      {&parts[0], &place, "__0_0.distcp"},
                                      {&parts[1], &place, "__2_0.distcp"}};
    enum status status = format_dcp_metadata(items, COUNT_OF(items), &arena, &file, &err);
    assert_int_equal(status, OK);
    assert_int_equal(file.segment_count, 1);
    assert_int_equal(file.segments[0].length_bytes, file.size_bytes);
    assert_int_equal(count_text(&file, "layers.weight"), 1);
    assert_int_equal(count_text(&file, "__0_0.distcp"), 1);
    assert_int_equal(count_text(&file, "__1_0.distcp"), 1);
    assert_int_equal(count_text(&file, "__2_0.distcp"), 0);
    assert_int_equal(count_text(&file, "torch\nbfloat16\n"), 1);
    arena_fini(&arena);
}

static void test_parts_that_differ(void **state) {
    (void)state;
    struct arena arena = {0};
    struct format_file file;
    struct tensor parts[] = {make_rows(0), make_rows(4)}, *other = &parts[1];
    struct format_place place = {.item_bytes = 1234};
    struct format_dcp_item items[] = {{&parts[0], &place, "a"}, {&parts[1], &place, "b"}};
    for (int i = 0; i < 3; i++) {
        struct error err = {0};
        *other = make_rows(4);
        other->datatype = i == 0 ? DATATYPE_FP16 : DATATYPE_BF16;
        other->dimensions = i == 1 ? 1 : 2;
        other->whole[0] = i == 2 ? 9 : 8;
        enum status status = format_dcp_metadata(items, COUNT_OF(items), &arena, &file, &err);
        assert_int_equal(status, ERR_USAGE);
        assert_string_equal(err.text, "parts of tensor 'layers.weight' differ in type or shape");
    }
    arena_fini(&arena);
}

static void test_no_items(void **state) {
    (void)state;
    struct arena arena = {0};
    struct error err;
    struct format_file file;
    enum status status = format_dcp_metadata(NULL, 0, &arena, &file, &err);
    assert_int_equal(status, OK);
    assert_int_equal(count_text(&file, "storage_data"), 1);
    arena_fini(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_parts_that_differ),
        cmocka_unit_test(test_no_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
