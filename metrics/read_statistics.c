#include "metrics/read_statistics.h"

#include <math.h>

bool read_counts(const struct read_record *record) { return record->complete && !record->cached; }

static double share(double part, double whole) { return whole > 0 ? part / whole : NAN; }

static double seconds(uint64_t ns) { return (double)ns / 1e9; }

static double spread(const struct result *result, const struct read_statistics *statistics) {
    double sum = 0;
    for (uint32_t i = 0; i < result->read_count; i++) {
        if (read_counts(&result->reads[i])) {
            double off = seconds(result->reads[i].duration_ns) - statistics->mean_seconds;
            sum += off * off;
        }
    }
    return sqrt(sum / statistics->restores);
}

void read_statistics(const struct result *result, struct read_statistics *statistics) {
    bool verified = false;
    uint64_t rank0_ns = 0, rank_ns = 0, verify_ns = 0;
    *statistics = (struct read_statistics){.mean_seconds = NAN,
                                           .stdev_seconds = NAN,
                                           .rank0_mean_seconds = NAN,
                                           .bytes_per_second = NAN,
                                           .verify_share = NAN};
    for (uint32_t i = 0; i < result->read_count; i++) {
        const struct read_record *record = &result->reads[i];
        statistics->broken += !record->complete;
        statistics->cached += record->complete && record->cached;
        if (!read_counts(record)) {
            continue;
        }
        uint64_t ns = record->duration_ns;
        bool first = statistics->restores == 0;
        statistics->min_ns = first || ns < statistics->min_ns ? ns : statistics->min_ns;
        statistics->max_ns = ns > statistics->max_ns ? ns : statistics->max_ns;
        statistics->restores++;
        statistics->bytes += record->bytes;
        statistics->duration_ns_sum += ns;
        rank0_ns += record->rank0_ns;
        rank_ns += record->rank_ns_sum;
        verify_ns += record->verify_ns_sum;
        verified = verified || record->verified;
    }
    if (statistics->restores == 0) {
        return;
    }
    statistics->mean_seconds = seconds(statistics->duration_ns_sum) / statistics->restores;
    statistics->stdev_seconds = spread(result, statistics);
    statistics->rank0_mean_seconds = seconds(rank0_ns) / statistics->restores;
    statistics->bytes_per_second =
        share((double)statistics->bytes, seconds(statistics->duration_ns_sum));
    if (verified) {
        statistics->verify_share = share((double)verify_ns, (double)rank_ns);
    }
}
