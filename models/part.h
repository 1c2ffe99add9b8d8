#ifndef CKPTSIM_MODELS_PART_H
#define CKPTSIM_MODELS_PART_H

#include "base/memory.h"
#include "models/weight.h"

#include <stdint.h>

/* The parts of a model as one rank holds them: cut by tensor and expert parallelism, padded and
 * scaled. Made once for a plan; layers of a kind share their part, so nothing is kept per layer. */

/* Which weights of a part are meant. */
enum part_filter {
    FILTER_ALL,
    FILTER_DENSE, /* without routed experts */
    FILTER_CUT,   /* what tensor parallelism cuts: not equal on all TP ranks */
    FILTER_CUT_OR_EXPERT,
    FILTER_DENSE_CUT,
    FILTER_EXPERTS,
    FILTER_EXPERTS_CUT,
    FILTER_COUNT,
};

/* What is enumerated for each weight. */
enum part_mode {
    MODE_WEIGHTS,    /* itself */
    MODE_STATES,     /* its optimizer states */
    MODE_PARAMETERS, /* itself unless it is a buffer */
    MODE_BUFFERS,    /* itself if it is one */
    MODE_COUNT,
};

/* Optimizers divide these apart from each other. */
enum { GROUP_EXPERT = 1, GROUP_MATRIX = 2, GROUP_COUNT = 4 };

struct part_weight {
    struct weight weight;              /* uncut and unscaled, the vocabulary padded */
    uint64_t shape[WEIGHT_DIMENSIONS]; /* of one rank, scaled */
    uint8_t dimensions;
    enum datatype datatype;
    uint64_t elements;           /* the product of shape */
    uint64_t real_elements;      /* before scaling */
    uint64_t parts;              /* into how many tensor parallelism cuts it */
    uint32_t each[MODE_COUNT];   /* how many of a mode it stands for */
    uint64_t before[MODE_COUNT]; /* and how many those before it, from the part's or, of an
                                    expert's weights, from the expert's first */
};

struct part {
    struct part_weight *weights;
    uint32_t count;
    uint32_t expert_first, expert_count; /* these come once for each expert */
    uint64_t experts;                    /* on one rank */
    uint64_t expert_each[MODE_COUNT];    /* of one expert */
    uint64_t tensors[MODE_COUNT];        /* of the whole part */
    uint64_t bytes;                      /* of the weights, buffers included */
    uint64_t elements[GROUP_COUNT];      /* of the parameters */
};

struct plan;

/* Fills plan->parts; the rest of the plan but the sums must be set. */
void parts_build(struct plan *plan, struct arena *arena);

/* The group that a weight's optimizer states belong to. */
unsigned part_group(const struct weight *weight);

struct part_place {
    const struct part_weight *weight;
    uint64_t expert; /* of those on the rank */
    uint32_t nth;    /* of those that the weight stands for */
};

/* Number `index` of part->tensors[mode]. */
struct part_place part_at(const struct part *part, enum part_mode mode, uint64_t index);

/* Sums over the parameters of a group: the sum of round(elements of one) over all of them. */
uint64_t part_sum(const struct part *part, unsigned group,
                  uint64_t (*round)(uint64_t elements, uint64_t by), uint64_t by);

#endif
