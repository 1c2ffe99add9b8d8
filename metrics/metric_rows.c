#include "metrics/metric_rows.h"

#include "base/check.h"
#include "metrics/compression.h"
#include "metrics/truth.h"

#include <math.h>
#include <string.h>

#define RECORDED(type, member)                                                                     \
    .field = offsetof(struct type, member), .size = sizeof(((struct type *)NULL)->member)

static struct metric_value number(double value) {
    return (struct metric_value){.known = isfinite(value), .number = value};
}

static double ratio(double part, double whole) { return whole > 0 ? part / whole : NAN; }

static struct metric_value checkpoint_rate(const struct metric_row *row,
                                           const struct result *result, const void *record) {
    (void)row, (void)result;
    const struct checkpoint_record *checkpoint = record;
    return number(ratio((double)checkpoint->bytes, (double)checkpoint->duration_ns / 1e9));
}

static struct metric_value mean_rank_seconds(const struct metric_row *row,
                                             const struct result *result, const void *record) {
    (void)row;
    const struct checkpoint_record *checkpoint = record;
    return number(ratio((double)checkpoint->rank_ns_sum / 1e9, (double)result->plan.ranks));
}

static struct metric_value sync_share(const struct metric_row *row, const struct result *result,
                                      const void *record) {
    (void)row, (void)result;
    const struct checkpoint_record *checkpoint = record;
    return number(ratio((double)checkpoint->sync_ns_sum, (double)checkpoint->rank_ns_sum));
}

static struct metric_value payload_share(const struct metric_row *row, const struct result *result,
                                         const void *record) {
    (void)row, (void)result;
    const struct checkpoint_record *checkpoint = record;
    return number(ratio((double)checkpoint->payload_ns_sum, (double)checkpoint->rank_ns_sum));
}

/* Of what was copied into memory first, the whole time is that of emptying the memory. */
static struct metric_value drain(const struct metric_row *row, const struct result *result,
                                 const void *record) {
    (void)row, (void)result;
    const struct checkpoint_record *checkpoint = record;
    return (struct metric_value){.known = checkpoint->stall_ns != RESULT_UNKNOWN,
                                 .whole = checkpoint->duration_ns};
}

/* Figures of a codec lie at row->field of a struct compression. */
static struct metric_value compression_number(const struct metric_row *row,
                                              const struct compression *compression) {
    double value;
    memcpy(&value, (const char *)compression + row->field, sizeof value);
    return isfinite(value) ? number(value) : (struct metric_value){.known = false};
}

static struct metric_value limit_text(const struct compression *compression) {
    return (struct metric_value){.known = compression->limit != NULL, .text = compression->limit};
}

static struct metric_value checkpoint_compression(const struct metric_row *row,
                                                  const struct result *result,
                                                  const void *record) {
    struct compression compression = compression_of_checkpoint(result, record);
    return compression_number(row, &compression);
}

static struct metric_value checkpoint_limit(const struct metric_row *row,
                                            const struct result *result, const void *record) {
    (void)row;
    struct compression compression = compression_of_checkpoint(result, record);
    return limit_text(&compression);
}

static struct metric_value pass_compression(const struct metric_row *row,
                                            const struct result *result, const void *record) {
    struct compression compression = compression_of_pass(result, record);
    return compression_number(row, &compression);
}

static struct metric_value pass_limit(const struct metric_row *row, const struct result *result,
                                      const void *record) {
    (void)row;
    struct compression compression = compression_of_pass(result, record);
    return limit_text(&compression);
}

static struct metric_value copy_rate(const struct metric_row *row, const struct result *result,
                                     const void *record) {
    (void)row, (void)result;
    const struct checkpoint_record *checkpoint = record;
    if (checkpoint->copy_ns == RESULT_UNKNOWN || checkpoint->copy_ns == 0) {
        return (struct metric_value){.known = false};
    }
    return number(ratio((double)checkpoint->bytes, (double)checkpoint->copy_ns / 1e9));
}

static struct metric_value fill(const struct metric_row *row, const struct result *result,
                                const void *record) {
    (void)row, (void)result;
    const struct checkpoint_record *checkpoint = record;
    if (checkpoint->used_bytes == RESULT_UNKNOWN || checkpoint->total_bytes == RESULT_UNKNOWN) {
        return (struct metric_value){.known = false};
    }
    return number(ratio((double)checkpoint->used_bytes, (double)checkpoint->total_bytes));
}

static struct metric_value latency_mean(const struct metric_row *row, const struct result *result,
                                        const void *record) {
    (void)row, (void)result;
    const struct histogram *histogram = record;
    return number(ratio((double)histogram->sum / 1e9, (double)histogram->count));
}

static struct metric_value latency_percentile(const struct metric_row *row,
                                              const struct result *result, const void *record) {
    (void)result;
    const struct histogram *histogram = record;
    return (struct metric_value){.known = histogram->count > 0,
                                 .whole = histogram_percentile(histogram, row->share)};
}

static const struct metric_row checkpoint_rows[] = {
    {"pass", "pass", 4, METRIC_COUNT, METRIC_NEITHER, RECORDED(checkpoint_record, pass),
     .help = "the pass it belongs to, from 1"},
    {"checkpoint", "ckpt", 5, METRIC_COUNT, METRIC_NEITHER, RECORDED(checkpoint_record, checkpoint),
     .help = "its number within the pass, from 1"},
    {"complete", NULL, 0, METRIC_FLAG, METRIC_NEITHER, RECORDED(checkpoint_record, complete),
     .help = "every rank wrote all its files; only complete ones enter any mean"},
    {"start_seconds", "start s", 10, METRIC_NS, METRIC_NEITHER,
     RECORDED(checkpoint_record, start_ns),
     .help = "from the start of the run to the barrier of all ranks at which it begins"},
    {"seconds", "seconds", 10, METRIC_NS, METRIC_LOWER, RECORDED(checkpoint_record, duration_ns),
     .help = "from the barrier to the last byte and fsync of the slowest rank"},
    {"slowest_rank", "by rank", 7, METRIC_COUNT, METRIC_NEITHER,
     RECORDED(checkpoint_record, slowest_rank), .help = "the rank whose time that is"},
    {"fastest_seconds", "fastest s", 10, METRIC_NS, METRIC_LOWER,
     RECORDED(checkpoint_record, fastest_ns),
     .help = "the own time of the fastest rank of those that write anything"},
    {"fastest_rank", "by rank", 7, METRIC_COUNT, METRIC_NEITHER,
     RECORDED(checkpoint_record, fastest_rank), .help = "the rank whose time that is"},
    {"rank0_seconds", NULL, 0, METRIC_NS, METRIC_LOWER, RECORDED(checkpoint_record, rank0_ns),
     .help = "the own time of rank 0, which is what DLIO reports"},
    {"mean_rank_seconds", NULL, 0, METRIC_SECONDS, METRIC_LOWER, .compute = mean_rank_seconds,
     .help = "the ranks' own times on average"},
    {"bytes", NULL, 0, METRIC_BYTES, METRIC_NEITHER, RECORDED(checkpoint_record, bytes),
     .help = "written by all ranks, counted from completed writes"},
    {"bytes_per_second", "GB/s", 8, METRIC_RATE, METRIC_HIGHER, .compute = checkpoint_rate,
     .help = "bytes over seconds: the whole checkpoint over the slowest rank's time"},
    {"fsync_share", "fsync %", 8, METRIC_SHARE, METRIC_LOWER, .compute = sync_share,
     .help = "the part of the ranks' time spent in fsync"},
    {"payload_share", NULL, 0, METRIC_SHARE, METRIC_LOWER, .compute = payload_share,
     .help = "time for making payload and checksums over the ranks' time; above 1 where several "
             "workers serve one rank"},
    {"stored_bytes", NULL, 0, METRIC_BYTES, METRIC_LOWER, RECORDED(checkpoint_record, stored_bytes),
     .help = "that the drive got for them, with frames, padding and seek tables; unknown without a "
             "codec, as is all that follows about compression"},
    {"compression_ratio", NULL, 0, METRIC_NUMBER, METRIC_HIGHER, .compute = checkpoint_compression,
     .field = offsetof(struct compression, ratio), .help = "bytes over stored_bytes"},
    {"stored_bytes_per_second", NULL, 0, METRIC_RATE, METRIC_HIGHER, .compute = checkpoint_compression,
     .field = offsetof(struct compression, stored_bytes_per_second),
     .help = "stored_bytes over seconds: the rate at which the drive got them"},
    {"compress_share", NULL, 0, METRIC_SHARE, METRIC_LOWER, .compute = checkpoint_compression,
     .field = offsetof(struct compression, share),
     .help = "how long compressing took, over the time that workers had for it: rank_seconds_sum, "
             "times codec_workers over ranks"},
    {"limit", NULL, 0, METRIC_TEXT, METRIC_NEITHER, .compute = checkpoint_limit,
     .help = "compression where compress_share is 0.5 or more, else drive: the rest is waiting in "
             "writes and fsync, but for payload_share"},
    {"commit_seconds", NULL, 0, METRIC_NS, METRIC_LOWER, RECORDED(checkpoint_record, commit_ns),
     .help = "after the end: manifest, mark of the latest checkpoint and syncs of folders"},
    {"removal_seconds", NULL, 0, METRIC_NS, METRIC_LOWER, RECORDED(checkpoint_record, removal_ns),
     .help = "of --keep-last: after the commit, removing checkpoints that are not kept"},
    {"stall_seconds", "stall s", 8, METRIC_NS, METRIC_LOWER, RECORDED(checkpoint_record, stall_ns),
     .copied_only = true,
     .help = "of --mode async: from the barrier to the slowest rank's last copy into host memory"},
    {"drain_seconds", NULL, 0, METRIC_NS, METRIC_LOWER, .compute = drain,
     .help = "of --mode async: the same as seconds, most of which ranks compute through"},
    {"blocked_seconds", NULL, 0, METRIC_NS, METRIC_LOWER, RECORDED(checkpoint_record, blocked_ns),
     .help = "of --mode async: ranks were ready for the next checkpoint and this one was still being "
             "written or committed"},
    {"copy_wait_seconds", NULL, 0, METRIC_NS, METRIC_LOWER, RECORDED(checkpoint_record, copy_wait_ns),
     .help = "of --drain-to: ranks waited before it, because an earlier one was still to be copied"},
    {"copy_lag_seconds", NULL, 0, METRIC_NS, METRIC_LOWER, RECORDED(checkpoint_record, copy_lag_ns),
     .help = "of --drain-to: from its commit in --dir to its commit there"},
    {"copy_seconds", NULL, 0, METRIC_NS, METRIC_LOWER, RECORDED(checkpoint_record, copy_ns),
     .help = "of --drain-to: from the first file's opening to the last one's fsync"},
    {"copy_bytes_per_second", NULL, 0, METRIC_RATE, METRIC_HIGHER, .compute = copy_rate,
     .help = "bytes over copy_seconds"},
    {"used_bytes", NULL, 0, METRIC_BYTES, METRIC_NEITHER, RECORDED(checkpoint_record, used_bytes),
     .help = "in use on the file system after it"},
    {"total_bytes", NULL, 0, METRIC_BYTES, METRIC_NEITHER, RECORDED(checkpoint_record, total_bytes),
     .help = "size of the file system"},
    {"fill", "fill %", 7, METRIC_SHARE, METRIC_NEITHER, .compute = fill,
     .help = "used_bytes over total_bytes"},
    {"device_bytes", NULL, 0, METRIC_BYTES, METRIC_LOWER, RECORDED(checkpoint_record, device_bytes),
     .help = "counted as written by the block device while it ran, by whomever"},
    {"rank_seconds_sum", NULL, 0, METRIC_NS, METRIC_LOWER, RECORDED(checkpoint_record, rank_ns_sum),
     .help = "the ranks' own times added up"},
    {"fsync_seconds_sum", NULL, 0, METRIC_NS, METRIC_LOWER,
     RECORDED(checkpoint_record, sync_ns_sum), .help = "the ranks' time in fsync added up"},
    {"payload_seconds_sum", NULL, 0, METRIC_NS, METRIC_LOWER,
     RECORDED(checkpoint_record, payload_ns_sum),
     .help = "the workers' time for payload and checksums added up"},
    {"compress_seconds_sum", NULL, 0, METRIC_NS, METRIC_LOWER,
     RECORDED(checkpoint_record, compress_ns_sum), .help = "the workers' CPU time for compression added up"},
    {"compress_wall_seconds_sum", NULL, 0, METRIC_NS, METRIC_LOWER,
     RECORDED(checkpoint_record, compress_wall_ns_sum),
     .help = "how long that took, waiting for a CPU included"},
    {"note", NULL, 0, METRIC_TEXT, METRIC_NEITHER, RECORDED(checkpoint_record, note),
     .help = "why it is not complete: file, offset, error"},
};

static const struct metric_row pass_rows[] = {
    {"pass", "pass", 4, METRIC_COUNT, METRIC_NEITHER, RECORDED(pass_record, pass),
     .help = "its number, from 1"},
    {"checkpoints", "ckpts", 6, METRIC_COUNT, METRIC_NEITHER, RECORDED(pass_record, checkpoints),
     .help = "complete ones; all other figures are over these"},
    {"broken", "broken", 7, METRIC_COUNT, METRIC_NEITHER, RECORDED(pass_record, broken),
     .help = "checkpoints that did not complete"},
    {"mean_seconds", "mean s", 10, METRIC_SECONDS, METRIC_LOWER,
     RECORDED(pass_record, mean_seconds), .help = "per checkpoint, by the slowest rank"},
    {"min_seconds", "min s", 10, METRIC_NS, METRIC_LOWER, RECORDED(pass_record, min_ns),
     .help = "the quickest checkpoint"},
    {"max_seconds", "max s", 10, METRIC_NS, METRIC_LOWER, RECORDED(pass_record, max_ns),
     .help = "the slowest checkpoint"},
    {"stdev_seconds", "stdev s", 9, METRIC_SECONDS, METRIC_LOWER,
     RECORDED(pass_record, stdev_seconds),
     .help = "standard deviation of the checkpoints' times, of the population"},
    {"bytes_per_second", "GB/s", 8, METRIC_RATE, METRIC_HIGHER,
     RECORDED(pass_record, bytes_per_second),
     .help = "bytes of the pass over the sum of its checkpoints' times"},
    {"against_pass1", "vs pass 1", 10, METRIC_SHARE, METRIC_LOWER,
     RECORDED(pass_record, against_pass1),
     .help = "mean time over that of pass 1, less 1: 0.41 is 41 % longer"},
    {"drift", "drift", 8, METRIC_SHARE, METRIC_LOWER, RECORDED(pass_record, drift),
     .help = "mean time of the last quarter of its checkpoints over the first quarter's, less 1; "
             "unknown of one checkpoint"},
    {"bytes", NULL, 0, METRIC_BYTES, METRIC_NEITHER, RECORDED(pass_record, bytes),
     .help = "written by its complete checkpoints"},
    {"seconds_sum", NULL, 0, METRIC_NS, METRIC_LOWER, RECORDED(pass_record, duration_ns_sum),
     .help = "its checkpoints' times added up"},
    {"rank0_mean_seconds", NULL, 0, METRIC_SECONDS, METRIC_LOWER,
     RECORDED(pass_record, rank0_mean_seconds), .help = "per checkpoint, by rank 0's own time"},
    {"fsync_share", NULL, 0, METRIC_SHARE, METRIC_LOWER, RECORDED(pass_record, sync_share),
     .help = "the part of the ranks' time spent in fsync"},
    {"stall_mean_seconds", NULL, 0, METRIC_SECONDS, METRIC_LOWER,
     RECORDED(pass_record, stall_seconds), .help = "per checkpoint, of --mode async: copying into host memory"},
    {"blocked_mean_seconds", NULL, 0, METRIC_SECONDS, METRIC_LOWER,
     RECORDED(pass_record, blocked_seconds),
     .help = "per checkpoint, of --mode async: ranks were ready for the next one and waited for this one"},
    {"copied", NULL, 0, METRIC_COUNT, METRIC_NEITHER, RECORDED(pass_record, copied),
     .help = "of --drain-to: checkpoints that are complete there too; the next two are over these"},
    {"copy_lag_mean_seconds", NULL, 0, METRIC_SECONDS, METRIC_LOWER,
     RECORDED(pass_record, copy_lag_seconds), .help = "from a commit in --dir to that in --drain-to"},
    {"copy_bytes_per_second", NULL, 0, METRIC_RATE, METRIC_HIGHER,
     RECORDED(pass_record, copy_rate), .help = "bytes copied over the sum of copy_seconds"},
    {"copy_wait_mean_seconds", NULL, 0, METRIC_SECONDS, METRIC_LOWER,
     RECORDED(pass_record, copy_wait_seconds),
     .help = "per checkpoint: ranks waited for an earlier one to be copied"},
    {"idle_share", NULL, 0, METRIC_SHARE, METRIC_LOWER, RECORDED(pass_record, idle_share),
     .help = "the part of their time that ranks did not compute, from each checkpoint to the next"},
    {"device_bytes", NULL, 0, METRIC_BYTES, METRIC_LOWER, RECORDED(pass_record, device_bytes),
     .help = "counted as written by the block device during its checkpoints"},
    {"stored_bytes", NULL, 0, METRIC_BYTES, METRIC_LOWER, RECORDED(pass_record, stored_bytes),
     .help = "that the drive got for them, with frames, padding and seek tables; unknown without a "
             "codec, as is all that follows about compression"},
    {"compression_ratio", NULL, 0, METRIC_NUMBER, METRIC_HIGHER, .compute = pass_compression,
     .field = offsetof(struct compression, ratio), .help = "bytes over stored_bytes"},
    {"stored_bytes_per_second", NULL, 0, METRIC_RATE, METRIC_HIGHER, .compute = pass_compression,
     .field = offsetof(struct compression, stored_bytes_per_second),
     .help = "stored_bytes over seconds_sum: the rate at which the drive got them"},
    {"compress_share", NULL, 0, METRIC_SHARE, METRIC_LOWER, .compute = pass_compression,
     .field = offsetof(struct compression, share),
     .help = "how long compressing took, over the time that workers had for it: rank_seconds_sum, "
             "times codec_workers over ranks"},
    {"limit", NULL, 0, METRIC_TEXT, METRIC_NEITHER, .compute = pass_limit,
     .help = "compression where compress_share is 0.5 or more, else drive: the rest is waiting in "
             "writes and fsync, but for payload_share"},
    {"compress_seconds_sum", NULL, 0, METRIC_NS, METRIC_LOWER,
     RECORDED(pass_record, compress_ns_sum), .help = "the workers' CPU time for compression added up"},
    {"compress_wall_seconds_sum", NULL, 0, METRIC_NS, METRIC_LOWER,
     RECORDED(pass_record, compress_wall_ns_sum),
     .help = "how long that took, waiting for a CPU included"},
};

static const struct metric_row truth_rows[] = {
    {"checkpoints", NULL, 0, METRIC_COUNT, METRIC_NEITHER, RECORDED(truth, checkpoints),
     .help = "complete ones of all passes"},
    {"mean_seconds", "seconds per checkpoint, mean", 1, METRIC_SECONDS, METRIC_LOWER,
     RECORDED(truth, mean_seconds), .help = "mean of the checkpoints' times"},
    {"stdev_seconds", "seconds per checkpoint, stdev", 1, METRIC_SECONDS, METRIC_LOWER,
     RECORDED(truth, stdev_seconds), .help = "their standard deviation, of the population"},
    {"max_seconds", "seconds per checkpoint, max", 1, METRIC_SECONDS, METRIC_LOWER,
     RECORDED(truth, max_seconds), .help = "the longest of them"},
    {"mean_gib_per_second", "GiB/s, mean", 1, METRIC_GIB_RATE, METRIC_HIGHER,
     RECORDED(truth, mean_gib_per_second),
     .help = "mean over the checkpoints of whole checkpoint over that time"},
    {"stdev_gib_per_second", "GiB/s, stdev", 1, METRIC_GIB_RATE, METRIC_LOWER,
     RECORDED(truth, stdev_gib_per_second), .help = "their standard deviation, of the population"},
    {"min_gib_per_second", "GiB/s, min", 1, METRIC_GIB_RATE, METRIC_HIGHER,
     RECORDED(truth, min_gib_per_second), .help = "the lowest of them"},
};

static const struct metric_row latency_rows[] = {
    {"count", "requests", 10, METRIC_COUNT, METRIC_NEITHER, RECORDED(histogram, count),
     .help = "requests that came back"},
    {"mean_seconds", "mean", 9, METRIC_SECONDS, METRIC_LOWER, .compute = latency_mean,
     .help = "exact mean"},
    {"min_seconds", "min", 9, METRIC_NS, METRIC_LOWER, RECORDED(histogram, minimum),
     .help = "exact minimum"},
    {"p50_seconds", "p50", 9, METRIC_NS, METRIC_LOWER, .compute = latency_percentile, .share = 0.5,
     .help = "half of the requests took no longer; percentiles are up to 1/64 too high"},
    {"p90_seconds", "p90", 9, METRIC_NS, METRIC_LOWER, .compute = latency_percentile, .share = 0.9,
     .help = "90 % took no longer"},
    {"p99_seconds", "p99", 9, METRIC_NS, METRIC_LOWER, .compute = latency_percentile, .share = 0.99,
     .help = "99 % took no longer"},
    {"p99_9_seconds", "p99.9", 9, METRIC_NS, METRIC_LOWER, .compute = latency_percentile,
     .share = 0.999, .help = "99.9 % took no longer"},
    {"p99_99_seconds", "p99.99", 9, METRIC_NS, METRIC_LOWER, .compute = latency_percentile,
     .share = 0.9999, .help = "99.99 % took no longer"},
    {"max_seconds", "max", 9, METRIC_NS, METRIC_LOWER, RECORDED(histogram, maximum),
     .help = "exact maximum"},
};

#define TABLE(table_name, table_rows, table_about)                                                 \
    { .name = table_name, .about = table_about, .rows = table_rows, .count = COUNT_OF(table_rows) }

const struct metric_table metric_checkpoints =
    TABLE("checkpoints", checkpoint_rows,
          "One per checkpoint, in the order they ran; in `checkpoints.csv` too.");
const struct metric_table metric_passes =
    TABLE("passes", pass_rows,
          "One per pass, computed from the complete checkpoints; in `passes.csv` too.");
const struct metric_table metric_truths =
    TABLE("truths", truth_rows,
          "Twice: `as_dlio_reports` by rank 0's own time, `as_mlperf_rules_say` by the slowest "
          "rank's; `difference` says in percent how far the first lies above the second.");
const struct metric_table metric_latencies =
    TABLE("latency", latency_rows,
          "`write` and `fsync`, and `read` of restores, over all requests of the run, around the "
          "system call.");
