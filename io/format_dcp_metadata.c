/* `.metadata` is a pickled object of torch 2, whose classes lie in torch.distributed.checkpoint:
 *
 *   Metadata
 *     state_dict_metadata  {name: type, whole shape, [begin and shape of each part]}
 *     planner_data         {name: (name,)}
 *     storage_data         {name, begin and number of a part: path, offset and length of its item}
 */
#include "io/format_dcp_metadata.h"

#include "base/memory.h"
#include "io/format_builder.h"
#include "io/format_pickle.h"

#include <stdlib.h>
#include <string.h>

#define DCP_CLASS(name) "torch.distributed.checkpoint.metadata\n" name

/* Parts of one tensor lie side by side once sorted; so do equal paths in an order of their own. */
struct part {
    const struct format_dcp_item *item;
    uint64_t path;                /* which of the different paths */
    uint32_t name_memo;           /* of the tensor's name, once it is pickled */
    uint64_t first, parts, index; /* of its tensor: the first part, how many, which one this is */
};

struct metadata {
    struct part *parts;
    uint64_t count;
    uint64_t path_count;
    uint32_t *path_memos; /* UINT32_MAX: not pickled yet */
};

static int compare_begins(const struct tensor *left, const struct tensor *right) {
    for (uint32_t i = 0; i < left->dimensions && i < right->dimensions; i++) {
        if (left->offset[i] != right->offset[i]) {
            return left->offset[i] < right->offset[i] ? -1 : 1;
        }
    }
    return 0;
}

static int compare_parts(const void *left, const void *right) {
    const struct part *a = left, *b = right;
    int names = strcmp(a->item->tensor->name, b->item->tensor->name);
    int begins = names != 0 ? names : compare_begins(a->item->tensor, b->item->tensor);
    return begins != 0 ? begins : (a->item < b->item ? -1 : a->item > b->item);
}

static int compare_paths(const void *left, const void *right) {
    return strcmp((*(const struct part *const *)left)->item->path,
                  (*(const struct part *const *)right)->item->path);
}

static enum status check_same(const struct tensor *first, const struct tensor *other,
                              struct error *err) {
    if (first->datatype == other->datatype && first->dimensions == other->dimensions &&
        memcmp(first->whole, other->whole, first->dimensions * sizeof first->whole[0]) == 0) {
        return OK;
    }
    return error_set(err, ERR_USAGE, "parts of tensor '%s' differ in type or shape", first->name);
}

/* Sorts, drops replicas, and counts the parts of each tensor. */
static enum status gather(struct metadata *metadata, struct error *err) {
    struct part *parts = metadata->parts;
    qsort(parts, metadata->count, sizeof parts[0], compare_parts);
    uint64_t kept = 0;
    for (uint64_t i = 0; i < metadata->count; i++) {
        const struct tensor *tensor = parts[i].item->tensor;
        bool same = kept > 0 && strcmp(parts[kept - 1].item->tensor->name, tensor->name) == 0;
        if (same && check_same(parts[kept - 1].item->tensor, tensor, err) != OK) {
            return ERR_USAGE;
        }
        if (same && compare_begins(parts[kept - 1].item->tensor, tensor) == 0) {
            continue;
        }
        parts[kept] = parts[i];
        parts[kept].first = same ? parts[kept - 1].first : kept;
        parts[kept].index = kept - parts[kept].first;
        parts[parts[kept].first].parts = parts[kept].index + 1;
        kept++;
    }
    metadata->count = kept;
    return OK;
}

static void number_paths(struct metadata *metadata) {
    struct part **sorted = mem_new(metadata->count, sizeof sorted[0]);
    for (uint64_t i = 0; i < metadata->count; i++) {
        sorted[i] = &metadata->parts[i];
    }
    qsort(sorted, metadata->count, sizeof sorted[0], compare_paths);
    for (uint64_t i = 0; i < metadata->count; i++) {
        bool same = i > 0 && compare_paths(&sorted[i - 1], &sorted[i]) == 0;
        metadata->path_count += same ? 0 : 1;
        sorted[i]->path = metadata->path_count - 1;
    }
    mem_free(sorted);
    metadata->path_memos = mem_new(metadata->path_count, sizeof metadata->path_memos[0]);
    memset(metadata->path_memos, 0xff, metadata->path_count * sizeof metadata->path_memos[0]);
}

static void push_object(struct pickle *pickle, const char *class) {
    pickle_global(pickle, class);
    pickle_do(pickle, PICKLE_EMPTY_TUPLE);
    pickle_new_object(pickle);
}

static void push_size(struct pickle *pickle, const uint64_t *numbers, uint32_t count) {
    pickle_global(pickle, "torch\nSize");
    pickle_number_tuple(pickle, numbers, count);
    pickle_tuple(pickle, 1);
    pickle_call(pickle);
}

/* A value of an enumeration or the like: one object wherever it is used. */
static void push_value(struct pickle *pickle, const char *name, const char *callable,
                       const char *text) {
    if (pickle_fetch_named(pickle, name)) {
        return;
    }
    pickle_global(pickle, callable);
    if (text != NULL) {
        pickle_text(pickle, text);
    } else {
        pickle_number(pickle, 0);
    }
    pickle_tuple(pickle, 1);
    pickle_name(pickle, name, pickle_call(pickle));
}

/* The key of item i of an object's attributes. */
static void begin_attribute(struct pickle *pickle, const char *name, uint64_t i, uint64_t count) {
    if (i == 0) {
        pickle_empty_dict(pickle);
    }
    pickle_begin_item(pickle, i, count);
    pickle_constant(pickle, name);
}

static void end_attribute(struct pickle *pickle, uint64_t i, uint64_t count) {
    pickle_end_dict_item(pickle, i, count);
    if (i == count - 1) {
        pickle_do(pickle, PICKLE_BUILD);
    }
}

/* Type, layout, no gradient, contiguous, not pinned. */
static void push_properties(struct pickle *pickle, const struct tensor *tensor) {
    push_object(pickle, DCP_CLASS("TensorProperties"));
    pickle_do(pickle, PICKLE_MARK);
    pickle_global(pickle, format_types[tensor->datatype].torch_dtype);
    push_value(pickle, "layout", "torch.serialization\n_get_layout", "torch.strided");
    pickle_do(pickle, PICKLE_FALSE);
    push_value(pickle, "contiguous", DCP_CLASS("_MEM_FORMAT_ENCODING"), NULL);
    pickle_do(pickle, PICKLE_FALSE);
    pickle_tuple(pickle, 5);
    pickle_do(pickle, PICKLE_BUILD);
}

static void push_chunk(struct pickle *pickle, const struct tensor *tensor) {
    push_object(pickle, DCP_CLASS("ChunkStorageMetadata"));
    begin_attribute(pickle, "offsets", 0, 2);
    push_size(pickle, tensor->offset, tensor->dimensions);
    end_attribute(pickle, 0, 2);
    begin_attribute(pickle, "sizes", 1, 2);
    push_size(pickle, tensor->shape, tensor->dimensions);
    end_attribute(pickle, 1, 2);
}

static void push_tensor(struct pickle *pickle, const struct part *parts) {
    const struct tensor *tensor = parts[0].item->tensor;
    push_object(pickle, DCP_CLASS("TensorStorageMetadata"));
    begin_attribute(pickle, "properties", 0, 3);
    push_properties(pickle, tensor);
    end_attribute(pickle, 0, 3);
    begin_attribute(pickle, "size", 1, 3);
    push_size(pickle, tensor->whole, tensor->dimensions);
    end_attribute(pickle, 1, 3);
    begin_attribute(pickle, "chunks", 2, 3);
    pickle_empty_list(pickle);
    for (uint64_t i = 0; i < parts[0].parts; i++) {
        pickle_begin_item(pickle, i, parts[0].parts);
        push_chunk(pickle, parts[i].item->tensor);
        pickle_end_list_item(pickle, i, parts[0].parts);
    }
    end_attribute(pickle, 2, 3);
}

static uint64_t count_tensors(const struct metadata *metadata) {
    uint64_t tensors = 0;
    for (uint64_t i = 0; i < metadata->count; i += metadata->parts[i].parts) {
        tensors++;
    }
    return tensors;
}

/* {name: TensorStorageMetadata} */
static void push_tensors(struct pickle *pickle, struct metadata *metadata) {
    uint64_t tensors = count_tensors(metadata), tensor = 0;
    pickle_empty_dict(pickle);
    for (uint64_t i = 0; i < metadata->count; i += metadata->parts[i].parts) {
        struct part *parts = &metadata->parts[i];
        pickle_begin_item(pickle, tensor, tensors);
        parts[0].name_memo = pickle_text(pickle, parts[0].item->tensor->name);
        push_tensor(pickle, parts);
        pickle_end_dict_item(pickle, tensor++, tensors);
    }
}

/* {name: (name,)}, the path to the tensor in the state that was saved. */
static void push_planner_data(struct pickle *pickle, const struct metadata *metadata) {
    uint64_t tensors = count_tensors(metadata), tensor = 0;
    pickle_empty_dict(pickle);
    for (uint64_t i = 0; i < metadata->count; i += metadata->parts[i].parts) {
        pickle_begin_item(pickle, tensor, tensors);
        pickle_fetch(pickle, metadata->parts[i].name_memo);
        pickle_fetch(pickle, metadata->parts[i].name_memo);
        pickle_tuple(pickle, 1);
        pickle_end_dict_item(pickle, tensor++, tensors);
    }
}

static void push_index(struct pickle *pickle, const struct part *part, uint32_t name_memo) {
    push_object(pickle, DCP_CLASS("MetadataIndex"));
    begin_attribute(pickle, "fqn", 0, 3);
    pickle_fetch(pickle, name_memo);
    end_attribute(pickle, 0, 3);
    begin_attribute(pickle, "offset", 1, 3);
    push_size(pickle, part->item->tensor->offset, part->item->tensor->dimensions);
    end_attribute(pickle, 1, 3);
    begin_attribute(pickle, "index", 2, 3);
    pickle_number(pickle, part->index);
    end_attribute(pickle, 2, 3);
}

static void push_path(struct pickle *pickle, const struct metadata *metadata,
                      const struct part *part) {
    uint32_t *memo = &metadata->path_memos[part->path];
    if (*memo != UINT32_MAX) {
        pickle_fetch(pickle, *memo);
    } else {
        *memo = pickle_text(pickle, part->item->path);
    }
}

static void push_storage(struct pickle *pickle, const struct metadata *metadata,
                         const struct part *part) {
    push_object(pickle, "torch.distributed.checkpoint.filesystem\n_StorageInfo");
    begin_attribute(pickle, "relative_path", 0, 3);
    push_path(pickle, metadata, part);
    end_attribute(pickle, 0, 3);
    begin_attribute(pickle, "offset", 1, 3);
    pickle_number(pickle, part->item->place->item_offset);
    end_attribute(pickle, 1, 3);
    begin_attribute(pickle, "length", 2, 3);
    pickle_number(pickle, part->item->place->item_bytes);
    end_attribute(pickle, 2, 3);
}

/* {MetadataIndex: _StorageInfo} */
static void push_storage_data(struct pickle *pickle, const struct metadata *metadata) {
    pickle_empty_dict(pickle);
    for (uint64_t i = 0; i < metadata->count; i++) {
        const struct part *part = &metadata->parts[i];
        pickle_begin_item(pickle, i, metadata->count);
        push_index(pickle, part, metadata->parts[part->first].name_memo);
        push_storage(pickle, metadata, part);
        pickle_end_dict_item(pickle, i, metadata->count);
    }
}

static void pickle_metadata(struct pickle *pickle, struct metadata *metadata) {
    pickle_begin(pickle);
    push_object(pickle, DCP_CLASS("Metadata"));
    begin_attribute(pickle, "state_dict_metadata", 0, 3);
    push_tensors(pickle, metadata);
    end_attribute(pickle, 0, 3);
    begin_attribute(pickle, "planner_data", 1, 3);
    push_planner_data(pickle, metadata);
    end_attribute(pickle, 1, 3);
    begin_attribute(pickle, "storage_data", 2, 3);
    push_storage_data(pickle, metadata);
    end_attribute(pickle, 2, 3);
    pickle_end(pickle);
}

enum status format_dcp_metadata(const struct format_dcp_item *items, uint64_t count,
                                struct arena *arena, struct format_file *file, struct error *err) {
    struct metadata metadata = {.parts = mem_new(count, sizeof metadata.parts[0]), .count = count};
    for (uint64_t i = 0; i < count; i++) {
        metadata.parts[i].item = &items[i];
    }
    enum status status = gather(&metadata, err);
    if (status == OK) {
        struct pickle pickle;
        struct format_builder builder;
        number_paths(&metadata);
        pickle_metadata(&pickle, &metadata);
        builder_init(&builder, arena, 0, false);
        builder_literal(&builder, pickle.bytes.data, pickle.bytes.used);
        builder_finish(&builder, arena, file);
        builder_fini(&builder);
        pickle_fini(&pickle);
    }
    mem_free(metadata.path_memos);
    mem_free(metadata.parts);
    return status;
}
