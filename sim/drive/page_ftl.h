#ifndef CKPTSIM_SIM_DRIVE_PAGE_FTL_H
#define CKPTSIM_SIM_DRIVE_PAGE_FTL_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* The space plane unit by unit, for small random writes on a scaled drive: the same rules as ftl.h
 * in arrays. Keep the fill, and at least 1,024 superblocks of 256 units; what is left of the
 * difference to the full drive is write_amplification_finite_fill. */

enum page_victims { PAGE_VICTIMS_GREEDY, PAGE_VICTIMS_FIFO, PAGE_VICTIMS_D_CHOICES };

struct page_ftl_config {
    uint32_t logical_units, superblocks, superblock_units;
    uint32_t unit_bytes; /* only random writes ask for it */
    uint32_t gc_low;
    bool gc_mixed; /* moved units share the host's frontier instead of their own */
    enum page_victims victims;
    uint32_t choices;
    uint64_t seed;
};

/* Requests at random: uniform, or hot_writes of them to the first hot_units; both per 1,000. */
struct page_workload {
    uint64_t requests;
    uint32_t length_bytes, align_bytes;
    uint32_t trim_permille; /* of requests: trims of one live unit */
    uint32_t hot_units_permille, hot_writes_permille;
};

struct page_ftl_stats {
    uint64_t host_bytes;    /* asked for by random writes */
    uint64_t host_units;    /* written for the host */
    uint64_t partial_units; /* of these, had to be read first */
    uint64_t gc_units, trimmed_units, erases, victims;
    uint32_t mapped_units, free_superblocks;
};

struct page_ftl;

enum status page_ftl_open(const struct page_ftl_config *config, struct page_ftl **ftl,
                          struct error *err);
void page_ftl_close(struct page_ftl *ftl);

void page_ftl_write(struct page_ftl *ftl, uint32_t unit);
void page_ftl_trim(struct page_ftl *ftl, uint32_t unit);

/* Fills an empty drive to the state that long uniform random writing leaves: every unit mapped, the
 * valid counts of superblocks spread as in the mean field of greedy collection. */
void page_ftl_precondition(struct page_ftl *ftl);

void page_ftl_run(struct page_ftl *ftl, const struct page_workload *workload);

/* UINT32_MAX if no superblock holds it. */
uint32_t page_ftl_superblock_of(const struct page_ftl *ftl, uint32_t unit);
uint32_t page_ftl_valid_units(const struct page_ftl *ftl, uint32_t superblock);
struct page_ftl_stats page_ftl_stats(const struct page_ftl *ftl);

/* Counts everything anew. For tests. */
enum status page_ftl_check(const struct page_ftl *ftl, struct error *err);

#endif
