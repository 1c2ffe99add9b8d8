#include "models/given.h"

#include "base/check.h"
#include "models/config_keys.h"
#include "models/weight.h"

#include <ctype.h>
#include <string.h>

enum { GIVEN_TENSORS = 20000 };

#define DIMENSION_LIMIT (UINT64_C(1) << 40)
#define FIELD(name) offsetof(struct given_head, name)

struct given_head {
    uint64_t parameters;
    enum datatype model_datatype, optimizer_datatype;
    uint64_t dp;
};

static const struct config_key head_keys[] = {
    {"about", KEY_OTHER, 0, 0, 0},
    {"aliases", KEY_OTHER, 0, 0, 0},
    {"tensors", KEY_OTHER, 0, 0, 0},
    {"buffers", KEY_OTHER, 0, 0, 0},
    {"parameters", KEY_COUNT, FIELD(parameters), 1, MODEL_PARAMETERS_LIMIT - 1},
    {"model_datatype", KEY_DATATYPE, FIELD(model_datatype), 0, 0},
    {"optimizer_datatype", KEY_DATATYPE, FIELD(optimizer_datatype), 0, 0},
    {"dp", KEY_COUNT, FIELD(dp), 1, RANKS_LIMIT},
};

static const struct config_key tensor_keys[] = {
    {"shape", KEY_OTHER, 0, 0, 0},
    {"datatype", KEY_DATATYPE, offsetof(struct weight, datatype), 0, 0},
};

/* '#' and '@' would be taken for numbers of layers and experts, and names go into JSON and file
 * formats as they are. */
static enum status check_name(const struct yaml_node *key, struct error *err) {
    size_t length = strlen(key->text);
    bool plain = length > 0;
    for (size_t i = 0; i < length; i++) {
        plain = plain && (isalnum((unsigned char)key->text[i]) || strchr("._-/:", key->text[i]));
    }
    if (!plain || length >= WEIGHT_NAME) {
        return yaml_error(key, err,
                          "tensor '%.100s': a name has 1 to %d letters, digits and ._-/: alone",
                          key->text, WEIGHT_NAME - 1);
    }
    return OK;
}

static enum status read_shape(const struct yaml_node *list, const char *name, struct weight *weight,
                              struct error *err) {
    if (list->kind != YAML_LIST || list->count > WEIGHT_DIMENSIONS) {
        return yaml_error(list, err, "tensor '%.100s': a shape is a list of at most %d sizes", name,
                          WEIGHT_DIMENSIONS);
    }
    for (uint32_t i = 0; i < list->count; i++) {
        uint64_t size;
        if (yaml_count(list->items[i], name, &size, err) != OK) {
            return ERR_USAGE;
        }
        if (size == 0 || size > DIMENSION_LIMIT) {
            return yaml_error(list->items[i], err, "'%.100s': a size of %llu; 1 to 2^40 is allowed",
                              name, (unsigned long long)size);
        }
        weight->shape[i] = size;
    }
    weight->dimensions = (uint8_t)list->count;
    return OK;
}

static enum status read_tensor(const struct yaml_node *key, const struct yaml_node *value,
                               struct weight *weight, struct error *err) {
    const struct yaml_node *shape = value;
    enum status status = check_name(key, err);
    if (status == OK && value->kind == YAML_MAP) {
        status = config_keys_refuse(value, tensor_keys, COUNT_OF(tensor_keys), err);
        status = status == OK
                     ? config_keys_read(value, tensor_keys, COUNT_OF(tensor_keys), weight, err)
                     : status;
        shape = yaml_get(value, "shape");
        if (status == OK && shape == NULL) {
            return yaml_error(value, err, "tensor '%.100s' needs the key 'shape'", key->text);
        }
    }
    weight->name = key->text;
    return status == OK ? read_shape(shape, key->text, weight, err) : status;
}

/* Appends the tensors of one map; they stand behind those that are there. */
static enum status read_map(const struct yaml_node *map, bool buffer, struct architecture *model,
                            struct error *err) {
    if (yaml_is_null(map)) {
        return OK;
    }
    if (map->kind != YAML_MAP || map->count > GIVEN_TENSORS) {
        return yaml_error(map, err, "'%s' must be a map of at most %d lines 'NAME: [SHAPE]'",
                          buffer ? "buffers" : "tensors", GIVEN_TENSORS);
    }
    for (uint32_t i = 0; i < map->count; i++) {
        struct weight *weight = &model->given.weights[model->given.count];
        *weight = (struct weight){
            .cut = CUT_NONE, .buffer = buffer, .datatype = buffer ? DATATYPE_FP32 : DATATYPE_UNSET};
        enum status status = read_tensor(map->keys[i], map->items[i], weight, err);
        if (status != OK) {
            return status;
        }
        weight->matrix = !buffer && weight->dimensions >= 2;
        model->given.count++;
    }
    return OK;
}

static void take_count(uint64_t parameters, struct architecture *model) {
    model->given.weights[model->given.count++] = (struct weight){
        .name = "parameters", .shape = {parameters}, .dimensions = 1, .cut = CUT_NONE};
}

/* DLIO writes such a model as one run of bytes. */
static enum status add_up(const struct yaml_node *root, struct architecture *model,
                          struct error *err) {
    uint64_t elements = 0, bytes = 0;
    for (uint32_t i = 0; i < model->given.count; i++) {
        const struct weight *weight = &model->given.weights[i];
        enum datatype datatype =
            weight->datatype == DATATYPE_UNSET ? model->model_datatype : weight->datatype;
        uint64_t each = weight_elements(weight);
        if (each >= MODEL_PARAMETERS_LIMIT || (elements += each) >= MODEL_PARAMETERS_LIMIT) {
            return yaml_error(root, err, "the model is too large: 2^56 elements or more");
        }
        bytes += each * datatype_bytes(datatype);
    }
    model->raw.model_state = true;
    model->raw.model_bytes = bytes;
    return OK;
}

enum status given_read(const struct yaml_node *root, struct arena *arena,
                       struct architecture *model, struct error *err) {
    struct given_head head = {.model_datatype = DATATYPE_BF16, .optimizer_datatype = DATATYPE_FP32};
    enum status status = config_keys_refuse(root, head_keys, COUNT_OF(head_keys), err);
    status =
        status == OK ? config_keys_read(root, head_keys, COUNT_OF(head_keys), &head, err) : status;
    if (status != OK) {
        return status;
    }
    const struct yaml_node *tensors = yaml_get(root, "tensors");
    const struct yaml_node *buffers = yaml_get(root, "buffers");
    if (tensors != NULL && head.parameters > 0) {
        return yaml_error(tensors, err, "a model has 'tensors' or 'parameters', not both");
    }
    size_t most =
        1 + (size_t)(tensors != NULL ? tensors->count : 0) + (buffers != NULL ? buffers->count : 0);
    model->given.weights = arena_new(arena, most, sizeof *model->given.weights);
    if (head.parameters > 0) {
        take_count(head.parameters, model);
    }
    status = read_map(tensors, false, model, err);
    if (status == OK && model->given.count == 0) {
        return yaml_error(root, err, "'tensors' must hold at least one tensor");
    }
    status = status == OK ? read_map(buffers, true, model, err) : status;
    model->model_datatype = head.model_datatype;
    model->optimizer_datatype = head.optimizer_datatype;
    model->parallelism.dp = head.dp;
    return status == OK ? add_up(root, model, err) : status;
}
