#ifndef CKPTSIM_MODELS_WEIGHT_H
#define CKPTSIM_MODELS_WEIGHT_H

#include "models/architecture.h"
#include "models/datatype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The weights of one part of a model as a framework holds them, before anything is cut: names,
 * shapes, and which dimension tensor parallelism divides. */

enum { WEIGHT_DIMENSIONS = 5, PART_WEIGHTS = 48, WEIGHT_NAME = 160 };

/* How a framework keeps what it could keep together or apart. */
enum weight_style {
    STYLE_MEGATRON,     /* Q, K, V are one weight, gate and up are one */
    STYLE_HUGGING_FACE, /* as the family's modelling code has it */
    STYLE_TITAN,        /* torchtitan: apart; the experts of a layer are one weight */
};

enum { CUT_NONE = -1 };

struct weight {
    const char *name; /* '#' stands for the layer's number, '@' for the expert's */
    uint64_t shape[WEIGHT_DIMENSIONS];
    uint8_t dimensions;
    int8_t cut;   /* the dimension that tensor parallelism divides; CUT_NONE: held whole */
    bool expert;  /* of the routed experts: divided by --ep and --etp */
    bool stacked; /* of all experts, dimension 0 counts them; else there is one for each */
    bool matrix;  /* a matrix inside a layer, which Muon treats apart */
    bool buffer;  /* no parameter: counted nowhere, and no optimizer knows it */
    enum datatype datatype; /* DATATYPE_UNSET: the model's */
};

/* Writes the weights of one part, in the order a framework saves them, and returns their number.
 * PART_GIVEN has as many as the config lists; they are not copied: see struct given_weights. */
size_t weight_list(const struct architecture *model, enum model_part part, enum weight_style style,
                   struct weight weights[PART_WEIGHTS]);

/* The product of the shape; UINT64_MAX where it does not fit. */
uint64_t weight_elements(const struct weight *weight);

/* How many there are of it in one layer: the experts, or one. */
uint64_t weight_copies(const struct weight *weight, const struct architecture *model);

#endif
