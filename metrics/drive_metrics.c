/* The metrics of a simulated drive, per pass. */
#include "metrics/metric_rows.h"

#include <math.h>

#define RECORDED(member)                                                                           \
    .field = offsetof(struct drive_pass, member), .size = sizeof(((struct drive_pass *)NULL)->member)

static struct metric_value number(double value) {
    return (struct metric_value){.known = isfinite(value), .number = value};
}

static double per_host_byte(const struct drive_pass *pass, uint64_t bytes) {
    return pass->host_bytes > 0 ? (double)bytes / (double)pass->host_bytes : NAN;
}

static struct metric_value total_amplification(const struct metric_row *row,
                                               const struct result *result, const void *record) {
    (void)row, (void)result;
    const struct drive_pass *pass = record;
    return number(per_host_byte(pass, pass->unit_bytes + pass->gc_bytes));
}

static struct metric_value gc_amplification(const struct metric_row *row,
                                            const struct result *result, const void *record) {
    (void)row, (void)result;
    const struct drive_pass *pass = record;
    double unit = (double)pass->unit_bytes;
    return number(unit > 0 ? (unit + (double)pass->gc_bytes) / unit : NAN);
}

static struct metric_value unit_amplification(const struct metric_row *row,
                                              const struct result *result, const void *record) {
    (void)row, (void)result;
    const struct drive_pass *pass = record;
    return number(per_host_byte(pass, pass->unit_bytes));
}

static struct metric_value media_bytes(const struct metric_row *row, const struct result *result,
                                       const void *record) {
    (void)row, (void)result;
    const struct drive_pass *pass = record;
    return (struct metric_value){.known = true, .whole = pass->unit_bytes + pass->gc_bytes};
}

static struct metric_value endurance_percent(const struct metric_row *row,
                                             const struct result *result, const void *record) {
    (void)row, (void)result;
    const struct drive_pass *pass = record;
    return number(100 * pass->endurance_used);
}

static const struct metric_row rows[] = {
    {"pass", "pass", 4, METRIC_COUNT, METRIC_NEITHER, RECORDED(pass), .help = "its number, from 1"},
    {"write_amplification", "WA", 7, METRIC_NUMBER, METRIC_LOWER, .compute = total_amplification,
     .help = "bytes programmed per byte the host wrote: gc_write_amplification x "
             "unit_write_amplification"},
    {"gc_write_amplification", "by GC", 7, METRIC_NUMBER, METRIC_LOWER, .compute = gc_amplification,
     .help = "bytes programmed per byte programmed for the host"},
    {"unit_write_amplification", "by unit", 8, METRIC_NUMBER, METRIC_LOWER,
     .compute = unit_amplification,
     .help = "bytes programmed for the host per byte it wrote: whole indirection units"},
    {"host_bytes", NULL, 0, METRIC_BYTES, METRIC_NEITHER, RECORDED(host_bytes),
     .help = "the drive took from the host"},
    {"gc_bytes", NULL, 0, METRIC_BYTES, METRIC_LOWER, RECORDED(gc_bytes),
     .help = "copied by garbage collection"},
    {"media_bytes", NULL, 0, METRIC_BYTES, METRIC_LOWER, .compute = media_bytes,
     .help = "programmed into the NAND for the host and by garbage collection"},
    {"free_superblocks", "free SB", 8, METRIC_COUNT, METRIC_HIGHER, RECORDED(free_superblocks),
     .help = "erased superblocks at the end of the pass"},
    {"program_erase_cycles", "P/E", 7, METRIC_NUMBER, METRIC_LOWER, RECORDED(cycles),
     .help = "bytes programmed since the run began over raw bytes"},
    {"endurance_used_percent", "life %", 8, METRIC_NUMBER, METRIC_LOWER,
     .compute = endurance_percent,
     .help = "bytes programmed since the run began over those that the rating amounts to"},
    {"years_to_wear_out", "years", 7, METRIC_NUMBER, METRIC_HIGHER, RECORDED(years_to_wear_out),
     .help = "until the rated endurance is used up if the drive works like this without a rest"},
    {"energy_joules", NULL, 0, METRIC_NUMBER, METRIC_LOWER, RECORDED(energy_joules),
     .help = "idle power over the pass, and active power while the NAND programs"},
    {"host_utilization", "host %", 7, METRIC_SHARE, METRIC_NEITHER, RECORDED(busy[0]),
     .help = "share of the pass in which the writing ranks ran at their own rate"},
    {"link_utilization", "link %", 7, METRIC_SHARE, METRIC_NEITHER, RECORDED(busy[1]),
     .help = "share of the pass in which the link moved data"},
    {"controller_utilization", "ctrl %", 7, METRIC_SHARE, METRIC_NEITHER, RECORDED(busy[2]),
     .help = "share of the pass that the sequential rate accounts for"},
    {"nand_utilization", "NAND %", 7, METRIC_SHARE, METRIC_NEITHER, RECORDED(busy[3]),
     .help = "share of the pass in which the NAND programmed"},
    {"bottleneck", "bottleneck", 11, METRIC_TEXT, METRIC_NEITHER, RECORDED(bottleneck),
     .help = "the station that was busiest"},
    {"why", NULL, 0, METRIC_TEXT, METRIC_NEITHER, RECORDED(why),
     .help = "one sentence on what set the pace"},
};

const struct metric_table metric_drive_passes = {
    "drive_passes", "What a pass did to a simulated drive; in `passes[]` of result.json.", rows,
    sizeof rows / sizeof rows[0]};
