#ifndef CKPTSIM_SIM_DRIVE_FTL_QUEUE_H
#define CKPTSIM_SIM_DRIVE_FTL_QUEUE_H

#include <stdint.h>

/* The closed superblocks by what it would cost to collect them: a heap in which each superblock
 * knows its place, so that its cost may fall at any time. Equal costs go by age. */

struct ftl_queue_node {
    uint64_t cost, age; /* a smaller age is older */
    uint32_t superblock;
};

struct ftl_queue {
    struct ftl_queue_node *nodes;
    uint32_t *places; /* of each superblock in nodes; FTL_QUEUE_OUT if it is not there */
    uint32_t count;
};

#define FTL_QUEUE_OUT UINT32_MAX

uint64_t ftl_queue_bytes(uint32_t superblocks);
void ftl_queue_init(struct ftl_queue *queue, uint32_t superblocks);
void ftl_queue_fini(struct ftl_queue *queue);

/* Adds a superblock, or gives the one that is there its new cost and age. */
void ftl_queue_put(struct ftl_queue *queue, const struct ftl_queue_node *node);
void ftl_queue_remove(struct ftl_queue *queue, uint32_t superblock);

/* The cheapest; the queue must not be empty. */
uint32_t ftl_queue_first(const struct ftl_queue *queue);

#endif
