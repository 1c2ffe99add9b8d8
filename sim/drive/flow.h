#ifndef CKPTSIM_SIM_DRIVE_FLOW_H
#define CKPTSIM_SIM_DRIVE_FLOW_H

#include <stdbool.h>
#include <stdint.h>

/* Many transfers sharing one limit, as fluids. A flow of a class runs at most at its class's own rate;
 * all flows of a class always run at the same rate, so a class needs one clock of bytes per flow (its
 * virtual time) and a heap of the flows by the clock value at which each ends. An event costs O(log n)
 * however many flows there are. Rates are shared max-min fairly: who needs less than an equal share
 * gets what it needs, the rest is shared equally. Integers only: 2^-64 of a byte does not matter, the
 * same result on every machine does. */

enum flow_class { FLOW_NEW, FLOW_REUSED, FLOW_CLASSES };

struct flow {
    unsigned __int128 end;  /* class clock at which it ends, nanobytes */
    uint64_t sequence;      /* ties go to the flow that was added first */
    enum flow_class class;
    uint32_t heap_index;
    void *owner;
};

struct flow_clock {
    unsigned __int128 nanobytes;   /* that each flow of the class has moved so far */
    uint64_t limit_bytes_per_s;    /* of one flow */
    uint64_t rate_bytes_per_s;     /* of one flow now */
    struct flow **heap;
    uint32_t count;
};

struct flow_set {
    struct flow_clock clocks[FLOW_CLASSES];
    uint64_t sequence;
};

/* At most capacity flows at a time; limits by class in bytes/s of one flow. */
void flow_set_init(struct flow_set *set, const uint64_t limits[FLOW_CLASSES], uint32_t capacity);
void flow_set_fini(struct flow_set *set);

void flow_add(struct flow_set *set, struct flow *flow, enum flow_class class, uint64_t bytes);

/* Sets the rates so that all flows together move at most total_bytes_per_s. */
void flow_share(struct flow_set *set, uint64_t total_bytes_per_s);
/* What all flows together move now, and what they would move if nothing but their limits held. */
uint64_t flow_total_rate(const struct flow_set *set);
uint64_t flow_wanted_rate(const struct flow_set *set);
uint32_t flow_count(const struct flow_set *set);

/* Time until the next flow ends at the present rates; UINT64_MAX where none does. */
uint64_t flow_next_ns(const struct flow_set *set);
void flow_advance(struct flow_set *set, uint64_t ns);
/* A flow whose end is reached, taken out; NULL where there is none. */
struct flow *flow_take_ended(struct flow_set *set);
/* How long bytes take at a rate, rounded down. */
uint64_t flow_time_ns(uint64_t bytes, uint64_t bytes_per_s);
/* Bytes that a flow still has to move, rounded up. */
uint64_t flow_left(const struct flow_set *set, const struct flow *flow);

#endif
