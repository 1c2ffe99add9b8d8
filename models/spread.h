#ifndef CKPTSIM_MODELS_SPREAD_H
#define CKPTSIM_MODELS_SPREAD_H

#include "base/memory.h"

#include <stdint.h>

/* Replicas that several ranks hold are each written by one of them: the fewer could, the sooner it
 * is decided; then the larger first; each goes to the rank with the fewest bytes so far, of equals
 * to the first. This is what Megatron's fully parallel saving does (exchange_utils). */

struct spread_item {
    uint64_t bytes;
    uint32_t id;
    /* Members begin, begin + step, ... could write it, `count` of them. */
    uint32_t begin, step, count;
};

/* Who writes what: member m writes ids[first[m] .. first[m + 1] - 1], in rising order. */
struct spread {
    uint32_t *ids;
    uint32_t *first; /* members + 1 of them */
    uint64_t *bytes; /* of each member */
};

/* Sorts the items in place. */
struct spread spread_items(struct spread_item *items, uint32_t count, uint32_t members,
                           struct arena *arena);

#endif
