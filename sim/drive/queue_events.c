/* A heap in which every event has four behind it: half as deep as one of two, and the four lie in
 * one cache line. */
#include "sim/drive/queue_events.h"

#include "base/check.h"
#include "base/memory.h"

#include <stdbool.h>

enum { BRANCHES = 4 };

void queue_events_init(struct queue_events *events, uint32_t capacity) {
    *events = (struct queue_events){.heap = mem_new(capacity, sizeof *events->heap),
                                    .capacity = capacity};
}

void queue_events_fini(struct queue_events *events) { mem_free(events->heap); }

static bool before(struct queue_event left, struct queue_event right) {
    return left.at_ps != right.at_ps ? left.at_ps < right.at_ps : left.key < right.key;
}

void queue_events_add(struct queue_events *events, uint64_t at_ps, uint32_t kind, uint32_t index) {
    CHECK(events->count < events->capacity);
    uint64_t key = events->sequence++ << (QUEUE_KIND_BITS + QUEUE_INDEX_BITS);
    key |= (uint64_t)kind << QUEUE_INDEX_BITS | index;
    struct queue_event event = {at_ps, key}, *heap = events->heap;
    uint32_t i = events->count++;
    while (i > 0 && before(event, heap[(i - 1) / BRANCHES])) {
        heap[i] = heap[(i - 1) / BRANCHES];
        i = (i - 1) / BRANCHES;
    }
    heap[i] = event;
}

static uint32_t first_of(const struct queue_event *heap, uint32_t from, uint32_t end) {
    uint32_t first = from;
    for (uint32_t i = from + 1; i < end; i++) {
        first = before(heap[i], heap[first]) ? i : first;
    }
    return first;
}

struct queue_event queue_events_take(struct queue_events *events) {
    CHECK(events->count > 0);
    struct queue_event *heap = events->heap, taken = heap[0];
    uint32_t count = --events->count, i = 0;
    struct queue_event last = heap[count];
    while (i * BRANCHES + 1 < count) {
        uint32_t from = i * BRANCHES + 1;
        uint32_t end = from + BRANCHES < count ? from + BRANCHES : count;
        uint32_t first = first_of(heap, from, end);
        if (!before(heap[first], last)) {
            break;
        }
        heap[i] = heap[first];
        i = first;
    }
    heap[i] = last;
    return taken;
}
