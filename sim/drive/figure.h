#ifndef CKPTSIM_SIM_DRIVE_FIGURE_H
#define CKPTSIM_SIM_DRIVE_FIGURE_H

#include "base/error.h"
#include "base/memory.h"
#include "base/yaml.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number of a drive or host file together with where it comes from, so that nothing can be shown
 * without its source. In YAML a figure is written in one of three ways:
 *
 *   sequential_write: 8.7GB/s                                  a user's own drive
 *   sequential_write: [8.7GB/s, sheet]                         with its source
 *   write_frontiers: {value: 2, fitted_to: what it was fitted to}   a calibrated parameter
 *
 * A source that is a key under `sources` stands for the text there. */

enum figure_kind {
    FIGURE_SIZE,     /* bytes: 16KiB, 7.68TB */
    FIGURE_RATE,     /* bytes a second: 8.7GB/s */
    FIGURE_IOPS,     /* requests a second: 500k, 2.4M, k and M being powers of 1000 */
    FIGURE_COUNT,    /* a whole number */
    FIGURE_DURATION, /* nanoseconds: 60us */
    FIGURE_RATIO,    /* millionths: 14%, 0.6 */
    FIGURE_POWER,    /* milliwatts: 25W */
    FIGURE_WORD,     /* one of the row's choices, counted from 0 */
};

enum figure_origin {
    FIGURE_UNKNOWN = 0,
    FIGURE_SHEET,    /* the file gives it, as the maker states it */
    FIGURE_MEASURED, /* the file gives it, as a review measured it */
    FIGURE_FITTED,   /* the file gives it, calibrated */
    FIGURE_DEFAULT,  /* stands in for what is unknown */
    FIGURE_DERIVED,  /* follows from other figures */
};

struct figure {
    uint64_t value;
    enum figure_origin origin;
    const char *source;           /* or how it was derived; NULL: a user's file that gives none */
    const struct yaml_node *node; /* where the file gives it, for errors; NULL elsewhere */
};

struct figure_row {
    const char *key;
    enum figure_kind kind;
    size_t field; /* offset of the struct figure in the struct that the rows describe */
    uint64_t minimum, maximum;
    bool fitted; /* a mechanism's parameter: must say what it was fitted to */
    const char *help;
    const char *choices; /* of a FIGURE_WORD: "greedy|fifo" */
};

enum { FIGURE_TEXT = 64 };

/* Reads every figure of the map whose key has a row; other keys are passed over. Figures that are
 * there already are replaced. `origin` is that of figures which are not fitted. */
enum status figures_read(const struct yaml_node *map, const struct figure_row *rows, size_t count,
                         const struct yaml_node *sources, enum figure_origin origin, void *target,
                         struct error *err);

/* An error at the first key of the map that neither has a row nor is in `others` (which ends with
 * NULL), with the nearest ones. */
enum status figures_refuse_unknown(const struct yaml_node *map, const struct figure_row *rows,
                                   size_t count, const char *const *others, struct error *err);

struct figure *figure_of(const struct figure_row *row, void *target);
const struct figure *figure_in(const struct figure_row *row, const void *target);

/* Writes a value as people read it, "8.7 GB/s", into a buffer of FIGURE_TEXT; returns the buffer.
 */
const char *figure_text(enum figure_kind kind, uint64_t value, char *buffer);
/* The same for a row, words too. */
const char *figure_row_text(const struct figure_row *row, uint64_t value, char *buffer);
/* "B", "B/s", "1/s", "", "ns", "1e-6", "mW": the unit of struct figure's value. */
const char *figure_unit(enum figure_kind kind);
const char *figure_origin_text(enum figure_origin origin);

/* The text that a source word stands for. */
const char *figure_source(const struct yaml_node *sources, const char *word);

#endif
