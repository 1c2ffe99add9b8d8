/* Reads a journal back. Lines are parsed one by one, each in an arena of its own that is thrown
 * away after it: the tree of a line is some thirty times its text. */
#include "metrics/journal.h"

#include "base/check.h"
#include "base/yaml.h"
#include "metrics/metric_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct reading {
    const char *path;
    struct arena *arena; /* what stays */
    struct arena line;   /* what does not */
    struct journal_content *content;
    struct histogram histogram;
    uint32_t capacity, number;
};

static const char *text_of(struct reading *reading, const struct yaml_node *map, const char *key) {
    const struct yaml_node *node = yaml_get(map, key);
    bool is_text = node != NULL && node->kind == YAML_TEXT && !yaml_is_null(node);
    return is_text ? arena_text(reading->arena, node->text) : NULL;
}

static enum status read_settings(struct reading *reading, const struct yaml_node *map,
                                 struct error *err) {
    struct journal_content *content = reading->content;
    content->setting_count = map->count;
    content->settings = arena_new(reading->arena, map->count, sizeof *content->settings);
    for (uint32_t i = 0; i < map->count; i++) {
        if (map->items[i]->kind != YAML_MAP) {
            return yaml_error(map->items[i], err, "a setting is a map of value and origin");
        }
        content->settings[i] =
            (struct journal_setting){.name = arena_text(reading->arena, map->keys[i]->text),
                                     .value = text_of(reading, map->items[i], "value"),
                                     .origin = text_of(reading, map->items[i], "origin")};
    }
    return OK;
}

static enum status read_first(struct reading *reading, const struct yaml_node *map,
                              struct error *err) {
    struct journal_content *content = reading->content;
    const struct yaml_node *version = yaml_get(map, "journal");
    const struct yaml_node *settings = yaml_get(map, "settings");
    uint64_t number;
    if (version == NULL || settings == NULL || settings->kind != YAML_MAP) {
        return yaml_error(map, err, "not the first line of a journal");
    }
    if (yaml_count(version, "journal", &number, err) != OK) {
        return ERR_USAGE;
    }
    if (number != JOURNAL_VERSION) {
        return yaml_error(version, err, "journal version %llu; only %d is read",
                          (unsigned long long)number, JOURNAL_VERSION);
    }
    content->run_id = text_of(reading, map, "run_id");
    content->version = text_of(reading, map, "program_version");
    content->started = text_of(reading, map, "started");
    const char *kind = text_of(reading, map, "kind");
    bool simulated = kind != NULL && strcmp(kind, result_kind_name(RESULT_SIMULATED)) == 0;
    content->kind = simulated ? RESULT_SIMULATED : RESULT_MEASURED;
    return read_settings(reading, settings, err);
}

static void *grown(struct arena *arena, const void *old, uint32_t used, uint32_t capacity,
                   size_t size) {
    void *larger = arena_new(arena, capacity, size);
    if (used > 0) {
        memcpy(larger, old, used * size);
    }
    return larger;
}

/* The arrays double; what they outgrew stays in the arena, at most as much again. */
static void make_room(struct reading *reading) {
    struct journal_content *content = reading->content;
    uint32_t used = content->checkpoint_count;
    if (used == reading->capacity) {
        reading->capacity = used == 0 ? 64 : used * 2;
        content->checkpoints = grown(reading->arena, content->checkpoints, used, reading->capacity,
                                     sizeof *content->checkpoints);
        content->settled = grown(reading->arena, content->settled, used, reading->capacity,
                                 sizeof *content->settled);
    }
}

static enum status read_latency(struct reading *reading, const struct yaml_node *map,
                                const char *key, struct histogram *into, struct error *err) {
    const struct yaml_node *node = yaml_get(map, key);
    if (node == NULL) {
        return yaml_error(map, err, "'%s' is missing", key);
    }
    enum status status = histogram_read(node, &reading->histogram, err);
    if (status == OK && into != NULL) {
        histogram_merge(into, &reading->histogram);
    }
    return status;
}

static enum status read_checkpoint(struct reading *reading, const struct yaml_node *map,
                                   struct error *err) {
    struct journal_content *content = reading->content;
    const struct yaml_node *node = yaml_get(map, "record"), *settled = yaml_get(map, "settled");
    if (node == NULL || settled == NULL) {
        return yaml_error(map, err, "'record' or 'settled' is missing");
    }
    make_room(reading);
    uint32_t at = content->checkpoint_count;
    /* The second histogram is looked at before the first is taken, so that a bad line, which may be
     * the torn one, leaves nothing behind. */
    if (metric_read(&metric_checkpoints, node, reading->arena, &content->checkpoints[at], err) !=
            OK ||
        yaml_bool(settled, "settled", &content->settled[at], err) != OK ||
        read_latency(reading, map, "fsync_latency", NULL, err) != OK ||
        read_latency(reading, map, "write_latency", &content->write_latency, err) != OK ||
        read_latency(reading, map, "fsync_latency", &content->sync_latency, err) != OK) {
        return ERR_USAGE;
    }
    content->checkpoint_count++;
    return OK;
}

/* What a checkpoint's record did not know yet when its line was written. */
static enum status read_copied(struct reading *reading, const struct yaml_node *map,
                               struct error *err) {
    static const char *const keys[] = {"copy_lag_seconds", "copy_seconds"};
    struct journal_content *content = reading->content;
    uint64_t index;
    if (yaml_count(yaml_get(map, "copied"), "copied", &index, err) != OK) {
        return ERR_USAGE;
    }
    if (index >= content->checkpoint_count) {
        return yaml_error(map, err, "'copied' names a checkpoint that no line before it is about");
    }
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const struct metric_table one = {.rows = metric_find(&metric_checkpoints, keys[i]), .count = 1};
        if (metric_read(&one, map, reading->arena, &content->checkpoints[index], err) != OK) {
            return ERR_USAGE;
        }
    }
    return OK;
}

static enum status read_later(struct reading *reading, const struct yaml_node *map,
                              struct error *err) {
    return yaml_get(map, "copied") != NULL ? read_copied(reading, map, err)
                                           : read_checkpoint(reading, map, err);
}

static enum status read_line(struct reading *reading, const char *text, size_t length,
                             struct error *err) {
    char name[512];
    snprintf(name, sizeof name, "%.400s line %u", reading->path, reading->number);
    struct yaml_node *root;
    enum status status = yaml_read_text(name, text, length, &reading->line, &root, err);
    if (status == OK && root->kind != YAML_MAP) {
        status = yaml_error(root, err, "a line is a map");
    }
    if (status == OK) {
        status = reading->number == 1 ? read_first(reading, root, err)
                                      : read_later(reading, root, err);
    }
    arena_fini(&reading->line);
    return status;
}

static enum status read_lines(struct reading *reading, const char *text, size_t length,
                              struct error *err) {
    struct journal_content *content = reading->content;
    size_t at = 0;
    while (at < length) {
        const char *newline = memchr(text + at, '\n', length - at);
        size_t end = newline != NULL ? (size_t)(newline - text) + 1 : length;
        reading->number++;
        if (newline == NULL) {
            content->torn = true;
            break;
        }
        enum status status = read_line(reading, text + at, end - at, err);
        if (status != OK && (end < length || reading->number == 1)) {
            error_wrap(err, "the journal is damaged");
            return error_status(err, ERR_FAILED);
        }
        if (status != OK) {
            content->torn = true; /* after a power loss the newline may be there and the rest not */
            break;
        }
        at = end;
    }
    content->whole_bytes = at;
    if (at == 0) {
        return error_set(err, ERR_FAILED, "the journal '%s' has no whole line", reading->path);
    }
    return OK;
}

static enum status map_file(const char *path, const char **text, size_t *length,
                            struct error *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0) {
        int sys_errno = errno;
        if (fd >= 0) {
            close(fd);
        }
        return error_set(err, ERR_FAILED, "cannot read '%s': %s", path, error_words(sys_errno));
    }
    bool fits = S_ISREG(info.st_mode) && (uint64_t)info.st_size <= JOURNAL_BYTES;
    *length = (size_t)info.st_size;
    *text = NULL;
    if (fits && *length > 0) {
        void *memory = mmap(NULL, *length, PROT_READ, MAP_PRIVATE, fd, 0);
        *text = memory != MAP_FAILED ? memory : NULL;
        fits = *text != NULL;
    }
    close(fd);
    if (!fits) {
        return error_set(err, ERR_FAILED, "cannot read '%s': not a file of at most %llu bytes",
                         path, (unsigned long long)JOURNAL_BYTES);
    }
    return OK;
}

enum status journal_read(const char *path, struct arena *arena, struct journal_content *content,
                         struct error *err) {
    const char *text = NULL;
    size_t length = 0;
    if (map_file(path, &text, &length, err) != OK) {
        return ERR_FAILED;
    }
    *content = (struct journal_content){0};
    struct reading *reading = mem_new(1, sizeof *reading);
    *reading = (struct reading){.path = path, .arena = arena, .content = content};
    struct error own;
    enum status status = read_lines(reading, text, length, err != NULL ? err : &own);
    mem_free(reading);
    if (text != NULL) {
        munmap((void *)(uintptr_t)text, length);
    }
    return status;
}

void journal_restore(const struct journal_content *content, struct result *result) {
    for (uint32_t i = 0; i < content->checkpoint_count; i++) {
        struct checkpoint_record *record = result_add_checkpoint(result);
        *record = content->checkpoints[i];
    }
    histogram_merge(&result->write_latency, &content->write_latency);
    histogram_merge(&result->sync_latency, &content->sync_latency);
}
