#ifndef CKPTSIM_SIM_JOB_RESHARD_H
#define CKPTSIM_SIM_JOB_RESHARD_H

#include "sim/job/read_plan.h"

/* Reading a checkpoint by another parallelism than it was written by. Each new rank holds blocks of
 * whole tensors, and so do the old files; what a new rank reads is what its blocks and theirs have
 * in common:
 *
 *     old files (name, whole, block) ──by name──┐
 *                                               ├── common block ──> byte range of an old file
 *     new rank  (name, whole, block) ───────────┘
 *
 * In a file a block lies row by row. Where rows are cut, the common block is one run of bytes;
 * where columns are, it is taken from its first byte to its last with what lies between. A format
 * whose reader takes tensors as they were written (dcp) has them read whole. Ranges that touch are
 * one.
 *
 * Two wholes of one name may differ for two reasons, and then
 *   - of a vocabulary padded otherwise the part that both have is read, as Megatron-LM does it;
 *   - of a scaled model, where every rank rounds for itself, blocks are taken in proportion. */

/* `to` is the plan of the ranks that read. ERR_USAGE says which tensor stands against it: the
 * layout cannot, a tensor is missing or cut by what the settings do not explain. */
enum status reshard_plan(const struct shards *from, const struct read_files *files,
                         const struct plan *to, enum readers readers, struct arena *arena,
                         struct read_plan *out, struct error *err);

/* ERR_USAGE where checkpoints of this layout cannot be read by another parallelism; says why and
 * which layouts can. */
enum status reshard_check_layout(const struct layout *layout, struct error *err);

#endif
