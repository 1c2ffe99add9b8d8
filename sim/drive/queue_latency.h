#ifndef CKPTSIM_SIM_DRIVE_QUEUE_LATENCY_H
#define CKPTSIM_SIM_DRIVE_QUEUE_LATENCY_H

#include "sim/drive/queue_depth.h"

#include <stdint.h>

/* Latencies counted in bins of a 64th of their power of two: percentiles within 0.8 %. */

enum { QUEUE_BIN_BITS = 6, QUEUE_BINS = (64 - QUEUE_BIN_BITS + 1) << QUEUE_BIN_BITS };

struct queue_latencies {
    uint64_t counts[QUEUE_BINS];
    uint64_t count, sum_ps, max_ns;
};

void queue_latencies_add(struct queue_latencies *latencies, uint64_t latency_ps);

struct queue_latency queue_latencies_result(const struct queue_latencies *latencies);

#endif
