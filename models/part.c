#include "models/part.h"

#include "base/check.h"
#include "models/plan.h"

#include <string.h>

unsigned part_group(const struct weight *weight) {
    return (weight->expert ? GROUP_EXPERT : 0) | (weight->matrix ? GROUP_MATRIX : 0);
}

/* Brings a shape to about `target` elements, at most so many, keeping its dimensions: the last one
 * shrinks first, so that rows, which data parallel ranks divide, stay as many as possible. */
static void shrink(uint64_t *shape, int dimensions, uint64_t target) {
    for (int i = dimensions - 1; i >= 0; i--) {
        uint64_t outer = 1;
        for (int k = 0; k < i; k++) {
            outer *= shape[k];
        }
        shape[i] = target / outer + (target % outer != 0);
        target /= shape[i];
    }
}

static uint64_t product(const uint64_t *shape, int dimensions) {
    uint64_t elements = 1;
    for (int i = 0; i < dimensions; i++) {
        elements *= shape[i];
    }
    return elements;
}

/* DLIO knows numbers of elements alone, divided and floored each time. */
static void cut_flat(const struct plan *plan, struct part_weight *out) {
    const struct parallelism *parallelism = &plan->parallelism;
    uint64_t elements = weight_elements(&out->weight);
    elements = out->weight.cut != CUT_NONE ? elements / parallelism->tp : elements;
    elements = parallelism->zero == 3 ? elements / parallelism->dp : elements;
    out->real_elements = elements;
    out->elements = plan_scaled(plan, elements);
    out->shape[0] = out->elements;
    out->dimensions = 1;
}

static void cut_weight(const struct plan *plan, struct part_weight *out) {
    const struct parallelism *parallelism = &plan->parallelism;
    const struct weight *weight = &out->weight;
    memcpy(out->shape, weight->shape, sizeof out->shape);
    out->dimensions = weight->dimensions;
    out->parts = 1;
    if (weight->cut != CUT_NONE) {
        out->parts = weight->expert ? parallelism->etp : parallelism->tp;
        CHECK(out->shape[weight->cut] % out->parts == 0);
        out->shape[weight->cut] /= out->parts;
    }
    if (weight->stacked) {
        CHECK(out->shape[0] % parallelism->ep == 0);
        out->shape[0] /= parallelism->ep;
    }
    out->real_elements = product(out->shape, out->dimensions);
    uint64_t scaled = plan_scaled(plan, out->real_elements);
    if (scaled < out->real_elements) {
        shrink(out->shape, out->dimensions, scaled);
    }
    out->elements = product(out->shape, out->dimensions);
}

static void fill_weight(const struct plan *plan, const struct weight *weight,
                        struct part_weight *out) {
    out->weight = *weight;
    out->weight.matrix = weight->matrix && plan->optimizer == OPTIMIZER_MUON;
    out->datatype = weight->datatype == DATATYPE_UNSET ? plan->model_datatype : weight->datatype;
    if (plan->layout->flat) {
        cut_flat(plan, out);
    } else {
        cut_weight(plan, out);
    }
    out->each[MODE_WEIGHTS] = 1;
    out->each[MODE_PARAMETERS] = weight->buffer ? 0 : 1;
    out->each[MODE_BUFFERS] = weight->buffer ? 1 : 0;
    out->each[MODE_STATES] = weight->buffer ? 0 : plan->states[out->weight.matrix].count;
}

static bool passes(const struct part_weight *weight, enum part_filter filter) {
    bool expert = weight->weight.expert, cut = weight->weight.cut != CUT_NONE;
    switch (filter) {
    case FILTER_DENSE: return !expert;
    case FILTER_CUT: return cut;
    case FILTER_CUT_OR_EXPERT: return cut || expert;
    case FILTER_DENSE_CUT: return cut && !expert;
    case FILTER_EXPERTS: return expert;
    case FILTER_EXPERTS_CUT: return cut && expert;
    default: return true;
    }
}

static uint64_t copies(const struct part *part, uint32_t index) {
    bool expert = index - part->expert_first < part->expert_count;
    return expert ? part->experts : 1;
}

/* The numbers of what stands before each weight, and the sums. */
static void add_up_part(struct part *part) {
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        uint64_t before = 0;
        for (uint32_t i = 0; i < part->count; i++) {
            bool expert = i - part->expert_first < part->expert_count;
            if (expert) {
                part->weights[i].before[mode] = part->expert_each[mode];
                part->expert_each[mode] += part->weights[i].each[mode];
            } else {
                bool behind = i >= part->expert_first + part->expert_count;
                uint64_t experts = behind ? part->experts * part->expert_each[mode] : 0;
                part->weights[i].before[mode] = before + experts;
                before += part->weights[i].each[mode];
            }
        }
        part->tensors[mode] = before + part->experts * part->expert_each[mode];
    }
    for (uint32_t i = 0; i < part->count; i++) {
        const struct part_weight *weight = &part->weights[i];
        uint64_t elements = weight->elements * copies(part, i);
        part->bytes += elements * datatype_bytes(weight->datatype);
        if (!weight->weight.buffer) {
            part->elements[part_group(&weight->weight)] += elements;
        }
    }
}

static void select_weights(const struct plan *plan, const struct part_weight *all, uint32_t count,
                           enum part_filter filter, struct part *part, struct arena *arena) {
    *part = (struct part){.weights = arena_new(arena, count > 0 ? count : 1, sizeof *all)};
    for (uint32_t i = 0; i < count; i++) {
        bool repeated = all[i].weight.expert && !all[i].weight.stacked;
        /* DLIO leaves out a tensor of which nothing is left. */
        bool empty = plan->layout->flat && all[i].elements == 0;
        if (passes(&all[i], filter) && !empty) {
            part->expert_first =
                repeated && part->expert_count == 0 ? part->count : part->expert_first;
            part->expert_count += repeated;
            part->weights[part->count++] = all[i];
        }
    }
    part->experts = part->expert_count == 0 ? 0 : plan->model.experts / plan->parallelism.ep;
    add_up_part(part);
}

void parts_build(struct plan *plan, struct arena *arena) {
    struct architecture model = plan->model;
    model.vocab = plan->vocab;
    for (enum model_part kind = 0; kind < PART_COUNT; kind++) {
        struct weight list[PART_WEIGHTS];
        const struct weight *weights = list;
        size_t count = 0;
        if (kind == PART_GIVEN) {
            weights = model.given.weights;
            count = model.given.count;
        } else if (model.family != NULL && model.layers > 0 &&
                   (kind != PART_MOE_LAYER || model.experts > 0)) {
            count = weight_list(&model, kind, plan->style, list);
        }
        struct part_weight *all = arena_new(arena, count + 1, sizeof *all);
        for (size_t i = 0; i < count; i++) {
            fill_weight(plan, &weights[i], &all[i]);
        }
        for (enum part_filter filter = 0; filter < FILTER_COUNT; filter++) {
            select_weights(plan, all, (uint32_t)count, filter, &plan->parts[filter][kind], arena);
        }
    }
}

/* The last of weights[first .. last-1] with no more than `index` before it. */
static const struct part_weight *find(const struct part *part, uint32_t first, uint32_t last,
                                      enum part_mode mode, uint64_t index) {
    while (last - first > 1) {
        uint32_t middle = first + (last - first) / 2;
        if (part->weights[middle].before[mode] <= index) {
            first = middle;
        } else {
            last = middle;
        }
    }
    return &part->weights[first];
}

struct part_place part_at(const struct part *part, enum part_mode mode, uint64_t index) {
    CHECK(index < part->tensors[mode]);
    uint32_t first = 0, last = part->count;
    struct part_place place = {.expert = 0};
    if (part->experts > 0) {
        uint32_t behind = part->expert_first + part->expert_count;
        uint64_t begin = part->tensors[mode];
        if (behind < part->count) {
            begin = part->weights[behind].before[mode];
        }
        uint64_t all = part->experts * part->expert_each[mode];
        if (index >= begin) {
            first = behind;
        } else if (index >= begin - all) {
            index -= begin - all;
            place.expert = index / part->expert_each[mode];
            index %= part->expert_each[mode];
            first = part->expert_first;
            last = behind;
        } else {
            last = part->expert_first;
        }
    }
    place.weight = find(part, first, last, mode, index);
    place.nth = (uint32_t)(index - place.weight->before[mode]);
    return place;
}

uint64_t part_sum(const struct part *part, unsigned group,
                  uint64_t (*round)(uint64_t elements, uint64_t by), uint64_t by) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < part->count; i++) {
        const struct part_weight *weight = &part->weights[i];
        if (!weight->weight.buffer && part_group(&weight->weight) == group) {
            sum += copies(part, i) * round(weight->elements, by);
        }
    }
    return sum;
}
