#ifndef CKPTSIM_MODELS_FAMILY_H
#define CKPTSIM_MODELS_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What all models of one architecture family share and a config does not say. To add a family: one
 * row in family.c, and an entry with its published parameter count in tests/golden/models.json. */

struct family {
    const char *name;        /* the value of Hugging Face's model_type */
    uint8_t norms;           /* per layer, of `hidden` elements */
    bool norm_bias;          /* LayerNorm: a bias beside each weight */
    bool gated;              /* the MLP has a gate beside its up projection */
    bool qkv_bias, out_bias; /* of the attention */
    bool mlp_bias;
    bool qk_norm;            /* norms of head_dim over queries and keys */
    bool tied;               /* the head is the embedding unless the config says otherwise */
    bool positions;          /* a learned position table */
    uint8_t positions_extra; /* rows in it beyond the longest sequence */
    bool mla;                /* multi-head latent attention */
    bool correction_bias;    /* one number per expert that balances the routing */
    bool router_bias, expert_bias;
    bool sinks;         /* one learned number per head */
    bool shared_expert; /* every MoE layer has one more expert, used by all tokens */
};

/* Ends with a row of NULL. */
extern const struct family families[];

/* The family of that name or NULL. */
const struct family *family_find(const char *name);

/* Writes up to three families named like `wanted`, for error texts. */
void family_nearest(const char *wanted, char *buffer, size_t size);

#endif
