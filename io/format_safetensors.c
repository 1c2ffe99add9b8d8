/* safetensors: a length, JSON that names every tensor, the tensors' bytes without gaps.
 *
 *   u64 N |
 * {"__metadata__":{"format":"pt"},"name":{"dtype":..,"shape":[..],"data_offsets":[b,e]},.. spaces
 * up to N bytes, so that data begins at a multiple of a block | data
 *
 * The order of tensors is that of the format's own writer: wide types first, then by name. */
#include "io/format_builder.h"
#include "io/formats.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8, NUMBER_TEXT = 24 };

static const uint64_t json_bytes_max = 100000000; /* what its reader accepts */

static const enum datatype datatype_order[] = {
    DATATYPE_INT64, DATATYPE_FP64, DATATYPE_FP32, DATATYPE_INT32,
    DATATYPE_BF16,  DATATYPE_FP16, DATATYPE_INT8, DATATYPE_UINT8,
};
_Static_assert(sizeof datatype_order / sizeof datatype_order[0] == DATATYPE_COUNT - 1,
               "every datatype has its place");

static uint32_t datatype_place(enum datatype datatype) {
    uint32_t place = 0;
    while (datatype_order[place] != datatype) {
        place++;
    }
    return place;
}

static int compare_tensors(const void *left, const void *right) {
    const struct tensor *a = *(const struct tensor *const *)left;
    const struct tensor *b = *(const struct tensor *const *)right;
    uint32_t place_a = datatype_place(a->datatype), place_b = datatype_place(b->datatype);
    return place_a != place_b ? (place_a < place_b ? -1 : 1) : strcmp(a->name, b->name);
}

static const struct tensor **sort(const struct tensor *tensors, uint64_t count) {
    const struct tensor **sorted = mem_new(count, sizeof sorted[0]);
    for (uint64_t i = 0; i < count; i++) {
        sorted[i] = &tensors[i];
    }
    qsort(sorted, count, sizeof sorted[0], compare_tensors);
    return sorted;
}

static void add_numbers(struct format_bytes *json, const uint64_t *numbers, uint32_t count) {
    char text[NUMBER_TEXT];
    for (uint32_t i = 0; i < count; i++) {
        snprintf(text, sizeof text, i == 0 ? "%" PRIu64 : ",%" PRIu64, numbers[i]);
        bytes_add_text(json, text);
    }
}

static void add_tensor(struct format_bytes *json, const struct tensor *tensor, uint64_t offset) {
    uint64_t range[] = {offset, offset + tensor->bytes};
    bytes_add_text(json, ",\"");
    bytes_add_text(json, tensor->name); /* nothing in a name needs escaping: see models/tensor.h */
    bytes_add_text(json, "\":{\"dtype\":\"");
    bytes_add_text(json, format_types[tensor->datatype].safetensors);
    bytes_add_text(json, "\",\"shape\":[");
    add_numbers(json, tensor->shape, tensor->dimensions);
    bytes_add_text(json, "],\"data_offsets\":[");
    add_numbers(json, range, 2);
    bytes_add_text(json, "]}");
}

static void make_json(struct format_bytes *json, const struct tensor *const *sorted,
                      uint64_t count) {
    uint64_t offset = 0;
    bytes_add_text(json, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (uint64_t i = 0; i < count; i++) {
        add_tensor(json, sorted[i], offset);
        offset += sorted[i]->bytes;
    }
    bytes_add_text(json, "}");
    uint64_t padded = format_round_up(LENGTH_BYTES + json->used, PAYLOAD_BLOCK) - LENGTH_BYTES;
    bytes_add_repeated(json, ' ', padded - json->used);
}

static enum status build(const struct tensor *tensors, uint64_t count,
                         const struct format_options *options, struct format_builder *builder,
                         struct error *err) {
    (void)options;
    const struct tensor **sorted = sort(tensors, count);
    struct format_bytes json = {0};
    make_json(&json, sorted, count);
    enum status status = OK;
    if (json.used > json_bytes_max) {
        status = error_set(err, ERR_USAGE,
                           "safetensors: %" PRIu64 " tensors need a header of %zu bytes, at most "
                           "%" PRIu64 " are allowed",
                           count, json.used, json_bytes_max);
    } else {
        builder_number(builder, json.used, LENGTH_BYTES);
        builder_literal(builder, json.data, json.used);
        for (uint64_t i = 0; i < count; i++) {
            builder_payload(builder, sorted[i], &builder->places[sorted[i] - tensors]);
        }
    }
    bytes_fini(&json);
    mem_free(sorted);
    return status;
}

const struct format format_safetensors = {
    .name = "safetensors",
    .about = "Hugging Face's: a JSON header, then the tensors without gaps",
    .extension = ".safetensors",
    .no_codec = "its header has tensors at offsets in the file, and knows no compressed ones",
    .build = build,
};
