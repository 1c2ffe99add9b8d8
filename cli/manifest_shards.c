#include "cli/manifest_shards.h"

#include "base/units.h"
#include "cli/spec_shards.h"
#include "models/digest.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *const others[] = {"format", "codec"};

/* Everything that a plan is made of, the format and the codec. */
static bool belongs(const struct setting_row *row) {
    if (strcmp(row->group, SPEC_PLAN_GROUP) == 0) {
        return true;
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(row->name, others[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* As configs are looked for: what has a slash or such an ending is a path. */
static bool is_path(const char *value) {
    size_t length = strlen(value);
    return strchr(value, '/') != NULL ||
           (length > 5 && (strcmp(value + length - 5, ".yaml") == 0 ||
                           strcmp(value + length - 5, ".json") == 0));
}

static const char *lasting(const struct setting_row *row, const char *value, struct arena *arena) {
    char path[PATH_MAX];
    bool path_row = strcmp(row->name, "config-dir") == 0 ||
                    (strcmp(row->name, "model") == 0 && is_path(value));
    return path_row && realpath(value, path) != NULL ? arena_text(arena, path) : value;
}

/* Compressed files are windows of a chunk, also where nobody asked for another one than the default,
 * which may be another one some day. Of the rest none depends on it. */
static bool is_chunk_of_codec(const struct settings *settings, const struct setting_row *row) {
    return strcmp(row->name, "chunk") == 0 &&
           strcmp(settings_value(settings, "codec")->text, "none") != 0;
}

enum status manifest_settings(const struct settings *settings, struct arena *arena,
                              const struct manifest_setting **list, uint64_t *count,
                              struct error *err) {
    struct manifest_setting *found = arena_new(arena, MANIFEST_SETTINGS, sizeof *found);
    *count = 0;
    for (size_t i = 0; i < settings->count; i++) {
        const struct setting_row *row = &settings->rows[i];
        const struct setting_value *value = &settings->values[i];
        bool given = value->text != NULL && strcmp(value->origin, "default") != 0;
        if (!(belongs(row) && given) && !is_chunk_of_codec(settings, row)) {
            continue;
        }
        struct manifest_setting *setting = &found[(*count)++];
        *setting = (struct manifest_setting){row->name, lasting(row, value->text, arena)};
        for (const char *at = setting->value; *at != '\0'; at++) {
            if ((unsigned char)*at < 0x20) {
                return error_set(err, ERR_USAGE, "--%s: has a control character in it", row->name);
            }
        }
    }
    *list = found;
    return OK;
}

static enum status set_all(struct settings *settings, const struct manifest_setting *list,
                           uint64_t count, const char *origin, struct error *err) {
    for (uint64_t i = 0; i < count; i++) {
        if (settings_set(settings, list[i].name, list[i].value, origin, err) != OK) {
            return err->status;
        }
    }
    return OK;
}

enum status manifest_codec(const struct manifest_head *head, struct codec_choice *codec,
                           uint64_t *chunk_bytes, struct error *err) {
    const char *name = manifest_setting(head, "codec"), *chunk = manifest_setting(head, "chunk");
    *codec = (struct codec_choice){.kind = CODEC_NONE};
    *chunk_bytes = 0;
    if (name != NULL && codec_parse(name, codec, err) != OK) {
        error_wrap(err, "the manifest's settings");
        return error_status(err, ERR_FAILED);
    }
    if (codec->kind == CODEC_NONE) {
        return OK;
    }
    if (chunk == NULL || units_parse_size(chunk, chunk_bytes, NULL) != OK || *chunk_bytes == 0 ||
        *chunk_bytes % CODEC_BLOCK != 0 || *chunk_bytes > CODEC_WINDOW_MAX) {
        return error_set(err, ERR_FAILED, "the manifest names no chunk of its compressed files");
    }
    return OK;
}

/* A config that was edited since may give files of the same sizes and other contents. */
static enum status check_model(const struct manifest_head *head, const struct manifest_job *job,
                               struct error *err) {
    char digest[DIGEST_MODEL_TEXT];
    digest_model(&job->plan.model, digest);
    if (strcmp(digest, head->model) == 0) {
        return OK;
    }
    return error_set(err, ERR_USAGE, "model '%s' is not the one that this was written with: its weights "
                                     "differ; --model names another", job->spec.plan.model);
}

enum status manifest_job_build(const struct manifest_head *head,
                               const struct manifest_setting *instead, uint64_t count,
                               enum shards_depth depth, struct arena *arena,
                               struct manifest_job *job, struct error *err) {
    struct settings settings;
    *job = (struct manifest_job){0};
    settings_init(&settings, spec_rows, spec_row_count, CMD_CHECKPOINT, &job->spec, arena);
    job->spec.plan.zero_stage = PLAN_ZERO_DEFAULT;
    if (set_all(&settings, head->settings, head->setting_count, "manifest", err) != OK) {
        return error_wrap(err, "the manifest's settings");
    }
    if (set_all(&settings, instead, count, "command line", err) != OK) {
        return err->status;
    }
    if (job->spec.plan.model == NULL) {
        return error_set(err, ERR_FAILED, "the manifest names no model");
    }
    if (spec_set_codec(&job->spec, err) != OK) {
        return error_wrap(err, "the manifest's settings");
    }
    if (spec_shards(&job->spec, head->classes, depth, arena, &job->plan, &job->shards, err) != OK) {
        return err->status;
    }
    return check_model(head, job, err);
}

bool manifest_is_plain(const struct manifest_head *head) {
    const char *format = manifest_setting(head, "format"), *layout = manifest_setting(head, "layout");
    bool raw = format != NULL ? strcmp(format, "raw") == 0
                              : layout == NULL || strncmp(layout, "dlio", 4) == 0;
    for (int i = 1; i < FORMAT_CLASSES; i++) {
        raw = raw && head->classes[i].compressible == head->classes[0].compressible;
    }
    return raw;
}

enum status manifest_job_check(const struct manifest *manifest, const struct shards *shards,
                               struct error *err) {
    if (manifest->head.files != shards->files) {
        return error_set(err, ERR_FAILED, "the manifest has %llu files, its settings make %llu",
                         (unsigned long long)manifest->head.files,
                         (unsigned long long)shards->files);
    }
    uint64_t nth = 0;
    for (uint32_t rank = 0; rank < shards->ranks; rank++) {
        for (uint64_t i = 0; i < shards->shares[rank].files; i++, nth++) {
            const struct manifest_entry *entry = &manifest->entries[nth];
            struct shard_file file;
            shards_file(shards, rank, i, manifest->head.checkpoint, &file);
            if (entry->rank != rank || entry->index != i || entry->bytes != file.bytes ||
                strcmp(entry->path, file.path) != 0) {
                return error_set(err, ERR_FAILED,
                                 "the manifest has '%s' of %llu bytes where its settings make '%s' "
                                 "of %llu bytes",
                                 entry->path, (unsigned long long)entry->bytes, file.path,
                                 (unsigned long long)file.bytes);
            }
        }
    }
    return OK;
}
