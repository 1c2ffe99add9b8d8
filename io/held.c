/* A hash table from path to bytes with linear probing. Removing moves later entries of a chain up,
 * so that no marks of what was there stay behind. */
#include "io/held.h"

#include "base/memory.h"
#include "base/prng.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_CAPACITY = 64 };

static size_t slot_of(const struct held *held, const char *path) {
    uint64_t hash = 0;
    for (const char *c = path; *c != '\0'; c++) {
        hash = hash * 31 + (unsigned char)*c;
    }
    return prng_mix(hash) & (held->capacity - 1);
}

/* The entry of path or the free one where it belongs. */
static struct held_entry *find(const struct held *held, const char *path) {
    size_t i = slot_of(held, path);
    while (held->entries[i].path != NULL && strcmp(held->entries[i].path, path) != 0) {
        i = (i + 1) & (held->capacity - 1);
    }
    return &held->entries[i];
}

static void grow(struct held *held) {
    struct held old = *held;
    held->capacity = old.capacity == 0 ? FIRST_CAPACITY : old.capacity * 2;
    held->entries = mem_new(held->capacity, sizeof held->entries[0]);
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.entries[i].path != NULL) {
            *find(held, old.entries[i].path) = old.entries[i];
        }
    }
    mem_free(old.entries);
}

void held_fini(struct held *held) {
    for (size_t i = 0; i < held->capacity; i++) {
        mem_free(held->entries[i].path);
    }
    mem_free(held->entries);
    *held = (struct held){0};
}

uint64_t held_bytes(const struct held *held, const char *path) {
    return held->capacity == 0 ? 0 : find(held, path)->bytes;
}

void held_set(struct held *held, const char *path, uint64_t bytes) {
    if (held->count * 2 >= held->capacity) {
        grow(held);
    }
    struct held_entry *entry = find(held, path);
    if (entry->path == NULL) {
        size_t size = strlen(path) + 1;
        entry->path = memcpy(mem_new(1, size), path, size);
        held->count++;
    }
    held->total_bytes += bytes - entry->bytes;
    entry->bytes = bytes;
}

/* True where an entry that belongs at `home` and lies at `i` may move to the gap before it. */
static bool may_move(size_t home, size_t gap, size_t i) {
    return gap <= i ? home <= gap || home > i : home <= gap && home > i;
}

void held_remove(struct held *held, const char *path) {
    struct held_entry *entry = held->capacity == 0 ? NULL : find(held, path);
    if (entry == NULL || entry->path == NULL) {
        return;
    }
    held->total_bytes -= entry->bytes;
    held->count--;
    mem_free(entry->path);
    size_t gap = (size_t)(entry - held->entries), mask = held->capacity - 1;
    for (size_t i = (gap + 1) & mask; held->entries[i].path != NULL; i = (i + 1) & mask) {
        if (may_move(slot_of(held, held->entries[i].path), gap, i)) {
            held->entries[gap] = held->entries[i];
            gap = i;
        }
    }
    held->entries[gap] = (struct held_entry){0};
}

static bool is_below(const char *path, const char *folder) {
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

/* The first entry below a folder, or NULL. */
static struct held_entry *first_below(const struct held *held, const char *folder) {
    for (size_t i = 0; i < held->capacity; i++) {
        if (held->entries[i].path != NULL && is_below(held->entries[i].path, folder)) {
            return &held->entries[i];
        }
    }
    return NULL;
}

static void move(struct held *held, const char *from, const char *to) {
    uint64_t bytes = held_bytes(held, from);
    held_remove(held, from);
    held_set(held, to, bytes);
}

void held_rename(struct held *held, const char *from, const char *to) {
    if (strcmp(from, to) == 0) {
        return;
    }
    if (held->capacity > 0 && find(held, from)->path != NULL) {
        move(held, from, to);
        return;
    }
    for (struct held_entry *entry; (entry = first_below(held, from)) != NULL;) {
        char old_path[4096], new_path[8192];
        snprintf(old_path, sizeof old_path, "%s", entry->path);
        snprintf(new_path, sizeof new_path, "%s%s", to, entry->path + strlen(from));
        move(held, old_path, new_path);
    }
}
