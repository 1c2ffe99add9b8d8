#ifndef CKPTSIM_SIM_JOB_TIER_H
#define CKPTSIM_SIM_JOB_TIER_H

#include "sim/job/failure.h"
#include "sim/job/retention.h"

#include <stdbool.h>
#include <stdint.h>

/* What a job knows of one folder that holds its checkpoints. */

struct tier {
    uint8_t number;         /* that its requests carry */
    uint32_t rank;          /* whose requests the job's own ones are */
    struct retention keep;
    uint64_t slot_count;    /* that there is room for below; grows between checkpoints */
    bool *held;             /* by slot: may have files */
    uint64_t *serials;      /* by slot: of the complete checkpoint in it, 0: none */
    uint64_t held_count;
    uint64_t latest_slot;   /* that `latest` points at; 0: none */
    bool new_files;         /* the slot under way had no files before */
    struct failure failure; /* of the checkpoint under way */
};

bool tier_holds(const struct tier *tier, uint64_t slot);
void tier_set_held(struct tier *tier, uint64_t slot, bool held);
/* The checkpoint in a slot that is held is complete (serial) or no longer (0). */
void tier_set_complete(struct tier *tier, uint64_t slot, uint64_t serial);
uint64_t tier_serial(const struct tier *tier, uint64_t slot);
void tier_fini(struct tier *tier);

#endif
