#ifndef CKPTSIM_METRICS_SUMMARY_DLIO_H
#define CKPTSIM_METRICS_SUMMARY_DLIO_H

#include "base/error.h"
#include "metrics/result.h"

#include <stdio.h>

/* summary.json with the keys and formulas of DLIO's own: rank 0's time alone, population standard
 * deviations, and GB where GiB is meant. Tools made for DLIO's file read this one. Beside it stands
 * an object `ckptsim` with the same figures by the slowest rank. */

enum status summary_dlio_write(const struct result *result, const char *path, struct error *err);
void summary_dlio_write_stream(const struct result *result, FILE *stream);

#endif
