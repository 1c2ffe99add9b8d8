#include "sim/job/read_plan.h"

#include "base/check.h"
#include "io/payload.h"

#include <stdlib.h>
#include <string.h>

void read_files_of(const struct shards *shards, struct arena *arena, struct read_files *files) {
    uint64_t *first = arena_new(arena, (size_t)shards->ranks + 1, sizeof *first);
    uint64_t *sizes = arena_new(arena, shards->files, sizeof *sizes);
    uint64_t nth = 0;
    for (uint32_t rank = 0; rank < shards->ranks; rank++) {
        first[rank] = nth;
        for (uint64_t i = 0; i < shards->shares[rank].files; i++) {
            struct shard_file file;
            shards_file(shards, rank, i, 1, &file);
            sizes[nth++] = file.bytes;
        }
    }
    first[shards->ranks] = nth;
    *files = (struct read_files){shards->ranks, first, sizes, shards->chunk_bytes};
}

bool range_list_add(struct range_list *list, const struct read_files *files, uint64_t file,
                    uint64_t offset, uint64_t length_bytes) {
    uint64_t unit = files->chunk_bytes > 0 ? files->chunk_bytes : PAYLOAD_BLOCK;
    uint64_t size = files->sizes[file], begin = offset / unit * unit;
    uint64_t end = (offset + length_bytes + unit - 1) / unit * unit;
    CHECK(offset + length_bytes <= size);
    if (list->count == list->capacity) {
        if (list->capacity >= READ_RANGES_MAX) {
            return false;
        }
        list->capacity = list->capacity * 2 + 1024;
        list->ranges = mem_resize(list->ranges, list->capacity, sizeof *list->ranges);
    }
    end = end < size ? end : size;
    list->ranges[list->count++] = (struct read_range){file, begin, end - begin};
    list->needed_bytes += length_bytes;
    return true;
}

static int compare_ranges(const void *left, const void *right) {
    const struct read_range *a = left, *b = right;
    if (a->file != b->file) {
        return a->file < b->file ? -1 : 1;
    }
    return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Sorts, and merges what overlaps or touches; returns how many are left. */
static uint64_t merge(struct read_range *ranges, uint64_t count) {
    uint64_t kept = 0;
    if (count > 0) {
        qsort(ranges, count, sizeof *ranges, compare_ranges);
    }
    for (uint64_t i = 0; i < count; i++) {
        struct read_range *last = kept > 0 ? &ranges[kept - 1] : NULL;
        uint64_t end = ranges[i].offset + ranges[i].length_bytes;
        if (last == NULL || last->file != ranges[i].file ||
            ranges[i].offset > last->offset + last->length_bytes) {
            ranges[kept++] = ranges[i];
        } else if (end > last->offset + last->length_bytes) {
            last->length_bytes = end - last->offset;
        }
    }
    return kept;
}

void range_list_end_rank(struct range_list *list) {
    if (list->count > list->begin) {
        list->count = list->begin + merge(list->ranges + list->begin, list->count - list->begin);
    }
    list->begin = list->count;
}

/* Which files are read, and how many bytes if each is counted once. Destroys the list. */
static void count_files(struct range_list *list, const struct read_files *files,
                        struct arena *arena, struct read_plan *out) {
    uint64_t count = merge(list->ranges, list->count);
    uint64_t *numbers = arena_new(arena, count, sizeof *numbers);
    for (uint64_t i = 0; i < count; i++) {
        out->distinct_bytes += list->ranges[i].length_bytes;
        if (i == 0 || list->ranges[i - 1].file != list->ranges[i].file) {
            numbers[out->file_count++] = list->ranges[i].file;
            out->file_bytes += files->sizes[list->ranges[i].file];
        }
    }
    out->files = numbers;
}

void range_list_finish(struct range_list *list, const struct read_files *files, uint32_t ranks,
                       const uint64_t *first, struct arena *arena, struct read_plan *out) {
    struct read_range *ranges = arena_new(arena, list->count, sizeof *ranges);
    uint64_t *rank_bytes = arena_new(arena, ranks, sizeof *rank_bytes);
    *out = (struct read_plan){.ranks = ranks,
                              .first = first,
                              .ranges = ranges,
                              .rank_bytes = rank_bytes,
                              .needed_bytes = list->needed_bytes};
    if (list->count > 0) {
        memcpy(ranges, list->ranges, list->count * sizeof *ranges);
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        for (uint64_t i = first[rank]; i < first[rank + 1]; i++) {
            rank_bytes[rank] += ranges[i].length_bytes;
        }
        out->bytes += rank_bytes[rank];
    }
    if (out->needed_bytes > out->bytes) { /* what several ranks of a group need is read once */
        out->needed_bytes = out->bytes;
    }
    count_files(list, files, arena, out);
    mem_free(list->ranges);
    *list = (struct range_list){0};
}

void read_plan_back(const struct read_files *files, const struct plan *plan, enum readers readers,
                    uint64_t shift, struct arena *arena, struct read_plan *out) {
    uint32_t ranks = files->ranks;
    uint64_t *first = arena_new(arena, (size_t)ranks + 1, sizeof *first);
    uint64_t *share = mem_new((size_t)ranks + 1, sizeof *share); /* where each reader's ranges go */
    struct range_list list = {.count = files->first[ranks], .capacity = files->first[ranks]};
    list.ranges = mem_new(list.count, sizeof *list.ranges);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t reader = readers == READERS_ALL ? rank : plan_group_leader(plan, rank);
        uint32_t writer = (uint32_t)((rank + shift) % ranks);
        first[reader + 1] += files->first[writer + 1] - files->first[writer];
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        first[rank + 1] += first[rank];
        share[rank] = first[rank];
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t reader = readers == READERS_ALL ? rank : plan_group_leader(plan, rank);
        uint32_t writer = (uint32_t)((rank + shift) % ranks);
        for (uint64_t file = files->first[writer]; file < files->first[writer + 1]; file++) {
            list.ranges[share[reader]++] = (struct read_range){file, 0, files->sizes[file]};
            list.needed_bytes += files->sizes[file];
        }
    }
    mem_free(share);
    range_list_finish(&list, files, ranks, first, arena, out);
}
