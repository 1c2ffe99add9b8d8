#ifndef CKPTSIM_SIM_DRIVE_FTL_LOG_H
#define CKPTSIM_SIM_DRIVE_FTL_LOG_H

#include "sim/drive/ftl_pool.h"

#include <stdint.h>

/* The reverse map of one superblock: what was written to it, in order. Entries are never taken back
 * before the erase; whether one is still true is the forward map's to say. */

enum { FTL_LOG_STREAMS_MAX = 1 << 16 };

#define FTL_LOG_UNITS_MAX (UINT64_C(1) << 48)

struct ftl_entry {
    uint32_t first_low;
    uint16_t first_high, stream;
    uint32_t units;
};

enum { FTL_CHUNK_CLASS = 3, FTL_CHUNK_ENTRIES = 41 };

struct ftl_chunk {
    struct ftl_chunk *next;
    uint32_t count;
    struct ftl_entry entries[FTL_CHUNK_ENTRIES];
};

struct ftl_log {
    struct ftl_chunk *oldest, *newest;
};

static inline uint64_t ftl_entry_first(const struct ftl_entry *entry) {
    return (uint64_t)entry->first_high << 32 | entry->first_low;
}

/* Appends units from first on, written for stream; a continuation of the last entry joins it. */
void ftl_log_append(struct ftl_log *log, struct ftl_pool *pool, uint64_t first, uint32_t units,
                    uint16_t stream);
void ftl_log_clear(struct ftl_log *log, struct ftl_pool *pool);

#endif
