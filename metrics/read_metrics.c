/* The metrics of restores. */
#include "metrics/metric_rows.h"

#include "metrics/read_statistics.h"

#include <math.h>

#define RECORDED(type, member)                                                                     \
    .field = offsetof(struct type, member), .size = sizeof(((struct type *)NULL)->member)

static struct metric_value ratio(double part, double whole) {
    double value = whole > 0 ? part / whole : NAN;
    return (struct metric_value){.known = isfinite(value), .number = value};
}

static struct metric_value rate(const struct metric_row *row, const struct result *result,
                                const void *record) {
    (void)row, (void)result;
    const struct read_record *read = record;
    return ratio((double)read->bytes, (double)read->duration_ns / 1e9);
}

static struct metric_value mean_rank_seconds(const struct metric_row *row,
                                             const struct result *result, const void *record) {
    (void)row;
    const struct read_record *read = record;
    return ratio((double)read->rank_ns_sum / 1e9, (double)result->restore.ranks);
}

static struct metric_value verify_share(const struct metric_row *row, const struct result *result,
                                        const void *record) {
    (void)row, (void)result;
    const struct read_record *read = record;
    if (!read->verified) {
        return (struct metric_value){.known = false};
    }
    return ratio((double)read->verify_ns_sum, (double)read->rank_ns_sum);
}

static const struct metric_row read_rows[] = {
    {"read", "read", 4, METRIC_COUNT, METRIC_NEITHER, RECORDED(read_record, read),
     .help = "its number, from 1"},
    {"checkpoint", "ckpt", 5, METRIC_COUNT, METRIC_NEITHER, RECORDED(read_record, checkpoint),
     .help = "the number of the checkpoint, as in its file names"},
    {"complete", NULL, 0, METRIC_FLAG, METRIC_NEITHER, RECORDED(read_record, complete),
     .help = "every rank read all it needs, and nothing was found wrong"},
    {"cached", NULL, 0, METRIC_FLAG, METRIC_NEITHER, RECORDED(read_record, cached),
     .help =
         "more than a thousandth of it was in the page cache at the barrier; it enters no mean"},
    {"verified", NULL, 0, METRIC_FLAG, METRIC_NEITHER, RECORDED(read_record, verified),
     .help = "every byte read was compared with what was written"},
    {"start_seconds", "start s", 10, METRIC_NS, METRIC_NEITHER, RECORDED(read_record, start_ns),
     .help = "from the start of the run to the barrier of all ranks at which it begins"},
    {"seconds", "seconds", 10, METRIC_NS, METRIC_LOWER, RECORDED(read_record, duration_ns),
     .help = "from the barrier to the last byte of the slowest rank"},
    {"slowest_rank", "by rank", 7, METRIC_COUNT, METRIC_NEITHER,
     RECORDED(read_record, slowest_rank), .help = "the rank whose time that is"},
    {"fastest_seconds", "fastest s", 10, METRIC_NS, METRIC_LOWER, RECORDED(read_record, fastest_ns),
     .help = "the own time of the fastest rank of those that read anything"},
    {"fastest_rank", "by rank", 7, METRIC_COUNT, METRIC_NEITHER,
     RECORDED(read_record, fastest_rank), .help = "the rank whose time that is"},
    {"rank0_seconds", NULL, 0, METRIC_NS, METRIC_LOWER, RECORDED(read_record, rank0_ns),
     .help = "the own time of rank 0, which is what DLIO reports"},
    {"mean_rank_seconds", NULL, 0, METRIC_SECONDS, METRIC_LOWER, .compute = mean_rank_seconds,
     .help = "the ranks' own times on average"},
    {"bytes", NULL, 0, METRIC_BYTES, METRIC_NEITHER, RECORDED(read_record, bytes),
     .help = "read by all ranks, counted from completed reads"},
    {"bytes_per_second", "GB/s", 8, METRIC_RATE, METRIC_HIGHER, .compute = rate,
     .help = "bytes over seconds: all that is read over the slowest rank's time"},
    {"cached_bytes", "cached B", 12, METRIC_BYTES, METRIC_LOWER,
     RECORDED(read_record, cached_bytes),
     .help =
         "of the files to be read, in the page cache after they were dropped from it; unknown of "
         "a simulated drive"},
    {"verify_share", "verify %", 8, METRIC_SHARE, METRIC_LOWER, .compute = verify_share,
     .help = "time for comparing and checksums over the ranks' time; above 1 where several workers "
             "serve one rank; unknown where nothing was verified"},
    {"rank_seconds_sum", NULL, 0, METRIC_NS, METRIC_LOWER, RECORDED(read_record, rank_ns_sum),
     .help = "the ranks' own times added up"},
    {"verify_seconds_sum", NULL, 0, METRIC_NS, METRIC_LOWER, RECORDED(read_record, verify_ns_sum),
     .help = "the workers' time for comparing and checksums added up"},
    {"note", NULL, 0, METRIC_TEXT, METRIC_NEITHER, RECORDED(read_record, note),
     .help = "why it is not complete: file, offset, error"},
};

static const struct metric_row statistics_rows[] = {
    {"restores", "restores", 8, METRIC_COUNT, METRIC_NEITHER, RECORDED(read_statistics, restores),
     .help = "complete and cold ones; all other figures are over these"},
    {"cached", "cached", 7, METRIC_COUNT, METRIC_NEITHER, RECORDED(read_statistics, cached),
     .help = "complete ones that came from the page cache"},
    {"broken", "broken", 7, METRIC_COUNT, METRIC_NEITHER, RECORDED(read_statistics, broken),
     .help = "restores that did not complete"},
    {"mean_seconds", "mean s", 10, METRIC_SECONDS, METRIC_LOWER,
     RECORDED(read_statistics, mean_seconds), .help = "per restore, by the slowest rank"},
    {"min_seconds", "min s", 10, METRIC_NS, METRIC_LOWER, RECORDED(read_statistics, min_ns),
     .help = "the quickest restore"},
    {"max_seconds", "max s", 10, METRIC_NS, METRIC_LOWER, RECORDED(read_statistics, max_ns),
     .help = "the slowest restore"},
    {"stdev_seconds", "stdev s", 9, METRIC_SECONDS, METRIC_LOWER,
     RECORDED(read_statistics, stdev_seconds),
     .help = "standard deviation of the restores' times, of the population"},
    {"bytes_per_second", "GB/s", 8, METRIC_RATE, METRIC_HIGHER,
     RECORDED(read_statistics, bytes_per_second),
     .help = "their bytes over the sum of their times"},
    {"rank0_mean_seconds", "rank 0 s", 10, METRIC_SECONDS, METRIC_LOWER,
     RECORDED(read_statistics, rank0_mean_seconds), .help = "per restore, by rank 0's own time"},
    {"verify_share", "verify %", 8, METRIC_SHARE, METRIC_LOWER,
     RECORDED(read_statistics, verify_share),
     .help = "time for comparing and checksums over the ranks' time; unknown where nothing was "
             "verified"},
    {"bytes", NULL, 0, METRIC_BYTES, METRIC_NEITHER, RECORDED(read_statistics, bytes),
     .help = "read by them"},
    {"seconds_sum", NULL, 0, METRIC_NS, METRIC_LOWER, RECORDED(read_statistics, duration_ns_sum),
     .help = "their times added up"},
};

#define TABLE(table_name, table_rows, table_about)                                                 \
    {                                                                                              \
        .name = table_name, .about = table_about, .rows = table_rows,                              \
        .count = sizeof table_rows / sizeof table_rows[0]                                          \
    }

const struct metric_table metric_reads =
    TABLE("reads", read_rows, "One per restore, in the order they ran; in `reads.csv` too.");
const struct metric_table metric_read_statistics =
    TABLE("restore", statistics_rows,
          "Of all restores of a run that were complete and cold, under `restore`.");
