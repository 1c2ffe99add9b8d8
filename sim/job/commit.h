#ifndef CKPTSIM_SIM_JOB_COMMIT_H
#define CKPTSIM_SIM_JOB_COMMIT_H

#include "sim/job/job.h"

/* What makes a checkpoint complete, or not. At any moment a slot is in one of these states on disk:
 *
 *   no ckpt-N.files                    nothing of the slot exists
 *   ckpt-N.files, no ckpt-N.manifest   incomplete: any of its files may be half written
 *   ckpt-N.manifest                    complete: every file is as the manifest says
 *
 * Each function returns 0 or the errno that stopped it, noted with job_fail. */

/* Before the first shard: takes manifest (and latest, where it means this slot) away and writes the
 * list of names if the slot has none yet. */
int commit_invalidate(struct job *job);

/* After the last shard: folders of new files synced, the manifest put in place, latest pointed at
 * it. */
int commit_complete(struct job *job);

/* Takes every file of a slot away, list of names last. What is already gone is no error. */
int commit_remove_slot(struct job *job, uint64_t slot);

/* Takes `latest` away; at the end of a run that leaves nothing. */
int commit_remove_latest(struct job *job);

#endif
