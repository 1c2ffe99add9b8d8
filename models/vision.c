/* Two kinds of towers are counted, both held against published totals: SigLIP with Gemma 3's
 * projector, and Llama 4's tower with its pixel-shuffle adapter and projector. Everything in a
 * tower is counted as one weight: it is a few percent of its model. */
#include "models/vision.h"

#include "base/check.h"
#include "models/config_keys.h"

#include <string.h>

/* Limits that keep the sums below 2^62; real towers are far from them. */
enum { VISION_SIZE = 1 << 16, VISION_LAYERS = 10000 };

struct tower {
    uint64_t hidden, layers, ffn, patch, image, channels;
    uint64_t adapter_in, adapter_out; /* of Llama 4's pixel shuffle */
};

#define COUNT(key, name, high)                                                                     \
    { key, KEY_COUNT, offsetof(struct tower, name), 1, high }

static const struct config_key tower_keys[] = {
    COUNT("hidden_size", hidden, VISION_SIZE),
    COUNT("num_hidden_layers", layers, VISION_LAYERS),
    COUNT("intermediate_size", ffn, VISION_SIZE),
    COUNT("patch_size", patch, VISION_SIZE),
    COUNT("image_size", image, VISION_SIZE),
    COUNT("num_channels", channels, 16),
    COUNT("projector_input_dim", adapter_in, VISION_SIZE),
    COUNT("projector_output_dim", adapter_out, VISION_SIZE),
};

/* Attention and MLP with biases, two LayerNorms. */
static uint64_t layers(const struct tower *tower) {
    uint64_t h = tower->hidden, f = tower->ffn;
    return tower->layers * (4 * (h * h + h) + 2 * h * f + f + h + 4 * h);
}

static uint64_t kernel(const struct tower *tower) {
    return tower->hidden * tower->channels * tower->patch * tower->patch;
}

static uint64_t patches(const struct tower *tower) {
    uint64_t side = tower->image / tower->patch;
    return side * side;
}

/* Patches with bias, positions, layers, LayerNorm; a projection to the text's width and its norm.
 */
static uint64_t siglip(const struct tower *tower, uint64_t text_hidden) {
    uint64_t h = tower->hidden;
    return kernel(tower) + h + patches(tower) * h + layers(tower) + 2 * h + h * text_hidden + h;
}

/* Patches without bias, a class token, positions, layers, two LayerNorms; two matrices behind the
 * pixel shuffle, one projection. */
static uint64_t llama4(const struct tower *tower, uint64_t text_hidden) {
    uint64_t h = tower->hidden;
    uint64_t adapter = tower->ffn * tower->adapter_in + tower->adapter_in * tower->adapter_out;
    return kernel(tower) + h + (patches(tower) + 1) * h + layers(tower) + 4 * h + adapter +
           tower->adapter_out * text_hidden;
}

static bool is_text(const struct yaml_node *node, const char *text) {
    return node != NULL && node->kind == YAML_TEXT && strcmp(node->text, text) == 0;
}

enum status vision_read(const struct yaml_node *root, struct architecture *model,
                        struct error *err) {
    const struct yaml_node *vision = yaml_get(root, "vision_config");
    if (vision == NULL || vision->kind != YAML_MAP) {
        return OK;
    }
    struct tower tower = {.channels = 3};
    const struct yaml_node *kind = yaml_get(root, "model_type");
    bool known = is_text(kind, "gemma3") || is_text(kind, "llama4");
    if (!known) {
        model->vision_left_out = true;
        return OK;
    }
    enum status status = config_keys_read(vision, tower_keys, COUNT_OF(tower_keys), &tower, err);
    if (status != OK) {
        return error_wrap(err, "vision_config");
    }
    bool adapter = is_text(kind, "gemma3") || (tower.adapter_in > 0 && tower.adapter_out > 0);
    if (tower.hidden == 0 || tower.layers == 0 || tower.ffn == 0 || tower.patch == 0 ||
        tower.image == 0 || !adapter) {
        model->vision_left_out = true;
        return OK;
    }
    model->vision_parameters =
        is_text(kind, "gemma3") ? siglip(&tower, model->hidden) : llama4(&tower, model->hidden);
    return OK;
}
