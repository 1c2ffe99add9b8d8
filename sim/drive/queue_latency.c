#include "sim/drive/queue_latency.h"

enum { PS_PER_NS = 1000, SHARES = 100000 };

/* Below two bins' worth the bins are single nanoseconds. */
static uint32_t bin_of(uint64_t ns) {
    if (ns >> (QUEUE_BIN_BITS + 1) == 0) {
        return (uint32_t)ns;
    }
    uint32_t shift = 63 - QUEUE_BIN_BITS - (uint32_t)__builtin_clzll(ns);
    return (shift << QUEUE_BIN_BITS) + (uint32_t)(ns >> shift);
}

static uint64_t middle_of(uint32_t bin) {
    if (bin >> (QUEUE_BIN_BITS + 1) == 0) {
        return bin;
    }
    uint32_t shift = (bin >> QUEUE_BIN_BITS) - 1;
    uint64_t low = (uint64_t)(bin - (shift << QUEUE_BIN_BITS)) << shift;
    return low + (UINT64_C(1) << shift) / 2;
}

void queue_latencies_add(struct queue_latencies *latencies, uint64_t latency_ps) {
    uint64_t ns = (latency_ps + PS_PER_NS / 2) / PS_PER_NS;
    latencies->counts[bin_of(ns)]++;
    latencies->count++;
    latencies->sum_ps += latency_ps;
    latencies->max_ns = ns > latencies->max_ns ? ns : latencies->max_ns;
}

/* The latency that this share of the requests, in 1 / SHARES, stayed within. */
static uint64_t percentile(const struct queue_latencies *latencies, uint32_t share) {
    uint64_t rank = (uint64_t)((unsigned __int128)latencies->count * share / SHARES);
    uint64_t seen = 0;
    for (uint32_t bin = 0; bin < QUEUE_BINS; bin++) {
        seen += latencies->counts[bin];
        if (seen > rank) {
            uint64_t ns = middle_of(bin);
            return ns < latencies->max_ns ? ns : latencies->max_ns;
        }
    }
    return latencies->max_ns;
}

struct queue_latency queue_latencies_result(const struct queue_latencies *latencies) {
    if (latencies->count == 0) {
        return (struct queue_latency){0};
    }
    return (struct queue_latency){
        .count = latencies->count,
        .mean_ns = latencies->sum_ps / latencies->count / PS_PER_NS,
        .p50_ns = percentile(latencies, 50000),
        .p90_ns = percentile(latencies, 90000),
        .p99_ns = percentile(latencies, 99000),
        .p99_9_ns = percentile(latencies, 99900),
        .p99_99_ns = percentile(latencies, 99990),
        .max_ns = latencies->max_ns,
    };
}
