/* What torch.save writes: a zip archive.
 *
 *   archive/data.pkl     a pickled dict of tensors; each names its storage
 *   archive/byteorder    "little"; torch 2.1 and later
 *   archive/data/0 ...   the storages
 *   archive/version      "3"
 *   directory
 *
 * torch finds storages through the directory, so that those that are large may begin at multiples
 * of a block. */
#include "io/format_torch.h"

#include "base/memory.h"
#include "io/formats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_TEXT = 32 };

/* In elements; a dimension of none counts as one. */
static void push_strides(struct pickle *pickle, const struct tensor *tensor) {
    uint64_t strides[TENSOR_DIMENSIONS], stride = 1;
    for (uint32_t i = tensor->dimensions; i > 0; i--) {
        strides[i - 1] = stride;
        stride *= tensor->shape[i - 1] > 0 ? tensor->shape[i - 1] : 1;
    }
    pickle_number_tuple(pickle, strides, tensor->dimensions);
}

/* ('storage', class, key, device, elements) stands for the storage. */
static void push_storage(struct pickle *pickle, const struct tensor *tensor, uint64_t key) {
    char text[KEY_TEXT];
    snprintf(text, sizeof text, "%" PRIu64, key);
    pickle_do(pickle, PICKLE_MARK);
    pickle_constant(pickle, "storage");
    pickle_global(pickle, format_types[tensor->datatype].torch_storage);
    pickle_text(pickle, text);
    pickle_constant(pickle, "cpu");
    pickle_number(pickle, tensor->elements);
    pickle_tuple(pickle, 5);
    pickle_do(pickle, PICKLE_PERSISTENT_ID);
}

/* _rebuild_tensor_v2(storage, 0, shape, strides, False, OrderedDict()) */
void torch_pickle_tensor(struct pickle *pickle, const struct tensor *tensor, uint64_t key) {
    pickle_global(pickle, "torch._utils\n_rebuild_tensor_v2");
    pickle_do(pickle, PICKLE_MARK);
    push_storage(pickle, tensor, key);
    pickle_number(pickle, 0);
    pickle_number_tuple(pickle, tensor->shape, tensor->dimensions);
    push_strides(pickle, tensor);
    pickle_do(pickle, PICKLE_FALSE);
    pickle_global(pickle, "collections\nOrderedDict");
    pickle_do(pickle, PICKLE_EMPTY_TUPLE);
    pickle_call(pickle);
    pickle_tuple(pickle, 6);
    pickle_call(pickle);
}

void torch_begin(struct zip *zip, const struct pickle *pickle,
                 const struct format_options *options) {
    static const char byte_order[] = "little";
    zip_literal(zip, "data.pkl", pickle->bytes.data, pickle->bytes.used);
    if (!options->torch_1_13) {
        zip_literal(zip, "byteorder", byte_order, strlen(byte_order));
    }
}

void torch_storage(struct zip *zip, const struct tensor *tensor, struct format_place *place,
                   uint64_t key, const struct format_options *options) {
    bool large = tensor->bytes >= FORMAT_ALIGNED_BYTES && !options->torch_1_13;
    char name[KEY_TEXT];
    snprintf(name, sizeof name, "data/%" PRIu64, key);
    zip_payload(zip, name, tensor, place, large ? PAYLOAD_BLOCK : ZIP_ALIGN);
}

void torch_end(struct zip *zip) {
    static const char version[] = "3\n";
    zip_literal(zip, "version", version, strlen(version));
    zip_end(zip);
}

static void pickle_tensors(struct pickle *pickle, const struct tensor *tensors, uint64_t count) {
    pickle_begin(pickle);
    pickle_empty_dict(pickle);
    for (uint64_t i = 0; i < count; i++) {
        pickle_begin_item(pickle, i, count);
        pickle_text(pickle, tensors[i].name);
        torch_pickle_tensor(pickle, &tensors[i], i);
        pickle_end_dict_item(pickle, i, count);
    }
    pickle_end(pickle);
}

static int compare_as_texts(const void *left, const void *right) {
    char texts[2][KEY_TEXT];
    snprintf(texts[0], KEY_TEXT, "%" PRIu64, *(const uint64_t *)left);
    snprintf(texts[1], KEY_TEXT, "%" PRIu64, *(const uint64_t *)right);
    return strcmp(texts[0], texts[1]);
}

/* Old releases write the storages in the order of their keys as texts: 0, 1, 10, 11, 2. */
static uint64_t *storage_order(uint64_t count, const struct format_options *options) {
    uint64_t *order = mem_new(count, sizeof order[0]);
    for (uint64_t i = 0; i < count; i++) {
        order[i] = i;
    }
    if (options->torch_1_13) {
        qsort(order, count, sizeof order[0], compare_as_texts);
    }
    return order;
}

static enum status build(const struct tensor *tensors, uint64_t count,
                         const struct format_options *options, struct format_builder *builder,
                         struct error *err) {
    (void)err;
    struct pickle pickle;
    struct zip zip;
    uint64_t *order = storage_order(count, options);
    pickle_tensors(&pickle, tensors, count);
    zip_begin(&zip, builder, "archive", torch_entries(count));
    torch_begin(&zip, &pickle, options);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t key = order[i];
        torch_storage(&zip, &tensors[key], &builder->places[key], key, options);
    }
    torch_end(&zip);
    zip_fini(&zip);
    pickle_fini(&pickle);
    mem_free(order);
    return OK;
}

const struct format format_torch = {
    .name = "torch",
    .about = "what torch.save writes: a zip archive of storages with right CRC-32s",
    .extension = ".pt",
    .no_codec = "torch.load takes tensors that are stored in the archive, and reads no zstd",
    .build = build,
};
