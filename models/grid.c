#include "models/grid.h"

uint64_t grid_stage_ranks(const struct parallelism *parallelism) {
    return parallelism->tp * parallelism->cp * parallelism->dp;
}

uint64_t grid_shards(const struct parallelism *parallelism) {
    return parallelism->cp * parallelism->dp;
}

uint64_t grid_expert_shards(const struct parallelism *parallelism) {
    return grid_stage_ranks(parallelism) / (parallelism->etp * parallelism->ep);
}

struct seat grid_seat(const struct parallelism *parallelism, uint32_t rank) {
    uint64_t in_stage = rank % grid_stage_ranks(parallelism);
    struct seat seat = {
        .pp = rank / grid_stage_ranks(parallelism),
        .tp = in_stage % parallelism->tp,
        .shard = in_stage / parallelism->tp,
        .etp = in_stage % parallelism->etp,
        .ep = in_stage / parallelism->etp % parallelism->ep,
        .edp = in_stage / parallelism->etp / parallelism->ep,
    };
    seat.cp = seat.shard % parallelism->cp;
    seat.dp = seat.shard / parallelism->cp;
    return seat;
}
