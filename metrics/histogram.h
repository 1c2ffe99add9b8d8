#ifndef CKPTSIM_METRICS_HISTOGRAM_H
#define CKPTSIM_METRICS_HISTOGRAM_H

#include "base/error.h"
#include "base/json.h"
#include "base/yaml.h"

#include <stdint.h>

/* Latencies in logarithmic buckets with linear sub-buckets, in the way of HDR histograms: 64
 * sub-buckets per power of two, so a value is known to 1/64 (1.6 %), and 1 ns to 2^63 ns fit. */

enum { HISTOGRAM_SUB = 64, HISTOGRAM_BUCKETS = 59 * 64 };

struct histogram {
    uint64_t count, sum, minimum,
        maximum; /* minimum and maximum are exact; of 0 values all are 0 */
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, uint64_t value);
void histogram_merge(struct histogram *into, const struct histogram *from);
/* The smallest bucket's upper bound (at most the exact maximum) below which `share` (0..1) lies; 0
 * of an empty histogram. */
uint64_t histogram_percentile(const struct histogram *histogram, double share);

/* {count, sum_ns, min_ns, max_ns, buckets}; buckets holds [index, count] of those not empty. */
void histogram_write_json(const struct histogram *histogram, struct json *json, const char *key);
/* Refuses what no histogram can be: counts that do not add up, ends outside the buckets. */
enum status histogram_read(const struct yaml_node *node, struct histogram *histogram,
                           struct error *err);

#endif
