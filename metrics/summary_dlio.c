#include "metrics/summary_dlio.h"

#include "base/json.h"
#include "base/units.h"
#include "metrics/metric_rows.h"
#include "metrics/output.h"
#include "metrics/truth.h"

#include <time.h>

#define GIB 1073741824.0

/* "2024-08-13T10:00:00Z" plus ns, in the form that Python's isoformat gives DLIO: no Z, six
 * decimals. NULL where the start is not known. */
static const char *time_after(const char *started, uint64_t ns, char *buffer, size_t size) {
    struct tm tm = {0};
    if (started == NULL || strptime(started, "%Y-%m-%dT%H:%M:%S", &tm) == NULL) {
        return NULL;
    }
    time_t seconds = timegm(&tm) + (time_t)(ns / NS_PER_SECOND);
    gmtime_r(&seconds, &tm);
    size_t length = strftime(buffer, size, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(buffer + length, size - length, ".%06llu",
             (unsigned long long)(ns % NS_PER_SECOND / 1000));
    return buffer;
}

static const char *fact_text(const struct facts *facts, const char *key) {
    const struct fact *fact = facts_get(facts, key);
    return fact != NULL ? fact->text : NULL;
}

static uint64_t fact_number(const struct facts *facts, const char *key) {
    const struct fact *fact = facts_get(facts, key);
    return fact != NULL && fact->text == NULL ? fact->number : 0;
}

/* DLIO's lists have an element per host; here there is one host. */
static void list_of_one(struct json *json, const char *key, double value) {
    json_begin_list(json, key);
    json_number(json, NULL, value);
    json_end_list(json);
}

static void write_hosts(const struct result *result, struct json *json) {
    const struct facts *machine = &result->machine;
    json_count(json, "num_accelerators", result->plan.ranks);
    json_count(json, "num_hosts", 1);
    json_text(json, "hostname", fact_text(machine, "hostname"));
    list_of_one(json, "host_memory_GB", (double)fact_number(machine, "memory_bytes") / GIB);
    list_of_one(json, "host_cpu_count", (double)fact_number(machine, "cpus"));
    json_text(json, "host_processor_name", fact_text(machine, "cpu_model"));
    json_begin_map(json, "host_cpuinfo");
    json_text(json, "model name", fact_text(machine, "cpu_model"));
    json_end_map(json);
    json_begin_map(json, "host_meminfo");
    char memory[UNITS_TEXT + 4];
    snprintf(memory, sizeof memory, "%llu kB",
             (unsigned long long)(fact_number(machine, "memory_bytes") / 1024));
    json_text(json, "MemTotal", memory);
    json_end_map(json);
}

/* What belongs to data loading; DLIO writes these keys in a run without any as well. */
static void write_data(struct json *json) {
    json_begin_list(json, "potential_caching");
    json_bool(json, NULL, false);
    json_end_list(json);
    json_number(json, "data_size_per_host_GB", 0);
    json_count(json, "num_files_train", 0);
    json_count(json, "num_files_eval", 0);
    json_count(json, "num_samples_per_file", 0);
    json_count(json, "epochs", 1);
}

/* "save" or "load". */
static void write_kind(const char *kind, const struct truth *dlio, struct json *json) {
    const struct {
        const char *what;
        double value;
    } rows[] = {{"io_mean_GB_per_second", dlio->mean_gib_per_second},
                {"io_stdev_GB_per_second", dlio->stdev_gib_per_second},
                {"duration_mean_seconds", dlio->mean_seconds},
                {"duration_stdev_seconds", dlio->stdev_seconds}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s_checkpoint_%s", kind, rows[i].what);
        json_number(json, key, rows[i].value);
    }
}

/* A run that wrote nothing has no figures of saving, and one that read nothing none of loading. */
static void write_metric(const struct result *result, const struct truth *dlio, struct json *json) {
    json_begin_map(json, "metric");
    if (result->plan.passes > 0 || result->restore.reads == 0) {
        write_kind("save", dlio, json);
    }
    if (result->restore.reads > 0) {
        struct truth load = truth_of_reads_as_dlio_reports(result);
        write_kind("load", &load, json);
    }
    json_number(json, "checkpoint_size_GB", (double)result->plan.checkpoint_bytes / GIB);
    json_end_map(json);
}

static void write_own(const struct result *result, const struct truth *dlio, struct json *json) {
    struct truth rules = truth_as_mlperf_rules_say(result);
    json_begin_map(json, "ckptsim");
    json_text(json, "program_version", result->version);
    json_text(json, "kind", result_kind_name(result->kind));
    json_text(json, "outcome", result_outcome_name(result->outcome));
    json_bool(json, "partial", result_partial(result));
    json_begin_map(json, "as_mlperf_rules_say");
    metric_write_json(&metric_truths, result, &rules, json);
    json_end_map(json);
    if (result->restore.reads > 0) {
        struct truth reads = truth_of_reads_as_mlperf_rules_say(result);
        json_begin_map(json, "load_as_mlperf_rules_say");
        metric_write_json(&metric_truths, result, &reads, json);
        json_end_map(json);
        json_bool(json, "load_verified", result->restore.verify);
    }
    json_number(json, "dlio_seconds_off_percent", truth_seconds_difference_percent(dlio, &rules));
    json_number(json, "dlio_throughput_off_percent", truth_rate_difference_percent(dlio, &rules));
    json_count(json, "checkpoint_size_bytes", result->plan.checkpoint_bytes);
    json_end_map(json);
}

void summary_dlio_write_stream(const struct result *result, FILE *stream) {
    struct json json = {.stream = stream};
    struct truth dlio = truth_as_dlio_reports(result);
    char time[64];
    json_begin_map(&json, NULL);
    json_text(&json, "start", time_after(result->started, 0, time, sizeof time));
    json_text(&json, "end", time_after(result->started, result->elapsed_ns, time, sizeof time));
    write_hosts(result, &json);
    write_data(&json);
    write_metric(result, &dlio, &json);
    write_own(result, &dlio, &json);
    json_end_map(&json);
}

enum status summary_dlio_write(const struct result *result, const char *path, struct error *err) {
    return output_write(path, result, summary_dlio_write_stream, err);
}
