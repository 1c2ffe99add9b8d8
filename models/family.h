#ifndef CKPTSIM_MODELS_FAMILY_H
#define CKPTSIM_MODELS_FAMILY_H

#include "models/role.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What all models of one architecture family share and a config does not say. To add a family: one
 * row in family.c, and an entry with its published parameter count in tests/golden. */

enum { FAMILY_NEEDS = 4 };

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
    bool embedding_norm;     /* a norm behind the embedding */
    bool mla;                /* multi-head latent attention */
    bool correction_bias;    /* one number per expert that balances the routing */
    bool router_bias, expert_bias;
    bool sinks;         /* one learned number per head */
    bool shared_expert; /* every MoE layer has one more expert, used by all tokens */
    bool shared_gate;   /* and a gate of `hidden` elements before it */
    bool image;         /* patches of an image instead of words, classes instead of a vocabulary */
    bool parallel;      /* Falcon: the number of norms and key-value heads follows from flags */
    /* How Hugging Face's files hold them. */
    enum name_table names;
    bool qkv_together, gate_together;
    bool transposed;      /* weights of attention and MLP are [in, out] */
    bool experts_stacked; /* all experts of a layer in one tensor */
    /* Where a config leaves a size out because it is the default; zero: it must be there. */
    uint32_t vocab, heads, kv_heads, head_dim;
    /* What a Hugging Face config must say: where it is silent the modelling code takes the numbers
     * of one published model, and they would be guessed here. */
    const char *experts; /* the key that counts the experts; NULL: a dense family */
    const char *needs[FAMILY_NEEDS];
};

/* Ends with a row of NULL. */
extern const struct family families[];

/* The family of that name or NULL. */
const struct family *family_find(const char *name);

/* Writes the names of all families, ", " between them, for error texts. */
void family_names(char *buffer, size_t size);

/* Writes up to three families named like `wanted`, for error texts. */
void family_nearest(const char *wanted, char *buffer, size_t size);

#endif
