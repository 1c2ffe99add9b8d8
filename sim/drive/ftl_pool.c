/* Power-of-two blocks cut from slabs. What is left of a slab when the next block does not fit is
 * cut into smaller blocks, so that nothing is lost but the rounding of sizes. */
#include "sim/drive/ftl_pool.h"

#include "base/check.h"

#include <string.h>

enum { SLAB_BYTES = 1 << 20 };

_Static_assert(((uint64_t)FTL_POOL_SMALLEST << (FTL_POOL_CLASSES - 1)) <= SLAB_BYTES,
               "the largest block fits a slab");

static void *cut(struct ftl_pool *pool, uint32_t class) {
    void *block = pool->slab;
    pool->slab += ftl_pool_bytes(class);
    pool->slab_left_bytes -= ftl_pool_bytes(class);
    return block;
}

static void use_up_slab(struct ftl_pool *pool) {
    for (uint32_t class = FTL_POOL_CLASSES; class -- > 0;) {
        while (pool->slab_left_bytes >= ftl_pool_bytes(class)) {
            ftl_pool_give(pool, cut(pool, class), class);
        }
    }
}

void *ftl_pool_take(struct ftl_pool *pool, uint32_t class) {
    CHECK(class < FTL_POOL_CLASSES);
    void *block = pool->unused[class];
    if (block != NULL) {
        memcpy(&pool->unused[class], block, sizeof(void *));
        return block;
    }
    if (pool->slab_left_bytes < ftl_pool_bytes(class)) {
        use_up_slab(pool);
        pool->slab = arena_new(&pool->arena, 1, SLAB_BYTES);
        pool->slab_left_bytes = SLAB_BYTES;
    }
    return cut(pool, class);
}

void ftl_pool_give(struct ftl_pool *pool, void *block, uint32_t class) {
    memcpy(block, &pool->unused[class], sizeof(void *));
    pool->unused[class] = block;
}

uint64_t ftl_pool_used_bytes(const struct ftl_pool *pool) { return pool->arena.used_bytes; }

void ftl_pool_fini(struct ftl_pool *pool) {
    arena_fini(&pool->arena);
    *pool = (struct ftl_pool){0};
}
