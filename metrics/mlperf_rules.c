#include "metrics/mlperf_rules.h"

#include "base/check.h"
#include "base/names.h"
#include "base/units.h"
#include "metrics/text_lines.h"

#include <string.h>

/* Checkpointing models and processes of the CLOSED division. */
static const struct closed_job {
    const char *model, *alias;
    uint64_t processes;
} closed_jobs[] = {{"llama3_8b", "mlperf-llama3-8b", 8},
                   {"llama3_70b", "mlperf-llama3-70b", 64},
                   {"llama3_405b", "mlperf-llama3-405b", 512},
                   {"llama3_1t", "mlperf-llama3-1t", 1024}};

enum { CHECKPOINTS = 10, LEAST_RANKS = 4, SUBSET_RANKS = 8, MEMORY_TIMES = 3 };
#define PAUSE_NS (UINT64_C(5) * 1000000000)

const char *rule_verdict_name(enum rule_verdict verdict) {
    static const char *const names[] = {"met", "not met", "not checked"};
    return names[verdict];
}

static const char *setting_text(const struct result *result, const char *name) {
    if (result->settings == NULL) {
        return "";
    }
    const struct setting_value *value = settings_value(result->settings, name);
    return value != NULL && value->text != NULL ? value->text : "";
}

bool mlperf_rules_apply(const struct result *result) {
    return strcmp(setting_text(result, "rules"), "mlperf") == 0;
}

static enum rule_verdict verdict_of(bool met) { return met ? RULE_MET : RULE_NOT_MET; }

#define FOUND(finding, ...) snprintf((finding)->found, sizeof(finding)->found, __VA_ARGS__)

static const struct closed_job *closed_job(const struct result *result) {
    for (size_t i = 0; result->plan.model != NULL && i < COUNT_OF(closed_jobs); i++) {
        if (names_equal(closed_jobs[i].model, result->plan.model) ||
            names_equal(closed_jobs[i].alias, result->plan.model)) {
            return &closed_jobs[i];
        }
    }
    return NULL;
}

static void check_model(const struct result *result, struct rule_finding *finding) {
    const struct closed_job *job = closed_job(result);
    bool whole = result->plan.scale >= 1;
    finding->rule = "one of the four LLaMA 3 models, whole";
    finding->verdict = verdict_of(job != NULL && whole);
    FOUND(finding, "%s%s", result->plan.model != NULL ? result->plan.model : "unknown",
          whole ? "" : ", shrunk by --scale");
}

static void check_processes(const struct result *result, struct rule_finding *finding) {
    const struct closed_job *job = closed_job(result);
    uint64_t ranks = result->plan.ranks;
    finding->rule = "as many processes as CLOSED asks for; a subset of 8 for the 8B model alone (v3.0)";
    finding->verdict = verdict_of(job != NULL && ranks == job->processes);
    if (job == NULL) {
        FOUND(finding, "%llu ranks of a model that has no number", (unsigned long long)ranks);
    } else {
        FOUND(finding, "%llu ranks, %llu are asked for%s", (unsigned long long)ranks,
              (unsigned long long)job->processes,
              ranks == SUBSET_RANKS && ranks < job->processes ? " (v2.0 took such a subset)" : "");
    }
}

static void check_layout(const struct result *result, struct rule_finding *finding) {
    finding->rule = "fp16 model and fp32 optimizer, as DLIO shards them";
    const char *layout = result->plan.layout != NULL ? result->plan.layout : "unknown";
    finding->verdict = verdict_of(strcmp(layout, "dlio") == 0);
    FOUND(finding, "layout %s, format %s", layout,
          result->plan.format != NULL ? result->plan.format : "unknown");
}

static uint64_t complete_writes(const struct result *result) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < result->checkpoint_count; i++) {
        count += result->checkpoints[i].complete;
    }
    return count;
}

static void check_writes(const struct result *result, struct rule_finding *finding) {
    uint64_t count = complete_writes(result);
    finding->rule = "10 checkpoints written";
    finding->verdict = verdict_of(count == CHECKPOINTS && count == result->checkpoint_count);
    FOUND(finding, "%llu complete, %llu broken", (unsigned long long)count,
          (unsigned long long)(result->checkpoint_count - count));
}

static void check_reads(const struct result *result, struct rule_finding *finding) {
    uint64_t complete = 0;
    for (uint32_t i = 0; i < result->read_count; i++) {
        complete += result->reads[i].complete;
    }
    finding->rule = "10 checkpoints read back";
    finding->verdict = verdict_of(complete == CHECKPOINTS && complete == result->read_count);
    FOUND(finding, "%llu complete, %llu broken; content %s", (unsigned long long)complete,
          (unsigned long long)(result->read_count - complete),
          result->restore.verify ? "compared byte by byte" : "NOT compared");
}

static void check_pause(const struct result *result, struct rule_finding *finding) {
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 1; i < result->checkpoint_count; i++) {
        const struct checkpoint_record *before = &result->checkpoints[i - 1];
        uint64_t end = before->start_ns + before->duration_ns;
        uint64_t gap = result->checkpoints[i].start_ns > end ? result->checkpoints[i].start_ns - end : 0;
        least = gap < least ? gap : least;
    }
    finding->rule = "5 seconds between checkpoints";
    finding->verdict = verdict_of(least >= PAUSE_NS && least != UINT64_MAX);
    if (least == UINT64_MAX) {
        FOUND(finding, "there are no two checkpoints");
    } else {
        FOUND(finding, "%.1f s at least (measured)", (double)least / 1e9);
    }
}

/* DLIO has the key and accepts it, but was traced to call no fsync at all. */
static void check_fsync(const struct result *result, struct rule_finding *finding) {
    const char *fsync = setting_text(result, "fsync");
    finding->rule = "every file synced before a checkpoint counts";
    finding->verdict = verdict_of(result->sync_latency.count > 0 && strcmp(fsync, "none") != 0);
    FOUND(finding, "%llu fsync calls in the time that counts (DLIO, asked for it, makes none)",
          (unsigned long long)result->sync_latency.count);
}

static void check_cache(const struct result *result, struct rule_finding *finding) {
    uint64_t cold = 0, cached = 0;
    for (uint32_t i = 0; i < result->read_count; i++) {
        cold += result->reads[i].cached_bytes == 0;
        cached += result->reads[i].cached ? 1 : 0;
    }
    const struct fact *memory = facts_get(&result->machine, "memory_bytes");
    double written = (double)complete_writes(result) * (double)result->plan.checkpoint_bytes;
    double times = memory != NULL && memory->number > 0 ? written / (double)memory->number : 0;
    finding->rule = "written more than 3 x memory, or caches cleared between writing and reading";
    finding->verdict = verdict_of(result->read_count > 0 && (cached == 0 || times > MEMORY_TIMES));
    FOUND(finding, "%.2f x memory; dropped before each of %llu reads, %llu proved to have nothing cached",
          times, (unsigned long long)result->read_count, (unsigned long long)cold);
}

static void check_ranks(const struct result *result, struct rule_finding *finding) {
    finding->rule = "at least 4 ranks on a host";
    finding->verdict = verdict_of(result->plan.ranks >= LEAST_RANKS);
    FOUND(finding, "%llu on this one", (unsigned long long)result->plan.ranks);
}

static void check_folders(const struct result *result, struct rule_finding *finding) {
    const struct fact *results = facts_get(&result->file_system, "results");
    finding->rule = "checkpoints and results on different file systems";
    finding->verdict = results == NULL || results->text == NULL
                           ? RULE_NOT_CHECKED
                           : verdict_of(strcmp(results->text, "on another file system") == 0);
    FOUND(finding, "%s", results != NULL && results->text != NULL ? results->text : "not known");
}

static void check_client(const struct result *result, struct rule_finding *finding) {
    finding->rule = "another client reads than wrote";
    finding->verdict = RULE_NOT_CHECKED;
    FOUND(finding, "there is one machine; rank r reads what rank r + %llu wrote, with a cold cache",
          (unsigned long long)result->restore.rank_shift);
}

static void (*const checks[])(const struct result *result, struct rule_finding *finding) = {
    check_model, check_processes, check_layout, check_writes,  check_reads, check_pause,
    check_fsync, check_cache,     check_ranks,  check_folders, check_client,
};
_Static_assert(COUNT_OF(checks) <= RULES_MAX, "there is room for every finding");

size_t mlperf_rules_check(const struct result *result, struct rule_finding *findings) {
    for (size_t i = 0; i < COUNT_OF(checks); i++) {
        checks[i](result, &findings[i]);
    }
    return COUNT_OF(checks);
}

void mlperf_rules_report(const struct result *result, FILE *stream) {
    struct rule_finding findings[RULES_MAX];
    if (!mlperf_rules_apply(result)) {
        return;
    }
    size_t count = mlperf_rules_check(result, findings), met = 0, missed = 0;
    fprintf(stream, "MLPerf Storage, checkpointing, CLOSED: what one machine can check\n");
    for (size_t i = 0; i < count; i++) {
        met += findings[i].verdict == RULE_MET;
        missed += findings[i].verdict == RULE_NOT_MET;
        text_line(stream, rule_verdict_name(findings[i].verdict), "%s: %s", findings[i].rule,
                  findings[i].found);
    }
    text_line(stream, "in all", "%zu met, %zu not met, %zu not checked; this is no submission", met,
              missed, count - met - missed);
    putc('\n', stream);
}

void mlperf_rules_write_json(const struct result *result, struct json *json, const char *key) {
    struct rule_finding findings[RULES_MAX];
    if (!mlperf_rules_apply(result)) {
        return;
    }
    size_t count = mlperf_rules_check(result, findings);
    json_begin_list(json, key);
    for (size_t i = 0; i < count; i++) {
        json_begin_map(json, NULL);
        json_text(json, "rule", findings[i].rule);
        json_text(json, "verdict", rule_verdict_name(findings[i].verdict));
        json_text(json, "found", findings[i].found);
        json_end_map(json);
    }
    json_end_list(json);
}
