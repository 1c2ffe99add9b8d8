/* Model configs as users write them: the three kinds, aliases, and mistakes with their places. */
#include "models/architecture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SHAPE                                                                                      \
    "num_hidden_layers: 2\nintermediate_size: 64\nvocab_size: 100\nnum_attention_heads: 4\n"
#define OURS "family: llama\nhidden_size: 32\n" SHAPE

static enum status read_text(const char *text, struct arena *arena, struct architecture *model,
                             struct error *err) {
    char path[] = "/tmp/ckptsim-test-XXXXXX.yaml";
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    enum status status = architecture_read(path, NULL, arena, model, err);
    unlink(path);
    return status;
}

#define THEIRS(type) "model_type: " type "\nhidden_size: 32\n" SHAPE
#define KV "num_key_value_heads: 2\n"
#define MIXTRAL THEIRS("mixtral") KV
#define MLA                                                                                        \
    "kv_lora_rank: 8\nqk_nope_head_dim: 4\nqk_rope_head_dim: 4\nv_head_dim: 4\n"                   \
    "n_routed_experts: 8\nmoe_intermediate_size: 16\nn_shared_experts: null\n"
#define DEEPSEEK THEIRS("deepseek_v3") MLA "q_lora_rank: null\nfirst_k_dense_replace: 1\n"
#define LLAMA4 THEIRS("llama4_text") KV "head_dim: 8\nnum_local_experts: 8\n"
#define OPT THEIRS("opt") "ffn_dim: 64\nmax_position_embeddings: 8\n"

struct mistake {
    const char *text;
    const char *says[4];
};

static const struct mistake mistakes[] = {
    {OURS "hiden_size: 3\n", {":7:1: ", "'hiden_size'", "hidden_size"}},
    {"hidden_size: 32\n" SHAPE, {"family", "model_type", "model"}},
    {"family: lama\nhidden_size: 32\n" SHAPE, {":1:9: ", "'lama'", "llama"}},
    {"family: [llama]\nhidden_size: 32\n" SHAPE, {":1:9: ", "'family'"}},
    {"family: llama\n" SHAPE, {"'hidden_size'"}},
    {"family: llama\nhidden_size: 0\n" SHAPE,
     {":2:14: ", "'hidden_size' is 0", "1 to 1099511627776"}},
    {"family: llama\nhidden_size: 1099511627777\n" SHAPE, {"1099511627777", "1 to 1099511627776"}},
    {"family: llama\nhidden_size: 99999999999999999999\n" SHAPE,
     {":2:14: ", "'hidden_size'", "2^64"}},
    {"family: llama\nhidden_size: -5\n" SHAPE, {":2:14: ", "'-5'", "1 to"}},
    {"family: llama\nhidden_size: [1]\n" SHAPE, {":2:14: ", "'hidden_size'"}},
    {"family: llama\nhidden_size: 2\n" SHAPE, {"'num_attention_heads' is 4", "'hidden_size' 2"}},
    {"family: llama\nhidden_size: 32\nnum_hidden_layers: 100001\n", {":3:20: ", "1 to 100000"}},
    {OURS "num_key_value_heads: 8\n", {"'num_key_value_heads' is 8", "4 attention heads"}},
    {OURS "zero: 4\n", {":7:7: ", "'zero' is 4", "0 to 3"}},
    {OURS "model_datatype: fp12\n", {":7:17: ", "'fp12'", "bf16"}},
    {OURS "tie_word_embeddings: maybe\n", {":7:22: ", "'maybe'"}},
    {"family: gpt2\nn_embd: 32\nn_layer: 1\nn_head: 1\nvocab_size: 10\n", {"'n_positions'"}},
    {"family: deepseek_v3\nhidden_size: 32\n" SHAPE, {"'kv_lora_rank'"}},
    {"- 1\n", {":1:1: ", "map"}},
    {"model_type: mamba\nhidden_size: 32\n" SHAPE,
     {"'mamba', which is not known", "bloom, deepseek_v2", "'tensors:'", "'parameters: COUNT'"}},
    {"tensors: [1]\n", {":1:10: ", "'tensors' must be a map"}},
    {"tensors: {}\n", {"at least one tensor"}},
    {"tensors: {a: 5}\n", {":1:14: ", "tensor 'a'", "a list of at most 5 sizes"}},
    {"tensors: {a: [1, 0]}\n", {":1:18: ", "a size of 0"}},
    {"tensors: {a b: [1]}\n", {":1:11: ", "letters, digits"}},
    {"tensors: {a: {datatype: fp32}}\n", {":1:14: ", "needs the key 'shape'"}},
    {"tensors: {a: {shape: [1], dtype: fp32}}\n", {"'dtype'", "datatype"}},
    {"tensors: {a: [1]}\nparameters: 5\n", {"not both"}},
    {"tensors: {a: [1]}\nhidden_size: 5\n", {":2:1: ", "'hidden_size'"}},
    {"tensors: {a: [1099511627776, 1099511627776]}\n", {"too large"}},
    {"parameters: 0\n", {":1:13: ", "'parameters' is 0"}},
    {"family: vit\nhidden_size: 32\nnum_hidden_layers: 2\nnum_attention_heads: 4\n",
     {"'num_labels'"}},
    {"family: vit\nhidden_size: 32\nnum_labels: 9\nimage_size: 10\npatch_size: 3\n"
     "num_hidden_layers: 2\nnum_attention_heads: 4\n",
     {"'patch_size' 3 does not divide 'image_size' 10"}},
    {"model_type: qwen3_moe\nhidden_size: 32\nmlp_only_layers: [1]\n" SHAPE,
     {":3:18: ", "'mlp_only_layers'"}},
    {"model_type: opt\nhidden_size: 32\nword_embed_proj_dim: 16\nn_positions: 4\n" SHAPE,
     {":3:22: ", "'word_embed_proj_dim' is 16"}},
    {"model_type: mamba\nhidden_size: 32\n" SHAPE, {":1:13: ", "'model_type' is 'mamba'"}},
    {"model: 5\n", {":1:8: ", "'model' must be a map"}},
    {"model:\n  model_size: 30102\n",
     {":2:3: ", "model_size", "'model.model_size_bytes' is meant"}},
    {"model:\n  hidden_size: 8\n", {":2:3: ", "'model.transformer.hidden_size' is meant"}},
    {"model:\n  num_layer: 8\n", {":2:3: ", "'num_layer'", "num_layers"}},
    {"model:\n  transformer: {hiden_size: 8}\n", {":2:17: ", "'hiden_size'", "hidden_size"}},
    {"model:\n  parallelism: {data: 0}\n", {":2:23: ", "'data' is 0"}},
    {"model:\n  parallelism: {zero_stage: 5}\n", {":2:29: ", "0 to 3"}},
    {"model:\n  parallelism: 4\n", {":2:16: ", "'parallelism' must be a map"}},
    {"model:\n  layer_parameters: 5\n", {":2:21: ", "'layer_parameters' must be a list"}},
    {"model:\n  layer_parameters: [5, x]\n", {":2:25: ", "'layer_parameters'", "'x'"}},
    {"model:\n  num_layers: 100001\n", {":2:15: ", "100000"}},
    {"model:\n  model_size_bytes: 1125899906842625\n", {":2:21: ", "1125899906842624"}},
    {"model:\n  type: [transformer]\n", {":2:9: ", "'type'"}},
    {"model:\n  transformer: {num_kv_heads: 64}\n", {"64 key-value heads"}},
};

/* Hugging Face's classes have numbers of their own where a config is silent. */
static const struct mistake silences[] = {
    {MIXTRAL, {":1:1: ", "needs the key 'num_local_experts'"}},
    {MIXTRAL "num_local_experts: null\n", {":8:20: ", "needs the key 'num_local_experts'"}},
    {MIXTRAL "num_local_experts: 0\n", {":8:20: ", "'num_local_experts' is 0", "at least 1"}},
    {THEIRS("mixtral") "num_local_experts: 8\n", {"needs the key 'num_key_value_heads'"}},
    {THEIRS("mistral"), {"needs the key 'num_key_value_heads'"}},
    {THEIRS("qwen2"), {"needs the key 'num_key_value_heads'"}},
    {THEIRS("qwen3") KV, {"needs the key 'head_dim'"}},
    {THEIRS("qwen3_moe") KV "moe_intermediate_size: 16\n", {"needs the key 'num_experts'"}},
    {THEIRS("qwen3_moe") KV "num_experts: 8\n", {"needs the key 'moe_intermediate_size'"}},
    {THEIRS("qwen3_moe") KV "num_experts: 8\nmoe_intermediate_size: null\n",
     {":9:24: ", "needs the key 'moe_intermediate_size'"}},
    {THEIRS("qwen2_moe") KV "moe_intermediate_size: 16\n", {"needs the key 'num_experts'"}},
    {THEIRS("qwen2_moe") KV "num_experts: 8\nmoe_intermediate_size: 16\n",
     {"needs the key 'shared_expert_intermediate_size'"}},
    {THEIRS("gpt_oss") KV "head_dim: 8\n", {"needs the key 'num_local_experts'"}},
    {THEIRS("gpt_oss") KV "num_local_experts: 8\n", {"needs the key 'head_dim'"}},
    {THEIRS("grok-1"), {"needs the key 'num_experts'"}},
    {LLAMA4, {"needs the key 'intermediate_size_mlp'"}},
    {THEIRS("gemma"), {"needs the key 'num_key_value_heads'"}},
    {THEIRS("gemma2") KV, {"needs the key 'head_dim'"}},
    {THEIRS("deepseek_v3") MLA "first_k_dense_replace: 1\n", {"needs the key 'q_lora_rank'"}},
    {THEIRS("deepseek_v2") MLA "q_lora_rank: 8\n", {"needs the key 'first_k_dense_replace'"}},
    {THEIRS("kimi_k2") MLA "q_lora_rank: 8\n", {"needs the key 'first_k_dense_replace'"}},
    {"model_type: opt\nhidden_size: 32\nn_positions: 4\n" SHAPE, {"needs the key 'ffn_dim'"}},
    {"model_type: gpt_neox\nhidden_size: 32\nnum_hidden_layers: 2\nvocab_size: 100\n"
     "num_attention_heads: 4\n",
     {"needs the key 'intermediate_size'"}},
};

/* What makes the weights others than the family's, and what no model can have. */
static const struct mistake variants[] = {
    {MIXTRAL "num_local_experts: 8\nnum_experts_per_tok: 99\n",
     {":9:22: ", "'num_experts_per_tok' is 99", "1 to the model's 8 experts"}},
    {MIXTRAL "num_local_experts: 8\nnum_experts_per_tok: 0\n", {":9:22: ", "is 0; 1 to"}},
    {MIXTRAL "num_local_experts: 8\nnum_experts_per_tok: many\n", {":9:22: ", "'many'"}},
    {THEIRS("gpt_oss") KV "head_dim: 8\nnum_local_experts: 8\nexperts_per_token: 9\n",
     {":10:20: ", "'experts_per_token' is 9"}},
    {THEIRS("llama") "num_local_experts: 8\n", {":7:20: ", "models of 'llama' have none"}},
    {THEIRS("llama") "num_key_value_heads: 3\n",
     {":7:22: ", "'num_key_value_heads' is 3", "a divisor of the 4 attention heads"}},
    {"model_type: llama\nhidden_size: 33\n" SHAPE,
     {":6:22: ", "'num_attention_heads' is 4", "a divisor of 'hidden_size' 33"}},
    {THEIRS("llama") "text_config: foo\n", {":7:14: ", "'text_config' must be a map"}},
    {"{\"model_type\": \"llava\", \"text_config\": \"foo\"}\n",
     {":1:40: ", "'text_config' must be a map"}},
    {THEIRS("llama") "vision_config: [1]\n", {":7:16: ", "'vision_config' must be a map"}},
    {DEEPSEEK "moe_layer_freq: 2\n", {":16:17: ", "'moe_layer_freq' must be 1"}},
    {DEEPSEEK "moe_layer_freq: [1, 0]\n", {":16:17: ", "'moe_layer_freq' must be 1"}},
    {LLAMA4 "intermediate_size_mlp: 64\nmoe_layers: [1]\n",
     {":11:13: ", "'moe_layers'", "'interleave_moe_layer_step' 1"}},
    {THEIRS("qwen3_moe") "mlp_only_layers: foo\n", {":7:18: ", "'mlp_only_layers'"}},
    {OPT "do_layer_norm_before: false\n", {":9:23: ", "'do_layer_norm_before' is false"}},
    {OPT "enable_bias: false\n", {":9:14: ", "'enable_bias' is false; only true"}},
    {THEIRS("gpt_neox") "attention_bias: false\n", {":7:17: ", "'attention_bias' is false"}},
    {THEIRS("gpt2") "n_positions: 8\nadd_cross_attention: true\n",
     {":8:22: ", "'add_cross_attention' is true; only false"}},
    {THEIRS("llama") "torch_dtype: bf17\n",
     {":7:14: ", "'torch_dtype' is 'bf17'", "float16, bfloat16, float32 or float64"}},
    {THEIRS("llama") "torch_dtype: float32\ndtype: [1]\n", {":8:8: ", "'dtype'", "float16"}},
    {THEIRS("llama") "dtype: 5\n", {":7:8: ", "'dtype' is '5'"}},
    {"model_type: llava\ntext_config: {model_type: llama, hidden_size: 32, num_hidden_layers: 2,\n"
     "  intermediate_size: 64, vocab_size: 100, num_attention_heads: 4, dtype: int3}\n",
     {":3:74: ", "'dtype' is 'int3'"}},
};

static void check_mistakes(const struct mistake *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct arena arena = {0};
        struct architecture model;
        struct error err = {0};
        if (read_text(rows[i].text, &arena, &model, &err) != ERR_USAGE) {
            fail_msg("accepted: %s", rows[i].text);
        }
        assert_null(strchr(err.text, '\n'));
        for (size_t k = 0; k < 4 && rows[i].says[k] != NULL; k++) {
            if (strstr(err.text, rows[i].says[k]) == NULL) {
                fail_msg("'%s' is not in: %s", rows[i].says[k], err.text);
            }
        }
        arena_fini(&arena);
    }
}

static void mistakes_are_named_with_their_place(void **state) {
    (void)state;
    check_mistakes(mistakes, sizeof mistakes / sizeof *mistakes);
}

static void silent_hugging_face_configs_are_not_guessed(void **state) {
    (void)state;
    check_mistakes(silences, sizeof silences / sizeof *silences);
}

static void variants_of_hugging_face_families_are_refused(void **state) {
    (void)state;
    check_mistakes(variants, sizeof variants / sizeof *variants);
}

struct type_row {
    const char *lines;
    enum datatype published;
};

static void the_published_type_is_read(void **state) {
    (void)state;
    static const struct type_row rows[] = {
        {"", DATATYPE_UNSET},
        {"torch_dtype: null\n", DATATYPE_UNSET},
        {"torch_dtype: float32\n", DATATYPE_FP32},
        {"torch_dtype: torch.float16\n", DATATYPE_FP16},
        {"dtype: bfloat16\n", DATATYPE_BF16},
        {"torch_dtype: float32\ndtype: float64\n", DATATYPE_FP64},
        {"dtype: half\ntorch_dtype: float32\n", DATATYPE_FP16},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct architecture model;
        struct error err = {0};
        char text[400];
        snprintf(text, sizeof text, "%s%s", THEIRS("llama"), rows[i].lines);
        assert_int_equal(read_text(text, &arena, &model, &err), OK);
        assert_int_equal(model.published_datatype, rows[i].published);
        assert_int_equal(model.model_datatype, DATATYPE_BF16);
        arena_fini(&arena);
    }
}

/* The nearest neighbours of what is refused. */
static void what_says_the_same_as_the_family_is_taken(void **state) {
    (void)state;
    static const char *const texts[] = {
        MIXTRAL "num_local_experts: 8\nnum_experts_per_tok: 8\n",
        MIXTRAL "num_local_experts: 8\nnum_experts_per_tok: null\n",
        THEIRS("llama") "num_local_experts: 0\nnum_key_value_heads: null\ntext_config: null\n",
        THEIRS("mistral") "num_key_value_heads: null\n",
        "model_type: llama\nhidden_size: 33\nhead_dim: 8\n" SHAPE,
        DEEPSEEK "moe_layer_freq: 1\nnum_key_value_heads: 3\n",
        LLAMA4 "intermediate_size_mlp: 64\nmoe_layers: [0, 1]\n",
        LLAMA4 "intermediate_size_mlp: 64\nmoe_layers: [1]\ninterleave_moe_layer_step: 2\n",
        OPT "do_layer_norm_before: true\nenable_bias: null\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct arena arena = {0};
        struct architecture model;
        struct error err = {0};
        if (read_text(texts[i], &arena, &model, &err) != OK) {
            fail_msg("%s", err.text);
        }
        arena_fini(&arena);
    }
}

/* 2^62 parameters in one matrix, and sizes whose products do not fit 64 or even 128 bits. */
static void absurd_models_are_too_large(void **state) {
    (void)state;
    static const char *const texts[] = {
        "family: llama\nhidden_size: 2147483648\nnum_hidden_layers: 1\nintermediate_size: 1\n"
        "vocab_size: 1\nnum_attention_heads: 1\n",
        "family: llama\nhidden_size: 1099511627776\nnum_hidden_layers: 100000\n"
        "intermediate_size: 1099511627776\nvocab_size: 1099511627776\nnum_attention_heads: "
        "1048576\n",
        "family: mixtral\nhidden_size: 1099511627776\nnum_hidden_layers: 100000\n"
        "intermediate_size: 1099511627776\nvocab_size: 1\nnum_attention_heads: 1\n"
        "num_local_experts: 1048576\nn_shared_experts: 1048576\nhead_dim: 1099511627776\n",
        "family: deepseek_v3\nhidden_size: 1099511627776\nnum_hidden_layers: 1\n"
        "intermediate_size: 1\nvocab_size: 1\nnum_attention_heads: 1048576\n"
        "q_lora_rank: 1099511627776\nkv_lora_rank: 1099511627776\n"
        "qk_nope_head_dim: 1099511627776\nqk_rope_head_dim: 1099511627776\n"
        "v_head_dim: 1099511627776\n",
        "model: {num_layers: 4, transformer: {hidden_size: 1099511627776}}\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct arena arena = {0};
        struct architecture model;
        struct error err = {0};
        assert_int_equal(read_text(texts[i], &arena, &model, &err), ERR_USAGE);
        assert_non_null(strstr(err.text, "the model is too large"));
        arena_fini(&arena);
    }
}

static void ours_says_parallelism_and_datatypes(void **state) {
    (void)state;
    struct arena arena = {0};
    struct architecture model;
    struct error err = {0};
    assert_int_equal(read_text(OURS "tp: 2\npp: 2\ndp: 3\nzero: 1\nmodel_datatype: fp32\n"
                                    "aliases: [x]\nabout: a test\n",
                               &arena, &model, &err),
                     OK);
    assert_int_equal(model.parallelism.tp, 2);
    assert_int_equal(model.parallelism.pp, 2);
    assert_int_equal(model.parallelism.dp, 3);
    assert_int_equal(model.parallelism.zero, 1);
    assert_int_equal(model.model_datatype, DATATYPE_FP32);
    assert_int_equal(model.kv_heads, 4);
    /* 2 x (2 x 32 + 32 x 96 + 32 x 32 + 3 x 32 x 64) + 2 x 3200 + 32 */
    assert_int_equal(architecture_parameters(&model), 2 * 10304 + 6432);
    arena_fini(&arena);
}

static void hugging_face_json_may_hold_anything_else(void **state) {
    (void)state;
    static const char text[] =
        "{\"architectures\": [\"LlamaForCausalLM\"], \"attention_bias\": false,\n"
        " \"attention_dropout\": 0.0, \"bos_token_id\": 128000, \"head_dim\": null,\n"
        " \"hidden_size\": 4096, \"intermediate_size\": 14336, \"model_type\": \"llama\",\n"
        " \"max_position_embeddings\": 131072, \"num_attention_heads\": 32,\n"
        " \"num_hidden_layers\": 32, \"num_key_value_heads\": 8, \"rope_scaling\": {\"factor\": "
        "8.0},\n"
        " \"tie_word_embeddings\": false, \"torch_dtype\": \"bfloat16\", \"vocab_size\": 128256}\n";
    struct arena arena = {0};
    struct architecture model;
    struct error err = {0};
    assert_int_equal(read_text(text, &arena, &model, &err), OK);
    assert_int_equal(architecture_parameters(&model), UINT64_C(8030261248));
    arena_fini(&arena);
}

static void a_text_config_inside_is_the_language_model(void **state) {
    (void)state;
    struct arena arena = {0};
    struct architecture model;
    struct error err = {0};
    assert_int_equal(
        read_text("{\"model_type\": \"gemma3\", \"vision_config\": {\"hidden_size\": 1},\n"
                  " \"text_config\": {\"model_type\": \"llama\", \"hidden_size\": 32,\n"
                  " \"num_hidden_layers\": 2, \"intermediate_size\": 64,\n"
                  " \"vocab_size\": 100, \"num_attention_heads\": 4}}\n",
                  &arena, &model, &err),
        OK);
    assert_int_equal(model.layers, 2);
    arena_fini(&arena);
}

static void a_tower_that_is_not_known_is_said_to_be_left_out(void **state) {
    (void)state;
    struct arena arena = {0};
    struct architecture model;
    struct error err = {0};
    assert_int_equal(
        read_text("{\"model_type\": \"llava\", \"vision_config\": {\"hidden_size\": 1024},\n"
                  " \"text_config\": {\"model_type\": \"llama\", \"hidden_size\": 32,\n"
                  " \"num_hidden_layers\": 2, \"intermediate_size\": 64,\n"
                  " \"vocab_size\": 100, \"num_attention_heads\": 4}}\n",
                  &arena, &model, &err),
        OK);
    assert_true(model.vision_left_out);
    assert_int_equal(model.vision_parameters, 0);
    arena_fini(&arena);
}

static void weights_can_be_listed_or_counted(void **state) {
    (void)state;
    struct arena arena = {0};
    struct architecture model;
    struct error err = {0};
    assert_int_equal(read_text("about: by hand\nmodel_datatype: fp16\ntensors:\n"
                               "  conv.weight: [64, 3, 7, 7]\n  scale: []\n"
                               "  table: {shape: [5, 2], datatype: fp32}\n"
                               "buffers:\n  mean: [64]\n"
                               "  count: {shape: [], datatype: int64}\n",
                               &arena, &model, &err),
                     OK);
    assert_int_equal(architecture_parameters(&model), 64 * 3 * 49 + 1 + 10);
    assert_int_equal(model.given.count, 5);
    assert_int_equal(model.raw.model_bytes, 2 * (64 * 3 * 49 + 1) + 4 * 10 + 4 * 64 + 8);
    assert_int_equal(read_text("parameters: 123456789\n", &arena, &model, &err), OK);
    assert_int_equal(architecture_parameters(&model), 123456789);
    arena_fini(&arena);
}

static void dlio_defaults_and_minus_ones_hold(void **state) {
    (void)state;
    struct arena arena = {0};
    struct architecture model;
    struct error err = {0};
    assert_int_equal(read_text("model: {name: cnn, type: cnn, model_size_bytes: 499153191,\n"
                               "        num_layers: -1, parallelism: {data: -1}}\n"
                               "dataset: {anything: [1, 2]}\n",
                               &arena, &model, &err),
                     OK);
    assert_string_equal(model.name, "cnn");
    assert_true(model.raw.model_state);
    assert_int_equal(model.raw.model_bytes, 499153191);
    assert_int_equal(model.layers, 0);
    assert_int_equal(model.parallelism.dp, 0);
    assert_int_equal(architecture_parameters(&model), 0);
    arena_fini(&arena);
}

static void names_are_matched_without_case_and_signs(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"llama405b", "llama-3.1-405b"},
        {"Llama3.1_405B", "llama-3.1-405b"},
        {"llama-3.1-405b", "llama-3.1-405b"},
        {"llama3-405b", "llama3_405b"},
        {"llama3-8b", "llama3_8b"},
        {"llama3_70b", "llama3_70b"},
        {"LLAMA-3-1T", "llama3_1t"},
        {"llama70b", "llama-3.1-70b"},
        {"llama8b", "llama-3.1-8b"},
        {"llama2-7b", "llama-2-7b"},
        {"llama2_70b", "llama-2-70b"},
        {"gpt3", "gpt3-175b"},
        {"deepseekv3", "deepseek-v3"},
        {"mixtral", "mixtral-8x7b"},
        {"mlperf-llama3-405b", "llama3_405b"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct architecture model;
        struct error err = {0};
        if (architecture_read(rows[i][0], NULL, &arena, &model, &err) != OK) {
            fail_msg("%s", err.text);
        }
        assert_string_equal(model.name, rows[i][1]);
        arena_fini(&arena);
    }
}

static void a_config_folder_wins_over_the_built_in(void **state) {
    (void)state;
    char folder[] = "/tmp/ckptsim-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/models", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/models/gpt3-175b.yaml", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(OURS "aliases: [my-own]\n", file);
    fclose(file);
    static const char *const names[] = {"gpt3-175b", "my_own"};
    for (size_t i = 0; i < 2; i++) {
        struct arena arena = {0};
        struct architecture model;
        struct error err = {0};
        assert_int_equal(architecture_read(names[i], folder, &arena, &model, &err), OK);
        assert_int_equal(model.hidden, 32);
        arena_fini(&arena);
    }
    unlink(path);
    snprintf(path, sizeof path, "%s/models", folder);
    rmdir(path);
    rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_named_with_their_place),
        cmocka_unit_test(silent_hugging_face_configs_are_not_guessed),
        cmocka_unit_test(variants_of_hugging_face_families_are_refused),
        cmocka_unit_test(the_published_type_is_read),
        cmocka_unit_test(what_says_the_same_as_the_family_is_taken),
        cmocka_unit_test(absurd_models_are_too_large),
        cmocka_unit_test(ours_says_parallelism_and_datatypes),
        cmocka_unit_test(hugging_face_json_may_hold_anything_else),
        cmocka_unit_test(a_text_config_inside_is_the_language_model),
        cmocka_unit_test(a_tower_that_is_not_known_is_said_to_be_left_out),
        cmocka_unit_test(weights_can_be_listed_or_counted),
        cmocka_unit_test(dlio_defaults_and_minus_ones_hold),
        cmocka_unit_test(names_are_matched_without_case_and_signs),
        cmocka_unit_test(a_config_folder_wins_over_the_built_in),
    };
    return cmocka_run_group_tests_name("model_config", tests, NULL, NULL);
}
