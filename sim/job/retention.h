#ifndef CKPTSIM_SIM_JOB_RETENTION_H
#define CKPTSIM_SIM_JOB_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

/* Which checkpoints stay: the newest `last`, and of the older ones every `every`-th of a pass. Pure
 * arithmetic. */

struct retention {
    uint64_t last;  /* 0: all stay */
    uint64_t every; /* 0: none but the last; counted by the number in their file names */
};

/* The oldest complete checkpoint that may go, by its slot; 0: all stay. serials are those of the
 * complete checkpoints in slots 1 .. slot_count - 1, counted over the run; 0: there is none. Those of
 * first_needed and later stay in any case. */
uint64_t retention_victim(const struct retention *keep, const uint64_t *serials, uint64_t slot_count,
                          uint64_t first_needed);

/* The most checkpoints that are there at once in a pass of `count`, the one being written included. */
uint64_t retention_most(const struct retention *keep, uint64_t count);

#endif
