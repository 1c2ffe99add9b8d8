#include "models/family.h"

#include "base/check.h"
#include "base/names.h"

#include <stdio.h>
#include <string.h>

/* Sources: the modelling code of Hugging Face transformers for each model_type (Grok-1: the code
 * released with it; vit: torchvision); every row is held against published parameter counts by
 * tests/golden. */
const struct family families[] = {
    {.name = "bloom",
     .norms = 2,
     .norm_bias = true,
     .qkv_bias = true,
     .out_bias = true,
     .mlp_bias = true,
     .tied = true,
     .embedding_norm = true,
     .qkv_together = true,
     .names = NAMES_BLOOM},
    {.name = "deepseek_v2",
     .norms = 2,
     .gated = true,
     .mla = true,
     .experts = "n_routed_experts",
     .needs = {"moe_intermediate_size", "first_k_dense_replace", "n_shared_experts",
               "q_lora_rank"}},
    {.name = "deepseek_v3",
     .norms = 2,
     .gated = true,
     .mla = true,
     .correction_bias = true,
     .experts = "n_routed_experts",
     .needs = {"moe_intermediate_size", "first_k_dense_replace", "n_shared_experts",
               "q_lora_rank"}},
    {.name = "falcon",
     .norms = 2,
     .norm_bias = true,
     .tied = true,
     .parallel = true,
     .qkv_together = true,
     .names = NAMES_FALCON},
    {.name = "gemma",
     .norms = 2,
     .gated = true,
     .tied = true,
     .needs = {"num_key_value_heads", "head_dim"}},
    {.name = "gemma2",
     .norms = 4,
     .gated = true,
     .tied = true,
     .needs = {"num_key_value_heads", "head_dim"}},
    {.name = "gemma3_text",
     .norms = 4,
     .gated = true,
     .qk_norm = true,
     .tied = true,
     .vocab = 262208,
     .heads = 8,
     .kv_heads = 4,
     .head_dim = 256},
    {.name = "gpt2",
     .norms = 2,
     .norm_bias = true,
     .qkv_bias = true,
     .out_bias = true,
     .mlp_bias = true,
     .tied = true,
     .positions = true,
     .qkv_together = true,
     .transposed = true,
     .names = NAMES_GPT2},
    {.name = "gpt_neox",
     .norms = 2,
     .norm_bias = true,
     .qkv_bias = true,
     .out_bias = true,
     .mlp_bias = true,
     .qkv_together = true,
     .names = NAMES_NEOX,
     .needs = {"intermediate_size"}},
    {.name = "gpt_oss",
     .norms = 2,
     .gated = true,
     .qkv_bias = true,
     .out_bias = true,
     .router_bias = true,
     .expert_bias = true,
     .sinks = true,
     .experts_stacked = true,
     .names = NAMES_GPT_OSS,
     .experts = "num_local_experts",
     .needs = {"num_key_value_heads", "head_dim"}},
    {.name = "grok-1", .norms = 4, .gated = true, .tied = true, .experts = "num_experts"},
    {.name = "kimi_k2",
     .norms = 2,
     .gated = true,
     .mla = true,
     .correction_bias = true,
     .experts = "n_routed_experts",
     .needs = {"moe_intermediate_size", "first_k_dense_replace", "n_shared_experts",
               "q_lora_rank"}},
    {.name = "llama", .norms = 2, .gated = true},
    {.name = "llama4_text",
     .norms = 2,
     .gated = true,
     .shared_expert = true,
     .experts_stacked = true,
     .names = NAMES_LLAMA4,
     .experts = "num_local_experts",
     .needs = {"num_key_value_heads", "head_dim", "intermediate_size_mlp"}},
    {.name = "mistral", .norms = 2, .gated = true, .needs = {"num_key_value_heads"}},
    {.name = "mixtral",
     .norms = 2,
     .gated = true,
     .names = NAMES_MIXTRAL,
     .experts = "num_local_experts",
     .needs = {"num_key_value_heads"}},
    {.name = "opt",
     .norms = 2,
     .norm_bias = true,
     .qkv_bias = true,
     .out_bias = true,
     .mlp_bias = true,
     .tied = true,
     .positions = true,
     .positions_extra = 2,
     .names = NAMES_OPT,
     .needs = {"ffn_dim"}},
    {.name = "phi3", .norms = 2, .gated = true, .qkv_together = true, .gate_together = true},
    {.name = "qwen2",
     .norms = 2,
     .gated = true,
     .qkv_bias = true,
     .needs = {"num_key_value_heads"}},
    {.name = "qwen2_moe",
     .norms = 2,
     .gated = true,
     .qkv_bias = true,
     .shared_gate = true,
     .names = NAMES_QWEN2_MOE,
     .experts = "num_experts",
     .needs = {"num_key_value_heads", "moe_intermediate_size", "shared_expert_intermediate_size"}},
    {.name = "qwen3",
     .norms = 2,
     .gated = true,
     .qk_norm = true,
     .needs = {"num_key_value_heads", "head_dim"}},
    {.name = "qwen3_moe",
     .norms = 2,
     .gated = true,
     .qk_norm = true,
     .experts = "num_experts",
     .needs = {"num_key_value_heads", "moe_intermediate_size"}},
    {.name = "vit",
     .norms = 2,
     .norm_bias = true,
     .qkv_bias = true,
     .out_bias = true,
     .mlp_bias = true,
     .image = true,
     .qkv_together = true,
     .names = NAMES_VIT,
     .needs = {"intermediate_size"}},
    {.name = NULL},
};

enum { FAMILY_COUNT = COUNT_OF(families) - 1 };

const struct family *family_find(const char *name) {
    for (const struct family *family = families; family->name != NULL; family++) {
        if (strcmp(family->name, name) == 0) {
            return family;
        }
    }
    return NULL;
}

void family_names(char *buffer, size_t size) {
    size_t used = 0;
    for (size_t i = 0; i < FAMILY_COUNT && used < size; i++) {
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", i > 0 ? ", " : "",
                                 families[i].name);
    }
}

void family_nearest(const char *wanted, char *buffer, size_t size) {
    const char *names[FAMILY_COUNT];
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        names[i] = families[i].name;
    }
    names_nearest(wanted, names, FAMILY_COUNT, buffer, size);
}
