/* What ranks waited for, where they do not wait for the whole checkpoint. */
#include "metrics/report_strategy.h"

#include "base/check.h"
#include "metrics/metric_rows.h"
#include "metrics/text_lines.h"

#include <math.h>
#include <string.h>

static bool has_strategy(const struct result *result) {
    return result->plan.mode != NULL && strcmp(result->plan.mode, "sync") != 0;
}

void report_strategy_plan(const struct result *result, FILE *stream) {
    const struct result_plan *plan = &result->plan;
    char memory[TEXT_BYTES];
    if (plan->snapshot_bytes > 0) {
        text_line(stream, "strategy",
                  "%s: ranks copy their state into %s of host memory, then compute for %g s while it "
                  "is written",
                  plan->mode, text_bytes(plan->snapshot_bytes, memory),
                  (double)plan->interval_ns / 1e9);
    }
    if (plan->drain_to != NULL) {
        text_line(stream, plan->snapshot_bytes > 0 ? "" : "strategy",
                  "%s: a checkpoint that is complete is copied to %s in the background, by %llu copier%s",
                  plan->mode, plan->drain_to, (unsigned long long)plan->drain_ranks,
                  plan->drain_ranks > 1 ? "s" : "");
    }
}

/* A column is there where what it is about is. */
struct column {
    const char *key, *title;
    bool copied, drained; /* into memory, to a second folder */
};

static const struct column columns[] = {
    {.key = "stall_mean_seconds", .title = "stall s", .copied = true},
    {.key = "mean_seconds", .title = "drain s", .copied = true},
    {.key = "blocked_mean_seconds", .title = "blocked s", .copied = true},
    {.key = "copied", .title = "copied", .drained = true},
    {.key = "copy_lag_mean_seconds", .title = "copy lag s", .drained = true},
    {.key = "copy_bytes_per_second", .title = "copy GB/s", .drained = true},
    {.key = "copy_wait_mean_seconds", .title = "wait s", .drained = true},
    {.key = "idle_share", .title = "idle %"},
};

enum { FIRST_COLUMN = 4, COLUMN = 11 };

static bool is_shown(const struct column *column, const struct result_plan *plan) {
    return (!column->copied || plan->snapshot_bytes > 0) &&
           (!column->drained || plan->drain_to != NULL);
}

static void write_pass(const struct result *result, uint32_t pass, FILE *stream) {
    struct pass_record record;
    result_pass(result, pass, &record);
    fprintf(stream, "%*u", FIRST_COLUMN, pass);
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        if (is_shown(&columns[i], &result->plan)) {
            const struct metric_row *row = metric_find(&metric_passes, columns[i].key);
            char cell[64];
            metric_text(row, metric_get(row, result, &record), cell, sizeof cell);
            fprintf(stream, "%*s", COLUMN, cell);
        }
    }
    putc('\n', stream);
}

static void write_table(const struct result *result, FILE *stream) {
    fprintf(stream, "%*s", FIRST_COLUMN, "pass");
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        if (is_shown(&columns[i], &result->plan)) {
            fprintf(stream, "%*s", COLUMN, columns[i].title);
        }
    }
    putc('\n', stream);
    for (uint32_t pass = 1; pass <= result_pass_count(result); pass++) {
        write_pass(result, pass, stream);
    }
    fputs("(means of a checkpoint; idle: the part of their time that ranks do not compute)\n", stream);
}

/* Whether computing is long enough for a checkpoint to be done behind it. */
static void judge_interval(const struct result *result, const struct pass_record *all,
                           FILE *stream) {
    double interval = (double)result->plan.interval_ns / 1e9;
    if (all->blocked == 0) {
        text_line(stream, "", "the interval of %g s was long enough: every checkpoint was written and "
                  "committed before the next one was due", interval);
        return;
    }
    text_line(stream, "",
              "the interval of %g s is too short for the drain: %u of %u checkpoints held up the next "
              "one, by %.3f s on average over all; %.3f s would have been enough",
              interval, all->blocked, all->checkpoints, all->blocked_seconds,
              interval + (double)all->blocked_ns_max / 1e9);
}

static void judge_copies(const struct result *result, FILE *stream) {
    double waited = 0;
    uint64_t behind = 0;
    for (uint32_t i = 0; i < result->checkpoint_count; i++) {
        const struct checkpoint_record *record = &result->checkpoints[i];
        bool known = record->copy_wait_ns != RESULT_UNKNOWN;
        waited += known ? (double)record->copy_wait_ns / 1e9 : 0;
        behind += record->complete && record->copy_ns == RESULT_UNKNOWN;
    }
    if (waited >= 0.001) {
        text_line(stream, "", "ranks waited %.3f s in all for copies: --drain-to does not keep up",
                  waited);
    }
    if (behind > 0) {
        text_line(stream, "", "%llu checkpoint%s not in --drain-to: the run ended, or it failed, before",
                  (unsigned long long)behind, behind > 1 ? "s are" : " is");
    }
}

void report_strategy(const struct result *result, FILE *stream) {
    struct pass_record all;
    if (!has_strategy(result)) {
        return;
    }
    result_all_passes(result, &all);
    fputs("what ranks waited for\n", stream);
    write_table(result, stream);
    if (isfinite(all.blocked_seconds)) {
        judge_interval(result, &all, stream);
    }
    if (result->plan.drain_to != NULL) {
        judge_copies(result, stream);
    }
    putc('\n', stream);
}
