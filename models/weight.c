/* The weights of a model's parts.
 *
 *     embedding: words [vocab, hidden], positions; of an image model its patches
 *     layer:     norm, attention, norm, MLP or router and experts
 *     last:      final norm, head (unless tied)
 *
 * A matrix is [out, in], as PyTorch's linear layers have it. Arithmetic saturates at UINT64_MAX, so
 * that a model of absurd sizes is "too large" and never a small number that wrapped around. */
#include "models/weight.h"

#include "base/check.h"

static uint64_t times(uint64_t a, uint64_t b) {
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t plus(uint64_t a, uint64_t b) {
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

struct lister {
    const struct architecture *model;
    enum weight_style style;
    enum name_table names;
    struct weight *weights;
    size_t count;
};

static struct weight *add(struct lister *lister, enum weight_role role) {
    CHECK(lister->count < PART_WEIGHTS);
    struct weight *weight = &lister->weights[lister->count++];
    *weight = (struct weight){.name = role_name(lister->names, role), .cut = CUT_NONE};
    return weight;
}

static void add_vector(struct lister *lister, enum weight_role role, uint64_t length, int cut) {
    if (length > 0) {
        struct weight *weight = add(lister, role);
        weight->dimensions = 1;
        weight->shape[0] = length;
        weight->cut = (int8_t)cut;
    }
}

/* GPT-2's linear layers in attention and MLP are Conv1D, [in, out]. Its embeddings and its head are
 * as everywhere. */
static bool is_transposed(const struct lister *lister, enum weight_role role) {
    if (lister->style != STYLE_HUGGING_FACE || !lister->model->family->transposed) {
        return false;
    }
    switch (role) {
    case ROLE_QKV:
    case ROLE_Q:
    case ROLE_K:
    case ROLE_V:
    case ROLE_OUT:
    case ROLE_MLP_IN:
    case ROLE_MLP_GATE:
    case ROLE_MLP_UP:
    case ROLE_MLP_DOWN: return true;
    default: return false;
    }
}

static void add_matrix(struct lister *lister, enum weight_role role, uint64_t out, uint64_t in,
                       int cut) {
    bool transposed = is_transposed(lister, role);
    struct weight *weight = add(lister, role);
    weight->dimensions = 2;
    weight->shape[0] = transposed ? in : out;
    weight->shape[1] = transposed ? out : in;
    weight->cut = (int8_t)(transposed && cut != CUT_NONE ? 1 - cut : cut);
    weight->matrix = true;
}

/* A linear layer; its bias is cut with its rows, and whole where the columns are cut. */
static void add_linear(struct lister *lister, enum weight_role role, uint64_t out, uint64_t in,
                       int cut, bool bias) {
    add_matrix(lister, role, out, in, cut);
    if (bias) {
        add_vector(lister, role + 1, out, cut == 0 ? 0 : CUT_NONE);
    }
}

static void add_norm(struct lister *lister, enum weight_role role, uint64_t length) {
    add_vector(lister, role, length, CUT_NONE);
    if (lister->model->family->norm_bias) {
        add_vector(lister, role + 1, length, CUT_NONE);
    }
}

static bool together(const struct lister *lister, bool family) {
    return lister->style == STYLE_MEGATRON || (lister->style == STYLE_HUGGING_FACE && family);
}

/* Where the config gives no head_dim, queries are exactly `hidden` wide even if the heads do not
 * divide it: MLPerf Storage's 1T model (hidden 25872, 192 heads) is counted so. */
static void add_attention(struct lister *lister) {
    const struct architecture *model = lister->model;
    const struct family *family = model->family;
    uint64_t h = model->hidden;
    uint64_t head = model->head_dim > 0 ? model->head_dim : h / model->heads;
    uint64_t q = model->head_dim > 0 ? times(model->heads, head) : h;
    uint64_t kv = times(model->kv_heads, head);
    bool bias = family->qkv_bias || model->attention_bias;
    if (together(lister, family->qkv_together)) {
        add_linear(lister, ROLE_QKV, plus(q, times(2, kv)), h, 0, bias);
    } else {
        add_linear(lister, ROLE_Q, q, h, 0, bias);
        add_linear(lister, ROLE_K, kv, h, 0, bias);
        add_linear(lister, ROLE_V, kv, h, 0, bias);
    }
    add_linear(lister, ROLE_OUT, h, q, 1, family->out_bias || model->attention_bias);
    if (family->qk_norm) {
        add_vector(lister, ROLE_Q_NORM, head, CUT_NONE);
        add_vector(lister, ROLE_K_NORM, head, CUT_NONE);
    }
    add_vector(lister, ROLE_SINKS, family->sinks ? model->heads : 0, 0);
}

/* Multi-head latent attention: queries and keys/values go through low-rank bottlenecks, which every
 * TP rank holds whole. */
static void add_latent_attention(struct lister *lister) {
    const struct architecture *model = lister->model;
    uint64_t h = model->hidden, n = model->heads;
    uint64_t q = times(n, plus(model->qk_nope, model->qk_rope));
    if (model->q_lora > 0) {
        add_matrix(lister, ROLE_Q_DOWN, model->q_lora, h, CUT_NONE);
        add_vector(lister, ROLE_Q_DOWN_NORM, model->q_lora, CUT_NONE);
        add_matrix(lister, ROLE_Q_UP, q, model->q_lora, 0);
    } else {
        add_matrix(lister, ROLE_Q, q, h, 0);
    }
    add_matrix(lister, ROLE_KV_DOWN, plus(model->kv_lora, model->qk_rope), h, CUT_NONE);
    add_vector(lister, ROLE_KV_DOWN_NORM, model->kv_lora, CUT_NONE);
    add_matrix(lister, ROLE_KV_UP, times(n, plus(model->qk_nope, model->v_head)), model->kv_lora,
               0);
    add_matrix(lister, ROLE_OUT, h, times(n, model->v_head), 1);
}

/* `in` is the first of eight roles: gate and up in one, gate, up, down, each with its bias. Where
 * they are called w1, w2, w3, the second is down. */
static void add_mlp(struct lister *lister, enum weight_role in, uint64_t ffn, bool bias) {
    const struct family *family = lister->model->family;
    uint64_t h = lister->model->hidden;
    enum weight_role down = in + (ROLE_MLP_DOWN - ROLE_MLP_IN);
    bool apart =
        family->gated && !together(lister, family->gate_together ||
                                               (in == ROLE_EXPERT_IN && family->experts_stacked));
    bool numbered = lister->names == NAMES_MIXTRAL || lister->names == NAMES_TITAN;
    if (!apart) {
        add_linear(lister, in, family->gated ? times(2, ffn) : ffn, h, 0, bias);
        add_linear(lister, down, h, ffn, 1, bias);
        return;
    }
    add_linear(lister, in + (ROLE_MLP_GATE - ROLE_MLP_IN), ffn, h, 0, bias);
    if (numbered) {
        add_linear(lister, down, h, ffn, 1, bias);
    }
    add_linear(lister, in + (ROLE_MLP_UP - ROLE_MLP_IN), ffn, h, 0, bias);
    if (!numbered) {
        add_linear(lister, down, h, ffn, 1, bias);
    }
}

/* All experts of a layer in one: a dimension in front. Hugging Face's are [expert, in, out]. */
static void stack(const struct lister *lister, struct weight *weight) {
    weight->stacked = true;
    for (int i = weight->dimensions; i > 0; i--) {
        weight->shape[i] = weight->shape[i - 1];
    }
    weight->shape[0] = lister->model->experts;
    weight->dimensions++;
    weight->cut = (int8_t)(weight->cut == CUT_NONE ? CUT_NONE : weight->cut + 1);
    if (lister->style == STYLE_HUGGING_FACE && weight->dimensions == 3) {
        uint64_t out = weight->shape[1];
        weight->shape[1] = weight->shape[2];
        weight->shape[2] = out;
        weight->cut = (int8_t)(3 - weight->cut);
    }
}

static void add_experts(struct lister *lister) {
    const struct architecture *model = lister->model;
    const struct family *family = model->family;
    uint64_t ffn = model->expert_ffn > 0 ? model->expert_ffn : model->ffn;
    uint64_t shared = family->shared_expert ? 1 : model->shared_experts;
    uint64_t shared_ffn = model->shared_ffn > 0 ? model->shared_ffn : times(shared, ffn);
    bool stacked = lister->style == STYLE_TITAN ||
                   (lister->style == STYLE_HUGGING_FACE && family->experts_stacked);
    add_linear(lister, ROLE_ROUTER, model->experts, model->hidden, CUT_NONE, family->router_bias);
    add_vector(lister, ROLE_CORRECTION_BIAS, family->correction_bias ? model->experts : 0,
               CUT_NONE);
    size_t first = lister->count;
    add_mlp(lister, ROLE_EXPERT_IN, ffn, family->expert_bias);
    for (size_t i = first; i < lister->count; i++) {
        lister->weights[i].expert = true;
        if (stacked) {
            stack(lister, &lister->weights[i]);
        }
    }
    if (shared > 0 || model->shared_ffn > 0) {
        add_mlp(lister, ROLE_SHARED_IN, shared_ffn, false);
    }
    if (family->shared_gate && model->shared_ffn > 0) {
        add_matrix(lister, ROLE_SHARED_GATE, 1, model->hidden, CUT_NONE);
    }
}

static void add_norms(struct lister *lister, enum weight_role first) {
    const struct architecture *model = lister->model;
    for (enum weight_role i = first; i < model->norms; i++) {
        add_norm(lister, ROLE_NORM_1 + 2 * i, model->hidden);
    }
}

/* Where a layer's norms are defined behind all else, files have them there; it moves the boundaries
 * of Hugging Face's shards. */
static bool norms_last(const struct lister *lister) {
    switch (lister->names) {
    case NAMES_LLAMA:
    case NAMES_MIXTRAL:
    case NAMES_QWEN2_MOE:
    case NAMES_FALCON:
    case NAMES_GPT_OSS:
    case NAMES_LLAMA4:
    case NAMES_TITAN: return true;
    default: return false;
    }
}

static void add_layer(struct lister *lister, bool moe) {
    const struct architecture *model = lister->model;
    const struct family *family = model->family;
    bool last = norms_last(lister);
    if (!last) {
        add_norm(lister, ROLE_NORM_1, model->hidden);
    }
    if (family->mla) {
        add_latent_attention(lister);
    } else {
        add_attention(lister);
    }
    if (!last) {
        add_norms(lister, 1);
    }
    if (moe) {
        add_experts(lister);
    } else {
        add_mlp(lister, ROLE_MLP_IN, model->dense_ffn > 0 ? model->dense_ffn : model->ffn,
                family->mlp_bias || model->mlp_bias);
    }
    if (last) {
        add_norms(lister, 0);
    }
}

/* torchvision keeps what is added to a batch of images with a dimension of one for each that the
 * batch has more. */
static void lead_with_ones(const struct lister *lister, int ones) {
    struct weight *weight = &lister->weights[lister->count - 1];
    if (lister->style != STYLE_HUGGING_FACE) {
        return;
    }
    for (; ones > 0; ones--) {
        for (int i = weight->dimensions; i > 0; i--) {
            weight->shape[i] = weight->shape[i - 1];
        }
        weight->shape[0] = 1;
        weight->dimensions++;
    }
}

/* The patches of an image go through a convolution whose kernel is one patch; a class token is put
 * before them. */
static void add_patches(struct lister *lister) {
    const struct architecture *model = lister->model;
    uint64_t side = model->image_size / model->patch_size;
    add_vector(lister, ROLE_CLASS_TOKEN, model->hidden, CUT_NONE);
    lead_with_ones(lister, 2); /* [1, 1, hidden] */
    struct weight *kernel = add(lister, ROLE_PATCHES);
    kernel->dimensions = 4;
    kernel->shape[0] = model->hidden;
    kernel->shape[1] = model->channels;
    kernel->shape[2] = kernel->shape[3] = model->patch_size;
    add_vector(lister, ROLE_PATCHES_BIAS, model->hidden, CUT_NONE);
    add_matrix(lister, ROLE_POSITIONS, plus(times(side, side), 1), model->hidden, CUT_NONE);
    lead_with_ones(lister, 1); /* [1, patches + 1, hidden] */
}

static void add_embedding(struct lister *lister) {
    const struct architecture *model = lister->model;
    const struct family *family = model->family;
    if (family->image) {
        add_patches(lister);
        return;
    }
    add_matrix(lister, ROLE_EMBEDDING, model->vocab, model->hidden, 0);
    if (family->positions) {
        add_matrix(lister, ROLE_POSITIONS, plus(model->positions, family->positions_extra),
                   model->hidden, CUT_NONE);
    }
    if (family->embedding_norm) {
        add_norm(lister, ROLE_EMBEDDING_NORM, model->hidden);
    }
    add_vector(lister, ROLE_VISION, model->vision_parameters, CUT_NONE);
}

static enum name_table table_of(const struct architecture *model, enum weight_style style) {
    switch (style) {
    case STYLE_MEGATRON: return NAMES_MEGATRON;
    case STYLE_TITAN: return NAMES_TITAN;
    case STYLE_HUGGING_FACE: break;
    }
    /* Falcon's layers name two norms by what they feed only where attention and MLP run side by
     * side; else the names are Bloom's. */
    bool plain = model->family->parallel && (model->norms == 1 || !model->falcon.parallel);
    return plain ? NAMES_BLOOM : model->family->names;
}

/* Muon leaves embeddings, positions and the head to Adam; only layers hold its matrices. */
static void unmark_matrices(struct lister *lister) {
    for (size_t i = 0; i < lister->count; i++) {
        lister->weights[i].matrix = false;
    }
}

size_t weight_list(const struct architecture *model, enum model_part part, enum weight_style style,
                   struct weight weights[PART_WEIGHTS]) {
    struct lister lister = {.model = model, .style = style, .weights = weights};
    if (part == PART_GIVEN) {
        return 0;
    }
    lister.names = table_of(model, style);
    switch (part) {
    case PART_EMBEDDING: add_embedding(&lister); break;
    case PART_DENSE_LAYER: add_layer(&lister, false); break;
    case PART_MOE_LAYER: add_layer(&lister, true); break;
    case PART_FINAL_NORM: add_norm(&lister, ROLE_FINAL_NORM, model->hidden); break;
    case PART_HEAD:
        if (!model->tied) {
            add_linear(&lister, ROLE_HEAD, model->vocab, model->hidden, 0, model->family->image);
        }
        break;
    case PART_TIED_HEAD: add_matrix(&lister, ROLE_HEAD, model->vocab, model->hidden, 0); break;
    case PART_GIVEN:
    case PART_COUNT: break;
    }
    if (part != PART_DENSE_LAYER && part != PART_MOE_LAYER) {
        unmark_matrices(&lister);
    }
    return lister.count;
}

uint64_t weight_elements(const struct weight *weight) {
    uint64_t product = 1;
    for (int i = 0; i < weight->dimensions; i++) {
        product = times(product, weight->shape[i]);
    }
    return product;
}

uint64_t weight_copies(const struct weight *weight, const struct architecture *model) {
    return weight->expert && !weight->stacked ? model->experts : 1;
}
