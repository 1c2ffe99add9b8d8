#include "cli/restore_set.h"

#include "base/names.h"
#include "cli/slots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A complete checkpoint; by serial, which counts them over the run, they are ordered by age. */
struct found {
    uint32_t number;
    uint64_t serial;
};

static bool parse_number(const char *choice, uint32_t *number) {
    char *end;
    unsigned long value = strtoul(choice, &end, 10);
    bool good =
        choice[0] >= '0' && choice[0] <= '9' && *end == '\0' && value >= 1 && value <= UINT32_MAX;
    *number = good ? (uint32_t)value : 0;
    return good;
}

enum status restore_set_check(const char *choice, struct error *err) {
    uint32_t number;
    if (names_equal(choice, "newest") || names_equal(choice, "all") ||
        parse_number(choice, &number)) {
        return OK;
    }
    return error_set(err, ERR_USAGE,
                     "--checkpoint: '%s' is not newest, all or a checkpoint's number", choice);
}

enum status restore_set_manifest(const struct folder *folder, uint32_t number, struct arena *arena,
                                 struct manifest *manifest, struct error *err) {
    char name[MANIFEST_NAME];
    manifest_name(MANIFEST_COMPLETE, number, name);
    enum status status = manifest_read(folder, name, arena, manifest, err);
    if (status == OK && manifest->head.checkpoint != number) {
        status = error_set(err, ERR_FAILED, "'%s' is the manifest of checkpoint %u", name,
                           manifest->head.checkpoint);
    }
    return status;
}

/* The checkpoint that ckpt-latest names; 0 where there is no such file: the newest was being written
 * over. What it names must be there. */
static enum status latest_number(const struct folder *folder, uint32_t *number, struct error *err) {
    char name[MANIFEST_NAME];
    if (slots_latest(folder, name, number) && *number == 0) {
        return error_set(err, ERR_FAILED, "'%s/%s' names '%s', which is no complete checkpoint; "
                                          "--checkpoint N or all reads what is there",
                         folder->path, MANIFEST_LATEST, name);
    }
    return OK;
}

static int by_age(const void *left, const void *right) {
    const struct found *a = left, *b = right;
    return (a->serial > b->serial) - (a->serial < b->serial);
}

/* The serials stand in the manifests, so all of them are read. */
static enum status sort_by_age(const struct folder *folder, uint32_t *numbers, size_t count,
                               struct error *err) {
    struct found *found = mem_new(count, sizeof *found);
    enum status status = OK;
    for (size_t i = 0; i < count && status == OK; i++) {
        struct arena arena = {0};
        struct manifest manifest;
        status = restore_set_manifest(folder, numbers[i], &arena, &manifest, err);
        if (status == OK) {
            found[i] = (struct found){numbers[i], manifest.head.serial};
        }
        arena_fini(&arena);
    }
    qsort(found, count, sizeof *found, by_age);
    for (size_t i = 0; i < count && status == OK; i++) {
        numbers[i] = found[i].number;
    }
    mem_free(found);
    return status;
}

static enum status no_such(const struct folder *folder, const char *choice, const uint32_t *numbers,
                           size_t count, struct error *err) {
    char all[200] = "";
    size_t used = 0;
    for (size_t i = 0; i < count && used + 24 < sizeof all; i++) {
        used +=
            (size_t)snprintf(all + used, sizeof all - used, "%s%u", i > 0 ? ", " : "", numbers[i]);
    }
    return error_set(err, ERR_USAGE, "--checkpoint: %s is no complete checkpoint of '%s'; %s%s",
                     choice, folder->path, all, count > 1 ? " are" : " is");
}

static enum status choose_among(struct restore_set *set, const char *choice, uint32_t *numbers,
                                size_t count, struct error *err) {
    uint32_t number;
    set->numbers = numbers;
    set->count = 1;
    if (parse_number(choice, &number)) {
        if (!slots_complete(set->folder, number)) {
            return no_such(set->folder, choice, numbers, count, err);
        }
        numbers[0] = number;
        return OK;
    }
    if (names_equal(choice, "newest")) {
        if (latest_number(set->folder, &number, err) != OK) {
            return err->status;
        }
        if (number > 0) {
            numbers[0] = number;
            return OK;
        }
    }
    enum status status = sort_by_age(set->folder, numbers, count, err);
    if (names_equal(choice, "all")) {
        set->count = count;
    } else {
        set->numbers = numbers + count - 1;
    }
    return status;
}

static bool fits_files(const struct manifest *manifest, const struct read_files *files) {
    uint64_t nth = 0;
    if (manifest->head.files != files->first[files->ranks]) {
        return false;
    }
    for (uint32_t rank = 0; rank < files->ranks; rank++) {
        for (uint64_t i = 0; nth < files->first[rank + 1]; i++, nth++) {
            const struct manifest_entry *entry = &manifest->entries[nth];
            if (entry->rank != rank || entry->index != i || entry->bytes != files->sizes[nth]) {
                return false;
            }
        }
    }
    return true;
}

/* A run's checkpoints differ in nothing but their number and serial. */
static enum status take(struct restore_source *source, uint64_t nth,
                        struct restore_checkpoint *checkpoint, struct error *err) {
    struct restore_set *set = (struct restore_set *)source;
    uint32_t number = set->numbers[nth % set->count];
    checkpoint->number = number;
    arena_fini(&set->arena);
    set->arena = (struct arena){0};
    enum status status =
        restore_set_manifest(set->folder, number, &set->arena, &set->manifest, err);
    if (status == OK && set->shards != NULL) {
        status = manifest_job_check(&set->manifest, set->shards, err);
    }
    if (status != OK) {
        return status;
    }
    if (!fits_files(&set->manifest, set->files) ||
        memcmp(set->manifest.head.classes, set->classes, sizeof set->manifest.head.classes) != 0) {
        return error_set(err, ERR_FAILED,
                         "its manifest is of another job than that of checkpoint %u",
                         set->numbers[0]);
    }
    checkpoint->serial = set->manifest.head.serial;
    checkpoint->manifest = &set->manifest;
    return OK;
}

enum status restore_set_choose(struct restore_set *set, const struct folder *folder,
                               const char *choice, struct arena *arena, struct error *err) {
    struct slots slots;
    *set = (struct restore_set){.base = {take}, .folder = folder};
    enum status status = slots_find(folder, arena, &slots, err);
    if (status != OK) {
        return status;
    }
    if (slots.count == 0) {
        return error_set(err, ERR_USAGE, "'%s' holds no checkpoint", folder->path);
    }
    size_t complete = 0;
    for (size_t i = 0; i < slots.count; i++) {
        if (slots_complete(folder, slots.numbers[i])) {
            slots.numbers[complete++] = slots.numbers[i];
        }
    }
    if (complete == 0) {
        return error_set(err, ERR_FAILED,
                         "'%s' holds no complete checkpoint: %zu have no manifest, so they are "
                         "unfinished or plain files (--commit none)",
                         folder->path, slots.count);
    }
    return choose_among(set, choice, slots.numbers, complete, err);
}

void restore_set_fini(struct restore_set *set) {
    arena_fini(&set->arena);
    set->arena = (struct arena){0};
}
