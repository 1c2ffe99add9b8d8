#include "models/datatype.h"

#include "base/check.h"

#include <string.h>

static const struct {
    const char *name;
    uint64_t bytes;
} datatypes[DATATYPE_COUNT] = {
    [DATATYPE_UNSET] = {"auto", 0},  [DATATYPE_FP16] = {"fp16", 2},
    [DATATYPE_BF16] = {"bf16", 2},   [DATATYPE_FP32] = {"fp32", 4},
    [DATATYPE_FP64] = {"fp64", 8},   [DATATYPE_INT8] = {"int8", 1},
    [DATATYPE_UINT8] = {"uint8", 1}, [DATATYPE_INT32] = {"int32", 4},
    [DATATYPE_INT64] = {"int64", 8},
};

const char *datatype_name(enum datatype datatype) { return datatypes[datatype].name; }

uint64_t datatype_bytes(enum datatype datatype) { return datatypes[datatype].bytes; }

enum datatype datatype_find(const char *name) {
    for (int i = 1; i < DATATYPE_COUNT; i++) {
        if (strcmp(datatypes[i].name, name) == 0) {
            return (enum datatype)i;
        }
    }
    return DATATYPE_UNSET;
}
