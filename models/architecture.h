#ifndef CKPTSIM_MODELS_ARCHITECTURE_H
#define CKPTSIM_MODELS_ARCHITECTURE_H

#include "base/error.h"
#include "base/memory.h"
#include "models/family.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a model is made of: the numbers of its config, and the tensors and parameters that follow.
 */

/* A model has less than MODEL_PARAMETERS_LIMIT parameters. With the limits of the single keys this
 * keeps every size of one file below 2^62 bytes, so that layouts need no checked arithmetic; sums
 * over files are checked in plan.c. */
#define MODEL_PARAMETERS_LIMIT (UINT64_C(1) << 56)
enum { MODEL_LAYERS_LIMIT = 100000, MODEL_RAW_LIMIT = 64, RANKS_LIMIT = 1024 * 1024 };
#define MODEL_RAW_BYTES_LIMIT (UINT64_C(1) << 50)

/* Zero: the config does not say, except for the ZeRO stage. */
struct parallelism {
    uint64_t tp, pp, dp;
    uint64_t zero; /* the ZeRO stage, 0-3 */
};

/* Sizes that DLIO's older configs give in bytes instead of a model's shape. */
struct raw_sizes {
    bool model_state; /* every rank writes model_bytes in a file of its own */
    uint64_t model_bytes;
    uint64_t *layer_bytes;             /* tensors of each layer */
    uint64_t *group_bytes;             /* optimizer groups */
    uint32_t layer_count, group_count; /* zero: the shape says it */
};

struct architecture {
    const char *name;
    const struct family *family;
    uint64_t hidden, layers, ffn, vocab, heads;
    uint64_t kv_heads;  /* as many as heads where the config is silent */
    uint64_t head_dim;  /* zero: queries are `hidden` wide and a head is hidden / heads */
    uint64_t positions; /* rows of the learned position table */
    uint64_t experts;   /* routed, in each MoE layer; zero: a dense model */
    uint64_t expert_ffn, dense_ffn; /* zero: ffn */
    uint64_t shared_experts;
    uint64_t first_dense; /* that many layers at the front have no experts */
    uint64_t moe_step;    /* every so many layers have experts; 1: all */
    uint64_t q_lora, kv_lora, qk_nope, qk_rope, v_head; /* of MLA; q_lora zero: no bottleneck */
    bool tied, attention_bias, mlp_bias;
    uint64_t model_bytes, optimizer_bytes; /* of one element: 2 for bf16, 4 for fp32 */
    struct raw_sizes raw;
    struct parallelism parallelism; /* what the config suggests */
};

enum model_part { PART_EMBEDDING, PART_DENSE_LAYER, PART_MOE_LAYER, PART_HEAD, PART_FINAL_NORM };

enum { PART_TENSORS = 32 };

struct tensor {
    uint64_t elements;
    uint64_t copies; /* equal tensors, one for each expert */
    bool split;      /* tensor parallelism cuts it; else every TP rank holds it whole */
};

/* Writes the tensors of one part of the model, in the order a framework saves them: Q, K and V are
 * one tensor, and so are gate and up. Returns their number; zero for the head of a tied model. */
size_t architecture_tensors(const struct architecture *model, enum model_part part,
                            struct tensor tensors[PART_TENSORS]);

/* How many of the layers 0 .. count-1 have experts. */
uint64_t architecture_moe_layers(const struct architecture *model, uint64_t count);

/* Dense or MoE: what layer `layer` (from 0) is. */
enum model_part architecture_layer(const struct architecture *model, uint64_t layer);

/* The elements of one part. Sums that do not fit 64 bits come out as UINT64_MAX here and below. */
uint64_t architecture_part_parameters(const struct architecture *model, enum model_part part);
uint64_t architecture_parameters(const struct architecture *model);

/* Reads a model config by built-in name, alias or path: our own YAML, a Hugging Face config.json or
 * a DLIO workload. Whatever comes out has sizes within the limits above. */
enum status architecture_read(const char *name, const char *config_dir, struct arena *arena,
                              struct architecture *model, struct error *err);

#endif
