#include "models/stage.h"

#include "base/check.h"
#include "models/plan.h"

#include <string.h>

/* An even pipeline gives every stage as many layers; where that does not divide, the first stages
 * have one more (Megatron refuses that: plan_check.c). */
uint64_t stage_layers(const struct plan *plan, uint64_t stage) {
    const struct parallelism *parallelism = &plan->parallelism;
    uint64_t layers = plan->model.layers, pp = parallelism->pp;
    uint64_t first = parallelism->first_layers, last = parallelism->last_layers;
    if (stage == 0 && first > 0) {
        return first;
    }
    if (stage == pp - 1 && last > 0) {
        return last;
    }
    uint64_t others = pp - (first > 0) - (last > 0);
    uint64_t among = layers - first - last;
    uint64_t place = stage - (first > 0);
    return among / others + (place < among % others);
}

static uint64_t layers_before(const struct plan *plan, uint64_t stage) {
    const struct parallelism *parallelism = &plan->parallelism;
    uint64_t first = parallelism->first_layers, last = parallelism->last_layers;
    if (stage == 0) {
        return 0;
    }
    if (stage == parallelism->pp) {
        return plan->model.layers;
    }
    uint64_t others = parallelism->pp - (first > 0) - (last > 0);
    uint64_t among = plan->model.layers - first - last;
    uint64_t place = stage - (first > 0);
    uint64_t more = among % others;
    return first + place * (among / others) + (place < more ? place : more);
}

/* Chunk v of stage p lies behind v rounds of all stages' chunks and the chunks of the stages before
 * it; each stage's layers divide by vpp. */
struct chunk stage_chunk(const struct plan *plan, uint64_t stage, uint64_t index) {
    const struct parallelism *parallelism = &plan->parallelism;
    uint64_t vpp = parallelism->vpp;
    struct chunk chunk = {.embedding = stage == 0 && index == 0,
                          .end = stage == parallelism->pp - 1 && index == vpp - 1};
    if (plan->model.layers > 0) {
        chunk.first = index * (plan->model.layers / vpp) + layers_before(plan, stage) / vpp;
        chunk.last = chunk.first + stage_layers(plan, stage) / vpp;
    }
    chunk.tied_copy = chunk.end && plan->model.tied && parallelism->pp > 1;
    return chunk;
}

/* The parts in front of and behind a chunk's layers. */
static const enum model_part fronts[] = {PART_EMBEDDING, PART_GIVEN};
static const enum model_part ends[] = {PART_FINAL_NORM, PART_HEAD, PART_TIED_HEAD};

static bool chunk_has(const struct plan *plan, const struct chunk *chunk, enum model_part part) {
    switch (part) {
    case PART_EMBEDDING:
    case PART_GIVEN: return chunk->embedding;
    case PART_FINAL_NORM:
    case PART_HEAD: return chunk->end;
    case PART_TIED_HEAD: return chunk->tied_copy && plan->layout->tied_copy;
    default: return false;
    }
}

static uint64_t layers_moe(const struct plan *plan, uint64_t first, uint64_t last) {
    return architecture_moe_layers(&plan->model, last) -
           architecture_moe_layers(&plan->model, first);
}

uint64_t layers_count(const struct plan *plan, enum part_filter filter, enum part_mode mode,
                      uint64_t first, uint64_t last) {
    const struct part *parts = plan->parts[filter];
    uint64_t moe = layers_moe(plan, first, last);
    return (last - first - moe) * parts[PART_DENSE_LAYER].tensors[mode] +
           moe * parts[PART_MOE_LAYER].tensors[mode];
}

/* The layer is the last one with no more than `index` before it. */
struct place layers_at(const struct plan *plan, enum part_filter filter, enum part_mode mode,
                       uint64_t first, uint64_t last, uint64_t index) {
    uint64_t low = first, high = last;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (layers_count(plan, filter, mode, first, middle) <= index) {
            low = middle;
        } else {
            high = middle;
        }
    }
    struct place place = {
        .part = architecture_layer(&plan->model, low), .layer = low, .layer_in_chunk = low - first};
    index -= layers_count(plan, filter, mode, first, low);
    place.at = part_at(&plan->parts[filter][place.part], mode, index);
    return place;
}

static uint64_t chunk_count(const struct plan *plan, enum part_filter filter, enum part_mode mode,
                            const struct chunk *chunk) {
    uint64_t count = layers_count(plan, filter, mode, chunk->first, chunk->last);
    for (enum model_part part = 0; part < PART_COUNT; part++) {
        if (chunk_has(plan, chunk, part)) {
            count += plan->parts[filter][part].tensors[mode];
        }
    }
    return count;
}

uint64_t stage_count(const struct plan *plan, enum part_filter filter, enum part_mode mode,
                     uint64_t stage) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < plan->parallelism.vpp; i++) {
        struct chunk chunk = stage_chunk(plan, stage, i);
        count += chunk_count(plan, filter, mode, &chunk);
    }
    return count;
}

/* True where *index lies in one of the parts; else it is lessened by what they hold. */
static bool in_parts(const struct plan *plan, enum part_filter filter, enum part_mode mode,
                     const struct chunk *chunk, const enum model_part *parts, size_t count,
                     uint64_t *index, struct place *place) {
    for (size_t i = 0; i < count; i++) {
        const struct part *part = &plan->parts[filter][parts[i]];
        if (!chunk_has(plan, chunk, parts[i])) {
            continue;
        }
        if (*index < part->tensors[mode]) {
            *place = (struct place){.part = parts[i], .at = part_at(part, mode, *index)};
            return true;
        }
        *index -= part->tensors[mode];
    }
    return false;
}

static struct place chunk_at(const struct plan *plan, enum part_filter filter, enum part_mode mode,
                             const struct chunk *chunk, uint64_t index) {
    struct place place;
    if (in_parts(plan, filter, mode, chunk, fronts, COUNT_OF(fronts), &index, &place)) {
        return place;
    }
    uint64_t layers = layers_count(plan, filter, mode, chunk->first, chunk->last);
    if (index < layers) {
        return layers_at(plan, filter, mode, chunk->first, chunk->last, index);
    }
    index -= layers;
    bool found = in_parts(plan, filter, mode, chunk, ends, COUNT_OF(ends), &index, &place);
    CHECK(found);
    return place;
}

struct place stage_at(const struct plan *plan, enum part_filter filter, enum part_mode mode,
                      uint64_t stage, uint64_t index) {
    for (uint64_t i = 0; i < plan->parallelism.vpp; i++) {
        struct chunk chunk = stage_chunk(plan, stage, i);
        uint64_t count = chunk_count(plan, filter, mode, &chunk);
        if (index < count) {
            struct place place = chunk_at(plan, filter, mode, &chunk, index);
            place.chunk = i;
            return place;
        }
        index -= count;
    }
    CHECK(!"an index beyond the stage");
    return (struct place){.chunk = 0};
}

uint64_t layers_sum(const struct plan *plan, enum part_filter filter, uint64_t first, uint64_t last,
                    part_measure *measure, const void *with) {
    const struct part *parts = plan->parts[filter];
    uint64_t moe = layers_moe(plan, first, last), dense = last - first - moe;
    return (dense > 0 ? dense * measure(&parts[PART_DENSE_LAYER], with) : 0) +
           (moe > 0 ? moe * measure(&parts[PART_MOE_LAYER], with) : 0);
}

uint64_t chunk_sum(const struct plan *plan, enum part_filter filter, const struct chunk *chunk,
                   part_measure *measure, const void *with) {
    uint64_t sum = layers_sum(plan, filter, chunk->first, chunk->last, measure, with);
    for (enum model_part part = 0; part < PART_COUNT; part++) {
        if (chunk_has(plan, chunk, part)) {
            sum += measure(&plan->parts[filter][part], with);
        }
    }
    return sum;
}

uint64_t stage_sum(const struct plan *plan, enum part_filter filter, uint64_t stage,
                   part_measure *measure, const void *with) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < plan->parallelism.vpp; i++) {
        struct chunk chunk = stage_chunk(plan, stage, i);
        sum += chunk_sum(plan, filter, &chunk, measure, with);
    }
    return sum;
}

uint64_t part_bytes(const struct part *part, const void *with) {
    (void)with;
    return part->bytes;
}

uint64_t stage_moe_layer(const struct plan *plan, uint64_t nth) {
    uint64_t low = 0, high = plan->model.layers;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (architecture_moe_layers(&plan->model, middle) <= nth) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

void place_tensor(const struct plan *plan, const struct place *place, const struct seat *seat,
                  const char *prefix, struct tensor *tensor) {
    const struct part_weight *weight = place->at.weight;
    uint64_t experts = plan->parts[FILTER_ALL][place->part].experts;
    tensor_name_begin(tensor);
    tensor_name_text(tensor, prefix);
    tensor_name_weight(tensor, weight->weight.name, place->layer,
                       seat->ep * experts + place->at.expert);
    tensor->datatype = weight->datatype;
    tensor->class = weight->weight.buffer ? TENSOR_OTHER : TENSOR_WEIGHT;
    tensor->dimensions = weight->dimensions;
    for (uint32_t i = 0; i < weight->dimensions; i++) {
        tensor->shape[i] = tensor->whole[i] = weight->shape[i];
        tensor->offset[i] = 0;
    }
    int cut = weight->weight.cut;
    if (cut != CUT_NONE && weight->parts > 1) {
        uint64_t at = weight->weight.expert ? seat->etp : seat->tp;
        tensor->whole[cut] = weight->shape[cut] * weight->parts;
        tensor->offset[cut] = weight->shape[cut] * at;
    }
    if (weight->weight.stacked) {
        tensor->whole[0] = weight->shape[0] * plan->parallelism.ep;
        tensor->offset[0] = weight->shape[0] * seat->ep;
    }
    tensor_count(tensor);
}

const struct optimizer_state *place_state_row(const struct plan *plan, const struct place *place) {
    return &plan->states[place->at.weight->weight.matrix].states[place->at.nth];
}

void place_state(const struct plan *plan, const struct place *place, struct tensor *tensor) {
    const struct optimizer_state *state = place_state_row(plan, place);
    if (state->size == STATE_FULL) {
        tensor->datatype = state->datatype;
        tensor_count(tensor);
    } else {
        tensor_set_flat(tensor, state->datatype, optimizer_state_elements(state, tensor->elements));
    }
    tensor->class = state->class;
}
