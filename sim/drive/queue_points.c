/* The points, in one table. Both machines that measured were of the same kind. */
#include "sim/drive/queue_points.h"

#include "base/check.h"
#include "sim/drive/queue_stations.h"
#include "sim/drive/sheet_check.h"

#include <math.h>

enum { KIB = 1024, MILLE = 1000, REQUESTS = 20000, SEED = 1 };

/* One job with 32 requests under way got 196,000 a second: 163 us / 32. */
#define HOST_PS UINT64_C(5100000)
#define NS_PER_SECOND UINT64_C(1000000000)

#define READ_IOPS(name, kib, depth, jobs, iops, fitted)                                            \
    { name, kib *KIB, depth, jobs, iops, 0, false, fitted }
#define READ_NS(name, kib, depth, jobs, ns, fitted)                                                \
    { name, kib *KIB, depth, jobs, 0, ns, false, fitted }

static const char x200p[] = "x200p-7.68tb", p5336[] = "p5336-122.88tb",
                  p5336_small[] = "p5336-61.44tb", ion[] = "6550ion-61.44tb";
static const char delay[] = "fixed delay", command[] = "command time", host[] = "host CPU";

static const struct queue_point points[] = {
    READ_NS(x200p, 4, 1, 1, 59000, delay),         READ_NS(x200p, 4, 1, 4, 60000, NULL),
    READ_NS(x200p, 4, 1, 8, 64000, NULL),          READ_NS(x200p, 4, 2, 8, 67000, NULL),
    READ_NS(x200p, 4, 4, 4, 75000, NULL),          READ_IOPS(x200p, 4, 8, 4, 365000, NULL),
    READ_IOPS(x200p, 4, 8, 8, 707000, NULL),       READ_IOPS(x200p, 4, 16, 8, 1200000, NULL),
    READ_NS(x200p, 4, 32, 4, 136000, NULL),        READ_NS(x200p, 4, 32, 1, 163000, host),
    READ_IOPS(x200p, 4, 16, 16, 2000000, command), READ_IOPS(x200p, 4, 32, 16, 1980000, NULL),
    READ_NS(x200p, 16, 1, 1, 82000, NULL),         READ_NS(x200p, 16, 4, 1, 91000, NULL),
    READ_NS(x200p, 16, 4, 4, 91000, NULL),         READ_NS(x200p, 16, 2, 8, 93000, NULL),
    READ_NS(x200p, 16, 16, 4, 114000, NULL),       READ_NS(x200p, 16, 16, 8, 148000, NULL),
    READ_IOPS(x200p, 16, 16, 16, 906000, NULL),    READ_IOPS(x200p, 16, 32, 8, 905900, NULL),
    READ_IOPS(x200p, 16, 32, 16, 902400, NULL),    READ_NS(x200p, 64, 16, 4, 285000, NULL),
    READ_NS(x200p, 64, 32, 4, 563000, NULL),       READ_NS(x200p, 64, 32, 8, 1135000, NULL),
    {x200p, 4 * KIB, 1, 1, 91900, 0, true, NULL},  READ_NS(p5336, 4, 1, 1, 102000, delay),
    READ_IOPS(p5336, 4, 16, 16, 915000, NULL), /* 900,000 to 930,000 */
    READ_IOPS(p5336, 4, 32, 16, 932770, command),  READ_NS(p5336, 16, 1, 1, 124000, NULL),
    READ_IOPS(p5336, 16, 32, 16, 438760, NULL),    READ_NS(p5336, 64, 1, 1, 228000, NULL),
    READ_IOPS(p5336, 64, 32, 8, 113995, NULL),     READ_IOPS(p5336_small, 4, 1, 1, 9782, delay),
    READ_IOPS(p5336_small, 16, 1, 1, 8100, NULL),  READ_IOPS(p5336_small, 64, 1, 1, 4790, NULL),
    READ_NS(ion, 4, 1, 1, 67000, delay),           READ_IOPS(ion, 4, 32, 16, 1990000, command),
    READ_NS(ion, 16, 1, 1, 82000, NULL),           READ_IOPS(ion, 16, 32, 16, 835420, NULL),
    READ_NS(ion, 64, 1, 1, 129000, NULL),          READ_IOPS(ion, 64, 32, 8, 210460, NULL),
};

static enum status make_sheet(const char *name, const char *config_dir, struct arena *arena,
                              struct drive_sheet *sheet, struct error *err) {
    struct drive_config config;
    enum status status = drive_config_read(name, config_dir, arena, &config, err);
    return status == OK ? drive_sheet_make(&config, DRIVE_AS_MEASURED, arena, sheet, err) : status;
}

static void set_row(const struct queue_point *point, const struct queue_depth_result *even,
                    const struct queue_depth_result *varied, struct queue_point_row *row) {
    uint64_t under_way = (uint64_t)point->depth * point->jobs;
    const struct queue_latency *latency = point->write ? &even->writes : &even->reads;
    *row = (struct queue_point_row){
        .point = point,
        .measured_iops =
            point->iops > 0 ? point->iops : under_way * NS_PER_SECOND / point->latency_ns,
        .model_iops = even->iops,
        .varied_iops = varied->iops,
        .mean_ns = latency->mean_ns,
        .p99_ns = latency->p99_ns,
        .bottleneck = even->bottleneck,
        .bottleneck_permille = even->utilization_permille[even->bottleneck],
    };
    row->error_permille =
        (int32_t)lround(MILLE * ((double)row->model_iops / (double)row->measured_iops - 1));
}

static enum status run_point(const struct queue_point *point, const struct drive_sheet *sheet,
                             struct queue_point_row *row, struct error *err) {
    double amplification = 1;
    enum status status = point->write ? sheet_amplification(sheet, &amplification, err) : OK;
    if (status != OK) {
        return status;
    }
    struct queue_depth_config config = {.jobs = point->jobs,
                                        .depth = point->depth,
                                        .block_bytes = point->block_bytes,
                                        .write_permille = point->write ? MILLE : 0,
                                        .host_ps = HOST_PS,
                                        .requests = REQUESTS,
                                        .seed = SEED};
    struct queue_depth_result even, varied;
    queue_stations(sheet, amplification, HOST_PS, &config.drive);
    status = queue_depth_run(&config, &even, err);
    config.service = QUEUE_EXPONENTIAL;
    if (status == OK) {
        status = queue_depth_run(&config, &varied, err);
    }
    if (status == OK) {
        set_row(point, &even, &varied, row);
    }
    return status;
}

enum status queue_points_run(const char *config_dir, struct arena *arena,
                             struct queue_point_row **rows, size_t *count, struct error *err) {
    struct queue_point_row *made = arena_new(arena, COUNT_OF(points), sizeof *made);
    struct drive_sheet sheet;
    const char *drive = NULL;
    for (size_t i = 0; i < COUNT_OF(points); i++) {
        enum status status = OK;
        if (points[i].drive != drive) {
            drive = points[i].drive;
            status = make_sheet(drive, config_dir, arena, &sheet, err);
        }
        if (status == OK) {
            status = run_point(&points[i], &sheet, &made[i], err);
        }
        if (status != OK) {
            return error_wrap(err, "drive '%.100s'", drive);
        }
    }
    *rows = made;
    *count = COUNT_OF(points);
    return OK;
}
