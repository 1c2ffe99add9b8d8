/* Our own model YAML and Hugging Face's config.json. They share the names of sizes; ours says
 * `family` where theirs says `model_type`, may name aliases and a default parallelism, and refuses
 * what it does not know. */
#include "models/model_config.h"

#include "base/check.h"
#include "base/configs.h"
#include "models/config_keys.h"
#include "models/given.h"
#include "models/hf_rules.h"
#include "models/vision.h"

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
    SIZE("n_embed", hidden),
    COUNT("num_hidden_layers", layers, 1, MODEL_LAYERS_LIMIT),
    COUNT("n_layer", layers, 1, MODEL_LAYERS_LIMIT),
    SIZE("intermediate_size", ffn),
    SIZE("n_inner", ffn),
    SIZE("ffn_dim", ffn),
    SIZE("ffn_hidden_size", ffn),
    SIZE("vocab_size", vocab),
    COUNT("num_attention_heads", heads, 1, HEADS_LIMIT),
    COUNT("n_head", heads, 1, HEADS_LIMIT),
    COUNT("num_key_value_heads", kv_heads, 1, HEADS_LIMIT),
    COUNT("num_kv_heads", kv_heads, 1, HEADS_LIMIT),
    SIZE("head_dim", head_dim),
    SIZE("n_positions", positions),
    SIZE("max_position_embeddings", positions),
    COUNT("num_local_experts", experts, 0, HEADS_LIMIT),
    COUNT("num_experts", experts, 0, HEADS_LIMIT),
    COUNT("n_routed_experts", experts, 0, HEADS_LIMIT),
    COUNT("n_shared_experts", shared_experts, 0, HEADS_LIMIT),
    SIZE("moe_intermediate_size", expert_ffn),
    SIZE("shared_expert_intermediate_size", shared_ffn),
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

/* Read for an image family alone: other configs use these names for other things. */
static const struct config_key image_keys[] = {
    COUNT("image_size", image_size, 1, 1 << 20),
    COUNT("patch_size", patch_size, 1, 1 << 20),
    COUNT("num_channels", channels, 1, 1 << 20),
    SIZE("num_labels", vocab),
};

static const struct config_key falcon_keys[] = {
    {"new_decoder_architecture", KEY_BOOL, FIELD(falcon.new_decoder), 0, 0},
    {"multi_query", KEY_BOOL, FIELD(falcon.multi_query), 0, 0},
    {"parallel_attn", KEY_BOOL, FIELD(falcon.parallel), 0, 0},
    {"bias", KEY_BOOL, FIELD(falcon.bias), 0, 0},
    COUNT("num_ln_in_parallel_attn", falcon.norms, 1, 2),
    COUNT("n_head_kv", kv_heads, 1, HEADS_LIMIT),
};

static const struct config_key own_keys[] = {
    {"family", KEY_OTHER, 0, 0, 0},
    {"aliases", KEY_OTHER, 0, 0, 0},
    {"about", KEY_OTHER, 0, 0, 0},
    COUNT("vision_parameters", vision_parameters, 1, SIZE_LIMIT),
    {"model_datatype", KEY_DATATYPE, FIELD(model_datatype), 0, 0},
    {"optimizer_datatype", KEY_DATATYPE, FIELD(optimizer_datatype), 0, 0},
    COUNT("tp", parallelism.tp, 1, RANKS_LIMIT),
    COUNT("pp", parallelism.pp, 1, RANKS_LIMIT),
    COUNT("dp", parallelism.dp, 1, RANKS_LIMIT),
    COUNT("zero", parallelism.zero, 0, 3),
};

enum {
    FAMILY_KEYS =
        COUNT_OF(image_keys) > COUNT_OF(falcon_keys) ? COUNT_OF(image_keys) : COUNT_OF(falcon_keys),
    KEYS_MOST = COUNT_OF(size_keys) + COUNT_OF(own_keys) + FAMILY_KEYS,
    NAMES_TEXT = 400,
};

/* The rows of one kind of config; which they are depends on the family. */
struct key_list {
    struct config_key rows[KEYS_MOST];
    size_t count;
};

static void append_keys(struct key_list *list, const struct config_key *rows, size_t count) {
    CHECK(list->count + count <= KEYS_MOST);
    memcpy(list->rows + list->count, rows, count * sizeof *rows);
    list->count += count;
}

static struct key_list family_keys(const struct family *family) {
    struct key_list list = {.count = 0};
    append_keys(&list, size_keys, COUNT_OF(size_keys));
    if (family->image) {
        append_keys(&list, image_keys, COUNT_OF(image_keys));
    } else if (family->parallel) {
        append_keys(&list, falcon_keys, COUNT_OF(falcon_keys));
    }
    return list;
}

static enum status read_family(const struct yaml_node *node, const char *key,
                               struct architecture *model, struct error *err) {
    if (node->kind != YAML_TEXT) {
        return yaml_error(node, err, "'%s' must be a single word", key);
    }
    model->family = family_find(node->text);
    if (model->family == NULL) {
        char names[NAMES_TEXT], nearest[128];
        family_names(names, sizeof names);
        family_nearest(node->text, nearest, sizeof nearest);
        return yaml_error(node, err,
                          "'%s' is '%.60s', which is not known; nearest: %s; known: %s; any other "
                          "model can be described in a YAML file: 'family' (one of these) with its "
                          "sizes, or 'parameters: COUNT', or 'tensors:' with lines 'NAME: [SHAPE]'",
                          key, node->text, nearest, names);
    }
    return OK;
}

static enum status missing(const struct yaml_node *root, const char *keys, struct error *err) {
    return yaml_error(root, err, "the model needs the key %s", keys);
}

static enum status check_attention(const struct yaml_node *root, const struct architecture *model,
                                   struct error *err) {
    bool latent = model->family->mla;
    if (latent && model->attention_bias) {
        return yaml_error(root, err, "'attention_bias' must be false for latent attention");
    }
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

/* What the family's modelling code takes where a config is silent. */
static void fill_defaults(struct architecture *model) {
    const struct family *family = model->family;
    model->vocab = model->vocab > 0 ? model->vocab : family->vocab;
    model->heads = model->heads > 0 ? model->heads : family->heads;
    model->head_dim = model->head_dim > 0 ? model->head_dim : family->head_dim;
    if (model->ffn == 0 && !family->gated) {
        model->ffn = 4 * model->hidden; /* GPT-2's n_inner: null */
    }
    if (family->parallel) {
        const struct falcon_flags *falcon = &model->falcon;
        model->norms = !falcon->parallel     ? 2
                       : falcon->norms > 0   ? falcon->norms
                       : falcon->new_decoder ? 2
                                             : 1;
        model->kv_heads = falcon->new_decoder ? model->kv_heads : falcon->multi_query ? 1 : 0;
        model->attention_bias = model->mlp_bias = falcon->bias;
    }
    if (model->kv_heads == 0) {
        model->kv_heads = family->kv_heads > 0 ? family->kv_heads : model->heads;
    }
}

static enum status check_image(const struct yaml_node *root, struct architecture *model,
                               struct error *err) {
    if (model->patch_size == 0 || model->image_size == 0) {
        return missing(root, "'image_size' and 'patch_size'", err);
    }
    if (model->image_size % model->patch_size != 0) {
        return yaml_error(root, err, "'patch_size' %llu does not divide 'image_size' %llu",
                          (unsigned long long)model->patch_size,
                          (unsigned long long)model->image_size);
    }
    model->channels = model->channels > 0 ? model->channels : 3;
    return OK;
}

static enum status finish(const struct yaml_node *root, struct architecture *model,
                          struct error *err) {
    fill_defaults(model);
    if (model->hidden == 0) {
        return missing(root, "'hidden_size'", err);
    }
    if (model->layers == 0) {
        return missing(root, "'num_hidden_layers'", err);
    }
    if (model->vocab == 0) {
        return missing(root, model->family->image ? "'num_labels'" : "'vocab_size'", err);
    }
    if (model->heads == 0) {
        return missing(root, "'num_attention_heads'", err);
    }
    if (model->family->positions && model->positions == 0) {
        return missing(root, "'n_positions' or 'max_position_embeddings'", err);
    }
    if (model->ffn == 0) {
        return missing(root, "'intermediate_size'", err);
    }
    enum status status = model->family->image ? check_image(root, model, err) : OK;
    return status == OK ? check_attention(root, model, err) : status;
}

/* ZeRO stage 1 is what Megatron's and DeepSpeed's users run; DLIO's own default is in its reader.
 */
static enum status begin(const struct yaml_node *root, const char *family_key,
                         struct architecture *model, struct error *err) {
    const struct yaml_node *family = yaml_get(root, family_key);
    if (family == NULL) {
        return missing(
            root,
            "'family', 'tensors' or 'parameters' (our own YAML), 'model_type' (Hugging Face) or "
            "'model' (DLIO)",
            err);
    }
    model->model_datatype = DATATYPE_BF16;
    model->optimizer_datatype = DATATYPE_FP32;
    model->moe_step = 1;
    model->falcon = (struct falcon_flags){.multi_query = true, .parallel = true};
    enum status status = read_family(family, family_key, model, err);
    if (status == OK) {
        model->tied = model->family->tied;
        model->norms = model->family->norms;
    }
    return status;
}

enum status model_config_read_own(const struct yaml_node *root, struct architecture *model,
                                  struct error *err) {
    enum status status = begin(root, "family", model, err);
    if (status != OK) {
        return status;
    }
    struct key_list keys = family_keys(model->family);
    append_keys(&keys, own_keys, COUNT_OF(own_keys));
    status = config_keys_refuse(root, keys.rows, keys.count, err);
    status = status == OK ? config_keys_read(root, keys.rows, keys.count, model, err) : status;
    return status == OK ? finish(root, model, err) : status;
}

/* A classifier's config names its classes instead of counting them. */
static void count_labels(const struct yaml_node *root, struct architecture *model) {
    const struct yaml_node *labels = yaml_get(root, "id2label");
    if (model->family->image && model->vocab == 0 && labels != NULL && labels->kind == YAML_MAP) {
        model->vocab = labels->count;
    }
}

enum status model_config_read_hugging_face(const struct yaml_node *root, struct architecture *model,
                                           struct error *err) {
    const struct yaml_node *outer = root, *text = yaml_get(root, "text_config");
    enum status status = hf_rules_sections(root, err);
    if (status != OK) {
        return status;
    }
    if (!yaml_is_null(text) && yaml_get(root, "hidden_size") == NULL) {
        root = text; /* a model of text and images */
    }
    status = begin(root, "model_type", model, err);
    if (status != OK) {
        return status;
    }
    struct key_list keys = family_keys(model->family);
    status = config_keys_read(root, keys.rows, keys.count, model, err);
    if (status == OK) {
        count_labels(root, model);
        status = finish(root, model, err);
    }
    status = status == OK ? hf_rules_check(root, model, err) : status;
    /* Of a model of text and images the outer config's type is what counts. */
    status = status == OK ? hf_rules_datatype(root, &model->published_datatype, err) : status;
    status = status == OK ? hf_rules_datatype(outer, &model->published_datatype, err) : status;
    return status == OK ? vision_read(outer, model, err) : status;
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
    if (yaml_get(root, "tensors") != NULL || yaml_get(root, "parameters") != NULL) {
        return given_read(root, arena, model, err);
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
