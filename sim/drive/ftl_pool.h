#ifndef CKPTSIM_SIM_DRIVE_FTL_POOL_H
#define CKPTSIM_SIM_DRIVE_FTL_POOL_H

#include "base/memory.h"

#include <stdint.h>

/* Blocks of 64 B << class for the run lists of the FTL. Lists grow and shrink for as long as a
 * simulation lasts, so that freed blocks go to a list per class and are used again; the memory
 * itself is taken in slabs and returned only at the end. */

enum { FTL_POOL_CLASSES = 13, FTL_POOL_SMALLEST = 64 };

struct ftl_pool {
    struct arena arena;
    void *unused[FTL_POOL_CLASSES]; /* chains through the blocks' first bytes */
    unsigned char *slab;
    uint64_t slab_left_bytes;
};

static inline uint64_t ftl_pool_bytes(uint32_t class) {
    return (uint64_t)FTL_POOL_SMALLEST << class;
}

/* A block with whatever its last user left in it. */
void *ftl_pool_take(struct ftl_pool *pool, uint32_t class);
void ftl_pool_give(struct ftl_pool *pool, void *block, uint32_t class);

/* What the pool has taken from the system so far. */
uint64_t ftl_pool_used_bytes(const struct ftl_pool *pool);

/* An all-zero pool is a valid empty one. */
void ftl_pool_fini(struct ftl_pool *pool);

#endif
