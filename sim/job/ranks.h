#ifndef CKPTSIM_SIM_JOB_RANKS_H
#define CKPTSIM_SIM_JOB_RANKS_H

#include "sim/job/job.h"

/* All ranks of a checkpoint together: let go at the barrier, then told of their completions one by
 * one. */

/* Every rank begins its share. job->ranks_left says how many are not done yet, and
 * job->snapshots_left how many have not copied all of their state. */
void ranks_start(struct job *job);
/* Takes a completion of one of them. */
void ranks_take(struct job *job, struct io_request *request);
/* The rank with the most bytes to go, since shares are unequal; UINT32_MAX: all are done. */
uint32_t ranks_furthest_behind(const struct job *job);

#endif
