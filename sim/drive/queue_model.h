#ifndef CKPTSIM_SIM_DRIVE_QUEUE_MODEL_H
#define CKPTSIM_SIM_DRIVE_QUEUE_MODEL_H

#include "sim/drive/queue_depth.h"

#include <stddef.h>
#include <stdint.h>

/* Queue depth in closed form, beside the simulation of queue_depth.h: what a closed network of
 * stations with exponential service times delivers is known exactly, and bounds need no assumption.
 */

/* Servers with a queue each, of which a request visits one, any with equal chance. */
struct queue_center {
    double servers, service_ns;
};

enum { QUEUE_CENTERS_MAX = 8 };

/* The stations that a read of at most one page visits in turn. */
struct queue_network {
    struct queue_center centers[QUEUE_CENTERS_MAX];
    size_t count;
    double delay_ns; /* without a queue */
};

/* Of a configuration that only reads, one page a request. Jobs' CPUs count as servers that requests
 * choose anew, which ties them a little less than their jobs do. */
void queue_network_of(const struct queue_depth_config *config, struct queue_network *network);

/* Requests per second with so many requests always under way: mean value analysis. */
double queue_network_iops(const struct queue_network *network, uint32_t population);

/* No network with these mean times delivers more, however even its service times are. */
double queue_network_limit(const struct queue_network *network, uint32_t population);

/* The same for equal servers and nothing else: q D / ((q + D - 1) s). */
double queue_balanced_iops(double servers, double service_ns, double population);

#endif
