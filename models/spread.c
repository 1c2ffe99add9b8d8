#include "models/spread.h"

#include "base/check.h"

#include <stdbool.h>
#include <stdlib.h>

static int compare_items(const void *left, const void *right) {
    const struct spread_item *a = left, *b = right;
    if (a->count != b->count) {
        return a->count < b->count ? -1 : 1;
    }
    if (a->bytes != b->bytes) {
        return a->bytes > b->bytes ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

/* A heap of all members, the one with the fewest bytes on top. */
struct heap {
    uint32_t *members;
    uint32_t count;
    const uint64_t *bytes;
};

static bool before(const struct heap *heap, uint32_t a, uint32_t b) {
    return heap->bytes[a] != heap->bytes[b] ? heap->bytes[a] < heap->bytes[b] : a < b;
}

static void sift_down(struct heap *heap, uint32_t at) {
    for (;;) {
        uint32_t least = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap->count; child++) {
            least = before(heap, heap->members[child], heap->members[least]) ? child : least;
        }
        if (least == at) {
            return;
        }
        uint32_t member = heap->members[at];
        heap->members[at] = heap->members[least];
        heap->members[least] = member;
        at = least;
    }
}

static void heap_build(struct heap *heap, uint32_t count) {
    heap->count = count;
    for (uint32_t i = 0; i < count; i++) {
        heap->members[i] = i;
    }
    for (uint32_t i = count / 2; i-- > 0;) {
        sift_down(heap, i);
    }
}

static uint32_t least_of(const struct spread_item *item, const uint64_t *bytes) {
    uint32_t best = item->begin;
    for (uint32_t i = 1; i < item->count; i++) {
        uint32_t member = item->begin + i * item->step;
        best = bytes[member] < bytes[best] ? member : best;
    }
    return best;
}

/* Turns the owner of each id into lists, ids in rising order. */
static void make_lists(struct spread *spread, const uint32_t *owners, uint32_t count,
                       uint32_t members) {
    for (uint32_t id = 0; id < count; id++) {
        spread->first[owners[id] + 1]++;
    }
    for (uint32_t i = 0; i < members; i++) {
        spread->first[i + 1] += spread->first[i];
    }
    uint32_t *next = mem_new(members, sizeof *next);
    for (uint32_t id = 0; id < count; id++) {
        spread->ids[spread->first[owners[id]] + next[owners[id]]++] = id;
    }
    mem_free(next);
}

/* Items that all members hold come last, since no item is held by more: from there on the heap
 * stands. */
struct spread spread_items(struct spread_item *items, uint32_t count, uint32_t members,
                           struct arena *arena) {
    struct spread spread = {.ids = arena_new(arena, count + 1, sizeof *spread.ids),
                            .first = arena_new(arena, (size_t)members + 1, sizeof *spread.first),
                            .bytes = arena_new(arena, members, sizeof *spread.bytes)};
    struct heap heap = {.members = mem_new(members, sizeof *heap.members), .bytes = spread.bytes};
    uint32_t *owners = mem_new(count + 1, sizeof *owners);
    qsort(items, count, sizeof *items, compare_items);
    for (uint32_t i = 0; i < count; i++) {
        bool all = items[i].count == members;
        CHECK(items[i].id < count);
        if (all && heap.count == 0) {
            heap_build(&heap, members);
        }
        uint32_t owner = all ? heap.members[0] : least_of(&items[i], spread.bytes);
        owners[items[i].id] = owner;
        spread.bytes[owner] += items[i].bytes;
        if (all) {
            sift_down(&heap, 0);
        }
    }
    make_lists(&spread, owners, count, members);
    mem_free(owners);
    mem_free(heap.members);
    return spread;
}
