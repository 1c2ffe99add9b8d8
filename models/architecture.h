#ifndef CKPTSIM_MODELS_ARCHITECTURE_H
#define CKPTSIM_MODELS_ARCHITECTURE_H

#include "base/error.h"
#include "base/memory.h"
#include "models/datatype.h"
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

/* Of a config; zero: it does not say, except for the ZeRO stage. A plan has all of them. */
struct parallelism {
    uint64_t tp, pp, dp;
    uint64_t zero;    /* the ZeRO stage, 0-3 */
    uint64_t cp;      /* context parallel: cuts no weights, adds to the data parallel shards */
    uint64_t ep, etp; /* expert parallel, and tensor parallel inside an expert */
    uint64_t vpp;     /* virtual stages, chunks, on each pipeline stage */
    uint64_t first_layers, last_layers; /* of an uneven pipeline; zero: as the rest */
};

struct weight;

/* Sizes that DLIO's older configs give in bytes instead of a model's shape. */
struct raw_sizes {
    bool model_state; /* every rank writes model_bytes in a file of its own */
    uint64_t model_bytes;
    uint64_t *layer_bytes;             /* tensors of each layer */
    uint64_t *group_bytes;             /* optimizer groups */
    uint32_t layer_count, group_count; /* zero: the shape says it */
};

/* What Falcon's configs say instead of a number of norms and of key-value heads. */
struct falcon_flags {
    bool new_decoder, multi_query, parallel, bias;
    uint64_t norms; /* of attention and MLP side by side; zero: as the decoder has them */
};

/* Weights that a config lists one by one instead of giving a shape: a convolutional network. */
struct given_weights {
    struct weight *weights;
    uint32_t count;
};

struct architecture {
    const char *name;
    const struct family *family; /* NULL: the weights are given */
    uint64_t norms;              /* of a layer */
    uint64_t hidden, layers, ffn, vocab, heads;
    uint64_t kv_heads;  /* as many as heads where the config is silent */
    uint64_t head_dim;  /* zero: queries are `hidden` wide and a head is hidden / heads */
    uint64_t positions; /* rows of the learned position table */
    uint64_t experts;   /* routed, in each MoE layer; zero: a dense model */
    uint64_t expert_ffn, dense_ffn; /* zero: ffn */
    uint64_t shared_experts;
    uint64_t shared_ffn;  /* zero: shared_experts times the experts' */
    uint64_t first_dense; /* that many layers at the front have no experts */
    uint64_t moe_step;    /* every so many layers have experts; 1: all */
    uint64_t q_lora, kv_lora, qk_nope, qk_rope, v_head; /* of MLA; q_lora zero: no bottleneck */
    bool tied, attention_bias, mlp_bias;
    uint64_t image_size, patch_size, channels; /* of an image model */
    struct falcon_flags falcon;
    uint64_t vision_parameters; /* of the tower beside a language model, as one weight */
    bool vision_left_out;       /* the config has a tower whose sizes are not known */
    enum datatype model_datatype, optimizer_datatype;
    enum datatype published_datatype; /* of the weights as they are published; UNSET: not said */
    struct raw_sizes raw;
    struct given_weights given;
    struct parallelism parallelism; /* what the config suggests */
};

enum model_part {
    PART_EMBEDDING,
    PART_DENSE_LAYER,
    PART_MOE_LAYER,
    PART_FINAL_NORM,
    PART_HEAD,
    PART_TIED_HEAD, /* the copy of a tied embedding that a last pipeline stage holds */
    PART_GIVEN,
    PART_COUNT,
};

/* How many of the layers 0 .. count-1 have experts. */
uint64_t architecture_moe_layers(const struct architecture *model, uint64_t count);

/* Dense or MoE: what layer `layer` (from 0) is. */
enum model_part architecture_layer(const struct architecture *model, uint64_t layer);

/* The parameters of one part. Sums that do not fit 64 bits come out as UINT64_MAX here and below.
 */
uint64_t architecture_part_parameters(const struct architecture *model, enum model_part part);
uint64_t architecture_parameters(const struct architecture *model);

/* Reads a model config by built-in name, alias or path: our own YAML, a Hugging Face config.json or
 * a DLIO workload. Whatever comes out has sizes within the limits above. */
enum status architecture_read(const char *name, const char *config_dir, struct arena *arena,
                              struct architecture *model, struct error *err);

#endif
