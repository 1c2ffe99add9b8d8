#ifndef CKPTSIM_MODELS_ROLE_H
#define CKPTSIM_MODELS_ROLE_H

/* What a weight is for; the key of the tables of names. */

enum weight_role {
    ROLE_EMBEDDING,
    ROLE_POSITIONS,
    ROLE_EMBEDDING_NORM,
    ROLE_EMBEDDING_NORM_BIAS,
    ROLE_VISION,
    ROLE_CLASS_TOKEN,
    ROLE_PATCHES,
    ROLE_PATCHES_BIAS,
    ROLE_NORM_1, /* the norms of a layer, in order; each is followed by its bias */
    ROLE_NORM_1_BIAS,
    ROLE_NORM_2,
    ROLE_NORM_2_BIAS,
    ROLE_NORM_3,
    ROLE_NORM_3_BIAS,
    ROLE_NORM_4,
    ROLE_NORM_4_BIAS,
    ROLE_QKV,
    ROLE_QKV_BIAS,
    ROLE_Q,
    ROLE_Q_BIAS,
    ROLE_K,
    ROLE_K_BIAS,
    ROLE_V,
    ROLE_V_BIAS,
    ROLE_OUT,
    ROLE_OUT_BIAS,
    ROLE_Q_NORM,
    ROLE_K_NORM,
    ROLE_SINKS,
    ROLE_Q_DOWN,
    ROLE_Q_DOWN_NORM,
    ROLE_Q_UP,
    ROLE_KV_DOWN,
    ROLE_KV_DOWN_NORM,
    ROLE_KV_UP,
    ROLE_ROUTER,
    ROLE_ROUTER_BIAS,
    ROLE_CORRECTION_BIAS,
    ROLE_SHARED_GATE,
    ROLE_MLP_IN, /* gate and up in one; without a gate, up; each followed by its bias */
    ROLE_MLP_IN_BIAS,
    ROLE_MLP_GATE,
    ROLE_MLP_GATE_BIAS,
    ROLE_MLP_UP,
    ROLE_MLP_UP_BIAS,
    ROLE_MLP_DOWN,
    ROLE_MLP_DOWN_BIAS,
    ROLE_EXPERT_IN, /* the same order as ROLE_MLP_IN and the rest */
    ROLE_EXPERT_IN_BIAS,
    ROLE_EXPERT_GATE,
    ROLE_EXPERT_GATE_BIAS,
    ROLE_EXPERT_UP,
    ROLE_EXPERT_UP_BIAS,
    ROLE_EXPERT_DOWN,
    ROLE_EXPERT_DOWN_BIAS,
    ROLE_SHARED_IN, /* and again */
    ROLE_SHARED_IN_BIAS,
    ROLE_SHARED_GATE_PROJECTION,
    ROLE_SHARED_GATE_PROJECTION_BIAS,
    ROLE_SHARED_UP,
    ROLE_SHARED_UP_BIAS,
    ROLE_SHARED_DOWN,
    ROLE_SHARED_DOWN_BIAS,
    ROLE_FINAL_NORM,
    ROLE_FINAL_NORM_BIAS,
    ROLE_HEAD,
    ROLE_HEAD_BIAS,
    ROLE_COUNT,
};

/* The tables of names: which framework, and which of its families. */
enum name_table {
    NAMES_LLAMA, /* the default: what a table lacks is taken from here */
    NAMES_MIXTRAL,
    NAMES_QWEN2_MOE,
    NAMES_GPT2,
    NAMES_OPT,
    NAMES_BLOOM,
    NAMES_FALCON,
    NAMES_NEOX,
    NAMES_GPT_OSS,
    NAMES_LLAMA4,
    NAMES_VIT,
    NAMES_MEGATRON,
    NAMES_TITAN,
    NAMES_COUNT,
};

/* A name with '#' for the layer's number and '@' for the expert's. */
const char *role_name(enum name_table table, enum weight_role role);

#endif
