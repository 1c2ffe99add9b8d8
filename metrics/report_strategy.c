/* What ranks waited for, where they do not wait for the whole checkpoint. */
#include "metrics/report_strategy.h"

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
}

struct column {
    const char *key, *title;
};

static const struct column columns[] = {
    {"pass", "pass"},
    {"stall_mean_seconds", "stall s"},
    {"mean_seconds", "drain s"},
    {"blocked_mean_seconds", "blocked s"},
    {"idle_share", "idle %"},
};

enum { COLUMN = 11 };

static void write_table(const struct result *result, FILE *stream) {
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        fprintf(stream, "%*s", i == 0 ? 4 : COLUMN, columns[i].title);
    }
    putc('\n', stream);
    for (uint32_t pass = 1; pass <= result_pass_count(result); pass++) {
        struct pass_record record;
        result_pass(result, pass, &record);
        for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
            const struct metric_row *row = metric_find(&metric_passes, columns[i].key);
            char cell[64];
            metric_text(row, metric_get(row, result, &record), cell, sizeof cell);
            fprintf(stream, "%*s", i == 0 ? 4 : COLUMN, cell);
        }
        putc('\n', stream);
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
    putc('\n', stream);
}
