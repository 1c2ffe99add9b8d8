#ifndef CKPTSIM_SIM_DRIVE_FTL_MAP_H
#define CKPTSIM_SIM_DRIVE_FTL_MAP_H

#include "sim/drive/ftl_pool.h"

#include <stdbool.h>
#include <stdint.h>

/* The forward map: which superblock holds each logical unit, kept as runs. */

enum {
    FTL_BUCKET_UNITS = 65536,   /* logical units of one bucket */
    FTL_BUCKET_RUNS_MAX = 4096, /* beyond these a bucket holds one superblock per unit */
};

#define FTL_UNMAPPED UINT32_MAX

struct ftl_bucket;

struct ftl_map {
    struct ftl_bucket *buckets;
    uint64_t bucket_count, units;
    uint64_t mapped_units;
    uint64_t runs;          /* of the buckets that hold runs */
    uint64_t dense_buckets; /* those that hold a superblock per unit instead */
    struct ftl_pool *pool;
};

/* Neighbouring units in one superblock. */
struct ftl_piece {
    uint64_t first_unit, units;
    uint32_t superblock;
};

/* The memory that ftl_map_init takes at once. */
uint64_t ftl_map_bytes(uint64_t units);
void ftl_map_init(struct ftl_map *map, uint64_t units, struct ftl_pool *pool);
void ftl_map_fini(struct ftl_map *map);

/* The first mapped piece that begins in [first, end), cut to it; false when there is none. */
bool ftl_map_next(const struct ftl_map *map, uint64_t first, uint64_t end, struct ftl_piece *piece);

/* All of a piece lies in its superblock from now on, or nowhere if that is FTL_UNMAPPED. */
void ftl_map_set(struct ftl_map *map, const struct ftl_piece *piece);

/* Counts mapped units and runs anew and holds the sums and the order of runs against them. */
bool ftl_map_consistent(const struct ftl_map *map);

#endif
