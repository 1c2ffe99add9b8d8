#ifndef CKPTSIM_METRICS_CHART_H
#define CKPTSIM_METRICS_CHART_H

#include "metrics/result.h"

#include <stdio.h>

/* Seconds per complete checkpoint as a line of about `marks` block characters: one per checkpoint, or
 * per group of them where there are more; passes stand apart. Height counts from zero to top_ns, so
 * that half the height is half the time. Returns how many checkpoints a mark stands for. */
uint32_t chart_write(const struct result *result, uint64_t top_ns, uint32_t marks, FILE *stream);

#endif
