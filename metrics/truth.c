#include "metrics/truth.h"

#include "metrics/read_statistics.h"

#include <math.h>

#define GIB 1073741824.0

/* What one headline is made of: time and bytes of number `i` of so many, false where it does not
 * count. */
typedef bool take(const struct result *result, uint32_t i, double *seconds, double *rate);

static void measure(uint64_t ns, uint64_t bytes, double *seconds, double *rate) {
    *seconds = (double)ns / 1e9;
    *rate = (double)bytes / GIB / *seconds;
}

static bool rank0_time(const struct result *result, uint32_t i, double *seconds, double *rate) {
    const struct checkpoint_record *checkpoint = &result->checkpoints[i];
    measure(checkpoint->rank0_ns, checkpoint->bytes, seconds, rate);
    return checkpoint->complete;
}

static bool slowest_time(const struct result *result, uint32_t i, double *seconds, double *rate) {
    const struct checkpoint_record *checkpoint = &result->checkpoints[i];
    measure(checkpoint->duration_ns, checkpoint->bytes, seconds, rate);
    return checkpoint->complete;
}

static bool rank0_read(const struct result *result, uint32_t i, double *seconds, double *rate) {
    const struct read_record *read = &result->reads[i];
    measure(read->rank0_ns, read->bytes, seconds, rate);
    return read_counts(read) && read->rank0_ns > 0; /* it may have nothing to read */
}

static bool slowest_read(const struct result *result, uint32_t i, double *seconds, double *rate) {
    const struct read_record *read = &result->reads[i];
    measure(read->duration_ns, read->bytes, seconds, rate);
    return read_counts(read);
}

/* Sums first, spread second: the one-pass formula loses digits where times are large and close. */
static void spread(const struct result *result, uint32_t count, take *take_one,
                   struct truth *truth) {
    double seconds_sum = 0, rate_sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        double seconds, rate;
        if (take_one(result, i, &seconds, &rate)) {
            seconds_sum += (seconds - truth->mean_seconds) * (seconds - truth->mean_seconds);
            rate_sum += (rate - truth->mean_gib_per_second) * (rate - truth->mean_gib_per_second);
        }
    }
    truth->stdev_seconds = sqrt(seconds_sum / (double)truth->checkpoints);
    truth->stdev_gib_per_second = sqrt(rate_sum / (double)truth->checkpoints);
}

static struct truth headline(const struct result *result, uint32_t count, take *take_one) {
    struct truth truth = {.max_seconds = 0, .min_gib_per_second = INFINITY};
    double seconds_sum = 0, rate_sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        double seconds, rate;
        if (!take_one(result, i, &seconds, &rate)) {
            continue;
        }
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
    spread(result, count, take_one, &truth);
    return truth;
}

struct truth truth_as_dlio_reports(const struct result *result) {
    return headline(result, result->checkpoint_count, rank0_time);
}

struct truth truth_as_mlperf_rules_say(const struct result *result) {
    return headline(result, result->checkpoint_count, slowest_time);
}

struct truth truth_of_reads_as_dlio_reports(const struct result *result) {
    return headline(result, result->read_count, rank0_read);
}

struct truth truth_of_reads_as_mlperf_rules_say(const struct result *result) {
    return headline(result, result->read_count, slowest_read);
}

double truth_seconds_difference_percent(const struct truth *dlio, const struct truth *rules) {
    return (dlio->mean_seconds / rules->mean_seconds - 1) * 100;
}

double truth_rate_difference_percent(const struct truth *dlio, const struct truth *rules) {
    return (dlio->mean_gib_per_second / rules->mean_gib_per_second - 1) * 100;
}
