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
    {.name = "deepseek_v2", .norms = 2, .gated = true, .mla = true},
    {.name = "deepseek_v3", .norms = 2, .gated = true, .mla = true, .correction_bias = true},
    {.name = "falcon",
     .norms = 2,
     .norm_bias = true,
     .tied = true,
     .parallel = true,
     .qkv_together = true,
     .names = NAMES_FALCON},
    {.name = "gemma", .norms = 2, .gated = true, .tied = true},
    {.name = "gemma2", .norms = 4, .gated = true, .tied = true},
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
     .names = NAMES_NEOX},
    {.name = "gpt_oss",
     .norms = 2,
     .gated = true,
     .qkv_bias = true,
     .out_bias = true,
     .router_bias = true,
     .expert_bias = true,
     .sinks = true,
     .experts_stacked = true,
     .names = NAMES_GPT_OSS},
    {.name = "grok-1", .norms = 4, .gated = true, .tied = true},
    {.name = "kimi_k2", .norms = 2, .gated = true, .mla = true, .correction_bias = true},
    {.name = "llama", .norms = 2, .gated = true},
    {.name = "llama4_text",
     .norms = 2,
     .gated = true,
     .shared_expert = true,
     .experts_stacked = true,
     .names = NAMES_LLAMA4},
    {.name = "mistral", .norms = 2, .gated = true},
    {.name = "mixtral", .norms = 2, .gated = true, .names = NAMES_MIXTRAL},
    {.name = "opt",
     .norms = 2,
     .norm_bias = true,
     .qkv_bias = true,
     .out_bias = true,
     .mlp_bias = true,
     .tied = true,
     .positions = true,
     .positions_extra = 2,
     .names = NAMES_OPT},
    {.name = "phi3", .norms = 2, .gated = true, .qkv_together = true, .gate_together = true},
    {.name = "qwen2", .norms = 2, .gated = true, .qkv_bias = true},
    {.name = "qwen2_moe",
     .norms = 2,
     .gated = true,
     .qkv_bias = true,
     .shared_gate = true,
     .names = NAMES_QWEN2_MOE},
    {.name = "qwen3", .norms = 2, .gated = true, .qk_norm = true},
    {.name = "qwen3_moe", .norms = 2, .gated = true, .qk_norm = true},
    {.name = "vit",
     .norms = 2,
     .norm_bias = true,
     .qkv_bias = true,
     .out_bias = true,
     .mlp_bias = true,
     .image = true,
     .qkv_together = true,
     .names = NAMES_VIT},
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
