#ifndef CKPTSIM_SIM_DRIVE_PAGE_FTL_PRIVATE_H
#define CKPTSIM_SIM_DRIVE_PAGE_FTL_PRIVATE_H

/* For page_ftl*.c alone. */

#include "sim/drive/page_ftl.h"

#define PAGE_NONE UINT32_MAX

/* A superblock is in the list of its valid count while it is closed. */
struct page_superblock {
    uint32_t valid, written;
    uint32_t newer, older; /* in that list */
    bool closed;
};

struct page_list {
    uint32_t oldest, newest;
};

struct page_ftl {
    struct page_ftl_config config;
    uint32_t *superblock_of; /* per unit: the forward map */
    uint32_t *units;         /* per place: the unit written there, stale or not */
    struct page_superblock *superblocks;
    struct page_list *lists; /* closed superblocks by valid count, by age in each */
    uint32_t lowest;         /* no list below it holds anything */
    uint32_t *free;          /* ring */
    uint32_t free_first;
    uint32_t host, gc; /* open superblocks, PAGE_NONE between two */
    uint64_t random;
    struct page_ftl_stats stats; /* with mapped_units and free_superblocks kept up to date */
};

/* A random number below limit; the bias of the multiplication is below limit / 2^64. */
uint32_t page_random(struct page_ftl *ftl, uint32_t limit);

/* Takes a free superblock, opened; and closes a full one. */
uint32_t page_take_free(struct page_ftl *ftl);
void page_close(struct page_ftl *ftl, uint32_t superblock);

#endif
