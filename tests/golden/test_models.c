/* Parameter counts against tests/golden/models.json, whose numbers are published ones. */
#include "base/yaml.h"
#include "models/architecture.h"
#include "models/model_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct yaml_node *read_golden(struct arena *arena) {
    struct yaml_node *root;
    struct error err;
    assert_int_equal(yaml_read_file("tests/golden/models.json", arena, &root, &err), OK);
    return yaml_get(root, "models");
}

static const struct yaml_node *find_entry(const struct yaml_node *models, const char *name) {
    for (uint32_t i = 0; i < models->count; i++) {
        if (strcmp(yaml_get(models->items[i], "name")->text, name) == 0) {
            return models->items[i];
        }
    }
    fail_msg("no golden entry '%s'", name);
    return NULL;
}

static uint64_t total_parameters(const struct yaml_node *entry) {
    uint64_t value;
    assert_int_equal(yaml_count(yaml_get(entry, "params_total"), "params", &value, NULL), OK);
    return value;
}

/* The configs in the golden file are those of the language model alone. */
static uint64_t golden_parameters(const struct yaml_node *entry) {
    const struct yaml_node *text = yaml_get(entry, "text_params");
    uint64_t value;
    const struct yaml_node *node = text != NULL ? text : yaml_get(entry, "params_total");
    assert_int_equal(yaml_count(node, "params", &value, NULL), OK);
    return value;
}

static void hugging_face_configs_give_the_published_counts(void **state) {
    (void)state;
    struct arena arena = {0};
    const struct yaml_node *models = read_golden(&arena);
    int read = 0;
    for (uint32_t i = 0; i < models->count; i++) {
        const struct yaml_node *config = yaml_get(models->items[i], "hf_config");
        const char *name = yaml_get(models->items[i], "name")->text;
        if (config == NULL) {
            continue;
        }
        struct architecture model = {.name = name};
        struct error err = {0};
        if (model_config_read_hugging_face(config, &model, &err) != OK) {
            fail_msg("%s: %s", name, err.text);
        }
        uint64_t expected = golden_parameters(models->items[i]);
        if (architecture_parameters(&model) != expected) {
            fail_msg("%s: %llu parameters, golden %llu", name,
                     (unsigned long long)architecture_parameters(&model),
                     (unsigned long long)expected);
        }
        read++;
    }
    assert_true(read >= 28);
    arena_fini(&arena);
}

static void every_golden_name_is_a_built_in_model(void **state) {
    (void)state;
    struct arena arena = {0};
    const struct yaml_node *models = read_golden(&arena);
    assert_true(models->count >= 30);
    for (uint32_t i = 0; i < models->count; i++) {
        const char *name = yaml_get(models->items[i], "name")->text;
        struct architecture model;
        struct error err = {0};
        if (architecture_read(name, NULL, &arena, &model, &err) != OK) {
            fail_msg("%s: %s", name, err.text);
        }
        if (architecture_parameters(&model) != total_parameters(models->items[i])) {
            fail_msg("%s: %llu", name, (unsigned long long)architecture_parameters(&model));
        }
    }
    arena_fini(&arena);
}

/* Published counts of families that the golden file has no model of, and of other members of those
 * it has. */
struct published {
    const char *config;
    uint64_t parameters;
};

static const struct published others[] = {
    {"{model_type: bloom, hidden_size: 14336, n_layer: 70, num_attention_heads: 112, "
     "vocab_size: 250880}",
     UINT64_C(176247271424)},
    {"{model_type: falcon, hidden_size: 8192, num_hidden_layers: 60, num_attention_heads: 128, "
     "num_kv_heads: 8, vocab_size: 65024, new_decoder_architecture: true, bias: false}",
     UINT64_C(41303293952)},
    {"{model_type: falcon, hidden_size: 4544, num_hidden_layers: 32, num_attention_heads: 71, "
     "vocab_size: 65024, new_decoder_architecture: false, multi_query: true, bias: false, "
     "parallel_attn: true}",
     UINT64_C(6921720704)},
    {"{model_type: falcon, hidden_size: 14848, num_hidden_layers: 80, num_attention_heads: 232, "
     "num_kv_heads: 8, vocab_size: 65024, new_decoder_architecture: true, bias: false, "
     "tie_word_embeddings: false}",
     UINT64_C(179522565120)},
    {"{model_type: gpt_neox, hidden_size: 6144, num_hidden_layers: 44, num_attention_heads: 64, "
     "intermediate_size: 24576, vocab_size: 50432}",
     UINT64_C(20554567680)},
    {"{model_type: qwen2_moe, hidden_size: 2048, num_hidden_layers: 24, num_attention_heads: 16, "
     "num_key_value_heads: 16, intermediate_size: 5632, vocab_size: 151936, num_experts: 60, "
     "moe_intermediate_size: 1408, shared_expert_intermediate_size: 5632}",
     UINT64_C(14315784192)},
    {"{model_type: gemma, hidden_size: 2048, num_hidden_layers: 18, num_attention_heads: 8, "
     "num_key_value_heads: 1, head_dim: 256, intermediate_size: 16384, vocab_size: 256000}",
     UINT64_C(2506172416)},
    {"{model_type: gemma2, hidden_size: 3584, num_hidden_layers: 42, num_attention_heads: 16, "
     "num_key_value_heads: 8, head_dim: 256, intermediate_size: 14336, vocab_size: 256000}",
     UINT64_C(9241705984)},
    {"{model_type: qwen2, hidden_size: 896, num_hidden_layers: 24, num_attention_heads: 14, "
     "num_key_value_heads: 2, intermediate_size: 4864, vocab_size: 151936, "
     "tie_word_embeddings: true}",
     UINT64_C(494032768)},
    {"{model_type: qwen3, hidden_size: 4096, num_hidden_layers: 36, num_attention_heads: 32, "
     "num_key_value_heads: 8, head_dim: 128, intermediate_size: 12288, vocab_size: 151936}",
     UINT64_C(8190735360)},
    {"{model_type: deepseek_v2, hidden_size: 2048, num_hidden_layers: 27, q_lora_rank: null, "
     "num_attention_heads: 16, intermediate_size: 10944, vocab_size: 102400, "
     "n_routed_experts: 64, n_shared_experts: 2, moe_intermediate_size: 1408, "
     "first_k_dense_replace: 1, kv_lora_rank: 512, qk_nope_head_dim: 128, qk_rope_head_dim: 64, "
     "v_head_dim: 128}",
     UINT64_C(15706484224)},
    /* Gemma 3 27B and Llama 4 Scout with their towers; Gemma leaves out what is the default. */
    {"{model_type: gemma3, text_config: {model_type: gemma3_text, hidden_size: 5376, head_dim: 128,"
     " num_hidden_layers: 62, intermediate_size: 21504, num_attention_heads: 32, "
     "num_key_value_heads: 16}, vision_config: {hidden_size: 1152, image_size: 896, "
     "intermediate_size: 4304, model_type: siglip_vision_model, num_attention_heads: 16, "
     "num_hidden_layers: 27, patch_size: 14, vision_use_head: false}}",
     UINT64_C(27432406640)},
    {"{model_type: llama4, text_config: {model_type: llama4_text, hidden_size: 5120, "
     "num_hidden_layers: 48, intermediate_size: 8192, intermediate_size_mlp: 16384, vocab_size: "
     "202048, num_attention_heads: 40, num_key_value_heads: 8, head_dim: 128, num_local_experts: "
     "16, interleave_moe_layer_step: 1}, vision_config: {model_type: llama4_vision_model, "
     "hidden_size: 1408, image_size: 336, intermediate_size: 5632, num_hidden_layers: 34, "
     "patch_size: 14, projector_input_dim: 4096, projector_output_dim: 4096, num_channels: 3}}",
     UINT64_C(108641793536)},
};

static void other_members_of_the_families_come_out_right(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct arena arena = {0};
        struct yaml_node *root;
        struct error err = {0};
        const char *text = others[i].config;
        struct architecture model = {.name = "other"};
        if (yaml_read_text("other", text, strlen(text), &arena, &root, &err) != OK ||
            model_config_read_hugging_face(root, &model, &err) != OK) {
            fail_msg("%s: %s", text, err.text);
        }
        if (architecture_parameters(&model) != others[i].parameters) {
            fail_msg("%s: %llu", text, (unsigned long long)architecture_parameters(&model));
        }
        assert_false(model.vision_left_out);
        arena_fini(&arena);
    }
}

struct built_in {
    const char *name, *golden;
    uint64_t parameters;
};

static const struct built_in built_ins[] = {
    {"llama-2-7b", "llama-2-7b", 0},        {"llama2-13b", "llama-2-13b", 0},
    {"Llama-2-70B", "llama-2-70b", 0},      {"llama-3.1-8b", "llama-3.1-8b", 0},
    {"llama8b", "llama-3.1-8b", 0},         {"llama-3.1-70b", "llama-3.1-70b", 0},
    {"llama70b", "llama-3.1-70b", 0},       {"llama405b", "llama-3.1-405b", 0},
    {"llama3.1-405b", "llama-3.1-405b", 0}, {"llama-3.1-405b", "llama-3.1-405b", 0},
    {"gpt3-175b", "gpt3-175b", 0},          {"mixtral-8x7b", "mixtral-8x7b-v0.1", 0},
    {"deepseek-v3", "deepseek-v3", 0},      {"qwen2.5-72b", "qwen2.5-72b", 0},
    {"llama3_8b", NULL, 8030261248},        {"llama3-70b", NULL, 69882617856},
    {"llama3_405b", NULL, 405853388800},
};

static void built_in_models_and_aliases_give_the_published_counts(void **state) {
    (void)state;
    struct arena arena = {0};
    const struct yaml_node *models = read_golden(&arena);
    for (size_t i = 0; i < sizeof built_ins / sizeof *built_ins; i++) {
        const struct built_in *row = &built_ins[i];
        struct architecture model;
        struct error err = {0};
        if (architecture_read(row->name, NULL, &arena, &model, &err) != OK) {
            fail_msg("%s", err.text);
        }
        uint64_t expected = row->golden != NULL ? golden_parameters(find_entry(models, row->golden))
                                                : row->parameters;
        if (architecture_parameters(&model) != expected) {
            fail_msg("%s: %llu, expected %llu", row->name,
                     (unsigned long long)architecture_parameters(&model),
                     (unsigned long long)expected);
        }
    }
    arena_fini(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hugging_face_configs_give_the_published_counts),
        cmocka_unit_test(every_golden_name_is_a_built_in_model),
        cmocka_unit_test(other_members_of_the_families_come_out_right),
        cmocka_unit_test(built_in_models_and_aliases_give_the_published_counts),
    };
    return cmocka_run_group_tests_name("models", tests, NULL, NULL);
}
