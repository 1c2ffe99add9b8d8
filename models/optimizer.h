#ifndef CKPTSIM_MODELS_OPTIMIZER_H
#define CKPTSIM_MODELS_OPTIMIZER_H

#include "models/datatype.h"
#include "models/tensor.h"

#include <stdbool.h>
#include <stdint.h>

/* What an optimizer keeps for each weight. To add one: a value here, its row and states in
 * optimizer.c, its word in the choices of --optimizer. */

enum optimizer_kind {
    OPTIMIZER_AUTO, /* adam; nothing where the layout holds no optimizer */
    OPTIMIZER_ADAM,
    OPTIMIZER_ADAM_FP32, /* Adam of a model that is fp32 itself */
    OPTIMIZER_ADAM_8BIT,
    OPTIMIZER_LION,
    OPTIMIZER_MUON,
    OPTIMIZER_NONE,
    OPTIMIZER_COUNT,
};

enum { OPTIMIZER_STATES = 8 };

enum state_size {
    STATE_FULL,   /* as many elements as the weight, and its shape */
    STATE_BLOCKS, /* one number for each OPTIMIZER_BLOCK elements */
    STATE_TABLE,  /* 256 numbers */
};

enum { OPTIMIZER_BLOCK = 256, OPTIMIZER_TABLE = 256 };

struct optimizer_state {
    const char *name; /* PyTorch's; "master" for the fp32 copy, which frameworks name differently */
    enum tensor_class class;
    enum state_size size;
    enum datatype datatype; /* DATATYPE_UNSET: what the plan has for the optimizer */
};

struct state_list {
    struct optimizer_state states[OPTIMIZER_STATES];
    uint32_t count;
};

const char *optimizer_name(enum optimizer_kind kind);

/* The states of a weight: matrices inside layers have others under Muon. Those without a datatype
 * get `datatype`; a master copy stands first where there is one. */
struct state_list optimizer_states(enum optimizer_kind kind, bool matrix, bool master,
                                   enum datatype datatype);

/* Elements of a state of a weight of so many elements. */
uint64_t optimizer_state_elements(const struct optimizer_state *state, uint64_t elements);

/* Bytes of all states of a weight of so many elements. */
uint64_t optimizer_bytes(const struct state_list *states, uint64_t elements);

#endif
