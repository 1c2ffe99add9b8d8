#ifndef CKPTSIM_MODELS_DATATYPE_H
#define CKPTSIM_MODELS_DATATYPE_H

#include <stdint.h>

/* The element types of tensors, by the names that configs and settings use. */

enum datatype {
    DATATYPE_UNSET, /* as the layout or the config has it */
    DATATYPE_FP16,
    DATATYPE_BF16,
    DATATYPE_FP32,
    DATATYPE_FP64,
    DATATYPE_INT8,
    DATATYPE_UINT8,
    DATATYPE_INT32,
    DATATYPE_INT64,
    DATATYPE_COUNT,
};

/* "bf16"; "auto" for DATATYPE_UNSET. */
const char *datatype_name(enum datatype datatype);

/* The bytes of one element. */
uint64_t datatype_bytes(enum datatype datatype);

/* DATATYPE_UNSET where there is none of that name. */
enum datatype datatype_find(const char *name);

#endif
