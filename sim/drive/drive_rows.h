#ifndef CKPTSIM_SIM_DRIVE_DRIVE_ROWS_H
#define CKPTSIM_SIM_DRIVE_DRIVE_ROWS_H

#include "base/memory.h"
#include "sim/drive/drive_sheet.h"

#include <stddef.h>
#include <stdint.h>

/* One line of `ckptsim show drive`. */
struct drive_row {
    const char *group;       /* heading: identity, sheet, flash, mechanisms, measured, derived */
    const char *name, *text; /* "sequential_write", "8.7 GB/s" */
    uint64_t number;         /* in `unit`; 0 for words */
    const char *unit;
    const char *origin; /* sheet, measured, fitted, family default, derived, unknown */
    const char *source; /* "" when none is given */
};

/* All rows, in the order of the groups; they live in the arena. */
const struct drive_row *drive_sheet_rows(const struct drive_sheet *sheet, struct arena *arena,
                                         size_t *count);

#endif
