#ifndef CKPTSIM_SIM_DRIVE_QUEUE_POINTS_H
#define CKPTSIM_SIM_DRIVE_QUEUE_POINTS_H

#include "base/error.h"
#include "base/memory.h"
#include "sim/drive/queue_depth.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Small random requests that reviews measured, beside the model of the drive as measured. Two times
 * of a drive are fitted to a point each (queue_stations.h), and one of the machine that measured:
 * what a job's CPU takes per request, to the one point at which that alone limits. All other points
 * are predictions. */

struct queue_point {
    const char *drive;
    uint64_t block_bytes;
    uint32_t depth, jobs;
    uint64_t iops;
    uint64_t latency_ns; /* where the rate was not given, as depth x jobs / latency is the rate */
    bool write;
    const char *fitted; /* what was fitted to this point; NULL: a prediction */
};

struct queue_point_row {
    const struct queue_point *point;
    uint64_t measured_iops, model_iops;
    uint64_t varied_iops; /* were all service times exponentially distributed */
    uint64_t mean_ns, p99_ns;
    int32_t error_permille; /* of model_iops */
    enum queue_station bottleneck;
    uint32_t bottleneck_permille;
};

enum status queue_points_run(const char *config_dir, struct arena *arena,
                             struct queue_point_row **rows, size_t *count, struct error *err);

#endif
