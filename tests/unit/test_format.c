/* The contract of formats, for every one of the registry, on random tensor lists. */
#include "io/crc32.h"
#include "io/format.h"
#include "tests/unit/format_lists.h"

enum { CASES = 40 };

static const struct format_options plain_options, old_options = {.torch_1_13 = true},
                                                  no_crc_options = {.no_crc = true};
static const struct format_options *const option_sets[] = {&plain_options, &old_options,
                                                           &no_crc_options};

static uint32_t field_at(const uint8_t *bytes, uint64_t offset) {
    const uint8_t *b = bytes + offset;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* Rule 2, and that what is measured is inside the file. */
static void check_segments(const struct format_file *file) {
    uint64_t end = 0;
    for (uint64_t i = 0; i < file->segment_count; i++) {
        const struct format_segment *segment = &file->segments[i];
        assert_true(segment->length_bytes > 0);
        assert_true(segment->offset >= end);
        end = segment->offset + segment->length_bytes;
    }
    assert_true(end <= file->size_bytes);
    end = 0;
    for (uint64_t i = 0; i < file->crc_field_count; i++) {
        assert_true(file->crc_fields[i].offset >= end);
        assert_true(file->crc_fields[i].crc < file->crc_count);
        end = file->crc_fields[i].offset + 4;
    }
    assert_true(end <= file->size_bytes);
}

static bool overlap(const struct format_place *a, const struct format_place *b) {
    return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

/* Every tensor has a place of its own that holds payload of its class. */
static void check_places(const struct list *list, const struct format_file *file,
                         const uint8_t *bytes) {
    uint8_t *stream = malloc(file->size_bytes + 1);
    assert_int_equal(file->place_count, list->count);
    for (uint64_t c = 0; c < FORMAT_CLASSES; c++) {
        payload_fill(&list_classes[c], LIST_STREAM, 0, stream, file->size_bytes);
        for (uint64_t i = 0; i < list->count; i++) {
            const struct format_place *place = &file->places[i];
            assert_int_equal(place->bytes, list->tensors[i].bytes);
            assert_true(place->offset + place->bytes <= file->size_bytes);
            assert_true(place->item_offset <= place->offset || place->bytes == 0);
            if (list->tensors[i].class == (enum tensor_class)c) {
                assert_memory_equal(bytes + place->offset, stream + place->offset, place->bytes);
            }
        }
    }
    for (uint64_t i = 1; i < list->count; i++) {
        assert_true(list->tensors[i].bytes == 0 || list->tensors[i - 1].bytes == 0 ||
                    !overlap(&file->places[i - 1], &file->places[i]));
    }
    free(stream);
}

/* Each field holds the CRC-32 of one segment. */
static void check_crcs(const struct format_file *file, const uint8_t *bytes) {
    uint32_t *crcs = calloc(file->crc_count + 1, sizeof crcs[0]);
    uint64_t found = 0;
    for (uint64_t i = 0; i < file->segment_count; i++) {
        const struct format_segment *segment = &file->segments[i];
        if (segment->crc != FORMAT_NO_CRC) {
            assert_null(segment->literal);
            assert_int_equal(file->crc_bytes[segment->crc], segment->length_bytes);
            crcs[segment->crc] = crc32_more(0, bytes + segment->offset, segment->length_bytes);
            found++;
        }
    }
    assert_int_equal(found, file->crc_count);
    for (uint64_t i = 0; i < file->crc_field_count; i++) {
        const struct format_crc_field *field = &file->crc_fields[i];
        assert_int_equal(field_at(bytes, field->offset), crcs[field->crc]);
    }
    free(crcs);
}

static bool holds_field(const struct format_file *file, uint64_t begin, uint64_t end) {
    for (uint64_t i = 0; i < file->crc_field_count; i++) {
        if (file->crc_fields[i].offset < end && file->crc_fields[i].offset + 4 > begin) {
            return true;
        }
    }
    return false;
}

/* Windows of random sizes: first, shuffled, those without a field, then the others in order. */
static void check_windows(const struct format_file *file, const uint8_t *whole, uint64_t sum,
                          uint64_t *random) {
    uint64_t count = 0, most = file->size_bytes / PAYLOAD_BLOCK + 1, total = 0;
    uint64_t *begins = calloc(most + 1, sizeof begins[0]);
    for (uint64_t offset = 0; offset < file->size_bytes;
         offset += list_pick(random, 1, 40) * PAYLOAD_BLOCK) {
        begins[count++] = offset;
    }
    begins[count] = file->size_bytes;
    uint64_t *order = calloc(count + 1, sizeof order[0]);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t other = list_pick(random, 0, i);
        order[i] = order[other];
        order[other] = i;
    }
    struct format_crc *crcs = calloc(file->crc_count + 1, sizeof crcs[0]);
    format_begin(file, crcs);
    uint8_t *window = malloc(40 * PAYLOAD_BLOCK);
    for (int with_field = 0; with_field < 2; with_field++) {
        for (uint64_t i = 0; i < count; i++) {
            uint64_t w = with_field == 1 ? i : order[i], length = begins[w + 1] - begins[w];
            if (holds_field(file, begins[w], begins[w + 1]) == (with_field == 1)) {
                memset(window, 0xee, 40 * PAYLOAD_BLOCK);
                total += format_fill(file, &list_source, crcs, begins[w], window, length);
                assert_memory_equal(window, whole + begins[w], length);
            }
        }
    }
    assert_int_equal(total, sum);
    free(begins);
    free(order);
    free(crcs);
    free(window);
}

static void check_compare(const struct format_file *file, uint8_t *bytes, uint64_t *random) {
    uint64_t size = file->size_bytes;
    assert_int_equal(format_compare(file, &list_source, 0, bytes, size), size);
    for (int i = 0; i < 20 && size > 0; i++) {
        uint64_t at = list_pick(random, 0, size - 1);
        uint64_t begin = list_pick(random, 0, at) / PAYLOAD_BLOCK * PAYLOAD_BLOCK;
        bytes[at] ^= 1;
        uint64_t wrong = holds_field(file, at, at + 1) ? size : at;
        assert_int_equal(format_compare(file, &list_source, begin, bytes + begin, size - begin),
                         wrong - begin);
        bytes[at] ^= 1;
    }
}

static void check_same_again(const struct format *format, const struct list *list,
                             const struct format_options *options, const struct format_file *file,
                             struct arena *arena, const uint8_t *bytes) {
    struct format_file again;
    list_measure(format, list, options, arena, &again);
    assert_int_equal(again.size_bytes, file->size_bytes);
    assert_memory_equal(list_fill(&again, arena, NULL), bytes, file->size_bytes);
}

static void check_case(const struct format *format, uint64_t *random) {
    struct arena arena = {0};
    uint64_t count = list_pick(random, 0, 12);
    struct list list = list_random(&arena, random, count, list_pick(random, 1, 200000));
    const struct format_options *options = option_sets[list_pick(random, 0, 2)];
    struct format_file file;
    uint64_t sum;
    list_measure(format, &list, options, &arena, &file);
    check_segments(&file);
    uint8_t *bytes = list_fill(&file, &arena, &sum);
    assert_int_equal(sum, payload_sum(0, bytes, file.size_bytes));
    check_places(&list, &file, bytes);
    check_crcs(&file, bytes);
    check_windows(&file, bytes, sum, random);
    check_compare(&file, bytes, random);
    check_same_again(format, &list, options, &file, &arena, bytes);
    arena_fini(&arena);
}

static void test_contract(void **state) {
    (void)state;
    uint64_t random = list_seed();
    for (int i = 0; i < CASES; i++) {
        for (size_t f = 0; formats[f] != NULL; f++) {
            check_case(formats[f], &random);
        }
    }
}

/* Rule 3: large payload begins at a block, in safetensors and raw all of it together. */
static void test_alignment(void **state) {
    (void)state;
    struct tensor tensors[] = {
        list_flat("first", DATATYPE_FP32, 333),
        list_flat("second", DATATYPE_UINT8, FORMAT_ALIGNED_BYTES),
        list_flat("third", DATATYPE_INT8, FORMAT_ALIGNED_BYTES),
    };
    struct list list = {.tensors = tensors, .count = COUNT_OF(tensors)};
    for (size_t f = 0; formats[f] != NULL; f++) {
        struct arena arena = {0};
        struct format_file file;
        list_measure(formats[f], &list, NULL, &arena, &file);
        bool together =
            strcmp(formats[f]->name, "raw") == 0 || strcmp(formats[f]->name, "safetensors") == 0;
        for (size_t i = 0; i < COUNT_OF(tensors); i++) {
            bool aligned = file.places[i].offset % PAYLOAD_BLOCK == 0;
            assert_true(aligned || together || tensors[i].bytes < FORMAT_ALIGNED_BYTES);
        }
        assert_true(!together || file.places[0].offset % PAYLOAD_BLOCK == 0);
        arena_fini(&arena);
    }
}

/* Without structure a file is the payload that it always was. */
static void test_raw_is_payload(void **state) {
    (void)state;
    struct tensor tensor = list_flat("t", DATATYPE_FP32, 100001);
    struct list list = {.tensors = &tensor, .count = 1};
    struct arena arena = {0};
    struct format_file file;
    list_measure(format_find("raw"), &list, NULL, &arena, &file);
    assert_int_equal(file.size_bytes, tensor.bytes);
    uint64_t sum;
    uint8_t *bytes = list_fill(&file, &arena, &sum), *stream = malloc(tensor.bytes);
    assert_int_equal(payload_fill(&list_classes[0], LIST_STREAM, 0, stream, tensor.bytes), sum);
    assert_memory_equal(bytes, stream, tensor.bytes);
    free(stream);
    arena_fini(&arena);
}

static void expect_refusal(const char *format, const struct tensor *tensors, uint64_t count,
                           const char *words) {
    struct arena arena = {0};
    struct format_file file;
    struct error err = {0};
    enum status status =
        format_measure(format_find(format), tensors, count, NULL, &arena, &file, &err);
    assert_int_equal(status, ERR_USAGE);
    if (strstr(err.text, words) == NULL) {
        fail_msg("'%s' does not say '%s'", err.text, words);
    }
    arena_fini(&arena);
}

static void test_refusals(void **state) {
    (void)state;
    const struct tensor twice[] = {list_flat("a", DATATYPE_FP32, 10),
                                   list_flat("a", DATATYPE_INT8, 10)};
    const struct tensor group[] = {list_flat("a", DATATYPE_FP32, 10),
                                   list_flat("a/b", DATATYPE_FP32, 10)};
    const struct tensor huge[] = {list_flat("a", DATATYPE_FP32, UINT64_C(1) << 57),
                                  list_flat("b", DATATYPE_FP32, UINT64_C(1) << 57),
                                  list_flat("c", DATATYPE_FP32, 1)};
    for (size_t f = 0; formats[f] != NULL; f++) {
        expect_refusal(formats[f]->name, twice, 2, "two tensors of one file are named 'a'");
    }
    expect_refusal("raw", huge, 3, "a file of more than 1152921504606846976 bytes");
    expect_refusal("raw", huge, FORMAT_TENSORS_MAX + 1, "16777217 tensors in a file");
    expect_refusal("hdf5", group, 2, "hdf5: cannot make 'a/b'");
    assert_null(format_find("zarr"));
}

/* Sizes that no test writes: 300 GB in 2,000 tensors, one of them beyond 4 GiB alone. */
static void test_large(void **state) {
    (void)state;
    enum { COUNT = 2000 };
    struct arena arena = {0};
    struct list list = {.tensors = arena_new(&arena, COUNT, sizeof list.tensors[0]),
                        .count = COUNT};
    uint64_t total = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        struct tensor *tensor = &list.tensors[i];
        *tensor = list_flat("", DATATYPE_BF16, i == 7 ? 3000000000 : 75000000);
        snprintf(tensor->name, sizeof tensor->name, "model.layers.%d.weight", (int)i);
        total += tensor->bytes;
    }
    for (size_t f = 0; formats[f] != NULL; f++) {
        struct format_file file;
        list_measure(formats[f], &list, NULL, &arena, &file);
        check_segments(&file);
        assert_true(file.size_bytes >= total);
        assert_true(file.size_bytes < total + COUNT * UINT64_C(12000));
    }
    arena_fini(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contract),       cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_raw_is_payload), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
