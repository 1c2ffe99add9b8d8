#ifndef CKPTSIM_SIM_JOB_ONE_CHECKPOINT_H
#define CKPTSIM_SIM_JOB_ONE_CHECKPOINT_H

#include "sim/job/job.h"

/* One checkpoint of a job from its barrier to its record, and the computing of its ranks between two:
 *
 *   JOB_SYNC   run_checkpoint: invalidate, write, commit, retire, record │ begin_computing, end_computing
 *   JOB_ASYNC  run_checkpoint: invalidate, copy, begin_computing, write, commit, ... │ end_computing   */

/* How a step of the run ended. */
enum step {
    STEP_DONE,
    STEP_FULL,  /* the target is full: the pass ends */
    STEP_STOP,  /* asked to stop */
    STEP_ERROR, /* an I/O error or a failing observer ends the run; err says which */
};

/* A broken one is removed before it is recorded. */
enum step run_checkpoint(struct job *job, struct error *err);

void begin_computing(struct job *job);
/* Waits for its end, or ends it at once. */
enum step end_computing(struct job *job, bool at_once);

#endif
