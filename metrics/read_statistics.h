#ifndef CKPTSIM_METRICS_READ_STATISTICS_H
#define CKPTSIM_METRICS_READ_STATISTICS_H

#include "metrics/result.h"

/* Statistics of the restores of a run that were complete and cold: none of the drive's work is in
 * one that came from the page cache. Where there is none, the doubles are NAN. */
struct read_statistics {
    uint32_t restores;       /* complete and cold: all below is over these */
    uint32_t cached, broken; /* complete but from the page cache, and those that did not end */
    uint64_t bytes, duration_ns_sum, min_ns, max_ns;
    double mean_seconds, stdev_seconds; /* population, of the slowest rank's time */
    double rank0_mean_seconds;
    double bytes_per_second; /* bytes / sum of durations */
    double verify_share;     /* sum of verify_ns_sum / sum of rank_ns_sum */
};

/* Whether a restore enters the headline figures. */
bool read_counts(const struct read_record *record);

void read_statistics(const struct result *result, struct read_statistics *statistics);

#endif
