#ifndef CKPTSIM_SIM_DRIVE_DRIVE_BUILD_H
#define CKPTSIM_SIM_DRIVE_DRIVE_BUILD_H

#include "base/memory.h"
#include "sim/drive/drive_engine.h"
#include "sim/drive/drive_sheet.h"
#include "sim/drive/host_config.h"

#include <stdbool.h>
#include <stdint.h>

/* From a drive's sheet and a host to the parameters of the engine. What is calibrated is only this: how
 * fast the NAND programs while garbage collection copies and n streams are written at once. It is
 * fitted to the drive's measured CDN write rates (a full drive under mixed writes) at 1, 2 and 4 jobs:
 * a line through them in logarithms, and beyond the last one on with its last slope. Never above the
 * program rate, never rising with n. A drive without those rates programs as always. */

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

/* The program rate while garbage collection copies and `streams` are written, as a share of the
 * program rate; for the output. */
double drive_mixing(const struct drive_sheet *sheet, uint32_t streams);
bool drive_mixing_is_fitted(const struct drive_sheet *sheet);

#endif
