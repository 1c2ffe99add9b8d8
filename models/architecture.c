/* The parameters of a model, part by part. Sums saturate at UINT64_MAX, so that a model of absurd
 * sizes is "too large" and never a small number that wrapped around. */
#include "models/architecture.h"

#include "models/weight.h"

static uint64_t times(uint64_t a, uint64_t b) {
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t plus(uint64_t a, uint64_t b) {
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

uint64_t architecture_moe_layers(const struct architecture *model, uint64_t count) {
    if (model->experts == 0) {
        return 0;
    }
    uint64_t dense = count < model->first_dense ? count : model->first_dense;
    return count / model->moe_step - dense / model->moe_step;
}

enum model_part architecture_layer(const struct architecture *model, uint64_t layer) {
    uint64_t before = architecture_moe_layers(model, layer);
    return architecture_moe_layers(model, layer + 1) > before ? PART_MOE_LAYER : PART_DENSE_LAYER;
}

static uint64_t sum_weights(const struct architecture *model, const struct weight *weights,
                            size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t each = weights[i].buffer ? 0 : weight_elements(&weights[i]);
        sum = plus(sum, times(each, weight_copies(&weights[i], model)));
    }
    return sum;
}

uint64_t architecture_part_parameters(const struct architecture *model, enum model_part part) {
    if (part == PART_GIVEN) {
        return sum_weights(model, model->given.weights, model->given.count);
    }
    struct weight weights[PART_WEIGHTS];
    size_t count = weight_list(model, part, STYLE_MEGATRON, weights);
    return sum_weights(model, weights, count);
}

uint64_t architecture_parameters(const struct architecture *model) {
    if (model->given.count > 0) {
        return architecture_part_parameters(model, PART_GIVEN);
    }
    if (model->layers == 0) {
        return 0; /* a DLIO config that gives bytes alone */
    }
    uint64_t moe = architecture_moe_layers(model, model->layers);
    uint64_t sum = architecture_part_parameters(model, PART_EMBEDDING);
    sum = plus(sum, architecture_part_parameters(model, PART_HEAD));
    sum = plus(sum, architecture_part_parameters(model, PART_FINAL_NORM));
    uint64_t dense_layer = architecture_part_parameters(model, PART_DENSE_LAYER);
    sum = plus(sum, times(model->layers - moe, dense_layer));
    return moe == 0 ? sum
                    : plus(sum, times(moe, architecture_part_parameters(model, PART_MOE_LAYER)));
}
