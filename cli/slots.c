#include "cli/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct finder {
    struct slots *slots;
    size_t capacity;
};

static void visit(void *context, const char *name) {
    struct finder *finder = context;
    struct slots *slots = finder->slots;
    enum manifest_kind kind;
    uint32_t number;
    if (!manifest_parse_name(name, &kind, &number)) {
        slots->strangers++;
        return;
    }
    if (slots->count == finder->capacity) {
        finder->capacity = finder->capacity * 2 + 64;
        slots->numbers = mem_resize(slots->numbers, finder->capacity, sizeof *slots->numbers);
    }
    slots->numbers[slots->count++] = number;
}

static int compare_numbers(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

enum status slots_find(const struct folder *folder, struct arena *arena, struct slots *slots,
                       struct error *err) {
    *slots = (struct slots){0};
    struct finder finder = {.slots = slots};
    int error = folder_list(folder, arena, visit, &finder);
    if (error != 0) {
        mem_free(slots->numbers);
        return error_set(err, ERR_FAILED, "cannot read '%s': %s", folder->path, error_words(error));
    }
    uint32_t *sorted = arena_new(arena, slots->count, sizeof *sorted);
    size_t kept = 0;
    if (slots->count > 0) {
        qsort(slots->numbers, slots->count, sizeof *slots->numbers, compare_numbers);
    }
    for (size_t i = 0; i < slots->count; i++) {
        if (kept == 0 || sorted[kept - 1] != slots->numbers[i]) {
            sorted[kept++] = slots->numbers[i];
        }
    }
    mem_free(slots->numbers);
    slots->numbers = sorted;
    slots->count = kept;
    return OK;
}

static enum status remove_one(const struct folder *folder, const char *path, struct error *err) {
    int error = folder_remove(folder, path);
    if (error != 0 && error != ENOENT) {
        return error_set(err, ERR_FAILED, "cannot remove '%s/%s': %s", folder->path, path,
                         error_words(error));
    }
    return OK;
}

static bool exists(const struct folder *folder, const char *name) {
    int fd = folder_open_file(folder, name, O_RDONLY);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

bool slots_complete(const struct folder *folder, uint32_t number) {
    char name[MANIFEST_NAME];
    manifest_name(MANIFEST_COMPLETE, number, name);
    return exists(folder, name);
}

bool slots_latest(const struct folder *folder, char *name, uint32_t *number) {
    enum manifest_kind kind;
    *number = 0;
    int fd = folder_open_file(folder, MANIFEST_LATEST, O_RDONLY);
    if (fd < 0) {
        return false;
    }
    ssize_t got = read(fd, name, MANIFEST_NAME - 1);
    name[got > 0 ? got : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    for (char *at = name; *at != '\0'; at++) {
        *at = (unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at;
    }
    close(fd);
    bool good = manifest_parse_name(name, &kind, number) && kind == MANIFEST_COMPLETE &&
                slots_complete(folder, *number);
    *number = good ? *number : 0;
    return true;
}

bool slots_listed(const struct folder *folder, uint32_t number) {
    char name[MANIFEST_NAME];
    manifest_name(MANIFEST_FILES, number, name);
    return exists(folder, name);
}

/* And what a process left that was killed while it wrote it. The marker that all checkpoints share
 * stays as long as there are others. */
static enum status remove_marker(const struct folder *folder, const struct manifest_marker *marker,
                                 bool newest, struct error *err) {
    char torn[MANIFEST_PATH + sizeof MANIFEST_TORN];
    snprintf(torn, sizeof torn, "%s" MANIFEST_TORN, marker->path);
    enum status status = remove_one(folder, torn, err);
    return status == OK && (newest || !marker->newest) ? remove_one(folder, marker->path, err)
                                                       : status;
}

enum status slots_remove(const struct folder *folder, uint32_t number, bool may_be_absent,
                         bool newest, struct error *err) {
    char files_name[MANIFEST_NAME], name[MANIFEST_NAME];
    manifest_name(MANIFEST_FILES, number, files_name);
    manifest_name(MANIFEST_COMPLETE, number, name);
    if (may_be_absent && !exists(folder, files_name) && !exists(folder, name)) {
        return OK;
    }
    struct arena arena = {0};
    struct manifest manifest;
    enum status status = manifest_read(folder, files_name, &arena, &manifest, err);
    if (status != OK && manifest_read(folder, name, &arena, &manifest, NULL) == OK) {
        status = OK; /* the manifest names the same files */
    }
    status = status == OK ? remove_one(folder, name, err) : status;
    for (uint64_t i = 0; status == OK && i < manifest.head.markers; i++) {
        status = remove_marker(folder, &manifest.markers[i], newest, err);
    }
    for (uint64_t i = 0; status == OK && i < manifest.head.files; i++) {
        status = remove_one(folder, manifest.entries[i].path, err);
    }
    status = status == OK ? remove_one(folder, files_name, err) : status;
    arena_fini(&arena);
    return status;
}

static void remove_torn(void *context, const char *name) {
    enum manifest_kind kind;
    uint32_t number;
    char stem[MANIFEST_NAME];
    size_t length = strlen(name);
    if (length <= 4 || length >= sizeof stem || strcmp(name + length - 4, MANIFEST_TORN) != 0) {
        return;
    }
    memcpy(stem, name, length - 4);
    stem[length - 4] = '\0';
    if (strcmp(name, FOLDER_PROBE) == 0 || strcmp(stem, MANIFEST_LATEST) == 0 || manifest_parse_name(stem, &kind, &number)) {
        folder_remove(context, name);
    }
}

void slots_remove_torn(const struct folder *folder, struct arena *arena) {
    folder_list(folder, arena, remove_torn, (void *)folder);
}
