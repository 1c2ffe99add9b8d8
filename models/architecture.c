/* Tensors of a model, part by part, and the parameters they add up to.
 *
 *     part 0: embedding [, positions]     layers: norm, attention, norm, MLP or experts
 *     last:   head (unless tied), final norm
 *
 * Arithmetic saturates at UINT64_MAX, so that a model of absurd sizes is "too large" and never a
 * small number that wrapped around. */
#include "models/architecture.h"

#include "base/check.h"

static uint64_t times(uint64_t a, uint64_t b) {
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t plus(uint64_t a, uint64_t b) {
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

struct tensor_list {
    struct tensor *items;
    size_t count;
};

static void add_copies(struct tensor_list *list, uint64_t copies, uint64_t elements, bool split) {
    if (elements == 0 || copies == 0) {
        return;
    }
    CHECK(list->count < PART_TENSORS);
    list->items[list->count++] =
        (struct tensor){.elements = elements, .copies = copies, .split = split};
}

static void add_split(struct tensor_list *list, uint64_t elements) {
    add_copies(list, 1, elements, true);
}

static void add_whole(struct tensor_list *list, uint64_t elements) {
    add_copies(list, 1, elements, false);
}

static void add_norm(struct tensor_list *list, const struct architecture *model) {
    add_whole(list, model->hidden);
    add_whole(list, model->family->norm_bias ? model->hidden : 0);
}

/* Where the config gives no head_dim, queries are exactly `hidden` wide even if the heads do not
 * divide it: MLPerf Storage's 1T model (hidden 25872, 192 heads) is counted so. */
static void add_attention(struct tensor_list *list, const struct architecture *model) {
    const struct family *family = model->family;
    uint64_t head = model->head_dim > 0 ? model->head_dim : model->hidden / model->heads;
    uint64_t q = model->head_dim > 0 ? times(model->heads, head) : model->hidden;
    uint64_t qkv = plus(q, times(2, times(model->kv_heads, head)));
    add_split(list, times(model->hidden, qkv));
    add_split(list, times(q, model->hidden));
    add_split(list, family->qkv_bias || model->attention_bias ? qkv : 0);
    add_whole(list, family->out_bias || model->attention_bias ? model->hidden : 0);
    add_whole(list, family->qk_norm ? head : 0);
    add_whole(list, family->qk_norm ? head : 0);
    add_split(list, family->sinks ? model->heads : 0);
}

/* Multi-head latent attention: queries and keys/values go through low-rank bottlenecks, which every
 * TP rank holds whole. */
static void add_latent_attention(struct tensor_list *list, const struct architecture *model) {
    uint64_t h = model->hidden, n = model->heads;
    uint64_t q = times(n, plus(model->qk_nope, model->qk_rope));
    if (model->q_lora > 0) {
        add_whole(list, times(model->q_lora, h));
        add_whole(list, model->q_lora);
        add_split(list, times(model->q_lora, q));
    } else {
        add_split(list, times(h, q));
    }
    add_whole(list, times(plus(model->kv_lora, model->qk_rope), h));
    add_whole(list, model->kv_lora);
    add_split(list, times(model->kv_lora, times(n, plus(model->qk_nope, model->v_head))));
    add_split(list, times(times(n, model->v_head), h));
}

static void add_mlp(struct tensor_list *list, const struct architecture *model, uint64_t copies,
                    uint64_t ffn, bool bias) {
    uint64_t in = model->family->gated ? times(2, ffn) : ffn;
    add_copies(list, copies, times(model->hidden, in), true);
    add_copies(list, copies, times(ffn, model->hidden), true);
    add_copies(list, copies, bias ? in : 0, true);
    add_copies(list, copies, bias ? model->hidden : 0, false);
}

static void add_experts(struct tensor_list *list, const struct architecture *model) {
    const struct family *family = model->family;
    uint64_t ffn = model->expert_ffn > 0 ? model->expert_ffn : model->ffn;
    uint64_t shared = family->shared_expert ? 1 : model->shared_experts;
    add_whole(list, times(model->experts, model->hidden)); /* the router */
    add_whole(list, family->router_bias ? model->experts : 0);
    add_whole(list, family->correction_bias ? model->experts : 0);
    add_mlp(list, model, model->experts, ffn, family->expert_bias);
    add_mlp(list, model, shared > 0, times(shared, ffn), false);
}

static void add_layer(struct tensor_list *list, const struct architecture *model, bool moe) {
    const struct family *family = model->family;
    add_norm(list, model);
    if (family->mla) {
        add_latent_attention(list, model);
    } else {
        add_attention(list, model);
    }
    for (int i = 1; i < family->norms; i++) {
        add_norm(list, model);
    }
    if (moe) {
        add_experts(list, model);
    } else {
        add_mlp(list, model, 1, model->dense_ffn > 0 ? model->dense_ffn : model->ffn,
                family->mlp_bias || model->mlp_bias);
    }
}

size_t architecture_tensors(const struct architecture *model, enum model_part part,
                            struct tensor tensors[PART_TENSORS]) {
    struct tensor_list list = {.items = tensors};
    uint64_t table = times(model->vocab, model->hidden);
    switch (part) {
    case PART_EMBEDDING:
        add_split(&list, table);
        if (model->family->positions) {
            uint64_t rows = plus(model->positions, model->family->positions_extra);
            add_whole(&list, times(rows, model->hidden));
        }
        break;
    case PART_DENSE_LAYER: add_layer(&list, model, false); break;
    case PART_MOE_LAYER: add_layer(&list, model, true); break;
    case PART_HEAD: add_split(&list, model->tied ? 0 : table); break;
    case PART_FINAL_NORM: add_norm(&list, model); break;
    }
    return list.count;
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

uint64_t architecture_part_parameters(const struct architecture *model, enum model_part part) {
    struct tensor tensors[PART_TENSORS];
    size_t count = architecture_tensors(model, part, tensors);
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum = plus(sum, times(tensors[i].elements, tensors[i].copies));
    }
    return sum;
}

uint64_t architecture_parameters(const struct architecture *model) {
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
