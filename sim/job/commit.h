#ifndef CKPTSIM_SIM_JOB_COMMIT_H
#define CKPTSIM_SIM_JOB_COMMIT_H

#include "sim/job/job.h"

/* What makes a checkpoint complete, or not. At any moment a slot is in one of these states on disk:
 *
 *   no ckpt-N.files                    nothing of the slot exists
 *   ckpt-N.files, no ckpt-N.manifest   incomplete: any of its files may be half written
 *   ckpt-N.manifest                    complete: every file is as the manifest says
 *
 * Each function returns 0 or the errno that stopped it, noted in the tier. One runs at a time: they
 * share the job's request, file and text. */

/* Before the first shard: takes manifest (and latest, where it means this slot) away and writes the
 * list of names if the slot has none yet. */
int commit_invalidate(struct job *job, struct tier *tier, const struct checkpoint *checkpoint);

/* After the last shard: folders of new files synced, the manifest put in place, latest pointed at
 * it. */
int commit_complete(struct job *job, struct tier *tier, const struct checkpoint *checkpoint);

/* Takes every file of a slot away, list of names last. What is already gone is no error. */
int commit_remove_slot(struct job *job, struct tier *tier, uint64_t slot);

/* Takes `latest` away and then all slots that hold files, newest first, so that `latest` never points
 * at what is gone. */
int commit_remove_all(struct job *job, struct tier *tier);

/* Removes complete checkpoints that need not be kept; first_needed is the serial of the first one
 * that somebody still reads. */
int commit_retire(struct job *job, struct tier *tier, uint64_t first_needed);

#endif
