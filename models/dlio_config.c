/* The `model:` section of a DLIO workload YAML. DLIO passes over keys it does not know, so a wrong
 * name there silently measures something else; here it is an error, and names that older versions
 * read or that documents mention by mistake say which one is meant. */
#include "models/model_config.h"

#include "base/check.h"
#include "models/config_keys.h"

#include <string.h>

#define SIZE_LIMIT (UINT64_C(1) << 40)
#define FIELD(name) offsetof(struct architecture, name)
#define COUNT(key, name, low, high)                                                                \
    { key, KEY_COUNT, FIELD(name), low, high }

static const struct config_key section_keys[] = {
    {"name", KEY_TEXT, FIELD(name), 0, 0},
    {"type", KEY_OTHER, 0, 0, 0},
    COUNT("model_size_bytes", raw.model_bytes, 0, MODEL_RAW_BYTES_LIMIT),
    {"model_datatype", KEY_DATATYPE, FIELD(model_datatype), 0, 0},
    {"optimizer_datatype", KEY_DATATYPE, FIELD(optimizer_datatype), 0, 0},
    {"num_layers", KEY_OTHER, 0, 0, 0},
    {"layer_parameters", KEY_OTHER, 0, 0, 0},
    {"optimization_groups", KEY_OTHER, 0, 0, 0},
    {"parallelism", KEY_OTHER, 0, 0, 0},
    {"transformer", KEY_OTHER, 0, 0, 0},
};

static const struct config_key transformer_keys[] = {
    COUNT("vocab_size", vocab, 1, SIZE_LIMIT),
    COUNT("hidden_size", hidden, 1, SIZE_LIMIT),
    COUNT("ffn_hidden_size", ffn, 1, SIZE_LIMIT),
    COUNT("num_attention_heads", heads, 1, RANKS_LIMIT),
    COUNT("num_kv_heads", kv_heads, 1, RANKS_LIMIT),
};

static const struct config_key parallelism_keys[] = {
    COUNT("tensor", parallelism.tp, 1, RANKS_LIMIT),
    COUNT("pipeline", parallelism.pp, 1, RANKS_LIMIT),
    {"data", KEY_OTHER, 0, 0, 0},
    COUNT("zero_stage", parallelism.zero, 0, 3),
};

/* These two say "not given" with -1. */
static const struct config_key layers_key = COUNT("num_layers", layers, 0, MODEL_LAYERS_LIMIT);
static const struct config_key data_key = COUNT("data", parallelism.dp, 1, RANKS_LIMIT);

struct dead_key {
    const char *key, *meant;
};

static const struct dead_key dead_keys[] = {
    {"model_size", "model_size_bytes"},
    {"hidden_size", "transformer.hidden_size"},
    {"vocab_size", "transformer.vocab_size"},
    {"ffn_hidden_size", "transformer.ffn_hidden_size"},
    {"num_attention_heads", "transformer.num_attention_heads"},
    {"num_kv_heads", "transformer.num_kv_heads"},
    {"tensor_parallelism", "parallelism.tensor"},
    {"pipeline_parallelism", "parallelism.pipeline"},
    {"data_parallelism", "parallelism.data"},
    {"zero_stage", "parallelism.zero_stage"},
};

static enum status refuse_dead(const struct yaml_node *section, struct error *err) {
    for (size_t i = 0; i < COUNT_OF(dead_keys); i++) {
        for (uint32_t k = 0; k < section->count; k++) {
            if (strcmp(section->keys[k]->text, dead_keys[i].key) == 0) {
                return yaml_error(section->keys[k], err,
                                  "DLIO does not read 'model.%s'; 'model.%s' "
                                  "is meant",
                                  dead_keys[i].key, dead_keys[i].meant);
            }
        }
    }
    return OK;
}

static enum status read_map(const struct yaml_node *section, const char *key,
                            const struct config_key *rows, size_t count, struct architecture *model,
                            struct error *err) {
    const struct yaml_node *map = yaml_get(section, key);
    if (yaml_is_null(map)) {
        return OK;
    }
    if (map->kind != YAML_MAP) {
        return yaml_error(map, err, "'%s' must be a map of keys and values", key);
    }
    enum status status = config_keys_refuse(map, rows, count, err);
    return status == OK ? config_keys_read(map, rows, count, model, err) : status;
}

static enum status read_unless_minus_one(const struct yaml_node *map, const struct config_key *row,
                                         struct architecture *model, struct error *err) {
    const struct yaml_node *node = yaml_get(map, row->key);
    if (node == NULL || (node->kind == YAML_TEXT && strcmp(node->text, "-1") == 0)) {
        return OK;
    }
    return config_keys_read(map, row, 1, model, err);
}

static enum status read_list(const struct yaml_node *section, const char *key, struct arena *arena,
                             uint64_t **values, uint32_t *count, struct error *err) {
    const struct yaml_node *list = yaml_get(section, key);
    if (yaml_is_null(list)) {
        return OK;
    }
    if (list->kind != YAML_LIST || list->count > MODEL_RAW_LIMIT) {
        return yaml_error(list, err, "'%s' must be a list of at most %d sizes", key,
                          MODEL_RAW_LIMIT);
    }
    const struct config_key row = {key, KEY_COUNT, 0, 0, MODEL_RAW_BYTES_LIMIT};
    uint64_t *read = arena_new(arena, list->count, sizeof *read);
    for (uint32_t i = 0; i < list->count; i++) {
        struct yaml_node *keys[] = {&(struct yaml_node){.text = key}};
        struct yaml_node *items[] = {list->items[i]};
        struct yaml_node pair = {.kind = YAML_MAP, .count = 1, .keys = keys, .items = items};
        if (config_keys_read(&pair, &row, 1, &read[i], err) != OK) {
            return ERR_USAGE;
        }
    }
    *values = read;
    *count = list->count;
    return OK;
}

static enum status read_type(const struct yaml_node *section, struct architecture *model,
                             struct error *err) {
    const struct yaml_node *type = yaml_get(section, "type");
    if (!yaml_is_null(type) && type->kind != YAML_TEXT) {
        return yaml_error(type, err, "'type' must be a single word");
    }
    model->raw.model_state = yaml_is_null(type) || strcmp(type->text, "transformer") != 0;
    return OK;
}

static enum status check_heads(const struct yaml_node *section, const struct architecture *model,
                               struct error *err) {
    if (model->kv_heads > model->heads || model->heads > model->hidden) {
        return yaml_error(
            section, err,
            "%llu attention heads, %llu key-value heads and hidden size "
            "%llu do not fit; at most 'hidden_size' heads and as many key-value heads "
            "as heads are allowed",
            (unsigned long long)model->heads, (unsigned long long)model->kv_heads,
            (unsigned long long)model->hidden);
    }
    return OK;
}

/* The defaults are DLIO's, also where they look odd. */
static void set_defaults(struct architecture *model) {
    model->family = family_find("llama");
    model->norms = model->family->norms;
    model->vocab = 32000;
    model->hidden = 2048;
    model->ffn = 8192;
    model->heads = 32;
    model->kv_heads = 8;
    model->moe_step = 1;
    model->model_datatype = DATATYPE_FP16;
    model->optimizer_datatype = DATATYPE_FP32;
    model->raw.model_bytes = 10240;
}

enum status model_config_read_dlio(const struct yaml_node *section, struct arena *arena,
                                   struct architecture *model, struct error *err) {
    if (section->kind != YAML_MAP) {
        return yaml_error(section, err, "'model' must be a map of keys and values");
    }
    set_defaults(model);
    const struct yaml_node *parallelism = yaml_get(section, "parallelism");
    struct raw_sizes *raw = &model->raw;
    if (refuse_dead(section, err) != OK ||
        config_keys_refuse(section, section_keys, COUNT_OF(section_keys), err) != OK ||
        config_keys_read(section, section_keys, COUNT_OF(section_keys), model, err) != OK ||
        read_map(section, "transformer", transformer_keys, COUNT_OF(transformer_keys), model,
                 err) != OK ||
        read_map(section, "parallelism", parallelism_keys, COUNT_OF(parallelism_keys), model,
                 err) != OK ||
        read_unless_minus_one(section, &layers_key, model, err) != OK ||
        read_unless_minus_one(parallelism, &data_key, model, err) != OK ||
        read_list(section, "layer_parameters", arena, &raw->layer_bytes, &raw->layer_count, err) !=
            OK ||
        read_list(section, "optimization_groups", arena, &raw->group_bytes, &raw->group_count,
                  err) != OK ||
        read_type(section, model, err) != OK) {
        return ERR_USAGE;
    }
    return check_heads(section, model, err);
}
