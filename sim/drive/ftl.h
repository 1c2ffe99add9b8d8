#ifndef CKPTSIM_SIM_DRIVE_FTL_H
#define CKPTSIM_SIM_DRIVE_FTL_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* The space plane of a drive: where data lies, and what that costs in copying. It has no time.
 *
 *   write, trim ──> host frontier of the handle ──full──> closed ──victim──> erased ──> free
 *                                                             └─valid units──> GC frontier
 *
 * The drive maps logical space in units. A superblock is an unordered set of units: their order
 * inside it changes no cost. Rules:
 * 1. A handle has one open superblock; it is opened by the next write after the last one filled.
 * 2. Opening one collects victims first, until more than gc_low superblocks are free. The units
 *    moved show in ftl_stats.
 * 3. A closed superblock without valid units is erased at once.
 * 4. Equal victims go by age: the one whose valid count changed longest ago. */

enum ftl_gc_frontier {
    FTL_GC_OWN,    /* one per handle: lifetimes stay apart through GC */
    FTL_GC_SHARED, /* one for all handles */
    FTL_GC_MIXED,  /* moved units go where the handle's new ones go */
};

enum ftl_victims {
    FTL_VICTIMS_GREEDY,    /* fewest valid units */
    FTL_VICTIMS_FIFO,      /* closed first */
    FTL_VICTIMS_D_CHOICES, /* fewest valid units among `choices` drawn at random */
};

struct ftl_config {
    uint64_t logical_bytes;
    uint64_t raw_bytes; /* over-provisioning included */
    uint64_t superblock_bytes;
    uint32_t unit_bytes;
    uint32_t gc_low;  /* free superblocks kept in reserve */
    uint32_t handles; /* frontiers the host may name */
    uint32_t streams; /* tags that writes carry, for the explanation of GC */
    enum ftl_gc_frontier gc_frontier;
    enum ftl_victims victims;
    uint32_t choices;
    uint64_t memory_limit_bytes; /* kept to within the lists of one superblock */
    uint64_t seed;
};

struct ftl_write {
    uint64_t first_unit, units;
    uint32_t handle, stream;
};

struct ftl_stats {
    uint64_t host_units, gc_units; /* written since the start */
    uint64_t trimmed_units;        /* that were mapped when trimmed */
    uint64_t mapped_units;         /* now; each is valid in one superblock */
    uint64_t erases;
    uint64_t victims;                /* collected while they still held valid units */
    uint64_t victim_streams_written; /* ... that had data in them once */
    uint64_t victim_streams_valid;   /* ... whose data was still valid */
    uint64_t runs, dense_buckets, memory_bytes;
    uint32_t superblocks, free_superblocks;
};

struct ftl_wear {
    uint64_t erases_min, erases_max, erases;
};

enum ftl_state { FTL_FREE, FTL_OPEN, FTL_CLOSED };

struct ftl_superblock_view {
    enum ftl_state state;
    uint64_t written_units, valid_units, erases;
};

struct ftl;

enum status ftl_open(const struct ftl_config *config, struct ftl **ftl, struct error *err);
void ftl_close(struct ftl *ftl);

/* Writes through the handle's frontier, into as many superblocks as it takes. Fails only when the
 * run lists outgrow the memory limit; what was written until then is in the stats. */
enum status ftl_write(struct ftl *ftl, const struct ftl_write *write, struct error *err);

/* The host says that these units are dead. */
void ftl_trim(struct ftl *ftl, uint64_t first_unit, uint64_t units);

/* Units left in the handle's open superblock, at least one: opens it (and collects for it) if need
 * be. Streams that write at once get a share of the room each. */
enum status ftl_room(struct ftl *ftl, uint32_t handle, uint64_t *units, struct error *err);

uint64_t ftl_logical_units(const struct ftl *ftl);
uint64_t ftl_superblock_units(const struct ftl *ftl);
/* The superblock that holds a unit; UINT32_MAX if none does. */
uint32_t ftl_superblock_of(const struct ftl *ftl, uint64_t unit);
uint64_t ftl_mapped_units(const struct ftl *ftl, uint64_t first_unit, uint64_t units);
struct ftl_superblock_view ftl_superblock(const struct ftl *ftl, uint32_t superblock);

struct ftl_stats ftl_stats(const struct ftl *ftl);
struct ftl_wear ftl_wear(const struct ftl *ftl);
/* Units of one stream that GC has moved since the start. */
uint64_t ftl_gc_units_of(const struct ftl *ftl, uint32_t stream);

/* Counts everything anew and says in err what does not add up. For tests: it reads
 * every log once per run. */
enum status ftl_check(const struct ftl *ftl, struct error *err);

#endif
