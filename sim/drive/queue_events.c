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

/* Time and key as one number, so that comparing takes no branch that could be guessed wrongly. */
static unsigned __int128 rank(const struct queue_event *event) {
    return (unsigned __int128)event->at_ps << 64 | event->key;
}

static bool before(const struct queue_event *left, const struct queue_event *right) {
    return rank(left) < rank(right);
}

static void rise(struct queue_event *heap, uint32_t i, struct queue_event event) {
    while (i > 0 && before(&event, &heap[(i - 1) / BRANCHES])) {
        heap[i] = heap[(i - 1) / BRANCHES];
        i = (i - 1) / BRANCHES;
    }
    heap[i] = event;
}

void queue_events_add(struct queue_events *events, uint64_t at_ps, uint32_t kind, uint32_t index) {
    CHECK(events->count < events->capacity);
    uint64_t key = events->sequence++ << (QUEUE_KIND_BITS + QUEUE_INDEX_BITS);
    key |= (uint64_t)kind << QUEUE_INDEX_BITS | index;
    rise(events->heap, events->count++, (struct queue_event){at_ps, key});
}

static uint32_t first_of_four(const struct queue_event *heap, uint32_t from) {
    uint32_t left = from + before(&heap[from + 1], &heap[from]);
    uint32_t right = from + 2 + before(&heap[from + 3], &heap[from + 2]);
    return before(&heap[right], &heap[left]) ? right : left;
}

static uint32_t first_of_few(const struct queue_event *heap, uint32_t from, uint32_t end) {
    uint32_t first = from;
    for (uint32_t i = from + 1; i < end; i++) {
        first = before(&heap[i], &heap[first]) ? i : first;
    }
    return first;
}

/* The gap at the top sinks to the bottom, where the last event, being a late one, mostly belongs.
 */
struct queue_event queue_events_take(struct queue_events *events) {
    CHECK(events->count > 0);
    struct queue_event *heap = events->heap, taken = heap[0];
    uint32_t count = --events->count, i = 0, from = 1;
    while (from + BRANCHES <= count) {
        uint32_t first = first_of_four(heap, from);
        heap[i] = heap[first];
        i = first;
        from = i * BRANCHES + 1;
    }
    if (from < count) {
        uint32_t first = first_of_few(heap, from, count);
        heap[i] = heap[first];
        i = first;
    }
    rise(heap, i, heap[count]);
    return taken;
}
