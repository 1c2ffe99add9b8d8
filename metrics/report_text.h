#ifndef CKPTSIM_METRICS_REPORT_TEXT_H
#define CKPTSIM_METRICS_REPORT_TEXT_H

#include "metrics/result.h"

#include <stdio.h>

/* The report of a run as text, from the result alone and no wider than 100 columns: the plan before
 * the first byte, a row for each checkpoint as it ends, the passes and what they say at the end. */

void report_plan(const struct result *result, FILE *stream);

void report_checkpoint_head(const struct result *result, FILE *stream);
/* One that is not complete carries a "!" and its note on a line of its own. */
void report_checkpoint_row(const struct result *result, const struct checkpoint_record *record,
                           FILE *stream);

/* Passes, what changed between and within them, the two headline truths, latencies, the device, and
 * how the run ended. */
void report_passes(const struct result *result, FILE *stream);

#endif
