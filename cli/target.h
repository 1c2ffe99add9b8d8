#ifndef CKPTSIM_CLI_TARGET_H
#define CKPTSIM_CLI_TARGET_H

#include "base/error.h"
#include "cli/spec.h"

#include <stdbool.h>
#include <stdint.h>

/* Looks at --dir before anything is written: whether it may be filled and what fits. */

struct target {
    uint64_t free_bytes, total_bytes;
    bool system_disk;         /* it holds / or the current directory */
    uint64_t checkpoints;     /* that fit in a pass, at this moment */
};

/* Fills target and, on a system disk, raises the spec's reserve so that it stays usable. Every error
 * is ERR_USAGE and says what would be allowed. A resumed run (held checkpoints on the drive already)
 * need not fit a first one. */
enum status target_check(struct spec *spec, const struct shards *shards, bool resumed,
                         struct target *target, struct error *err);

/* A scale with one significant digit at which a checkpoint takes at most the room; 0: there is none. */
double target_scale(const struct shards *shards, uint64_t room);

#endif
