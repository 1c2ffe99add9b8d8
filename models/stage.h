#ifndef CKPTSIM_MODELS_STAGE_H
#define CKPTSIM_MODELS_STAGE_H

#include "models/grid.h"
#include "models/part.h"
#include "models/tensor.h"

#include <stdbool.h>
#include <stdint.h>

/* What a pipeline stage holds, in order: for each of its chunks the embedding (of the first), a run
 * of layers, final norm and head (of the last). A model whose weights are given is one stage. */

struct chunk {
    uint64_t first, last; /* layers first .. last-1 */
    bool embedding, end;
    bool tied_copy; /* its head is a copy of the embedding, which the first stage has */
};

/* Chunk `index` (0 .. vpp-1) of a stage. */
struct chunk stage_chunk(const struct plan *plan, uint64_t stage, uint64_t index);

/* Layers of one stage, all its chunks together. */
uint64_t stage_layers(const struct plan *plan, uint64_t stage);

struct place {
    enum model_part part;
    uint64_t chunk;
    uint64_t layer, layer_in_chunk; /* zero where it is in no layer */
    struct part_place at;
};

/* How many weights (or states, or parameters) a stage holds, and the one at `index`. A copy of a
 * tied embedding is among them where the layout writes it. */
uint64_t stage_count(const struct plan *plan, enum part_filter filter, enum part_mode mode,
                     uint64_t stage);
struct place stage_at(const struct plan *plan, enum part_filter filter, enum part_mode mode,
                      uint64_t stage, uint64_t index);

/* The same for layers first .. last-1 alone. */
uint64_t layers_count(const struct plan *plan, enum part_filter filter, enum part_mode mode,
                      uint64_t first, uint64_t last);
struct place layers_at(const struct plan *plan, enum part_filter filter, enum part_mode mode,
                       uint64_t first, uint64_t last, uint64_t index);

/* The sum of measure(part) over a stage, one of its chunks, or a run of layers. */
typedef uint64_t part_measure(const struct part *part, const void *with);
uint64_t stage_sum(const struct plan *plan, enum part_filter filter, uint64_t stage,
                   part_measure *measure, const void *with);
uint64_t chunk_sum(const struct plan *plan, enum part_filter filter, const struct chunk *chunk,
                   part_measure *measure, const void *with);
uint64_t layers_sum(const struct plan *plan, enum part_filter filter, uint64_t first, uint64_t last,
                    part_measure *measure, const void *with);

/* A measure: the bytes of the weights; `with` is not used. */
uint64_t part_bytes(const struct part *part, const void *with);

/* The layer that is the n-th (from 0) with experts. */
uint64_t stage_moe_layer(const struct plan *plan, uint64_t nth);

/* Makes a tensor of a weight of the rank at `seat`: its name behind `prefix`, its shape, and its
 * place in the whole. Layers are numbered as in the model, experts too. */
void place_tensor(const struct plan *plan, const struct place *place, const struct seat *seat,
                  const char *prefix, struct tensor *tensor);

/* Makes it the tensor of the place's optimizer state instead; names stay. */
void place_state(const struct plan *plan, const struct place *place, struct tensor *tensor);
const struct optimizer_state *place_state_row(const struct plan *plan, const struct place *place);

#endif
