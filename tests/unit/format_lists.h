#ifndef CKPTSIM_TESTS_UNIT_FORMAT_LISTS_H
#define CKPTSIM_TESTS_UNIT_FORMAT_LISTS_H

/* Tensor lists for tests of formats: random ones that repeat with SEED, and a file filled from one.
 */

#include "base/memory.h"
#include "base/prng.h"
#include "io/format.h"
#include "tests/unit/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LIST_CLASSES = 3, LIST_STREAM = 99 };

static const struct payload list_classes[LIST_CLASSES] = {
    {.seed = 5, .compressible = 1, .dedupe = 1},
    {.seed = 5, .compressible = 2.5, .dedupe = 1},
    {.seed = 5, .compressible = 1, .dedupe = 2},
};

static const struct format_source list_source = {
    .stream = LIST_STREAM, .classes = list_classes, .class_count = LIST_CLASSES};

struct list {
    struct format_tensor *tensors;
    uint64_t count;
};

static inline uint64_t list_seed(void) {
    const char *text = getenv("SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
    print_message("# SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

static inline uint64_t list_pick(uint64_t *random, uint64_t low, uint64_t high) {
    return low + prng_next(random) % (high - low + 1);
}

/* A shape of at most `most` elements; now and then a scalar, or one of no elements. */
static inline void list_shape(struct format_tensor *tensor, struct arena *arena, uint64_t *random,
                              uint64_t most) {
    uint64_t *shape = arena_new(arena, 5, sizeof shape[0]);
    tensor->shape = shape;
    tensor->dims = (uint32_t)list_pick(random, 0, 5);
    tensor->bytes = format_dtypes[tensor->dtype].bytes;
    for (uint32_t i = 0; i < tensor->dims; i++) {
        shape[i] = list_pick(random, list_pick(random, 0, 15) == 0 ? 0 : 1, most);
        most = most / (shape[i] > 0 ? shape[i] : 1);
        most = most > 0 ? most : 1;
        tensor->bytes *= shape[i];
    }
}

static inline struct list list_random(struct arena *arena, uint64_t *random, uint64_t count,
                                      uint64_t most_elements) {
    static const enum format_dtype dtypes[] = {FORMAT_F64,  FORMAT_F32, FORMAT_F16, FORMAT_BF16,
                                               FORMAT_I64,  FORMAT_I32, FORMAT_I16, FORMAT_I8,
                                               FORMAT_BOOL, FORMAT_U8};
    struct list list = {.tensors = arena_new(arena, count, sizeof list.tensors[0]), .count = count};
    for (uint64_t i = 0; i < count; i++) {
        struct format_tensor *tensor = &list.tensors[i];
        tensor->name = arena_printf(arena, "layers.%llu.weight-%llu", (unsigned long long)i,
                                    (unsigned long long)list_pick(random, 0, 999999));
        tensor->dtype = dtypes[list_pick(random, 0, COUNT_OF(dtypes) - 1)];
        tensor->payload_class = (uint32_t)list_pick(random, 0, LIST_CLASSES - 1);
        list_shape(tensor, arena, random, list_pick(random, 1, most_elements));
    }
    return list;
}

static inline void list_measure(const struct format *format, const struct list *list,
                                const struct format_options *options, struct arena *arena,
                                struct format_file *file) {
    struct error err;
    if (format_measure(format, list->tensors, list->count, options, arena, file, &err) != OK) {
        fail_msg("%s: %s", format->name, err.text);
    }
}

/* All of the file in one window; *sum may be NULL. */
static inline uint8_t *list_fill(const struct format_file *file, struct arena *arena,
                                 uint64_t *sum) {
    uint8_t *bytes = arena_new(arena, file->size_bytes, 1);
    struct format_crc *crcs = arena_new(arena, file->crc_count, sizeof crcs[0]);
    format_begin(file, crcs);
    uint64_t filled = format_fill(file, &list_source, crcs, 0, bytes, file->size_bytes);
    if (sum != NULL) {
        *sum = filled;
    }
    return bytes;
}

#endif
