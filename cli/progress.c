#include "cli/progress.h"

#include "base/units.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LINE_CHARS = 512, FALLBACK_COLUMNS = 80 };

static int terminal_columns(void) {
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    return FALLBACK_COLUMNS;
}

/* A rate over about the last second: the mean of the newest interval and what was known before. */
static void update_rate(struct progress *progress, const struct job_progress *job) {
    if (job->bytes < progress->last_bytes || progress->last_ns == 0) {
        progress->last_bytes = job->bytes;
        progress->last_ns = job->run_ns;
        return;
    }
    uint64_t ns = job->run_ns - progress->last_ns;
    if (ns < NS_PER_SECOND / 2) {
        return;
    }
    double rate = (double)(job->bytes - progress->last_bytes) / ((double)ns / 1e9);
    progress->now_rate = progress->now_rate == 0 ? rate : (progress->now_rate + rate) / 2;
    progress->last_bytes = job->bytes;
    progress->last_ns = job->run_ns;
}

static void time_left(const struct progress *progress, const struct job_progress *job, char *text) {
    uint64_t per_pass = job->checkpoints_per_pass > 0 ? job->checkpoints_per_pass
                                                      : progress->checkpoints_per_pass;
    uint64_t total = per_pass * job->passes;
    double mean = (double)progress->written_bytes + (double)job->bytes;
    double ns = (double)progress->written_ns + (double)job->checkpoint_ns;
    text[0] = '\0';
    if (per_pass == 0 || mean == 0 || total <= progress->done) {
        return;
    }
    double left = (double)(total - progress->done) * (double)job->checkpoint_bytes -
                  (double)job->bytes;
    char span[UNITS_TEXT];
    if (left > 0) {
        snprintf(text, UNITS_TEXT + 8, ", %s left", units_span((uint64_t)(left * ns / mean), span));
    }
}

static void show(struct progress *progress, const char *line) {
    fprintf(stderr, "\r\033[K%.*s", terminal_columns() - 1, line);
    fflush(stderr);
    progress->shown = true;
}

static void draw_read(struct progress *progress, const struct job_progress *job) {
    char line[LINE_CHARS], bytes[UNITS_TEXT], all[UNITS_TEXT], now[UNITS_TEXT];
    char behind[UNITS_TEXT] = "";
    if (job->behind_rank != UINT32_MAX) {
        snprintf(behind, sizeof behind, ", slowest rank %u", job->behind_rank);
    }
    snprintf(line, sizeof line, "restore %llu/%llu, checkpoint %llu, %s: %s of %s, %s now%s",
             (unsigned long long)job->read, (unsigned long long)job->reads,
             (unsigned long long)job->checkpoint, job->doing, units_gb(job->bytes, bytes),
             units_gb(job->checkpoint_bytes, all), units_rate(progress->now_rate, now), behind);
    show(progress, line);
}

void progress_draw(struct progress *progress, const struct job_progress *job) {
    if (!progress->on) {
        return;
    }
    update_rate(progress, job);
    if (job->reads > 0) {
        draw_read(progress, job);
        return;
    }
    char line[LINE_CHARS], bytes[UNITS_TEXT], all[UNITS_TEXT], now[UNITS_TEXT], mean[UNITS_TEXT];
    char left[UNITS_TEXT + 8], of[UNITS_TEXT] = "", behind[UNITS_TEXT] = "";
    uint64_t per_pass = job->checkpoints_per_pass > 0 ? job->checkpoints_per_pass
                                                      : progress->checkpoints_per_pass;
    if (per_pass > 0) {
        snprintf(of, sizeof of, "/%llu", (unsigned long long)per_pass);
    }
    double seconds = (double)job->checkpoint_ns / 1e9;
    time_left(progress, job, left);
    if (job->behind_rank != UINT32_MAX) {
        snprintf(behind, sizeof behind, ", slowest rank %u", job->behind_rank);
    }
    double fill = job->total_bytes > 0 ? 100.0 * (double)job->used_bytes / (double)job->total_bytes
                                       : 0;
    snprintf(line, sizeof line,
             "pass %llu/%llu, checkpoint %llu%s, %s: %s of %s, %s now, %s mean%s, drive %.1f %% full%s",
             (unsigned long long)job->pass, (unsigned long long)job->passes,
             (unsigned long long)job->checkpoint, of, job->doing, units_gb(job->bytes, bytes),
             units_gb(job->checkpoint_bytes, all), units_rate(progress->now_rate, now),
             units_rate(seconds > 0 ? (double)job->bytes / seconds : 0, mean), left, fill,
             behind);
    show(progress, line);
}

void progress_clear(struct progress *progress) {
    if (progress->shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        progress->shown = false;
    }
}

void progress_read(struct progress *progress, const struct read_record *record) {
    (void)record;
    progress->last_ns = 0; /* the next one counts its bytes from 0 */
    progress->now_rate = 0;
}

void progress_checkpoint(struct progress *progress, const struct checkpoint_record *record) {
    progress->done++;
    progress->written_bytes += record->bytes;
    progress->written_ns += record->duration_ns;
    progress->last_ns = 0;
}
