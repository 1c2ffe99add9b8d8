/* Shapes of weights, and which dimension tensor parallelism cuts, as the frameworks hold them. */
#include "base/yaml.h"
#include "models/model_config.h"
#include "models/weight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define GPT2 "{model_type: gpt2, n_embd: 8, n_layer: 2, n_head: 2, n_positions: 5, vocab_size: 11"
#define LAYERS "num_hidden_layers: 2, num_attention_heads: 4"
#define GPT_OSS                                                                                    \
    "{model_type: gpt_oss, hidden_size: 12, intermediate_size: 7, vocab_size: 11, " LAYERS         \
    ", num_key_value_heads: 2, head_dim: 3, num_local_experts: 6}"
#define LLAMA4                                                                                     \
    "{model_type: llama4_text, hidden_size: 12, intermediate_size: 7, vocab_size: 11, " LAYERS     \
    ", num_key_value_heads: 2, head_dim: 3, num_local_experts: 6, intermediate_size_mlp: 9}"
#define VIT                                                                                        \
    "{model_type: vit, hidden_size: 8, intermediate_size: 16, num_labels: 9, image_size: 4, "      \
    "patch_size: 2, " LAYERS "}"
#define OPT                                                                                        \
    "{model_type: opt, hidden_size: 8, ffn_dim: 16, vocab_size: 11, max_position_embeddings: "     \
    "5, " LAYERS "}"
#define PHI3                                                                                       \
    "{model_type: phi3, hidden_size: 8, intermediate_size: 16, vocab_size: 11, " LAYERS            \
    ", num_key_value_heads: 2}"
#define FALCON "{model_type: falcon, hidden_size: 8, vocab_size: 11, " LAYERS ", "

struct shape {
    const char *config;
    enum weight_style style;
    enum model_part part;
    const char *name;
    const char *is; /* the sizes, and the dimension that is cut in brackets */
};

static const struct shape shapes[] = {
    /* Conv1D is [in, out]; embeddings and the head are not Conv1D. */
    {GPT2 "}", STYLE_HUGGING_FACE, PART_EMBEDDING, "transformer.wte.weight", "[11] 8"},
    {GPT2 "}", STYLE_HUGGING_FACE, PART_EMBEDDING, "transformer.wpe.weight", "5 8"},
    {GPT2 "}", STYLE_HUGGING_FACE, PART_TIED_HEAD, "lm_head.weight", "[11] 8"},
    {GPT2 ", tie_word_embeddings: false}", STYLE_HUGGING_FACE, PART_HEAD, "lm_head.weight",
     "[11] 8"},
    {GPT2 "}", STYLE_HUGGING_FACE, PART_DENSE_LAYER, "transformer.h.#.attn.c_attn.weight",
     "8 [24]"},
    {GPT2 "}", STYLE_HUGGING_FACE, PART_DENSE_LAYER, "transformer.h.#.attn.c_proj.weight", "[8] 8"},
    {GPT2 "}", STYLE_HUGGING_FACE, PART_DENSE_LAYER, "transformer.h.#.mlp.c_fc.weight", "8 [32]"},
    {GPT2 "}", STYLE_HUGGING_FACE, PART_DENSE_LAYER, "transformer.h.#.mlp.c_proj.weight", "[32] 8"},
    {GPT2 "}", STYLE_MEGATRON, PART_EMBEDDING, "embedding.word_embeddings.weight", "[11] 8"},
    {GPT2 "}", STYLE_MEGATRON, PART_EMBEDDING, "embedding.position_embeddings.weight", "5 8"},
    {GPT2 "}", STYLE_MEGATRON, PART_DENSE_LAYER,
     "decoder.layers.#.self_attention.linear_qkv.weight", "[24] 8"},
    {GPT2 "}", STYLE_TITAN, PART_EMBEDDING, "tok_embeddings.weight", "[11] 8"},
    {GPT2 "}", STYLE_TITAN, PART_DENSE_LAYER, "layers.#.feed_forward.w1.weight", "[32] 8"},
    /* Linear layers everywhere else. */
    {OPT, STYLE_HUGGING_FACE, PART_EMBEDDING, "model.decoder.embed_positions.weight", "7 8"},
    {OPT, STYLE_HUGGING_FACE, PART_DENSE_LAYER, "model.decoder.layers.#.fc1.weight", "[16] 8"},
    {PHI3, STYLE_HUGGING_FACE, PART_DENSE_LAYER, "model.layers.#.self_attn.qkv_proj.weight",
     "[16] 8"},
    {PHI3, STYLE_HUGGING_FACE, PART_DENSE_LAYER, "model.layers.#.mlp.gate_up_proj.weight",
     "[32] 8"},
    {PHI3, STYLE_HUGGING_FACE, PART_DENSE_LAYER, "model.layers.#.mlp.down_proj.weight", "8 [16]"},
    /* All experts in one: [expert, in, out] of Hugging Face's, [expert, out, in] of torchtitan's.
     */
    {GPT_OSS, STYLE_HUGGING_FACE, PART_MOE_LAYER, "model.layers.#.mlp.router.weight", "6 12"},
    {GPT_OSS, STYLE_HUGGING_FACE, PART_MOE_LAYER, "model.layers.#.mlp.experts.gate_up_proj",
     "6 12 [14]"},
    {GPT_OSS, STYLE_HUGGING_FACE, PART_MOE_LAYER, "model.layers.#.mlp.experts.gate_up_proj_bias",
     "6 [14]"},
    {GPT_OSS, STYLE_HUGGING_FACE, PART_MOE_LAYER, "model.layers.#.mlp.experts.down_proj",
     "6 [7] 12"},
    {GPT_OSS, STYLE_HUGGING_FACE, PART_MOE_LAYER, "model.layers.#.mlp.experts.down_proj_bias",
     "6 12"},
    {GPT_OSS, STYLE_TITAN, PART_MOE_LAYER, "layers.#.moe.experts.w1", "6 [7] 12"},
    {GPT_OSS, STYLE_TITAN, PART_MOE_LAYER, "layers.#.moe.experts.w2", "6 12 [7]"},
    {LLAMA4, STYLE_HUGGING_FACE, PART_MOE_LAYER, "model.layers.#.feed_forward.router.weight",
     "6 12"},
    {LLAMA4, STYLE_HUGGING_FACE, PART_MOE_LAYER, "model.layers.#.feed_forward.experts.gate_up_proj",
     "6 12 [14]"},
    {LLAMA4, STYLE_HUGGING_FACE, PART_MOE_LAYER, "model.layers.#.feed_forward.experts.down_proj",
     "6 [7] 12"},
    /* torchvision's, with dimensions of one. */
    {VIT, STYLE_HUGGING_FACE, PART_EMBEDDING, "class_token", "1 1 8"},
    {VIT, STYLE_HUGGING_FACE, PART_EMBEDDING, "encoder.pos_embedding", "1 5 8"},
    {VIT, STYLE_HUGGING_FACE, PART_EMBEDDING, "conv_proj.weight", "8 3 2 2"},
    {VIT, STYLE_HUGGING_FACE, PART_HEAD, "heads.head.weight", "[9] 8"},
    /* Falcon's norms: the names say whether attention and MLP run side by side. */
    {FALCON "new_decoder_architecture: true}", STYLE_HUGGING_FACE, PART_DENSE_LAYER,
     "transformer.h.#.ln_mlp.weight", "8"},
    {FALCON "new_decoder_architecture: true, num_ln_in_parallel_attn: 1}", STYLE_HUGGING_FACE,
     PART_DENSE_LAYER, "transformer.h.#.input_layernorm.weight", "8"},
    {FALCON "parallel_attn: false}", STYLE_HUGGING_FACE, PART_DENSE_LAYER,
     "transformer.h.#.post_attention_layernorm.weight", "8"},
};

static void read_config(const char *text, struct arena *arena, struct architecture *model) {
    struct yaml_node *root;
    struct error err = {0};
    *model = (struct architecture){.name = "small"};
    if (yaml_read_text("small", text, strlen(text), arena, &root, &err) != OK ||
        model_config_read_hugging_face(root, model, &err) != OK) {
        fail_msg("%s", err.text);
    }
}

static const struct weight *find(const struct weight *weights, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(weights[i].name, name) == 0) {
            return &weights[i];
        }
    }
    fail_msg("no weight '%s'", name);
    return NULL;
}

static void shapes_are_those_of_the_framework(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct shape *row = &shapes[i];
        struct arena arena = {0};
        struct architecture model;
        struct weight weights[PART_WEIGHTS];
        read_config(row->config, &arena, &model);
        size_t count = weight_list(&model, row->part, row->style, weights);
        const struct weight *weight = find(weights, count, row->name);
        char text[128] = "";
        for (int k = 0; k < weight->dimensions; k++) {
            size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, k == weight->cut ? "%s[%llu]" : "%s%llu",
                     k > 0 ? " " : "", (unsigned long long)weight->shape[k]);
        }
        if (strcmp(text, row->is) != 0) {
            fail_msg("%s: %s, not %s", row->name, text, row->is);
        }
        arena_fini(&arena);
    }
}

/* How a framework keeps weights does not change how many there are. */
static void all_styles_hold_as_many_elements(void **state) {
    (void)state;
    static const char *const configs[] = {GPT2 "}", OPT, PHI3, GPT_OSS, LLAMA4, VIT};
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        struct arena arena = {0};
        struct architecture model;
        read_config(configs[i], &arena, &model);
        for (enum model_part part = 0; part < PART_GIVEN; part++) {
            uint64_t sums[3] = {0};
            if (part == PART_MOE_LAYER && model.experts == 0) {
                continue;
            }
            for (enum weight_style style = STYLE_MEGATRON; style <= STYLE_TITAN; style++) {
                struct weight weights[PART_WEIGHTS];
                size_t count = weight_list(&model, part, style, weights);
                for (size_t k = 0; k < count; k++) {
                    sums[style] +=
                        weight_elements(&weights[k]) * weight_copies(&weights[k], &model);
                }
            }
            assert_int_equal(sums[STYLE_HUGGING_FACE], sums[STYLE_MEGATRON]);
            assert_int_equal(sums[STYLE_TITAN], sums[STYLE_MEGATRON]);
        }
        arena_fini(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_those_of_the_framework),
        cmocka_unit_test(all_styles_hold_as_many_elements),
    };
    return cmocka_run_group_tests_name("weight", tests, NULL, NULL);
}
