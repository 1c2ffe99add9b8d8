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

enum { LIST_STREAM = 99 };

static const struct payload list_classes[FORMAT_CLASSES] = {
    [TENSOR_WEIGHT] = {.seed = 5, .compressible = 1, .dedupe = 1},
    [TENSOR_MASTER] = {.seed = 5, .compressible = 2.5, .dedupe = 1},
    [TENSOR_MOMENT] = {.seed = 5, .compressible = 1, .dedupe = 2},
    [TENSOR_OTHER] = {.kind = PAYLOAD_ZERO, .compressible = 1, .dedupe = 1},
};

static const struct format_source list_source = {.stream = LIST_STREAM, .classes = list_classes};

struct list {
    struct tensor *tensors;
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
static inline void list_shape(struct tensor *tensor, uint64_t *random, uint64_t most) {
    tensor->dimensions = (uint32_t)list_pick(random, 0, TENSOR_DIMENSIONS);
    for (uint32_t i = 0; i < tensor->dimensions; i++) {
        tensor->shape[i] = list_pick(random, list_pick(random, 0, 15) == 0 ? 0 : 1, most);
        tensor->whole[i] = tensor->shape[i];
        most = most / (tensor->shape[i] > 0 ? tensor->shape[i] : 1);
        most = most > 0 ? most : 1;
    }
    tensor_count(tensor);
}

static inline struct list list_random(struct arena *arena, uint64_t *random, uint64_t count,
                                      uint64_t most_elements) {
    struct list list = {.tensors = arena_new(arena, count, sizeof list.tensors[0]), .count = count};
    for (uint64_t i = 0; i < count; i++) {
        struct tensor *tensor = &list.tensors[i];
        snprintf(tensor->name, sizeof tensor->name, "layers.%llu.weight-%llu",
                 (unsigned long long)i, (unsigned long long)list_pick(random, 0, 999999));
        tensor->datatype = (enum datatype)list_pick(random, 1, DATATYPE_COUNT - 1);
        tensor->class = (enum tensor_class)list_pick(random, 0, FORMAT_CLASSES - 1);
        list_shape(tensor, random, list_pick(random, 1, most_elements));
    }
    return list;
}

/* A tensor of one dimension. */
static inline struct tensor list_flat(const char *name, enum datatype datatype, uint64_t elements) {
    struct tensor tensor = {.class = TENSOR_WEIGHT};
    snprintf(tensor.name, sizeof tensor.name, "%s", name);
    tensor_set_flat(&tensor, datatype, elements);
    return tensor;
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
