#ifndef CKPTSIM_METRICS_TRUTH_H
#define CKPTSIM_METRICS_TRUTH_H

#include "metrics/result.h"

/* One run, two headlines. DLIO's summary takes rank 0's own time; the MLPerf Storage rules ask for
 * the slowest rank's. Both are formed in the same way over the complete checkpoints of all passes,
 * so that nothing but the rank differs: standard deviations are of the population, and the mean
 * throughput is the mean of the checkpoints' rates, not bytes over the sum of times. */

struct truth {
    uint64_t checkpoints;
    double mean_seconds, stdev_seconds, max_seconds;
    double mean_gib_per_second, stdev_gib_per_second, min_gib_per_second;
};

struct truth truth_as_dlio_reports(const struct result *result);
struct truth truth_as_mlperf_rules_say(const struct result *result);

/* The same of the restores, over those that were complete and cold; `checkpoints` counts them. */
struct truth truth_of_reads_as_dlio_reports(const struct result *result);
struct truth truth_of_reads_as_mlperf_rules_say(const struct result *result);

/* How far DLIO's figure lies above the rules' one, in percent; NAN without a checkpoint. The time
 * is negative and the throughput positive where rank 0 is not the slowest. */
double truth_seconds_difference_percent(const struct truth *dlio, const struct truth *rules);
double truth_rate_difference_percent(const struct truth *dlio, const struct truth *rules);

#endif
