#ifndef CKPTSIM_SIM_DRIVE_FTL_PRIVATE_H
#define CKPTSIM_SIM_DRIVE_FTL_PRIVATE_H

/* For ftl*.c alone. */

#include "sim/drive/ftl.h"
#include "sim/drive/ftl_log.h"
#include "sim/drive/ftl_map.h"
#include "sim/drive/ftl_queue.h"

#define FTL_NONE UINT32_MAX

struct ftl_superblock {
    uint64_t written_units, valid_units, erases;
    struct ftl_log log;
    uint32_t handle; /* whose GC frontier takes its valid units */
    enum ftl_state state;
};

/* One stream's part in a victim; victim says of which victim this is. */
struct ftl_stream {
    uint64_t gc_units;
    uint64_t seen_in, valid_in; /* number of the last victim that held its data, or valid data */
};

/* The open superblock of a frontier, FTL_NONE between two. */
struct ftl_frontier {
    uint32_t superblock;
};

struct ftl {
    struct ftl_config config;
    uint64_t logical_units, superblock_units;
    uint32_t superblock_count;
    struct ftl_superblock *superblocks;
    uint32_t *free; /* ring: erased first, used first, which evens out wear */
    uint32_t free_first, free_count;
    struct ftl_frontier *host, *gc; /* gc has one frontier per handle, or one */
    struct ftl_stream *streams;
    struct ftl_map map;
    struct ftl_queue queue;
    struct ftl_pool pool;
    struct ftl_stats stats;
    uint64_t fixed_bytes; /* taken at open */
    uint64_t age, random;
};

/* Takes valid units from a superblock; a closed one changes its place in the queue or is erased. */
void ftl_invalidate(struct ftl *ftl, uint32_t superblock, uint64_t units);
/* Writes a piece to the frontier's open superblock, as much of it as fits. */
uint64_t ftl_append(struct ftl *ftl, struct ftl_frontier *frontier, const struct ftl_piece *piece,
                    uint32_t stream);
/* Opens a free superblock for a frontier that has none. */
void ftl_open_superblock(struct ftl *ftl, struct ftl_frontier *frontier, uint32_t handle);
void ftl_erase(struct ftl *ftl, uint32_t superblock);

/* Collects victims until more than gc_low superblocks are free. */
enum status ftl_collect(struct ftl *ftl, struct error *err);
enum status ftl_within_memory(const struct ftl *ftl, struct error *err);

/* Refuses drives that cannot work. */
enum status ftl_config_check(const struct ftl_config *config, struct error *err);
uint64_t ftl_fixed_bytes(const struct ftl_config *config);

#endif
