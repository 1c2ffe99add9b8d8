#ifndef CKPTSIM_METRICS_REPORT_CSV_H
#define CKPTSIM_METRICS_REPORT_CSV_H

#include "base/error.h"
#include "metrics/result.h"

#include <stdio.h>

/* checkpoints.csv and passes.csv: a head of metric keys, then one line per record, as in RFC 4180
 * but with plain newlines. Unknown values are empty. */

/* Both files into a folder of results, each whole or not at all. */
enum status report_csv_write(const struct result *result, const char *folder, struct error *err);

void report_csv_checkpoints(const struct result *result, FILE *stream);
/* What the passes did to a simulated drive; no line but the head for a real one. */
void report_csv_reads(const struct result *result, FILE *stream);
void report_csv_drive_passes(const struct result *result, FILE *stream);
void report_csv_passes(const struct result *result, FILE *stream);

#endif
