#include "metrics/result_json.h"

#include "base/json.h"
#include "metrics/metric_rows.h"
#include "metrics/mlperf_rules.h"
#include "metrics/output.h"
#include "metrics/read_statistics.h"
#include "metrics/truth.h"

static void write_head(const struct result *result, struct json *json) {
    json_count(json, "version", RESULT_VERSION);
    json_text(json, "kind", result_kind_name(result->kind));
    json_text(json, "outcome", result_outcome_name(result->outcome));
    json_text(json, "outcome_text", result->outcome_text);
    json_bool(json, "partial", result_partial(result));
    json_text(json, "run_id", result->run_id);
    json_text(json, "program_version", result->version);
    json_text(json, "started", result->started);
    json_seconds(json, "elapsed_seconds", result->elapsed_ns);
}

static void write_environment(const struct result *result, struct json *json) {
    if (result->settings != NULL) {
        settings_write_json(result->settings, json, "settings");
    } else {
        json_begin_map(json, "settings");
        json_end_map(json);
    }
    facts_write_json(&result->machine, json, "machine");
    facts_write_json(&result->file_system, json, "file_system");
    facts_write_json(&result->device, json, "device");
    facts_write_json(&result->engine, json, "engine");
}

static void write_plan(const struct result_plan *plan, struct json *json) {
    json_begin_map(json, "plan");
    json_text(json, "model", plan->model);
    json_text(json, "layout", plan->layout);
    json_text(json, "layout_leaves_out", plan->layout_leaves_out);
    json_text(json, "format", plan->format);
    json_text(json, "codec", plan->codec);
    json_count(json, "codec_workers", plan->codec_workers);
    json_count(json, "parameters", plan->parameters);
    json_count(json, "checkpoint_bytes", plan->checkpoint_bytes);
    json_count(json, "model_bytes", plan->model_bytes);
    json_count(json, "optimizer_bytes", plan->optimizer_bytes);
    json_count(json, "files", plan->files);
    json_count(json, "ranks", plan->ranks);
    json_count(json, "tensor_parallel", plan->tp);
    json_count(json, "pipeline_parallel", plan->pp);
    json_count(json, "data_parallel", plan->dp);
    json_count(json, "zero_stage", plan->zero_stage);
    json_count(json, "largest_rank_bytes", plan->largest_rank_bytes);
    json_count(json, "smallest_rank_bytes", plan->smallest_rank_bytes);
    json_number(json, "scale", plan->scale);
    json_count(json, "passes", plan->passes);
    json_count(json, "checkpoints_per_pass", plan->checkpoints_per_pass);
    json_count(json, "run_bytes", plan->run_bytes);
    json_text(json, "mode", plan->mode);
    json_seconds(json, "interval_seconds", plan->interval_ns);
    json_text(json, "drain_to", plan->drain_to);
    json_count(json, "drain_ranks", plan->drain_ranks);
    json_count(json, "snapshot_bytes", plan->snapshot_bytes);
    json_count(json, "memory_bytes", plan->memory_bytes);
    json_number(json, "payload_bytes_per_second", plan->payload_bytes_per_second);
    json_end_map(json);
}

static void write_record(const struct metric_table *table, const struct result *result,
                         const void *record, struct json *json, const char *key) {
    json_begin_map(json, key);
    metric_write_json(table, result, record, json);
    json_end_map(json);
}

static void write_checkpoints(const struct result *result, struct json *json) {
    json_begin_list(json, metric_checkpoints.name);
    for (uint32_t i = 0; i < result->checkpoint_count; i++) {
        write_record(&metric_checkpoints, result, &result->checkpoints[i], json, NULL);
    }
    json_end_list(json);
}

/* The keys of a simulated drive follow in the same map, but for `pass`, which stands there already. */
static void write_drive_pass(const struct result *result, uint32_t pass, struct json *json) {
    const struct metric_table rest = {.rows = metric_drive_passes.rows + 1,
                                      .count = metric_drive_passes.count - 1};
    for (uint32_t i = 0; i < result->drive.pass_count; i++) {
        if (result->drive.passes[i].pass == pass) {
            metric_write_json(&rest, result, &result->drive.passes[i], json);
        }
    }
}

static void write_passes(const struct result *result, struct json *json) {
    json_begin_list(json, metric_passes.name);
    uint32_t passes = result_pass_count(result);
    for (uint32_t pass = 1; pass <= passes; pass++) {
        struct pass_record record;
        result_pass(result, pass, &record);
        json_begin_map(json, NULL);
        metric_write_json(&metric_passes, result, &record, json);
        write_drive_pass(result, pass, json);
        json_end_map(json);
    }
    json_end_list(json);
}

static void write_latency(const struct result *result, const struct histogram *histogram,
                          struct json *json, const char *key) {
    json_begin_map(json, key);
    metric_write_json(&metric_latencies, result, histogram, json);
    histogram_write_json(histogram, json, "histogram");
    json_end_map(json);
}

static void write_truths(const struct result *result, struct json *json) {
    struct truth dlio = truth_as_dlio_reports(result), rules = truth_as_mlperf_rules_say(result);
    json_begin_map(json, metric_truths.name);
    write_record(&metric_truths, result, &dlio, json, "as_dlio_reports");
    write_record(&metric_truths, result, &rules, json, "as_mlperf_rules_say");
    json_begin_map(json, "difference");
    json_number(json, "seconds_percent", truth_seconds_difference_percent(&dlio, &rules));
    json_number(json, "throughput_percent", truth_rate_difference_percent(&dlio, &rules));
    json_end_map(json);
    json_end_map(json);
}

/* How restores were asked for, what they are over, and their two headlines, in one map. */
static void write_restore(const struct result *result, struct json *json) {
    const struct result_restore *restore = &result->restore;
    struct read_statistics statistics;
    struct truth dlio = truth_of_reads_as_dlio_reports(result);
    struct truth rules = truth_of_reads_as_mlperf_rules_say(result);
    read_statistics(result, &statistics);
    json_begin_map(json, metric_read_statistics.name);
    json_count(json, "planned", restore->reads);
    json_text(json, "checkpoint", restore->checkpoint);
    json_text(json, "readers", restore->readers);
    json_text(json, "reshard", restore->reshard);
    json_count(json, "rank_shift", restore->rank_shift);
    json_bool(json, "verify", restore->verify);
    json_count(json, "ranks", restore->ranks);
    json_count(json, "files", restore->files);
    json_count(json, "bytes_each", restore->bytes);
    json_count(json, "needed_bytes_each", restore->needed_bytes);
    json_count(json, "distinct_bytes_each", restore->distinct_bytes);
    metric_write_json(&metric_read_statistics, result, &statistics, json);
    write_record(&metric_truths, result, &dlio, json, "as_dlio_reports");
    write_record(&metric_truths, result, &rules, json, "as_mlperf_rules_say");
    json_end_map(json);
}

static void write_reads(const struct result *result, struct json *json) {
    json_begin_list(json, metric_reads.name);
    for (uint32_t i = 0; i < result->read_count; i++) {
        write_record(&metric_reads, result, &result->reads[i], json, NULL);
    }
    json_end_list(json);
}

void result_write_stream(const struct result *result, FILE *stream) {
    struct json json = {.stream = stream};
    json_begin_map(&json, NULL);
    write_head(result, &json);
    write_environment(result, &json);
    write_plan(&result->plan, &json);
    write_passes(result, &json);
    write_truths(result, &json);
    mlperf_rules_write_json(result, &json, "mlperf_rules");
    json_begin_map(&json, metric_latencies.name);
    write_latency(result, &result->write_latency, &json, "write");
    write_latency(result, &result->sync_latency, &json, "fsync");
    if (result->restore.reads > 0) {
        write_latency(result, &result->read_latency, &json, "read");
    }
    json_end_map(&json);
    write_checkpoints(result, &json);
    if (result->restore.reads > 0) {
        write_restore(result, &json);
        write_reads(result, &json);
    }
    json_end_map(&json);
}

enum status result_write(const struct result *result, const char *path, struct error *err) {
    return output_write(path, result, result_write_stream, err);
}
