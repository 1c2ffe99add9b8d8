/* A wrong count would be worse than none. Three things make one: a key that is missing where
 * Hugging Face's config class has a default of its own, a key that makes the weights others than
 * the family's, and numbers that no model can have. Each is refused at its place.
 *
 * Sources: the config classes and the modelling code of Hugging Face transformers. */
#include "models/hf_rules.h"

#include "base/check.h"

#include <string.h>

typedef unsigned long long ull;

/* The place of a key, or of the config where it has none. */
static const struct yaml_node *place(const struct yaml_node *root, const char *key) {
    const struct yaml_node *node = yaml_get(root, key);
    return node != NULL ? node : root;
}

static const struct yaml_node *first_of(const struct yaml_node *root, const char *const *keys,
                                        size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct yaml_node *node = yaml_get(root, keys[i]);
        if (!yaml_is_null(node)) {
            return node;
        }
    }
    return root;
}

enum status hf_rules_sections(const struct yaml_node *root, struct error *err) {
    static const char *const sections[] = {"text_config", "vision_config"};
    for (size_t i = 0; i < COUNT_OF(sections); i++) {
        const struct yaml_node *node = yaml_get(root, sections[i]);
        if (!yaml_is_null(node) && node->kind != YAML_MAP) {
            return yaml_error(node, err, "'%s' must be a map of keys and values", sections[i]);
        }
    }
    return OK;
}

/* null is what the class itself understands: as many as heads, hidden / heads, none, none. */
static bool may_be_null(const char *key) {
    static const char *const keys[] = {"num_key_value_heads", "head_dim", "n_shared_experts",
                                       "q_lora_rank"};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (strcmp(keys[i], key) == 0) {
            return true;
        }
    }
    return false;
}

static enum status check_needs(const struct yaml_node *root, const struct family *family,
                               struct error *err) {
    for (size_t i = 0; i < FAMILY_NEEDS && family->needs[i] != NULL; i++) {
        const struct yaml_node *node = yaml_get(root, family->needs[i]);
        if (node == NULL || (yaml_is_null(node) && !may_be_null(family->needs[i]))) {
            return yaml_error(place(root, family->needs[i]), err, "the model needs the key '%s'",
                              family->needs[i]);
        }
    }
    return OK;
}

static enum status check_experts_each(const struct yaml_node *root, const char *key,
                                      uint64_t experts, struct error *err) {
    const struct yaml_node *node = yaml_get(root, key);
    uint64_t each = 1;
    if (!yaml_is_null(node) && yaml_count(node, key, &each, err) != OK) {
        return ERR_USAGE;
    }
    if (each == 0 || each > experts) {
        return yaml_error(node, err, "'%s' is %llu; 1 to the model's %llu experts is allowed", key,
                          (ull)each, (ull)experts);
    }
    return OK;
}

static enum status check_experts(const struct yaml_node *root, const struct architecture *model,
                                 struct error *err) {
    static const char *const keys[] = {"num_local_experts", "num_experts", "n_routed_experts"};
    const char *wanted = model->family->experts;
    if (wanted == NULL && model->experts > 0) {
        return yaml_error(first_of(root, keys, COUNT_OF(keys)), err,
                          "%llu experts, but models of '%s' have none; 0 is allowed",
                          (ull)model->experts, model->family->name);
    }
    if (wanted == NULL) {
        return OK;
    }
    if (model->experts == 0 && !yaml_is_null(yaml_get(root, wanted))) {
        return yaml_error(yaml_get(root, wanted), err,
                          "'%s' is 0; models of '%s' have at least 1 expert", wanted,
                          model->family->name);
    }
    if (model->experts == 0) {
        return yaml_error(place(root, wanted), err, "the model needs the key '%s'", wanted);
    }
    enum status status = check_experts_each(root, "num_experts_per_tok", model->experts, err);
    return status == OK ? check_experts_each(root, "experts_per_token", model->experts, err)
                        : status;
}

static enum status check_heads(const struct yaml_node *root, const struct architecture *model,
                               struct error *err) {
    static const char *const keys[] = {"num_key_value_heads", "num_kv_heads", "n_head_kv"};
    static const char *const head_keys[] = {"num_attention_heads", "n_head"};
    if (model->family->mla) {
        return OK; /* keys and values are as many as heads, whatever the config says */
    }
    if (model->heads % model->kv_heads != 0) {
        return yaml_error(first_of(root, keys, COUNT_OF(keys)), err,
                          "'num_key_value_heads' is %llu; a divisor of the %llu attention heads is "
                          "allowed",
                          (ull)model->kv_heads, (ull)model->heads);
    }
    if (model->head_dim == 0 && model->hidden % model->heads != 0) {
        return yaml_error(first_of(root, head_keys, COUNT_OF(head_keys)), err,
                          "'num_attention_heads' is %llu; a divisor of 'hidden_size' %llu is "
                          "allowed where 'head_dim' is not given",
                          (ull)model->heads, (ull)model->hidden);
    }
    return OK;
}

/* Switches that add weights or take them away; the family's row stands for the other position. */
static const struct {
    const char *family, *key;
    bool allowed;
} switches[] = {
    {"gpt2", "add_cross_attention", false},
    {"gpt_neox", "attention_bias", true},
    {"gpt_oss", "attention_bias", true},
    {"opt", "do_layer_norm_before", true},
    {"opt", "_remove_final_layer_norm", false},
    {"opt", "enable_bias", true},
    {"opt", "layer_norm_elementwise_affine", true},
    {"qwen2_moe", "qkv_bias", true},
    {"vit", "qkv_bias", true},
};

static enum status check_switches(const struct yaml_node *root, const struct family *family,
                                  struct error *err) {
    for (size_t i = 0; i < COUNT_OF(switches); i++) {
        const struct yaml_node *node = yaml_get(root, switches[i].key);
        bool value = switches[i].allowed;
        if (strcmp(switches[i].family, family->name) != 0 || yaml_is_null(node)) {
            continue;
        }
        if (yaml_bool(node, switches[i].key, &value, err) != OK) {
            return ERR_USAGE;
        }
        if (value != switches[i].allowed) {
            return yaml_error(node, err, "'%s' is %s; only %s is understood", switches[i].key,
                              value ? "true" : "false", value ? "false" : "true");
        }
    }
    return OK;
}

static enum status check_width(const struct yaml_node *root, const struct architecture *model,
                               struct error *err) {
    const struct yaml_node *width = yaml_get(root, "word_embed_proj_dim");
    uint64_t projected = model->hidden;
    if (!yaml_is_null(width) && yaml_count(width, "word_embed_proj_dim", &projected, err) != OK) {
        return ERR_USAGE;
    }
    if (projected != model->hidden) {
        return yaml_error(width, err,
                          "'word_embed_proj_dim' is %llu; only 'hidden_size' %llu is understood",
                          (ull)projected, (ull)model->hidden);
    }
    return OK;
}

/* Llama 4 may list its layers with experts; they must be those that its step gives. */
static enum status check_listed_layers(const struct yaml_node *list,
                                       const struct architecture *model, struct error *err) {
    bool same =
        list->kind == YAML_LIST && list->count == architecture_moe_layers(model, model->layers);
    for (uint32_t i = 0; same && i < list->count; i++) {
        uint64_t layer;
        if (yaml_count(list->items[i], "moe_layers", &layer, err) != OK) {
            return ERR_USAGE;
        }
        same = layer < model->layers && architecture_layer(model, layer) == PART_MOE_LAYER &&
               architecture_moe_layers(model, layer) == i;
    }
    if (!same) {
        return yaml_error(list, err,
                          "'moe_layers' must be null or the layers that "
                          "'interleave_moe_layer_step' %llu gives",
                          (ull)model->moe_step);
    }
    return OK;
}

/* Which layers have experts. DeepSeek's own code knows moe_layer_freq, Hugging Face's does not. */
static enum status check_layers(const struct yaml_node *root, const struct architecture *model,
                                struct error *err) {
    const struct yaml_node *dense = yaml_get(root, "mlp_only_layers");
    if (!yaml_is_null(dense) && (dense->kind != YAML_LIST || dense->count > 0)) {
        return yaml_error(dense, err,
                          "'mlp_only_layers' must be empty; 'decoder_sparse_step' is "
                          "understood");
    }
    const struct yaml_node *every = yaml_get(root, "moe_layer_freq");
    uint64_t step = 1;
    if (!yaml_is_null(every) &&
        (every->kind != YAML_TEXT || yaml_count(every, "moe_layer_freq", &step, err) != OK ||
         step != 1)) {
        return yaml_error(every, err, "'moe_layer_freq' must be 1; nothing else is understood");
    }
    const struct yaml_node *listed = yaml_get(root, "moe_layers");
    return yaml_is_null(listed) ? OK : check_listed_layers(listed, model, err);
}

enum status hf_rules_check(const struct yaml_node *root, const struct architecture *model,
                           struct error *err) {
    enum status status = check_layers(root, model, err);
    status = status == OK ? check_width(root, model, err) : status;
    status = status == OK ? check_switches(root, model->family, err) : status;
    status = status == OK ? check_experts(root, model, err) : status;
    status = status == OK ? check_needs(root, model->family, err) : status;
    return status == OK ? check_heads(root, model, err) : status;
}

static enum datatype torch_datatype(const char *name) {
    static const struct {
        const char *name;
        enum datatype datatype;
    } rows[] = {
        {"float16", DATATYPE_FP16}, {"half", DATATYPE_FP16},  {"bfloat16", DATATYPE_BF16},
        {"float32", DATATYPE_FP32}, {"float", DATATYPE_FP32}, {"float64", DATATYPE_FP64},
        {"double", DATATYPE_FP64},
    };
    size_t prefix = strncmp(name, "torch.", 6) == 0 ? 6 : 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (strcmp(rows[i].name, name + prefix) == 0) {
            return rows[i].datatype;
        }
    }
    return DATATYPE_UNSET;
}

/* `dtype` is the newer name, and wins. */
enum status hf_rules_datatype(const struct yaml_node *root, enum datatype *datatype,
                              struct error *err) {
    static const char *const keys[] = {"torch_dtype", "dtype"};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const struct yaml_node *node = yaml_get(root, keys[i]);
        if (yaml_is_null(node)) {
            continue;
        }
        enum datatype found = node->kind == YAML_TEXT ? torch_datatype(node->text) : DATATYPE_UNSET;
        if (found == DATATYPE_UNSET) {
            return yaml_error(node, err,
                              "'%s' is '%.40s'; float16, bfloat16, float32 or float64 is allowed",
                              keys[i], node->kind == YAML_TEXT ? node->text : "not a single word");
        }
        *datatype = found;
    }
    return OK;
}
