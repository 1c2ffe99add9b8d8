#ifndef CKPTSIM_IO_HELD_H
#define CKPTSIM_IO_HELD_H

#include <stddef.h>
#include <stdint.h>

/* How many bytes each path holds, and all of them together. */

struct held_entry {
    char *path; /* NULL: free */
    uint64_t bytes;
};

struct held {
    struct held_entry *entries; /* open addressing, a power of two of them */
    size_t capacity, count;
    uint64_t total_bytes;
};

void held_fini(struct held *held);

uint64_t held_bytes(const struct held *held, const char *path);
void held_set(struct held *held, const char *path, uint64_t bytes);
void held_remove(struct held *held, const char *path);
/* What `from` holds, and all below it, is held by `to`; what `to` held before is gone. */
void held_rename(struct held *held, const char *from, const char *to);

#endif
