#ifndef CKPTSIM_MODELS_TENSOR_H
#define CKPTSIM_MODELS_TENSOR_H

#include "models/datatype.h"
#include "models/weight.h"

#include <stdint.h>

/* One tensor of one shard file, made anew whenever it is asked for: plan_tensor. */

enum tensor_class { TENSOR_WEIGHT, TENSOR_MASTER, TENSOR_MOMENT, TENSOR_OTHER };

enum { TENSOR_NAME = 256, TENSOR_DIMENSIONS = WEIGHT_DIMENSIONS };

struct tensor {
    char name[TENSOR_NAME]; /* letters, digits and ._-/:()[], alone; unique in its file */
    enum datatype datatype;
    enum tensor_class class;
    uint32_t dimensions; /* zero: a single number */
    uint64_t shape[TENSOR_DIMENSIONS];
    /* The tensor that this is a block of, and where it begins in it; its own shape and zeros where
     * it is whole. Blocks of equal names in other files are other parts of the same. */
    uint64_t whole[TENSOR_DIMENSIONS], offset[TENSOR_DIMENSIONS];
    uint64_t elements, bytes;
};

/* "weight", "master", "moment", "other". */
const char *tensor_class_name(enum tensor_class class);

/* Empties the name; then texts and numbers are appended. What does not fit is left out. */
void tensor_name_begin(struct tensor *tensor);
void tensor_name_text(struct tensor *tensor, const char *text);
void tensor_name_number(struct tensor *tensor, uint64_t number);
/* A weight's name, with its numbers in the place of '#' and '@'. */
void tensor_name_weight(struct tensor *tensor, const char *name, uint64_t layer, uint64_t expert);

/* Makes it a whole tensor of one dimension. */
void tensor_set_flat(struct tensor *tensor, enum datatype datatype, uint64_t elements);
/* Elements and bytes from shape and datatype. */
void tensor_count(struct tensor *tensor);

#endif
