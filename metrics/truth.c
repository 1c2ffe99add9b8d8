#include "metrics/truth.h"

#include <math.h>

#define GIB 1073741824.0

typedef uint64_t own_time(const struct checkpoint_record *checkpoint);

static uint64_t rank0_time(const struct checkpoint_record *checkpoint) {
    return checkpoint->rank0_ns;
}

static uint64_t slowest_time(const struct checkpoint_record *checkpoint) {
    return checkpoint->duration_ns;
}

/* Sums first, spread second: the one-pass formula loses digits where times are large and close. */
static void spread(const struct result *result, own_time *own, struct truth *truth) {
    double seconds_sum = 0, rate_sum = 0;
    for (uint32_t i = 0; i < result->checkpoint_count; i++) {
        const struct checkpoint_record *checkpoint = &result->checkpoints[i];
        if (!checkpoint->complete) {
            continue;
        }
        double seconds = (double)own(checkpoint) / 1e9;
        double rate = (double)checkpoint->bytes / GIB / seconds;
        seconds_sum += (seconds - truth->mean_seconds) * (seconds - truth->mean_seconds);
        rate_sum += (rate - truth->mean_gib_per_second) * (rate - truth->mean_gib_per_second);
    }
    truth->stdev_seconds = sqrt(seconds_sum / (double)truth->checkpoints);
    truth->stdev_gib_per_second = sqrt(rate_sum / (double)truth->checkpoints);
}

static struct truth headline(const struct result *result, own_time *own) {
    struct truth truth = {.max_seconds = 0, .min_gib_per_second = INFINITY};
    double seconds_sum = 0, rate_sum = 0;
    for (uint32_t i = 0; i < result->checkpoint_count; i++) {
        const struct checkpoint_record *checkpoint = &result->checkpoints[i];
        if (!checkpoint->complete) {
            continue;
        }
        double seconds = (double)own(checkpoint) / 1e9;
        double rate = (double)checkpoint->bytes / GIB / seconds;
        truth.checkpoints++;
        seconds_sum += seconds;
        rate_sum += rate;
        truth.max_seconds = fmax(truth.max_seconds, seconds);
        truth.min_gib_per_second = fmin(truth.min_gib_per_second, rate);
    }
    if (truth.checkpoints == 0) {
        return (struct truth){0, NAN, NAN, NAN, NAN, NAN, NAN};
    }
    truth.mean_seconds = seconds_sum / (double)truth.checkpoints;
    truth.mean_gib_per_second = rate_sum / (double)truth.checkpoints;
    spread(result, own, &truth);
    return truth;
}

struct truth truth_as_dlio_reports(const struct result *result) {
    return headline(result, rank0_time);
}

struct truth truth_as_mlperf_rules_say(const struct result *result) {
    return headline(result, slowest_time);
}

double truth_seconds_difference_percent(const struct truth *dlio, const struct truth *rules) {
    return (dlio->mean_seconds / rules->mean_seconds - 1) * 100;
}

double truth_rate_difference_percent(const struct truth *dlio, const struct truth *rules) {
    return (dlio->mean_gib_per_second / rules->mean_gib_per_second - 1) * 100;
}
