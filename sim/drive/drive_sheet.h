#ifndef CKPTSIM_SIM_DRIVE_DRIVE_SHEET_H
#define CKPTSIM_SIM_DRIVE_DRIVE_SHEET_H

#include "base/error.h"
#include "base/memory.h"
#include "sim/drive/drive_config.h"
#include "sim/drive/figure.h"

#include <stddef.h>
#include <stdint.h>

/* Everything a simulation needs to know of a drive: what its file says, what stands in for the
 * rest, and what follows from both. Each figure keeps where it came from or how it was derived. */

/* Where a review measured another rate than the maker states, which of them the drive has. */
enum drive_basis { DRIVE_AS_MEASURED, DRIVE_AS_STATED };

struct drive_sheet {
    struct drive_config
        drive; /* complete: only rated_sequential_bytes, sequential_drive_writes_per_day
                * and slc_stage_rate may still be unknown */
    enum drive_basis basis;

    struct figure bits_per_cell;
    struct figure link_rate;           /* payload over the link, one direction */
    struct figure read_rate;           /* ceiling of reads: link, measured or stated rate */
    struct figure read_overhead_ns;    /* read latency beyond the flash's own time */
    struct figure implied_programming; /* millionths: bytes programmed per byte written at random,
                                        * as the stated rates imply; unknown without them */
    struct figure raw_bytes;
    struct figure superblock_count;
    struct figure die_program_rate, dies_program_rate, dies_read_rate;
    struct figure map_bytes;         /* DRAM of the map */
    struct figure rated_media_bytes; /* programmed bytes that the rating amounts to */
    struct figure program_cycles;    /* the same over the raw bytes */
};

/* Completes and checks a drive. An impossible one is ERR_USAGE with the place of the key that makes
 * it so. Texts live in the arena. */
enum status drive_sheet_make(const struct drive_config *config, enum drive_basis basis,
                             struct arena *arena, struct drive_sheet *sheet, struct error *err);

/* The rows of what follows from the drive's own figures; offsets are in struct drive_sheet. */
extern const struct figure_row drive_derived_figures[];
extern const size_t drive_derived_figures_count;

/* The spare share (spare per user byte) at which a log cleaned oldest first programs so many bytes
 * per byte written uniformly at random, and the way back. amplification > 1, spare > 0. */
double drive_spare_of(double amplification);
double drive_amplification_of(double spare);

#endif
