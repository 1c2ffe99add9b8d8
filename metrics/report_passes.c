/* The end of the text report: what the passes say. The figures in the tables come from the metric
 * rows; the sentences compare them. */
#include "metrics/report_text.h"

#include "base/check.h"
#include "base/units.h"
#include "metrics/chart.h"
#include "metrics/metric_rows.h"
#include "metrics/mlperf_rules.h"
#include "metrics/report_reads.h"
#include "metrics/report_strategy.h"
#include "metrics/text_lines.h"
#include "metrics/truth.h"

#include <math.h>

enum { CHART_MARKS = 80, CHART_LEAST = 4 };

/* Less drift than this within a pass is not worth a sentence; the table shows it all the same. */
static const double drift_worth_telling = 0.02;

static void write_pass_table(const struct result *result, FILE *stream) {
    text_table_head(&metric_passes, result, stream);
    putc('\n', stream);
    for (uint32_t pass = 1; pass <= result_pass_count(result); pass++) {
        struct pass_record record;
        result_pass(result, pass, &record);
        text_table_row(&metric_passes, result, &record, stream);
        putc('\n', stream);
    }
    fputs("(seconds per complete checkpoint, by its slowest rank; vs pass 1 and drift in %)\n",
          stream);
}

/* The columns of metric_passes that mean something with a codec alone, without the rest. */
static void write_compression(const struct result *result, FILE *stream) {
    static const struct {
        const char *key, *title;
        int width;
    } columns[] = {
        {"pass", "pass", 4},
        {"compression_ratio", "raw/stored", 10},
        {"bytes_per_second", "raw GB/s", 10},
        {"stored_bytes_per_second", "stored GB/s", 11},
        {"compress_seconds_sum", "CPU s", 10},
        {"compress_share", "compress %", 10},
        {"limit", "limit", 11},
    };
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        fprintf(stream, "%s%*s", i > 0 ? " " : "", columns[i].width, columns[i].title);
    }
    putc('\n', stream);
    for (uint32_t pass = 1; pass <= result_pass_count(result); pass++) {
        struct pass_record record;
        result_pass(result, pass, &record);
        for (size_t i = 0; i < COUNT_OF(columns); i++) {
            char cell[64];
            const struct metric_row *row = metric_find(&metric_passes, columns[i].key);
            metric_text(row, metric_get(row, result, &record), cell, sizeof cell);
            fprintf(stream, "%s%*s", i > 0 ? " " : "", columns[i].width, cell);
        }
        putc('\n', stream);
    }
    fputs("(compress %: the part of their time that workers compressed; half or more of it makes "
          "compression\nthe limit; CPU s: of all workers)\n",
          stream);
}

static void write_chart(const struct result *result, FILE *stream) {
    struct pass_record all;
    result_all_passes(result, &all);
    if (all.checkpoints < CHART_LEAST || all.max_ns == 0) {
        return;
    }
    fprintf(stream, "%-*s", TEXT_LABEL, "seconds");
    uint32_t group = chart_write(result, all.max_ns, CHART_MARKS, stream);
    fprintf(stream,
            "\n%*sa mark is %s%u checkpoint%s; the highest is %.3f s, heights count from 0\n",
            TEXT_LABEL, "", group > 1 ? "the mean of up to " : "", group, group > 1 ? "s" : "",
            (double)all.max_ns / 1e9);
}

/* The spread that a difference between two passes has to exceed before it counts as one: the larger
 * standard deviation of their checkpoints, as a part of the earlier pass's mean. */
static double spread_of(const struct pass_record *before, const struct pass_record *after) {
    return fmax(before->stdev_seconds, after->stdev_seconds) / before->mean_seconds;
}

/* Four digits or so, whether a checkpoint takes milliseconds or an hour. */
static const char *short_seconds(double seconds, char *buffer) {
    snprintf(buffer, UNITS_TEXT, "%.*f s", seconds < 10 ? 3 : seconds < 100 ? 2 : 1, seconds);
    return buffer;
}

static void compare_passes(const struct pass_record *before, const struct pass_record *after,
                           FILE *stream) {
    double change = after->mean_seconds / before->mean_seconds - 1;
    double spread = spread_of(before, after);
    bool single = before->checkpoints == 1 && after->checkpoints == 1;
    char left[UNITS_TEXT], right[UNITS_TEXT];
    if (fabs(change) <= spread || change == 0) {
        text_line(stream, "",
                  "pass %u against pass %u: no change beyond the spread of checkpoints "
                  "within a pass (%+.1f %%, standard deviation %.1f %%)",
                  after->pass, before->pass, change * 100, spread * 100);
        return;
    }
    text_line(stream, "", "pass %u took %.1f %% %s per checkpoint than pass %u (%s against %s)%s",
              after->pass, fabs(change) * 100, change > 0 ? "longer" : "less time", before->pass,
              short_seconds(after->mean_seconds, left), short_seconds(before->mean_seconds, right),
              single ? "; one checkpoint each, so the spread is not known" : "");
}

/* Whether times rise or fall with order and not by chance: Mann and Kendall's test. S counts pairs
 * of checkpoints in rising order less those in falling order; of times in random order it has mean
 * 0 and variance n (n - 1) (2 n + 5) / 18, so beyond 1.96 standard deviations chance is one in
 * twenty. */
static bool has_trend(const struct result *result, const struct pass_record *pass) {
    double sum = 0, n = pass->checkpoints;
    for (uint32_t i = 0; i < result->checkpoint_count; i++) {
        const struct checkpoint_record *early = &result->checkpoints[i];
        if (!early->complete || early->pass != pass->pass) {
            continue;
        }
        for (uint32_t k = i + 1; k < result->checkpoint_count; k++) {
            const struct checkpoint_record *late = &result->checkpoints[k];
            if (late->complete && late->pass == pass->pass) {
                sum += (late->duration_ns > early->duration_ns) -
                       (late->duration_ns < early->duration_ns);
            }
        }
    }
    return fabs(sum) > 1.96 * sqrt(n * (n - 1) * (2 * n + 5) / 18);
}

static void describe_drift(const struct result *result, const struct pass_record *pass,
                           FILE *stream) {
    if (isfinite(pass->drift) && fabs(pass->drift) >= drift_worth_telling &&
        has_trend(result, pass)) {
        text_line(stream, "",
                  "within pass %u times %s by %.1f %% from the first quarter of its "
                  "checkpoints to the last",
                  pass->pass, pass->drift > 0 ? "rose" : "fell", fabs(pass->drift) * 100);
    }
}

static void write_changes(const struct result *result, FILE *stream) {
    struct pass_record before = {.checkpoints = 0}, pass;
    fputs("what changed\n", stream);
    for (uint32_t number = 1; number <= result_pass_count(result); number++) {
        result_pass(result, number, &pass);
        if (pass.checkpoints == 0) {
            text_line(stream, "", "pass %u has no complete checkpoint", number);
            continue;
        }
        if (before.checkpoints > 0) {
            compare_passes(&before, &pass, stream);
        }
        describe_drift(result, &pass, stream);
        before = pass;
    }
    if (before.checkpoints > 0 && before.pass == 1) {
        text_line(stream, "", "there is no second pass to compare with");
    }
}

static const char *truth_difference(const struct metric_row *row, const struct truth *dlio,
                                    const struct truth *rules, char *buffer, size_t size) {
    double percent = NAN;
    if (row->field == offsetof(struct truth, mean_seconds)) {
        percent = truth_seconds_difference_percent(dlio, rules);
    } else if (row->field == offsetof(struct truth, mean_gib_per_second)) {
        percent = truth_rate_difference_percent(dlio, rules);
    }
    buffer[0] = '\0';
    if (isfinite(percent)) {
        snprintf(buffer, size, "%+.1f %%", percent);
    }
    return buffer;
}

static void write_two(const struct result *result, const char *what, const struct truth *dlio,
                      const struct truth *rules, FILE *stream) {
    fprintf(stream, "%-32s%18s%22s%14s\n", what, "as DLIO reports", "as MLPerf rules say",
            "difference");
    fprintf(stream, "%-32s%18s%22s\n", "", "(rank 0's time)", "(slowest rank's)");
    for (size_t i = 0; i < metric_truths.count; i++) {
        const struct metric_row *row = &metric_truths.rows[i];
        if (row->width > 0) {
            char left[32], right[32], difference[32];
            metric_text(row, metric_get(row, result, dlio), left, sizeof left);
            metric_text(row, metric_get(row, result, rules), right, sizeof right);
            truth_difference(row, dlio, rules, difference, sizeof difference);
            fprintf(stream, "%-32s%18s%22s%s%s\n", row->title, left, right,
                    difference[0] != '\0' ? "        " : "", difference);
        }
    }
    putc('\n', stream);
}

static void write_truths(const struct result *result, FILE *stream) {
    struct truth dlio = truth_as_dlio_reports(result), rules = truth_as_mlperf_rules_say(result);
    write_two(result, "two headlines, one run", &dlio, &rules, stream);
}

static void write_read_truths(const struct result *result, FILE *stream) {
    struct truth dlio = truth_of_reads_as_dlio_reports(result);
    struct truth rules = truth_of_reads_as_mlperf_rules_say(result);
    if (rules.checkpoints > 0) {
        write_two(result, "two headlines, cold restores", &dlio, &rules, stream);
    }
}

static void write_latency_row(const struct result *result, const char *name,
                              const struct histogram *histogram, FILE *stream) {
    fprintf(stream, "%-8s", name);
    for (size_t i = 0; i < metric_latencies.count; i++) {
        const struct metric_row *row = &metric_latencies.rows[i];
        struct metric_value value = metric_get(row, result, histogram);
        if (row->kind == METRIC_COUNT) {
            fprintf(stream, " %*llu", row->width, (unsigned long long)value.whole);
        } else if (histogram->count == 0) {
            fprintf(stream, " %*s", row->width, "-");
        } else {
            double ms = row->kind == METRIC_NS ? (double)value.whole / 1e6 : value.number * 1e3;
            fprintf(stream, " %*.*f", row->width, ms < 1e5 ? 3 : 0, ms); /* fits the column */
        }
    }
    putc('\n', stream);
}

static void write_latencies(const struct result *result, FILE *stream) {
    fprintf(stream, "%-8s", "ms");
    for (size_t i = 0; i < metric_latencies.count; i++) {
        fprintf(stream, " %*s", metric_latencies.rows[i].width, metric_latencies.rows[i].title);
    }
    putc('\n', stream);
    if (result->plan.passes > 0 || result->restore.reads == 0) {
        write_latency_row(result, "write", &result->write_latency, stream);
        write_latency_row(result, "fsync", &result->sync_latency, stream);
    }
    if (result->restore.reads > 0) {
        write_latency_row(result, "read", &result->read_latency, stream);
    }
}

/* What the drive's own counters say: `media_written_bytes` over `host_written_bytes`, or the reason
 * why there are none, as the device's facts hold them. */
static void write_amplification(const struct facts *device, FILE *stream) {
    const struct fact *media = facts_get(device, "media_written_bytes");
    const struct fact *host = facts_get(device, "host_written_bytes");
    const struct fact *why = facts_get(device, "write_amplification_missing");
    if (media != NULL && host != NULL && host->number > 0) {
        char left[TEXT_BYTES], right[TEXT_BYTES];
        text_line(stream, "write amplif.",
                  "%.2f: the drive wrote %s to its media for %s from the "
                  "host (its own counters, measured)",
                  (double)media->number / (double)host->number, text_bytes(media->number, left),
                  text_bytes(host->number, right));
    } else {
        text_line(stream, "write amplif.", "not available: %s",
                  why != NULL && why->text != NULL ? why->text : "no counters were read");
    }
}

static void write_device(const struct result *result, FILE *stream) {
    struct pass_record all;
    if (result->kind == RESULT_SIMULATED) {
        return; /* a simulated drive has a table of its own */
    }
    result_all_passes(result, &all);
    if (all.checkpoints > 0 && all.device_bytes != RESULT_UNKNOWN && all.bytes > 0) {
        char device[TEXT_BYTES], written[TEXT_BYTES];
        text_line(stream, "block device", "counted %s written while %s of checkpoints were (x%.3f)",
                  text_bytes(all.device_bytes, device), text_bytes(all.bytes, written),
                  (double)all.device_bytes / (double)all.bytes);
    } else {
        const struct fact *why = facts_get(&result->device, "counters_missing");
        text_line(stream, "block device", "bytes written are not available: %s",
                  why != NULL && why->text != NULL ? why->text : "no counter was read");
    }
    write_amplification(&result->device, stream);
}

static void write_end(const struct result *result, FILE *stream) {
    char span[UNITS_TEXT];
    text_line(stream, "figures",
              "all times and bytes are %s%s; means, rates, shares, percentiles "
              "and differences are computed from them",
              result_kind_name(result->kind),
              result->kind == RESULT_SIMULATED ? ", none was taken on a drive" : "");
    text_line(stream, "outcome", "%s%s after %s%s%s", result_partial(result) ? "PARTIAL: " : "",
              result_outcome_name(result->outcome), units_span(result->elapsed_ns, span),
              result->outcome_text != NULL ? ": " : "",
              result->outcome_text != NULL ? result->outcome_text : "");
}

static void write_passes(const struct result *result, FILE *stream) {
    struct pass_record all;
    result_all_passes(result, &all);
    if (all.checkpoints > 0) {
        write_pass_table(result, stream);
        putc('\n', stream);
        if (result->plan.codec != NULL) {
            write_compression(result, stream);
            putc('\n', stream);
        }
        write_chart(result, stream);
        write_changes(result, stream);
        putc('\n', stream);
        report_strategy(result, stream);
        write_truths(result, stream);
    } else {
        fputs("no checkpoint completed\n\n", stream);
    }
}

void report_passes(const struct result *result, FILE *stream) {
    bool writes = result->plan.passes > 0 || result->restore.reads == 0;
    if (writes) {
        write_passes(result, stream);
    }
    if (result->restore.reads > 0) {
        report_reads(result, stream);
        write_read_truths(result, stream);
    }
    mlperf_rules_report(result, stream);
    write_latencies(result, stream);
    putc('\n', stream);
    if (writes) {
        write_device(result, stream);
    }
    write_end(result, stream);
}
