#include "sim/job/reshard.h"

#include "base/check.h"
#include "base/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS_MAX = 1 << 23 };

/* A tensor of an old file. Those of one name stand together, sorted by where they begin. */
struct source {
    uint64_t hash;            /* of the name */
    uint64_t begin, most_end; /* rows of the whole; most_end: over this and all before it */
    uint64_t file, at;        /* where its elements begin */
    uint32_t rank, index, nth;
};

struct reshard {
    const struct shards *from;
    const struct read_files *files;
    const struct plan *to;
    struct source *sources;
    uint64_t count;
    struct range_list list;
};

static uint64_t hash_name(const char *name) {
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (; *name != '\0'; name++) {
        hash = (hash ^ (uint8_t)*name) * UINT64_C(1099511628211);
    }
    return hash;
}

static uint64_t rows_begin(const struct tensor *tensor) {
    return tensor->dimensions > 0 ? tensor->offset[0] : 0;
}

static uint64_t rows_end(const struct tensor *tensor) {
    return tensor->dimensions > 0 ? tensor->offset[0] + tensor->shape[0] : 1;
}

static int compare_sources(const void *left, const void *right) {
    const struct source *a = left, *b = right;
    if (a->hash != b->hash) {
        return a->hash < b->hash ? -1 : 1;
    }
    if (a->begin != b->begin) {
        return a->begin < b->begin ? -1 : 1;
    }
    return (a->file > b->file) - (a->file < b->file); /* so that the order is one */
}

static uint64_t count_tensors(const struct shards *from) {
    uint64_t count = 0;
    for (uint32_t rank = 0; rank < from->ranks; rank++) {
        for (uint64_t i = 0; i < from->shares[rank].files; i++) {
            count += plan_tensors(from->plan, rank, i);
        }
    }
    return count;
}

static void list_file(struct reshard *reshard, uint32_t rank, uint64_t index, uint64_t file) {
    const struct shards *from = reshard->from;
    const struct format_file *content = shards_content(from, rank, index);
    uint64_t tensors = plan_tensors(from->plan, rank, index), at = 0;
    for (uint64_t nth = 0; nth < tensors; nth++) {
        struct tensor tensor;
        plan_tensor(from->plan, rank, index, nth, &tensor);
        if (tensor.elements > 0) {
            reshard->sources[reshard->count++] = (struct source){
                .hash = hash_name(tensor.name),
                .begin = rows_begin(&tensor),
                .most_end = rows_end(&tensor),
                .file = file,
                .at = content != NULL ? content->places[nth].offset : at,
                .rank = rank,
                .index = (uint32_t)index,
                .nth = (uint32_t)nth,
            };
        }
        at += tensor.bytes;
    }
}

static enum status list_sources(struct reshard *reshard, struct error *err) {
    uint64_t count = count_tensors(reshard->from), file = 0;
    if (count > TENSORS_MAX) {
        char text[UNITS_TEXT], most[UNITS_TEXT];
        return error_set(err, ERR_USAGE,
                         "--reshard: the checkpoint has %s tensors; at most %s are "
                         "sorted",
                         units_grouped(count, text), units_grouped(TENSORS_MAX, most));
    }
    reshard->sources = mem_new(count, sizeof *reshard->sources);
    for (uint32_t rank = 0; rank < reshard->from->ranks; rank++) {
        for (uint64_t i = 0; i < reshard->from->shares[rank].files; i++) {
            list_file(reshard, rank, i, file++);
        }
    }
    if (reshard->count > 0) {
        qsort(reshard->sources, reshard->count, sizeof *reshard->sources, compare_sources);
    }
    for (uint64_t i = 1; i < reshard->count; i++) {
        const struct source *before = &reshard->sources[i - 1];
        struct source *source = &reshard->sources[i];
        if (before->hash == source->hash && before->most_end > source->most_end) {
            source->most_end = before->most_end;
        }
    }
    return OK;
}

/* The first source of this name, or behind it, that may have rows from `begin` on. */
static uint64_t first_source(const struct reshard *reshard, uint64_t hash, uint64_t begin) {
    uint64_t low = 0, high = reshard->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const struct source *source = &reshard->sources[middle];
        bool before = source->hash < hash || (source->hash == hash && source->most_end <= begin);
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low;
}

/* A block of a whole, dimension by dimension. */
struct block {
    uint32_t dimensions;
    uint64_t begin[TENSOR_DIMENSIONS], end[TENSOR_DIMENSIONS];
};

static uint64_t block_elements(const struct block *block) {
    uint64_t elements = 1;
    for (uint32_t i = 0; i < block->dimensions; i++) {
        elements *= block->end[i] > block->begin[i] ? block->end[i] - block->begin[i] : 0;
    }
    return elements;
}

static uint64_t in_proportion(uint64_t place, uint64_t of, uint64_t whole) {
    return (uint64_t)((unsigned __int128)place * of / whole);
}

static bool padded_vocabulary(const struct reshard *reshard, const struct tensor *wanted,
                              const struct tensor *found) {
    const struct plan *from = reshard->from->plan, *to = reshard->to;
    return from->vocab != to->vocab && wanted->whole[0] == to->vocab &&
           found->whole[0] == from->vocab;
}

/* The wanted block in the coordinates of what was found; false where the two are not the same
 * tensor. */
static bool wanted_block(const struct reshard *reshard, const struct tensor *wanted,
                         const struct tensor *found, struct block *block) {
    bool scaled = reshard->from->plan->scale < 1;
    block->dimensions = wanted->dimensions;
    if (wanted->dimensions != found->dimensions || wanted->datatype != found->datatype) {
        return false;
    }
    for (uint32_t i = 0; i < wanted->dimensions; i++) {
        uint64_t begin = wanted->offset[i], end = begin + wanted->shape[i];
        uint64_t whole = wanted->whole[i], of = found->whole[i];
        if (whole != of && scaled) {
            begin = in_proportion(begin, of, whole);
            end = in_proportion(end, of, whole);
        } else if (whole != of) {
            if (i > 0 || !padded_vocabulary(reshard, wanted, found)) {
                return false;
            }
            begin = begin < of ? begin : of;
            end = end < of ? end : of;
        }
        block->begin[i] = begin;
        block->end[i] = end;
    }
    return true;
}

static struct block common_block(const struct block *wanted, const struct tensor *found) {
    struct block common = {.dimensions = wanted->dimensions};
    for (uint32_t i = 0; i < wanted->dimensions; i++) {
        uint64_t begin = found->offset[i], end = begin + found->shape[i];
        common.begin[i] = wanted->begin[i] > begin ? wanted->begin[i] : begin;
        common.end[i] = wanted->end[i] < end ? wanted->end[i] : end;
    }
    return common;
}

/* From the first element of the block to the last, in the order the found tensor has them. */
static void covering_elements(const struct block *block, const struct tensor *found,
                              uint64_t *first, uint64_t *count) {
    uint64_t last = 0;
    *first = 0;
    for (uint32_t i = 0; i < block->dimensions; i++) {
        *first = *first * found->shape[i] + (block->begin[i] - found->offset[i]);
        last = last * found->shape[i] + (block->end[i] - 1 - found->offset[i]);
    }
    *count = last - *first + 1;
}

static bool add_common(struct reshard *reshard, const struct source *source,
                       const struct tensor *found, const struct block *common) {
    const struct format_file *content = shards_content(reshard->from, source->rank, source->index);
    uint64_t width = datatype_bytes(found->datatype), first, count;
    covering_elements(common, found, &first, &count);
    uint64_t offset = source->at + first * width, length = count * width;
    if (content != NULL && reshard->from->format->reads_items) {
        offset = content->places[source->nth].item_offset;
        length = content->places[source->nth].item_bytes;
    }
    uint64_t needed = reshard->list.needed_bytes + block_elements(common) * width;
    bool added = range_list_add(&reshard->list, reshard->files, source->file, offset, length);
    reshard->list.needed_bytes = needed;
    return added;
}

enum found { FOUND_ALL, FOUND_NOTHING, FOUND_OTHER, FOUND_PART, FOUND_TOO_MANY };

/* The first old part of a tensor of this name; count where there is none. */
static uint64_t first_named(const struct reshard *reshard, const struct tensor *wanted,
                            uint64_t hash, struct tensor *found) {
    for (uint64_t i = first_source(reshard, hash, 0);
         i < reshard->count && reshard->sources[i].hash == hash; i++) {
        const struct source *source = &reshard->sources[i];
        plan_tensor(reshard->from->plan, source->rank, source->index, source->nth, found);
        if (strcmp(found->name, wanted->name) == 0) { /* not one that has the same hash alone */
            return i;
        }
    }
    return reshard->count;
}

/* All that the old files have of one tensor of a new rank; together it must be all of it. */
static enum found find_tensor(struct reshard *reshard, const struct tensor *wanted) {
    uint64_t hash = hash_name(wanted->name), got = 0;
    struct block block;
    struct tensor found;
    if (first_named(reshard, wanted, hash, &found) == reshard->count) {
        return FOUND_NOTHING;
    }
    if (!wanted_block(reshard, wanted, &found,
                      &block)) { /* all parts of it tell of the same whole */
        return FOUND_OTHER;
    }
    uint64_t need = block_elements(&block);
    uint64_t begin = block.dimensions > 0 ? block.begin[0] : 0;
    uint64_t end = block.dimensions > 0 ? block.end[0] : 1;
    for (uint64_t i = first_source(reshard, hash, begin);
         i < reshard->count && reshard->sources[i].hash == hash && reshard->sources[i].begin < end;
         i++) {
        const struct source *source = &reshard->sources[i];
        plan_tensor(reshard->from->plan, source->rank, source->index, source->nth, &found);
        if (strcmp(found.name, wanted->name) != 0) {
            continue;
        }
        struct block common = common_block(&block, &found);
        uint64_t elements = block_elements(&common);
        if (elements > 0 && !add_common(reshard, source, &found, &common)) {
            return FOUND_TOO_MANY;
        }
        got += elements;
    }
    return got == need ? FOUND_ALL : FOUND_PART;
}

static enum status refuse(enum found found, const char *name, uint32_t rank, struct error *err) {
    static const char *const words[] = {
        [FOUND_NOTHING] = "the checkpoint has nothing",
        [FOUND_OTHER] =
            "the checkpoint has another whole: what was divided among ranks as one buffer "
            "cannot be divided otherwise",
        [FOUND_PART] = "the checkpoint does not have every element",
    };
    if (found == FOUND_TOO_MANY) {
        char most[UNITS_TEXT];
        return error_set(err, ERR_USAGE, "--reshard: the new ranks would read more than %s ranges",
                         units_grouped(READ_RANGES_MAX, most));
    }
    return error_set(err, ERR_USAGE, "--reshard: of '%s', which rank %u would need, %s", name, rank,
                     words[found]);
}

static enum status find_rank(struct reshard *reshard, uint32_t rank, struct error *err) {
    uint64_t count = plan_held(reshard->to, rank);
    for (uint64_t i = 0; i < count; i++) {
        struct tensor wanted;
        plan_held_tensor(reshard->to, rank, i, &wanted);
        enum found found = wanted.elements > 0 ? find_tensor(reshard, &wanted) : FOUND_ALL;
        if (found != FOUND_ALL) {
            return refuse(found, wanted.name, rank, err);
        }
    }
    return OK;
}

/* With one reader for each data parallel group, it reads what any of its group needs. */
static enum status find_reader(struct reshard *reshard, uint32_t reader, enum readers readers,
                               struct error *err) {
    enum status status = OK;
    if (readers == READERS_ALL) {
        status = find_rank(reshard, reader, err);
    }
    bool leads = readers == READERS_ONE_PER_DP && plan_group_leader(reshard->to, reader) == reader;
    uint32_t stage = leads ? reshard->to->ranks / (uint32_t)reshard->to->parallelism.pp : 0;
    for (uint32_t rank = reader;
         leads && rank < reader + stage && rank < reshard->to->ranks && status == OK; rank++) {
        if (plan_group_leader(reshard->to, rank) == reader) {
            status = find_rank(reshard, rank, err);
        }
    }
    range_list_end_rank(&reshard->list);
    return status;
}

enum status reshard_check_layout(const struct layout *layout, struct error *err) {
    char can[160] = "";
    size_t used = 0;
    if (layout->held != NULL) {
        return OK;
    }
    for (size_t i = 0; layouts[i] != NULL && used < sizeof can; i++) {
        if (layouts[i]->held != NULL) {
            used += (size_t)snprintf(can + used, sizeof can - used, "%s%s", used > 0 ? ", " : "",
                                     layouts[i]->name);
        }
    }
    return error_set(err, ERR_USAGE,
                     "--reshard: a checkpoint of layout %s cannot be read by another "
                     "parallelism: %s; %s can",
                     layout->name, layout->cannot_reshard, can);
}

enum status reshard_plan(const struct shards *from, const struct read_files *files,
                         const struct plan *to, enum readers readers, struct arena *arena,
                         struct read_plan *out, struct error *err) {
    struct reshard reshard = {.from = from, .files = files, .to = to};
    enum status status = reshard_check_layout(from->plan->layout, err);
    if (status != OK) {
        return status;
    }
    uint64_t *first = arena_new(arena, (size_t)to->ranks + 1, sizeof *first);
    status = list_sources(&reshard, err);
    for (uint32_t rank = 0; rank < to->ranks && status == OK; rank++) {
        status = find_reader(&reshard, rank, readers, err);
        first[rank + 1] = reshard.list.count;
    }
    mem_free(reshard.sources);
    if (status != OK) {
        mem_free(reshard.list.ranges);
        return status;
    }
    range_list_finish(&reshard.list, files, to->ranks, first, arena, out);
    return OK;
}
