/* Adam's 12 bytes a parameter beside a 2-byte model (fp32 copy, two moments) and Lion's 8 are what
 * Megatron and DeepSpeed write. 8-bit Adam follows bitsandbytes: two states of one byte, one scale
 * for each block of 256, two tables of 256; there tensors below 4,096 elements stay fp32, which is
 * left out here, and that block size is of its newer versions. Muon keeps one momentum for the
 * matrices inside layers and is Adam for the rest. The last two have not been held against files.
 */
#include "models/optimizer.h"

#include "base/check.h"

#include <stddef.h>

#define MOMENT(name)                                                                               \
    { name, TENSOR_MOMENT, STATE_FULL, DATATYPE_UNSET }

static const struct optimizer_state adam[] = {MOMENT("exp_avg"), MOMENT("exp_avg_sq")};
static const struct optimizer_state lion[] = {MOMENT("exp_avg")};
static const struct optimizer_state momentum[] = {MOMENT("momentum_buffer")};
static const struct optimizer_state adam_8bit[] = {
    {"state1", TENSOR_MOMENT, STATE_FULL, DATATYPE_UINT8},
    {"state2", TENSOR_MOMENT, STATE_FULL, DATATYPE_UINT8},
    {"absmax1", TENSOR_OTHER, STATE_BLOCKS, DATATYPE_FP32},
    {"absmax2", TENSOR_OTHER, STATE_BLOCKS, DATATYPE_FP32},
    {"qmap1", TENSOR_OTHER, STATE_TABLE, DATATYPE_FP32},
    {"qmap2", TENSOR_OTHER, STATE_TABLE, DATATYPE_FP32},
};

struct recipe {
    const char *name;
    const struct optimizer_state *states[2]; /* of other weights, of matrices */
    uint32_t counts[2];
};

#define SAME(states)                                                                               \
    {states, states}, { COUNT_OF(states), COUNT_OF(states) }

static const struct recipe recipes[OPTIMIZER_COUNT] = {
    [OPTIMIZER_AUTO] = {"auto", SAME(adam)},
    [OPTIMIZER_ADAM] = {"adam", SAME(adam)},
    [OPTIMIZER_ADAM_FP32] = {"adam-fp32", SAME(adam)},
    [OPTIMIZER_ADAM_8BIT] = {"adam8bit", SAME(adam_8bit)},
    [OPTIMIZER_LION] = {"lion", SAME(lion)},
    [OPTIMIZER_MUON] = {"muon", {adam, momentum}, {COUNT_OF(adam), COUNT_OF(momentum)}},
    [OPTIMIZER_NONE] = {"none", {NULL, NULL}, {0, 0}},
};

_Static_assert(COUNT_OF(adam_8bit) + 1 <= OPTIMIZER_STATES, "the master copy must fit beside");

const char *optimizer_name(enum optimizer_kind kind) { return recipes[kind].name; }

struct state_list optimizer_states(enum optimizer_kind kind, bool matrix, bool master,
                                   enum datatype datatype) {
    const struct recipe *recipe = &recipes[kind];
    struct state_list list = {.count = 0};
    if (master) {
        list.states[list.count++] = (struct optimizer_state){
            .name = "master", .class = TENSOR_MASTER, .datatype = DATATYPE_FP32};
    }
    for (uint32_t i = 0; i < recipe->counts[matrix]; i++) {
        struct optimizer_state *state = &list.states[list.count++];
        *state = recipe->states[matrix][i];
        state->datatype = state->datatype == DATATYPE_UNSET ? datatype : state->datatype;
    }
    return list;
}

uint64_t optimizer_state_elements(const struct optimizer_state *state, uint64_t elements) {
    switch (state->size) {
    case STATE_FULL: return elements;
    case STATE_BLOCKS: return (elements + OPTIMIZER_BLOCK - 1) / OPTIMIZER_BLOCK;
    case STATE_TABLE: return elements > 0 ? OPTIMIZER_TABLE : 0;
    }
    return 0;
}

uint64_t optimizer_bytes(const struct state_list *states, uint64_t elements) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < states->count; i++) {
        const struct optimizer_state *state = &states->states[i];
        bytes += optimizer_state_elements(state, elements) * datatype_bytes(state->datatype);
    }
    return bytes;
}
