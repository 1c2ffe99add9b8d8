#include "metrics/journal.h"

#include "base/check.h"
#include "base/json.h"
#include "metrics/metric_rows.h"
#include "metrics/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static enum status fail(const char *what, const char *path, int sys_errno, struct error *err) {
    return error_set(err, ERR_FAILED, "cannot %s '%s': %s", what, path, error_words(sys_errno));
}

/* A line is made in memory first, so that it reaches the file in one write(). */
struct line {
    struct json json;
    char *text;
    size_t length;
};

static void begin_line(struct line *line) {
    *line = (struct line){.json = {.one_line = true}};
    line->json.stream = open_memstream(&line->text, &line->length);
    CHECK(line->json.stream != NULL);
    json_begin_map(&line->json, NULL);
}

static enum status write_all(const struct journal *journal, const char *text, size_t length,
                             struct error *err) {
    while (length > 0) {
        ssize_t written = write(journal->fd, text, length);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            return fail("write", journal->path, errno, err);
        }
        text += written;
        length -= (size_t)written;
    }
    if (fdatasync(journal->fd) != 0) {
        return fail("sync", journal->path, errno, err);
    }
    return OK;
}

static enum status end_line(struct line *line, const struct journal *journal, struct error *err) {
    json_end_map(&line->json);
    enum status status = OK;
    if (fclose(line->json.stream) != 0) {
        status = fail("write", journal->path, errno, err);
    }
    if (status == OK) {
        status = write_all(journal, line->text, line->length, err);
    }
    free(line->text);
    return status;
}

static enum status write_first_line(const struct journal *journal, const struct result *result,
                                    struct error *err) {
    struct line line;
    begin_line(&line);
    json_count(&line.json, "journal", JOURNAL_VERSION);
    json_text(&line.json, "run_id", result->run_id);
    json_text(&line.json, "program_version", result->version);
    json_text(&line.json, "kind", result_kind_name(result->kind));
    json_text(&line.json, "started", result->started);
    if (result->settings != NULL) {
        settings_write_json(result->settings, &line.json, "settings");
    } else {
        json_begin_map(&line.json, "settings");
        json_end_map(&line.json);
    }
    return end_line(&line, journal, err);
}

enum status journal_create(struct journal *journal, const char *path, const struct result *result,
                           struct error *err) {
    journal->path = path;
    journal->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    if (journal->fd < 0) {
        return fail("create", path, errno, err);
    }
    enum status status = write_first_line(journal, result, err);
    if (status == OK) {
        int sys_errno = output_sync_folder_of(path);
        status = sys_errno == 0 ? OK : fail("sync the folder of", path, sys_errno, err);
    }
    if (status != OK) {
        journal_close(journal);
    }
    return status;
}

enum status journal_resume(struct journal *journal, const char *path,
                           const struct journal_content *content, struct error *err) {
    journal->path = path;
    journal->fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (journal->fd < 0) {
        return fail("open", path, errno, err);
    }
    if (ftruncate(journal->fd, (off_t)content->whole_bytes) != 0 || fsync(journal->fd) != 0) {
        enum status status = fail("cut the torn end of", path, errno, err);
        journal_close(journal);
        return status;
    }
    return OK;
}

enum status journal_add(struct journal *journal, const struct result *result,
                        const struct checkpoint_record *record, bool settled,
                        const struct histogram *write_latency, const struct histogram *sync_latency,
                        struct error *err) {
    struct line line;
    begin_line(&line);
    json_bool(&line.json, "settled", settled);
    json_begin_map(&line.json, "record");
    metric_write_json(&metric_checkpoints, result, record, &line.json);
    json_end_map(&line.json);
    histogram_write_json(write_latency, &line.json, "write_latency");
    histogram_write_json(sync_latency, &line.json, "fsync_latency");
    return end_line(&line, journal, err);
}

enum status journal_add_copied(struct journal *journal, const struct checkpoint_record *record,
                               uint64_t index, struct error *err) {
    static const char *const keys[] = {"copy_lag_seconds", "copy_seconds"};
    struct line line;
    begin_line(&line);
    json_count(&line.json, "copied", index);
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const struct metric_table one = {.rows = metric_find(&metric_checkpoints, keys[i]), .count = 1};
        metric_write_json(&one, NULL, record, &line.json);
    }
    return end_line(&line, journal, err);
}

void journal_close(struct journal *journal) {
    if (journal->fd >= 0) {
        close(journal->fd); /* every line was synced when it was written */
        journal->fd = -1;
    }
}
