#ifndef CKPTSIM_METRICS_REPORT_DRIVE_H
#define CKPTSIM_METRICS_REPORT_DRIVE_H

#include "metrics/result.h"

#include <stdio.h>

/* What the passes did to a simulated drive: a table, and a sentence per pass on what set the pace. */
void report_drive_passes(const struct result *result, FILE *stream);

/* Several drives under the same job: a table per pass relative to the first drive, a chart of seconds
 * per checkpoint over the run for each, and in words who slows, by how much, when, and what a day's
 * checkpoints cost each in life. */
void report_compare(const struct result *const *results, size_t count, FILE *stream);

/* One line per drive and checkpoint, for plotting. */
void report_compare_csv(const struct result *const *results, size_t count, FILE *stream);

#endif
