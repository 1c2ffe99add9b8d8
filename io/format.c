/* The registry of formats, and what all of them ask of tensors. */
#include "io/format.h"

#include "base/check.h"
#include "base/names.h"
#include "io/format_builder.h"
#include "io/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The first is the default. */
const struct format *const formats[] = {
    &format_raw, &format_torch, &format_safetensors, &format_dcp, &format_hdf5, NULL,
};

const struct format_type format_types[DATATYPE_COUNT] = {
    [DATATYPE_FP64] = {"F64", "torch\nfloat64", "torch\nDoubleStorage"},
    [DATATYPE_FP32] = {"F32", "torch\nfloat32", "torch\nFloatStorage"},
    [DATATYPE_FP16] = {"F16", "torch\nfloat16", "torch\nHalfStorage"},
    [DATATYPE_BF16] = {"BF16", "torch\nbfloat16", "torch\nBFloat16Storage"},
    [DATATYPE_INT64] = {"I64", "torch\nint64", "torch\nLongStorage"},
    [DATATYPE_INT32] = {"I32", "torch\nint32", "torch\nIntStorage"},
    [DATATYPE_INT8] = {"I8", "torch\nint8", "torch\nCharStorage"},
    [DATATYPE_UINT8] = {"U8", "torch\nuint8", "torch\nByteStorage"},
};
_Static_assert(DATATYPE_COUNT == 9, "every datatype has its names");

/* No file comes near it, and sums of sizes below it do not overflow. */
static const uint64_t file_bytes_max = UINT64_C(1) << 60;

const struct format *format_find(const char *name) {
    for (size_t i = 0; formats[i] != NULL; i++) {
        if (names_equal(formats[i]->name, name)) {
            return formats[i];
        }
    }
    return NULL;
}

static int compare_names(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static enum status check_names(const struct tensor *tensors, uint64_t count, struct error *err) {
    const char **names = mem_new(count, sizeof names[0]);
    for (uint64_t i = 0; i < count; i++) {
        names[i] = tensors[i].name;
    }
    qsort(names, count, sizeof names[0], compare_names);
    enum status status = OK;
    for (uint64_t i = 1; i < count && status == OK; i++) {
        if (strcmp(names[i - 1], names[i]) == 0) {
            status = error_set(err, ERR_USAGE, "two tensors of one file are named '%s'", names[i]);
        }
    }
    mem_free(names);
    return status;
}

static enum status check_tensors(const struct tensor *tensors, uint64_t count, struct error *err) {
    if (count > FORMAT_TENSORS_MAX) {
        return error_set(err, ERR_USAGE, "%" PRIu64 " tensors in a file, at most %d are allowed",
                         count, FORMAT_TENSORS_MAX);
    }
    uint64_t total = 0;
    for (uint64_t i = 0; i < count; i++) {
        CHECK(tensors[i].dimensions <= TENSOR_DIMENSIONS);
        CHECK(tensors[i].bytes == tensors[i].elements * datatype_bytes(tensors[i].datatype));
        bool fits = tensors[i].bytes <= file_bytes_max - total;
        if (!fits) {
            return error_set(err, ERR_USAGE, "a file of more than %" PRIu64 " bytes",
                             file_bytes_max);
        }
        total += tensors[i].bytes;
    }
    return check_names(tensors, count, err);
}

enum status format_measure(const struct format *format, const struct tensor *tensors,
                           uint64_t count, const struct format_options *options,
                           struct arena *arena, struct format_file *file, struct error *err) {
    static const struct format_options defaults = {0};
    options = options != NULL ? options : &defaults;
    enum status status = check_tensors(tensors, count, err);
    if (status != OK) {
        return status;
    }
    struct format_builder builder;
    builder_init(&builder, arena, count, options->no_crc);
    status = format->build(tensors, count, options, &builder, err);
    if (status == OK) {
        builder_finish(&builder, arena, file);
    }
    builder_fini(&builder);
    return status;
}
