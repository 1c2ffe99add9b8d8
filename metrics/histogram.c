/* Buckets of a histogram: values below 64 have one each; above, a power of two is cut into 64 equal
 * parts, so that a bucket is never wider than 1/64 of its lower bound.
 *
 *   value 0..63     index = value
 *   value 2^e..     index = (e - 5) * 64 + the 6 bits after the leading one */
#include "metrics/histogram.h"

#include <math.h>

enum { SUB_BITS = 6 };

_Static_assert(HISTOGRAM_SUB == 1 << SUB_BITS, "sub-buckets are a power of two");
_Static_assert(HISTOGRAM_BUCKETS == (64 - SUB_BITS + 1) * HISTOGRAM_SUB, "64-bit values all fit");

static uint32_t bucket_index(uint64_t value) {
    if (value < HISTOGRAM_SUB) {
        return (uint32_t)value;
    }
    uint32_t exponent = 63 - (uint32_t)__builtin_clzll(value);
    uint32_t sub = (uint32_t)(value >> (exponent - SUB_BITS)) - HISTOGRAM_SUB;
    return (exponent - SUB_BITS + 1) * HISTOGRAM_SUB + sub;
}

/* The largest value of a bucket. The last bucket's bound wraps to 2^64 - 1, which is right. */
static uint64_t bucket_top(uint32_t index) {
    if (index < HISTOGRAM_SUB) {
        return index;
    }
    uint32_t shift = index / HISTOGRAM_SUB - 1;
    uint64_t next = (uint64_t)(HISTOGRAM_SUB + index % HISTOGRAM_SUB) + 1;
    return (next << shift) - 1;
}

static uint64_t saturating_add(uint64_t left, uint64_t right) {
    uint64_t sum;
    return __builtin_add_overflow(left, right, &sum) ? UINT64_MAX : sum;
}

void histogram_add(struct histogram *histogram, uint64_t value) {
    if (histogram->count == 0 || value < histogram->minimum) {
        histogram->minimum = value;
    }
    if (value > histogram->maximum) {
        histogram->maximum = value;
    }
    histogram->count++;
    histogram->sum = saturating_add(histogram->sum, value);
    histogram->buckets[bucket_index(value)]++;
}

void histogram_merge(struct histogram *into, const struct histogram *from) {
    if (from->count == 0) {
        return;
    }
    if (into->count == 0 || from->minimum < into->minimum) {
        into->minimum = from->minimum;
    }
    if (from->maximum > into->maximum) {
        into->maximum = from->maximum;
    }
    into->count = saturating_add(into->count, from->count);
    into->sum = saturating_add(into->sum, from->sum);
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        into->buckets[i] = saturating_add(into->buckets[i], from->buckets[i]);
    }
}

uint64_t histogram_percentile(const struct histogram *histogram, double share) {
    if (histogram->count == 0) {
        return 0;
    }
    /* The hair less keeps 0.07 * 100 at 7, where a double says 7.000000000000001. */
    double wanted = ceil(share * (double)histogram->count * (1 - 1e-12));
    uint64_t rank = wanted < 1 ? 1 : (uint64_t)wanted;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen >= rank) {
            uint64_t top = bucket_top(i);
            return top < histogram->maximum ? top : histogram->maximum;
        }
    }
    return histogram->maximum;
}

void histogram_write_json(const struct histogram *histogram, struct json *json, const char *key) {
    json_begin_map(json, key);
    json_count(json, "count", histogram->count);
    json_count(json, "sum_ns", histogram->sum);
    json_count(json, "min_ns", histogram->minimum);
    json_count(json, "max_ns", histogram->maximum);
    bool one_line = json->one_line;
    json_begin_list(json, "buckets");
    json->one_line = true; /* hundreds of pairs: a line each would bury the rest of the file */
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (histogram->buckets[i] > 0) {
            json_begin_list(json, NULL);
            json_count(json, NULL, i);
            json_count(json, NULL, histogram->buckets[i]);
            json_end_list(json);
        }
    }
    json_end_list(json);
    json->one_line = one_line;
    json_end_map(json);
}

static enum status read_field(const struct yaml_node *node, const char *key, uint64_t *value,
                              struct error *err) {
    const struct yaml_node *field = yaml_get(node, key);
    if (field == NULL) {
        return yaml_error(node, err, "histogram: '%s' is missing", key);
    }
    return yaml_count(field, key, value, err);
}

static enum status read_bucket(const struct yaml_node *pair, uint64_t first_allowed,
                               struct histogram *histogram, uint64_t *index, struct error *err) {
    uint64_t count;
    if (pair->kind != YAML_LIST || pair->count != 2) {
        return yaml_error(pair, err, "histogram: a bucket is a pair of index and count");
    }
    if (yaml_count(pair->items[0], "index", index, err) != OK ||
        yaml_count(pair->items[1], "count", &count, err) != OK) {
        return ERR_USAGE;
    }
    if (*index < first_allowed || *index >= HISTOGRAM_BUCKETS || count == 0) {
        return yaml_error(pair, err,
                          "histogram: bucket %llu with count %llu is out of order or range",
                          (unsigned long long)*index, (unsigned long long)count);
    }
    histogram->buckets[*index] = count;
    return OK;
}

/* What every histogram keeps: the counts add up, and the exact ends lie in the first and the last
 * bucket. A file that was edited or damaged rarely does. */
static enum status check_read(const struct yaml_node *node, const struct histogram *histogram,
                              struct error *err) {
    uint64_t count = 0;
    uint32_t first = 0, last = 0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (histogram->buckets[i] > 0) {
            first = count == 0 ? i : first;
            last = i;
            count = saturating_add(count, histogram->buckets[i]);
        }
    }
    if (count != histogram->count) {
        return yaml_error(node, err, "histogram: buckets hold %llu values, count says %llu",
                          (unsigned long long)count, (unsigned long long)histogram->count);
    }
    if (bucket_index(histogram->minimum) != first || bucket_index(histogram->maximum) != last) {
        return yaml_error(node, err, "histogram: min_ns and max_ns do not fit the buckets");
    }
    return OK;
}

enum status histogram_read(const struct yaml_node *node, struct histogram *histogram,
                           struct error *err) {
    const struct yaml_node *buckets = yaml_get(node, "buckets");
    if (buckets == NULL || buckets->kind != YAML_LIST) {
        return yaml_error(node, err, "histogram: 'buckets' must be a list");
    }
    *histogram = (struct histogram){0};
    if (read_field(node, "count", &histogram->count, err) != OK ||
        read_field(node, "sum_ns", &histogram->sum, err) != OK ||
        read_field(node, "min_ns", &histogram->minimum, err) != OK ||
        read_field(node, "max_ns", &histogram->maximum, err) != OK) {
        return ERR_USAGE;
    }
    uint64_t next = 0;
    for (uint32_t i = 0; i < buckets->count; i++) {
        uint64_t index;
        if (read_bucket(buckets->items[i], next, histogram, &index, err) != OK) {
            return ERR_USAGE;
        }
        next = index + 1;
    }
    return check_read(node, histogram, err);
}
