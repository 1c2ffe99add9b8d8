#ifndef CKPTSIM_METRICS_REPORT_STRATEGY_H
#define CKPTSIM_METRICS_REPORT_STRATEGY_H

#include "metrics/result.h"

#include <stdio.h>

/* The parts of the text report about what ranks wait for; both write nothing for --mode sync. */

/* A line of the plan. */
void report_strategy_plan(const struct result *result, FILE *stream);
/* Pass by pass, and whether the interval was long enough. */
void report_strategy(const struct result *result, FILE *stream);

#endif
