/* Our own model YAML and Hugging Face's config.json. They share the names of sizes; ours says
 * `family` where theirs says `model_type`, may name aliases and a default parallelism, and refuses
 * what it does not know. */
#include "models/model_config.h"

#include "base/check.h"
#include "base/configs.h"
#include "models/config_keys.h"

#include <string.h>

#define SIZE_LIMIT (UINT64_C(1) << 40)
#define HEADS_LIMIT (UINT64_C(1) << 20)
#define FIELD(name) offsetof(struct architecture, name)
#define SIZE(key, name)                                                                            \
    { key, KEY_COUNT, FIELD(name), 1, SIZE_LIMIT }
#define COUNT(key, name, low, high)                                                                \
    { key, KEY_COUNT, FIELD(name), low, high }

static const struct config_key size_keys[] = {
    SIZE("hidden_size", hidden),
    SIZE("n_embd", hidden),
    COUNT("num_hidden_layers", layers, 1, MODEL_LAYERS_LIMIT),
    COUNT("n_layer", layers, 1, MODEL_LAYERS_LIMIT),
    SIZE("intermediate_size", ffn),
    SIZE("n_inner", ffn),
    SIZE("ffn_dim", ffn),
    SIZE("vocab_size", vocab),
    COUNT("num_attention_heads", heads, 1, HEADS_LIMIT),
    COUNT("n_head", heads, 1, HEADS_LIMIT),
    COUNT("num_key_value_heads", kv_heads, 1, HEADS_LIMIT),
    SIZE("head_dim", head_dim),
    SIZE("n_positions", positions),
    SIZE("max_position_embeddings", positions),
    COUNT("num_local_experts", experts, 0, HEADS_LIMIT),
    COUNT("num_experts", experts, 0, HEADS_LIMIT),
    COUNT("n_routed_experts", experts, 0, HEADS_LIMIT),
    COUNT("n_shared_experts", shared_experts, 0, HEADS_LIMIT),
    SIZE("moe_intermediate_size", expert_ffn),
    SIZE("intermediate_size_mlp", dense_ffn),
    COUNT("first_k_dense_replace", first_dense, 0, MODEL_LAYERS_LIMIT),
    COUNT("decoder_sparse_step", moe_step, 1, MODEL_LAYERS_LIMIT),
    COUNT("interleave_moe_layer_step", moe_step, 1, MODEL_LAYERS_LIMIT),
    SIZE("q_lora_rank", q_lora),
    SIZE("kv_lora_rank", kv_lora),
    SIZE("qk_nope_head_dim", qk_nope),
    SIZE("qk_rope_head_dim", qk_rope),
    SIZE("v_head_dim", v_head),
    {"tie_word_embeddings", KEY_BOOL, FIELD(tied), 0, 0},
    {"attention_bias", KEY_BOOL, FIELD(attention_bias), 0, 0},
    {"mlp_bias", KEY_BOOL, FIELD(mlp_bias), 0, 0},
};

static const struct config_key own_keys[] = {
    {"family", KEY_OTHER, 0, 0, 0},
    {"aliases", KEY_OTHER, 0, 0, 0},
    {"about", KEY_OTHER, 0, 0, 0},
    {"model_datatype", KEY_DATATYPE, FIELD(model_bytes), 0, 0},
    {"optimizer_datatype", KEY_DATATYPE, FIELD(optimizer_bytes), 0, 0},
    COUNT("tp", parallelism.tp, 1, RANKS_LIMIT),
    COUNT("pp", parallelism.pp, 1, RANKS_LIMIT),
    COUNT("dp", parallelism.dp, 1, RANKS_LIMIT),
    COUNT("zero", parallelism.zero, 0, 3),
};

enum { ALL_KEYS = COUNT_OF(size_keys) + COUNT_OF(own_keys) };

static enum status read_family(const struct yaml_node *node, const char *key,
                               struct architecture *model, struct error *err) {
    if (node->kind != YAML_TEXT) {
        return yaml_error(node, err, "'%s' must be a single word", key);
    }
    model->family = family_find(node->text);
    if (model->family == NULL) {
        char nearest[256];
        family_nearest(node->text, nearest, sizeof nearest);
        return yaml_error(node, err, "'%s' is '%.60s', which is not supported; nearest: %s", key,
                          node->text, nearest);
    }
    return OK;
}

static enum status missing(const struct yaml_node *root, const char *keys, struct error *err) {
    return yaml_error(root, err, "the model needs the key %s", keys);
}

static enum status check_attention(const struct yaml_node *root, const struct architecture *model,
                                   struct error *err) {
    bool latent = model->family->mla;
    if (latent &&
        (model->kv_lora == 0 || model->qk_nope == 0 || model->qk_rope == 0 || model->v_head == 0)) {
        return missing(root,
                       "'kv_lora_rank', 'qk_nope_head_dim', 'qk_rope_head_dim' and "
                       "'v_head_dim'",
                       err);
    }
    if (model->kv_heads > model->heads) {
        return yaml_error(root, err,
                          "'num_key_value_heads' is %llu; at most the %llu attention "
                          "heads are allowed",
                          (unsigned long long)model->kv_heads, (unsigned long long)model->heads);
    }
    if (!latent && model->head_dim == 0 && model->heads > model->hidden) {
        return yaml_error(root, err,
                          "'num_attention_heads' is %llu; at most 'hidden_size' %llu is "
                          "allowed",
                          (unsigned long long)model->heads, (unsigned long long)model->hidden);
    }
    return OK;
}

static enum status finish(const struct yaml_node *root, struct architecture *model,
                          struct error *err) {
    if (model->hidden == 0) {
        return missing(root, "'hidden_size'", err);
    }
    if (model->layers == 0) {
        return missing(root, "'num_hidden_layers'", err);
    }
    if (model->vocab == 0) {
        return missing(root, "'vocab_size'", err);
    }
    if (model->heads == 0) {
        return missing(root, "'num_attention_heads'", err);
    }
    if (model->family->positions && model->positions == 0) {
        return missing(root, "'n_positions' or 'max_position_embeddings'", err);
    }
    if (model->ffn == 0 && model->family->gated) {
        return missing(root, "'intermediate_size'", err);
    }
    model->ffn = model->ffn > 0 ? model->ffn : 4 * model->hidden; /* GPT-2's n_inner: null */
    model->kv_heads = model->kv_heads > 0 ? model->kv_heads : model->heads;
    return check_attention(root, model, err);
}

/* ZeRO stage 1 is what Megatron's and DeepSpeed's users run; DLIO's own default is in its reader.
 */
static enum status begin(const struct yaml_node *root, const char *family_key,
                         struct architecture *model, struct error *err) {
    const struct yaml_node *family = yaml_get(root, family_key);
    if (family == NULL) {
        return missing(
            root, "'family' (our own YAML), 'model_type' (Hugging Face) or 'model' (DLIO)", err);
    }
    model->model_bytes = 2;
    model->optimizer_bytes = 4;
    model->moe_step = 1;
    enum status status = read_family(family, family_key, model, err);
    model->tied = status == OK && model->family->tied;
    return status;
}

enum status model_config_read_own(const struct yaml_node *root, struct architecture *model,
                                  struct error *err) {
    struct config_key rows[ALL_KEYS];
    memcpy(rows, size_keys, sizeof size_keys);
    memcpy(rows + COUNT_OF(size_keys), own_keys, sizeof own_keys);
    enum status status = begin(root, "family", model, err);
    status = status == OK ? config_keys_refuse(root, rows, ALL_KEYS, err) : status;
    status = status == OK ? config_keys_read(root, rows, ALL_KEYS, model, err) : status;
    return status == OK ? finish(root, model, err) : status;
}

enum status model_config_read_hugging_face(const struct yaml_node *root, struct architecture *model,
                                           struct error *err) {
    const struct yaml_node *text = yaml_get(root, "text_config");
    if (text != NULL && text->kind == YAML_MAP && yaml_get(root, "hidden_size") == NULL) {
        root = text; /* a model of text and images: the language model is what counts here */
    }
    enum status status = begin(root, "model_type", model, err);
    if (status == OK) {
        status = config_keys_read(root, size_keys, COUNT_OF(size_keys), model, err);
    }
    return status == OK ? finish(root, model, err) : status;
}

/* "configs/models/llama-2-7b.yaml" -> "llama-2-7b". */
static const char *base_name(const char *path, struct arena *arena) {
    const char *slash = strrchr(path, '/');
    const char *start = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(start, '.');
    return arena_text_n(arena, start, dot != NULL ? (size_t)(dot - start) : strlen(start));
}

static enum status read_root(const struct yaml_node *root, struct arena *arena,
                             struct architecture *model, struct error *err) {
    if (root->kind != YAML_MAP) {
        return yaml_error(root, err, "a model config must be a map of keys and values");
    }
    const struct yaml_node *section = yaml_get(root, "model");
    model->name = base_name(root->file, arena);
    if (section != NULL) {
        return model_config_read_dlio(section, arena, model, err);
    }
    if (yaml_get(root, "model_type") != NULL) {
        return model_config_read_hugging_face(root, model, err);
    }
    return model_config_read_own(root, model, err);
}

enum status architecture_read(const char *name, const char *config_dir, struct arena *arena,
                              struct architecture *model, struct error *err) {
    struct yaml_node *root;
    struct architecture read = {0};
    enum status status = config_read("models", name, config_dir, arena, &root, err);
    if (status == OK) {
        status = read_root(root, arena, &read, err);
    }
    if (status == OK && architecture_parameters(&read) >= MODEL_PARAMETERS_LIMIT) {
        status = yaml_error(root, err,
                            "the model is too large: it has more than the %llu "
                            "parameters (2^56) that are allowed",
                            (unsigned long long)MODEL_PARAMETERS_LIMIT - 1);
    }
    if (status != OK) {
        return error_wrap(err, "model '%.200s'", name);
    }
    *model = read;
    return OK;
}
