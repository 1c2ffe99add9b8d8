#ifndef CKPTSIM_METRICS_REPORT_READS_H
#define CKPTSIM_METRICS_REPORT_READS_H

#include "metrics/result.h"

#include <stdio.h>

/* The part of the text report that is about restores. */

/* What will be read, in the plan; nothing where there are no restores. */
void report_restore_plan(const struct result *result, FILE *stream);

void report_read_head(FILE *stream);
/* One that is not complete carries a "!" and its note on a line of its own, one that came from the
 * page cache a "c". */
void report_read_row(const struct result *result, const struct read_record *record, FILE *stream);

/* The figures of all restores, and what they are not. */
void report_reads(const struct result *result, FILE *stream);

#endif
