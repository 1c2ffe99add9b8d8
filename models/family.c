#include "models/family.h"

#include "base/check.h"
#include "base/names.h"

#include <string.h>

/* Sources: the modelling code of Hugging Face transformers for each model_type; every row is held
 * against published parameter counts by tests/golden. */
const struct family families[] = {
    {.name = "llama", .norms = 2, .gated = true},
    {.name = "mistral", .norms = 2, .gated = true},
    {.name = "mixtral", .norms = 2, .gated = true},
    {.name = "phi3", .norms = 2, .gated = true},
    {.name = "qwen2", .norms = 2, .gated = true, .qkv_bias = true},
    {.name = "qwen3", .norms = 2, .gated = true, .qk_norm = true},
    {.name = "qwen3_moe", .norms = 2, .gated = true, .qk_norm = true},
    {.name = "gpt2",
     .norms = 2,
     .norm_bias = true,
     .qkv_bias = true,
     .out_bias = true,
     .mlp_bias = true,
     .tied = true,
     .positions = true},
    {.name = "opt",
     .norms = 2,
     .norm_bias = true,
     .qkv_bias = true,
     .out_bias = true,
     .mlp_bias = true,
     .tied = true,
     .positions = true,
     .positions_extra = 2},
    {.name = "deepseek_v2", .norms = 2, .gated = true, .mla = true},
    {.name = "deepseek_v3", .norms = 2, .gated = true, .mla = true, .correction_bias = true},
    {.name = "kimi_k2", .norms = 2, .gated = true, .mla = true, .correction_bias = true},
    {.name = "gemma3_text", .norms = 4, .gated = true, .qk_norm = true, .tied = true},
    {.name = "grok-1", .norms = 4, .gated = true, .tied = true},
    {.name = "gpt_oss",
     .norms = 2,
     .gated = true,
     .qkv_bias = true,
     .out_bias = true,
     .router_bias = true,
     .expert_bias = true,
     .sinks = true},
    {.name = "llama4_text", .norms = 2, .gated = true, .shared_expert = true},
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

void family_nearest(const char *wanted, char *buffer, size_t size) {
    const char *names[FAMILY_COUNT];
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        names[i] = families[i].name;
    }
    names_nearest(wanted, names, FAMILY_COUNT, buffer, size);
}
