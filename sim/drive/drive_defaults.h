#ifndef CKPTSIM_SIM_DRIVE_DRIVE_DEFAULTS_H
#define CKPTSIM_SIM_DRIVE_DRIVE_DEFAULTS_H

#include "sim/drive/drive_config.h"

#include <stddef.h>
#include <stdint.h>

/* What stands in for a figure that a drive's file leaves out, by the kind of its flash. This is the
 * one place for such figures; each says why it is what it is. */

struct drive_default {
    size_t field; /* offset of the struct figure in struct drive_config */
    uint64_t tlc, qlc;
    const char *why;
};

extern const struct drive_default drive_defaults[];
extern const size_t drive_defaults_count;

/* Sets every figure that is unknown and has a row here. */
void drive_defaults_fill(struct drive_config *drive);

/* Sets one figure if it is unknown; it must have a row. */
void drive_defaults_fill_one(struct drive_config *drive, size_t field);

#endif
