#include "sim/drive/drive_files.h"

#include "base/check.h"
#include "base/prng.h"

#include <string.h>

enum { FIRST_CAPACITY = 4096 };

static uint64_t hash_text(const char *text, size_t length) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a, mixed at the end */
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    }
    return prng_mix(hash);
}

void drive_files_init(struct drive_files *files) {
    *files = (struct drive_files){.capacity = FIRST_CAPACITY};
    files->slots = mem_new(files->capacity, sizeof *files->slots);
}

void drive_files_fini(struct drive_files *files) {
    for (uint64_t i = 0; i < files->capacity; i++) {
        if (files->slots[i] != NULL) {
            placement_file_fini(&files->slots[i]->placed);
        }
    }
    mem_free(files->slots);
    arena_fini(&files->arena);
}

static void put(struct drive_files *files, struct drive_file *file) {
    uint64_t at = file->hash & (files->capacity - 1);
    while (files->slots[at] != NULL) {
        at = (at + 1) & (files->capacity - 1);
    }
    files->slots[at] = file;
}

static void grow(struct drive_files *files) {
    struct drive_file **old = files->slots;
    uint64_t old_capacity = files->capacity;
    files->capacity *= 2;
    files->slots = mem_new(files->capacity, sizeof *files->slots);
    for (uint64_t i = 0; i < old_capacity; i++) {
        if (old[i] != NULL) {
            put(files, old[i]);
        }
    }
    mem_free(old);
}

/* A folder's files share an allocation group: its name chooses one. */
static uint32_t folder_group(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (uint32_t)hash_text(path, (size_t)(slash - path));
}

struct drive_file *drive_files_find(struct drive_files *files, const char *path, bool make) {
    uint64_t hash = hash_text(path, strlen(path));
    for (uint64_t at = hash & (files->capacity - 1); files->slots[at] != NULL;
         at = (at + 1) & (files->capacity - 1)) {
        if (files->slots[at]->hash == hash && strcmp(files->slots[at]->path, path) == 0) {
            return files->slots[at];
        }
    }
    if (!make) {
        return NULL;
    }
    if ((files->count + 1) * 2 > files->capacity) {
        grow(files);
    }
    struct drive_file *file = arena_new(&files->arena, 1, sizeof *file);
    file->path = arena_text(&files->arena, path);
    file->hash = hash;
    file->placed.group = folder_group(path);
    file->last_unit = UINT64_MAX;
    put(files, file);
    files->count++;
    return file;
}

static struct drive_file **slot_of(struct drive_files *files, const struct drive_file *file) {
    uint64_t at = file->hash & (files->capacity - 1);
    while (files->slots[at] != file) {
        CHECK(files->slots[at] != NULL);
        at = (at + 1) & (files->capacity - 1);
    }
    return &files->slots[at];
}

/* Two files change names and places in the table; who holds a pointer keeps the contents. */
static void exchange_names(struct drive_files *files, struct drive_file *a, struct drive_file *b) {
    struct drive_file **slot_a = slot_of(files, a), **slot_b = slot_of(files, b);
    struct drive_file names = {.path = a->path, .hash = a->hash};
    *slot_a = b;
    *slot_b = a;
    a->path = b->path;
    a->hash = b->hash;
    b->path = names.path;
    b->hash = names.hash;
}

struct drive_file *drive_files_rename(struct drive_files *files, struct drive_file *file,
                                      const char *new_path) {
    struct drive_file *old = drive_files_find(files, new_path, true);
    if (old == file) {
        return NULL;
    }
    exchange_names(files, file, old);
    old->placed.group = folder_group(old->path);
    old->exists = false;
    return old;
}
