#ifndef CKPTSIM_MODELS_GRID_H
#define CKPTSIM_MODELS_GRID_H

#include "models/architecture.h"

#include <stdint.h>

/* Where a rank stands. All layouts but DLIO's count ranks so:
 *
 *     rank = ((pp * DP + dp) * CP + cp) * TP + tp
 *
 * and inside a pipeline stage the same ranks once more for the experts:
 *
 *     rank mod (TP * CP * DP) = (edp * EP + ep) * ETP + etp
 *
 * This is Megatron's order tp-cp-ep-dp-pp, DeepSpeed's pipe-data-model and torchtitan's mesh. */

struct seat {
    uint64_t tp, cp, dp, pp;
    uint64_t shard; /* dp * CP + cp: its part of what data parallel ranks divide */
    uint64_t ep, etp, edp;
};

struct seat grid_seat(const struct parallelism *parallelism, uint32_t rank);

/* The ranks of one pipeline stage. */
uint64_t grid_stage_ranks(const struct parallelism *parallelism);

/* Among how many ranks the optimizer of dense weights, and that of experts, is divided. */
uint64_t grid_shards(const struct parallelism *parallelism);
uint64_t grid_expert_shards(const struct parallelism *parallelism);

#endif
