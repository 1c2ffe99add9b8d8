#ifndef CKPTSIM_SIM_DRIVE_DRIVE_BUILD_H
#define CKPTSIM_SIM_DRIVE_DRIVE_BUILD_H

#include "base/memory.h"
#include "sim/drive/drive_engine.h"
#include "sim/drive/drive_sheet.h"
#include "sim/drive/host_config.h"

#include <stdbool.h>
#include <stdint.h>

/* From a drive's sheet and a host to the parameters of the engine. What is calibrated is only this:
 * how fast the NAND programs while garbage collection copies and n streams are written at once,
 *
 *   rate(n) = program rate x share x n^-exponent,
 *
 * with share and exponent fitted to the drive's measured CDN write rates at 1 and 4 jobs (a full
 * drive under mixed writes); a drive without them has share 1 and exponent 0. */

struct drive_choices {
    enum placement_policy placement;
    enum drive_discard discard;
    bool buffered, used_before;
    uint32_t ranks;
    uint64_t memory_limit_bytes, seed;
};

/* The result's tables live in the arena. */
void drive_build(const struct drive_sheet *sheet, const struct host_config *host,
                 const struct drive_choices *choices, struct arena *arena,
                 struct drive_engine_config *config);

/* share and exponent as fitted, for the output. */
void drive_mixing(const struct drive_sheet *sheet, double *share, double *exponent);

#endif
