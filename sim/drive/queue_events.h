#ifndef CKPTSIM_SIM_DRIVE_QUEUE_EVENTS_H
#define CKPTSIM_SIM_DRIVE_QUEUE_EVENTS_H

#include <stdint.h>

/* What is to happen, by time and, at equal times, in the order in which it was planned. */

enum {
    QUEUE_KIND_BITS = 4,
    QUEUE_INDEX_BITS = 24,
    QUEUE_INDEX_MAX = (1 << QUEUE_INDEX_BITS) - 1,
};

struct queue_event {
    uint64_t at_ps;
    uint64_t key; /* sequence number, kind, index */
};

struct queue_events {
    struct queue_event *heap;
    uint32_t count, capacity;
    uint64_t sequence;
};

void queue_events_init(struct queue_events *events, uint32_t capacity);
void queue_events_fini(struct queue_events *events);

void queue_events_add(struct queue_events *events, uint64_t at_ps, uint32_t kind, uint32_t index);
/* The next one; there must be one. */
struct queue_event queue_events_take(struct queue_events *events);

static inline uint32_t queue_event_kind(struct queue_event event) {
    return (uint32_t)(event.key >> QUEUE_INDEX_BITS) & ((1 << QUEUE_KIND_BITS) - 1);
}

static inline uint32_t queue_event_index(struct queue_event event) {
    return (uint32_t)event.key & QUEUE_INDEX_MAX;
}

#endif
