/* Weights lie in the reverse of their order in the model, each beginning at a multiple of 64
 * elements, so only the one that comes last, the first of the model, leaves no gap behind it. There
 * is one bucket, as without overlapped gradient reduction, but an embedding that two pipeline
 * stages share has a bucket of its own. Source: Megatron-core's param_and_grad_buffer. */
#include "models/megatron_buffer.h"

#include "models/grid.h"
#include "models/stage.h"

enum { ALIGNED = 64, PADDED = 128 };

static uint64_t round_up(uint64_t elements, uint64_t by) { return (elements + by - 1) / by * by; }

static uint64_t common_multiple(uint64_t a, uint64_t b) {
    uint64_t x = a, y = b;
    while (y != 0) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

struct of_group {
    bool expert;
};

static uint64_t aligned_elements(const struct part *part, const void *with) {
    const struct of_group *group = with;
    unsigned first = group->expert ? GROUP_EXPERT : 0;
    return part_sum(part, first, round_up, ALIGNED) +
           part_sum(part, first | GROUP_MATRIX, round_up, ALIGNED);
}

/* The weight that comes last in the buffer; NULL where there is none. */
static const struct part_weight *first_weight(const struct plan *plan, const struct chunk *chunk,
                                              bool expert, bool shared) {
    const struct part *parts = plan->parts[FILTER_ALL];
    if (expert) {
        const struct part *part = &parts[PART_MOE_LAYER];
        return part->expert_count > 0 ? &part->weights[part->expert_first] : NULL;
    }
    if (chunk->embedding && parts[PART_GIVEN].count > 0) {
        return &parts[PART_GIVEN].weights[0];
    }
    if (chunk->embedding && parts[PART_EMBEDDING].count > shared) {
        return &parts[PART_EMBEDDING].weights[shared];
    }
    return &parts[architecture_layer(&plan->model, chunk->first)].weights[0];
}

static uint64_t main_elements(const struct plan *plan, const struct chunk *chunk, bool expert,
                              bool shared) {
    struct chunk without_copy = *chunk;
    struct of_group group = {.expert = expert};
    without_copy.tied_copy = false;
    uint64_t sum = chunk_sum(plan, FILTER_ALL, &without_copy, aligned_elements, &group);
    if (shared && !expert) {
        sum -= round_up(plan->parts[FILTER_ALL][PART_EMBEDDING].weights[0].elements, ALIGNED);
    }
    const struct part_weight *last = first_weight(plan, chunk, expert, shared);
    if (sum > 0 && last != NULL) {
        sum -= round_up(last->elements, ALIGNED) - last->elements;
    }
    return sum;
}

static void add_bucket(struct megatron_buffer *buffer, uint64_t elements, uint64_t unit) {
    if (elements > 0) {
        buffer->buckets[buffer->count++] =
            (struct megatron_bucket){.elements = elements, .padded = round_up(elements, unit)};
        buffer->elements += elements;
    }
}

struct megatron_buffer megatron_buffer(const struct plan *plan, uint64_t stage, uint64_t index,
                                       bool expert) {
    const struct parallelism *parallelism = &plan->parallelism;
    struct chunk chunk = stage_chunk(plan, stage, index);
    uint64_t shards = expert ? grid_expert_shards(parallelism) : grid_shards(parallelism);
    uint64_t unit = common_multiple(shards, PADDED);
    bool shared = chunk.embedding && plan->model.tied && parallelism->pp > 1;
    struct megatron_buffer buffer = {.count = 0};
    if (chunk.tied_copy && !expert) {
        add_bucket(&buffer, plan->parts[FILTER_ALL][PART_TIED_HEAD].weights[0].elements, unit);
    }
    add_bucket(&buffer, main_elements(plan, &chunk, expert, shared), unit);
    if (shared && !expert) {
        add_bucket(&buffer, plan->parts[FILTER_ALL][PART_EMBEDDING].weights[0].elements, unit);
    }
    return buffer;
}

/* With another etp two ranks would write one file. */
enum status megatron_check(const struct plan *plan, bool distributed, struct error *err) {
    const struct parallelism *parallelism = &plan->parallelism;
    if (parallelism->tp % parallelism->etp != 0) {
        return error_set(err, ERR_USAGE, "--etp %llu does not divide --tp %llu; a divisor is allowed",
                         (unsigned long long)parallelism->etp, (unsigned long long)parallelism->tp);
    }
    if (distributed && plan->optimizer == OPTIMIZER_MUON) {
        return error_set(err, ERR_USAGE,
                         "--optimizer muon does not go with the distributed optimizer (--zero 1); "
                         "--zero 0 is allowed");
    }
    return OK;
}
