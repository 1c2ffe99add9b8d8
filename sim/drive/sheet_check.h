#ifndef CKPTSIM_SIM_DRIVE_SHEET_CHECK_H
#define CKPTSIM_SIM_DRIVE_SHEET_CHECK_H

#include "base/error.h"
#include "base/memory.h"
#include "sim/drive/drive_sheet.h"
#include "sim/drive/queue_depth.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A data sheet against the model of its drive: the four figures that every sheet has, as the
 * stations of queue_stations.h deliver them, beside what the sheet says. How independent the two
 * are differs:
 *
 *   sequential    the rates are ceilings of the model; that dies and channels carry them is not.
 *   random read   the time of a command is fitted to the figure; that planes, channels and link
 *                 carry so many is not. flash_value says what planes and link could.
 *   random write  follows from spare share, unit and programming rate. The share is mostly derived
 *                 from this figure, but by the formula of a log cleaned oldest first. Here greedy
 *                 garbage collection is played page by page on a scaled drive and carried over
 *                 to the number and size of the drive's superblocks, and what it reads and erases
 *                 takes time of the dies. */

enum sheet_figure {
    SHEET_SEQUENTIAL_READ,
    SHEET_SEQUENTIAL_WRITE,
    SHEET_RANDOM_READ,
    SHEET_RANDOM_WRITE,
    SHEET_FIGURES,
};

struct sheet_row {
    bool stated; /* else the sheet has no such figure, and only the model is there */
    bool met;    /* within the bar */
    uint64_t block_bytes;
    uint64_t stated_value; /* bytes/s in sequence, requests/s at random */
    uint64_t model_value;
    int32_t error_permille; /* of the model, in parts of the stated */
    uint64_t flash_value;   /* what dies and link alone would make of it, at most */
    enum queue_station bottleneck;
    uint32_t bottleneck_permille; /* its utilization */
    const char *why;              /* a figure beyond its bar is so, in a sentence; else NULL */
};

struct sheet_check {
    const char *drive;
    uint64_t amplification_thousandths; /* of garbage collection under random writes of units */
    struct sheet_row rows[SHEET_FIGURES];
};

const char *sheet_figure_name(enum sheet_figure figure);
bool sheet_figure_is_rate(enum sheet_figure figure); /* bytes/s, not requests/s */
uint32_t sheet_figure_bar_permille(enum sheet_figure figure);

/* Bytes programmed per byte of units written at random, in the steady state of this drive. */
enum status sheet_amplification(const struct drive_sheet *sheet, double *amplification,
                                struct error *err);

/* The sheet should be as stated. */
enum status sheet_check_drive(const struct drive_sheet *sheet, struct arena *arena,
                              struct sheet_check *check, struct error *err);

/* All drives that drive_config_names lists; one that cannot be is an error. */
enum status sheet_check_all(const char *config_dir, struct arena *arena,
                            struct sheet_check **checks, size_t *count, struct error *err);

#endif
