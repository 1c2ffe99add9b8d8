#ifndef CKPTSIM_SIM_JOB_TIER_COPY_H
#define CKPTSIM_SIM_JOB_TIER_COPY_H

#include "sim/job/job.h"

/* Checkpoints that are complete in the local folder, copied to a shared one in the background, one
 * after the other in the order of their commits:
 *
 *   queue ─► invalidate ─► copy ─────────────────────────► commit ─► retire
 *                          copiers take file after file,   markers, manifest, latest
 *                          beside all that ranks do
 *
 * Copiers are ranks of the engine behind those that write. What comes before and after them is a
 * sequence of single requests like everything else that the job does itself; it is done when the job
 * would only wait, see tier_copy_attend. A checkpoint of the local folder that is queued may be neither
 * overwritten nor removed. */

enum { TIER_COPY_QUEUE = 8 }; /* checkpoints, the one under way included */

struct copier;

struct copy_task {
    struct checkpoint checkpoint; /* with sums of its own */
    uint64_t record;              /* of the result; a resumed run has it too */
    uint64_t commit_ns;           /* when it was complete locally; RESULT_UNKNOWN: in an earlier run */
};

struct tier_copy {
    struct job *job;
    struct tier tier;                        /* the shared folder; its failure is that of the copy */
    struct copy_task tasks[TIER_COPY_QUEUE]; /* a ring */
    uint32_t first, count;
    struct copier *copiers;
    uint32_t copier_count, copiers_left;     /* left: at work */
    bool running;                            /* tasks[first] has copiers, or had them */
    uint64_t begin_ns, end_ns;               /* of its copying; end: of the latest request */
    uint32_t next_rank;                      /* the next file that no copier has taken */
    uint64_t next_index;
    uint64_t failed_slot;                    /* the checkpoint that tier.failure is about */
    struct error observer;                   /* status OK unless a record could not be kept */
};

/* In the job's arena; copiers are ranks shards->ranks and up of the engine. */
struct tier_copy *tier_copy_new(struct job *job);
void tier_copy_fini(struct tier_copy *copy);

/* Queues a checkpoint, whose sums are copied; there is room. */
void tier_copy_add(struct tier_copy *copy, const struct checkpoint *checkpoint, uint64_t record,
                   uint64_t commit_ns);
/* The serial of the oldest one queued, UINT64_MAX: there is none. */
uint64_t tier_copy_first_serial(const struct tier_copy *copy);
/* Whether the checkpoint in a slot is queued. */
bool tier_copy_holds(const struct tier_copy *copy, uint64_t slot);
/* Whether something is queued and will be copied. */
bool tier_copy_is_busy(const struct tier_copy *copy);
/* Whether the next local checkpoint, in this slot, has to wait: the queue is full, or one that is queued
 * lies in the slot or is beyond what the local folder keeps. Removes what that folder need not keep. */
bool tier_copy_must_wait(struct tier_copy *copy, uint64_t slot);

/* Takes a completion of a copier. */
void tier_copy_take(struct tier_copy *copy, const struct io_request *request);
/* Does what is due before and after copying, by requests of the job: while none of those is under
 * way. Once something failed or the run is to stop, the queue is given up. */
void tier_copy_attend(struct tier_copy *copy);

#endif
