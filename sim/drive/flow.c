#include "sim/drive/flow.h"

#include "base/check.h"
#include "base/memory.h"

enum { NANO = 1000000000 };

void flow_set_init(struct flow_set *set, const uint64_t limits[FLOW_CLASSES], uint32_t capacity) {
    *set = (struct flow_set){0};
    for (int class = 0; class < FLOW_CLASSES; class++) {
        set->clocks[class].limit_bytes_per_s = limits[class];
        set->clocks[class].heap = mem_new(capacity, sizeof *set->clocks[class].heap);
    }
}

void flow_set_fini(struct flow_set *set) {
    for (int class = 0; class < FLOW_CLASSES; class++) {
        mem_free(set->clocks[class].heap);
    }
}

static bool ends_before(const struct flow *a, const struct flow *b) {
    return a->end != b->end ? a->end < b->end : a->sequence < b->sequence;
}

static void put(struct flow_clock *clock, uint32_t index, struct flow *flow) {
    clock->heap[index] = flow;
    flow->heap_index = index;
}

static void sift_up(struct flow_clock *clock, uint32_t index) {
    struct flow *flow = clock->heap[index];
    while (index > 0 && ends_before(flow, clock->heap[(index - 1) / 2])) {
        put(clock, index, clock->heap[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    put(clock, index, flow);
}

static void sift_down(struct flow_clock *clock, uint32_t index) {
    struct flow *flow = clock->heap[index];
    for (;;) {
        uint32_t child = index * 2 + 1;
        if (child >= clock->count) {
            break;
        }
        if (child + 1 < clock->count && ends_before(clock->heap[child + 1], clock->heap[child])) {
            child++;
        }
        if (!ends_before(clock->heap[child], flow)) {
            break;
        }
        put(clock, index, clock->heap[child]);
        index = child;
    }
    put(clock, index, flow);
}

void flow_add(struct flow_set *set, struct flow *flow, enum flow_class class, uint64_t bytes) {
    struct flow_clock *clock = &set->clocks[class];
    flow->class = class;
    flow->sequence = set->sequence++;
    flow->end = clock->nanobytes + (unsigned __int128)bytes * NANO;
    put(clock, clock->count++, flow);
    sift_up(clock, clock->count - 1);
}

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Water filling over two classes: the one with the lower limit is served first. */
void flow_share(struct flow_set *set, uint64_t total_bytes_per_s) {
    struct flow_clock *low = &set->clocks[FLOW_NEW], *high = &set->clocks[FLOW_REUSED];
    if (low->limit_bytes_per_s > high->limit_bytes_per_s) {
        low = &set->clocks[FLOW_REUSED];
        high = &set->clocks[FLOW_NEW];
    }
    uint64_t count = (uint64_t)low->count + high->count;
    uint64_t equal = count > 0 ? total_bytes_per_s / count : 0;
    low->rate_bytes_per_s = smaller(low->limit_bytes_per_s, equal);
    uint64_t left = total_bytes_per_s - low->rate_bytes_per_s * low->count;
    high->rate_bytes_per_s =
        high->count > 0 ? smaller(high->limit_bytes_per_s, left / high->count) : 0;
}

uint64_t flow_total_rate(const struct flow_set *set) {
    uint64_t total = 0;
    for (int class = 0; class < FLOW_CLASSES; class++) {
        total += set->clocks[class].rate_bytes_per_s * set->clocks[class].count;
    }
    return total;
}

uint64_t flow_wanted_rate(const struct flow_set *set) {
    uint64_t total = 0;
    for (int class = 0; class < FLOW_CLASSES; class++) {
        const struct flow_clock *clock = &set->clocks[class];
        uint64_t wanted;
        if (__builtin_mul_overflow(clock->limit_bytes_per_s, clock->count, &wanted) ||
            __builtin_add_overflow(total, wanted, &total)) {
            return UINT64_MAX;
        }
    }
    return total;
}

uint32_t flow_count(const struct flow_set *set) {
    return set->clocks[FLOW_NEW].count + set->clocks[FLOW_REUSED].count;
}

uint64_t flow_next_ns(const struct flow_set *set) {
    uint64_t next = UINT64_MAX;
    for (int class = 0; class < FLOW_CLASSES; class++) {
        const struct flow_clock *clock = &set->clocks[class];
        if (clock->count == 0) {
            continue;
        }
        unsigned __int128 end = clock->heap[0]->end;
        if (end <= clock->nanobytes) {
            return 0;
        }
        if (clock->rate_bytes_per_s == 0) {
            continue;
        }
        unsigned __int128 ns =
            (end - clock->nanobytes + clock->rate_bytes_per_s - 1) / clock->rate_bytes_per_s;
        next = ns < next ? (uint64_t)ns : next;
    }
    return next;
}

void flow_advance(struct flow_set *set, uint64_t ns) {
    for (int class = 0; class < FLOW_CLASSES; class++) {
        struct flow_clock *clock = &set->clocks[class];
        if (clock->count > 0) {
            clock->nanobytes += (unsigned __int128)clock->rate_bytes_per_s * ns;
        }
    }
}

struct flow *flow_take_ended(struct flow_set *set) {
    for (int class = 0; class < FLOW_CLASSES; class++) {
        struct flow_clock *clock = &set->clocks[class];
        if (clock->count == 0 || clock->heap[0]->end > clock->nanobytes) {
            continue;
        }
        struct flow *ended = clock->heap[0];
        struct flow *last = clock->heap[--clock->count];
        if (clock->count > 0) {
            put(clock, 0, last);
            sift_down(clock, 0);
        }
        return ended;
    }
    return NULL;
}

uint64_t flow_time_ns(uint64_t bytes, uint64_t bytes_per_s) {
    return (uint64_t)((unsigned __int128)bytes * NANO / bytes_per_s);
}

uint64_t flow_left(const struct flow_set *set, const struct flow *flow) {
    const struct flow_clock *clock = &set->clocks[flow->class];
    if (flow->end <= clock->nanobytes) {
        return 0;
    }
    return (uint64_t)((flow->end - clock->nanobytes + NANO - 1) / NANO);
}
