#ifndef CKPTSIM_CLI_STRATEGY_H
#define CKPTSIM_CLI_STRATEGY_H

#include "cli/spec.h"
#include "io/buffer.h"
#include "sim/job/snapshot.h"

/* What ranks wait for at a checkpoint (--mode), as the user asks for it: which settings go together,
 * and the memory that it takes. */

struct strategy {
    struct snapshot_plan snapshot; /* of --mode async; no buffers otherwise */
    struct buffer_pool pool;       /* its memory, once opened */
};

/* As --mode has it: "sync". */
const char *strategy_name(const struct spec *spec);

/* Plans memory and sets what the engine needs to know. `simulated`: memory is counted, not taken.
 * ERR_USAGE where settings do not go together. */
enum status strategy_plan(struct spec *spec, const struct shards *shards, bool simulated,
                          struct strategy *strategy, struct error *err);

uint64_t strategy_memory_bytes(const struct strategy *strategy);

/* Takes the memory, all of it touched. */
enum status strategy_open(struct strategy *strategy, struct error *err);
void strategy_close(struct strategy *strategy);

#endif
