/* Entries in a chain of 512-byte chunks, so that a superblock of one stream costs one chunk and one
 * of a thousand pieces does not have to be moved as it grows. */
#include "sim/drive/ftl_log.h"

_Static_assert(sizeof(struct ftl_entry) == 12, "an entry is 12 bytes");
_Static_assert(sizeof(struct ftl_chunk) <= (size_t)FTL_POOL_SMALLEST << FTL_CHUNK_CLASS,
               "a chunk fits its block");

static struct ftl_chunk *room_for_one(struct ftl_log *log, struct ftl_pool *pool) {
    struct ftl_chunk *chunk = log->newest;
    if (chunk != NULL && chunk->count < FTL_CHUNK_ENTRIES) {
        return chunk;
    }
    chunk = ftl_pool_take(pool, FTL_CHUNK_CLASS);
    chunk->next = NULL;
    chunk->count = 0;
    if (log->newest != NULL) {
        log->newest->next = chunk;
    } else {
        log->oldest = chunk;
    }
    log->newest = chunk;
    return chunk;
}

void ftl_log_append(struct ftl_log *log, struct ftl_pool *pool, uint64_t first, uint32_t units,
                    uint16_t stream) {
    if (log->newest != NULL) {
        struct ftl_entry *last = &log->newest->entries[log->newest->count - 1];
        if (last->stream == stream && ftl_entry_first(last) + last->units == first) {
            last->units += units;
            return;
        }
    }
    struct ftl_chunk *chunk = room_for_one(log, pool);
    chunk->entries[chunk->count++] = (struct ftl_entry){.first_low = (uint32_t)first,
                                                        .first_high = (uint16_t)(first >> 32),
                                                        .stream = stream,
                                                        .units = units};
}

void ftl_log_clear(struct ftl_log *log, struct ftl_pool *pool) {
    struct ftl_chunk *chunk = log->oldest;
    while (chunk != NULL) {
        struct ftl_chunk *next = chunk->next;
        ftl_pool_give(pool, chunk, FTL_CHUNK_CLASS);
        chunk = next;
    }
    *log = (struct ftl_log){0};
}
