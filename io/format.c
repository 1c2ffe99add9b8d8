/* The registry of formats, and what all of them ask of tensors. */
#include "io/format.h"

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

const struct format_dtype_row format_dtypes[FORMAT_DTYPE_COUNT] = {
    [FORMAT_F64] = {"F64", 8, "torch\nfloat64", "torch\nDoubleStorage"},
    [FORMAT_F32] = {"F32", 4, "torch\nfloat32", "torch\nFloatStorage"},
    [FORMAT_F16] = {"F16", 2, "torch\nfloat16", "torch\nHalfStorage"},
    [FORMAT_BF16] = {"BF16", 2, "torch\nbfloat16", "torch\nBFloat16Storage"},
    [FORMAT_F8_E4M3] = {"F8_E4M3", 1, "torch\nfloat8_e4m3fn", NULL},
    [FORMAT_F8_E5M2] = {"F8_E5M2", 1, "torch\nfloat8_e5m2", NULL},
    [FORMAT_I64] = {"I64", 8, "torch\nint64", "torch\nLongStorage"},
    [FORMAT_I32] = {"I32", 4, "torch\nint32", "torch\nIntStorage"},
    [FORMAT_I16] = {"I16", 2, "torch\nint16", "torch\nShortStorage"},
    [FORMAT_I8] = {"I8", 1, "torch\nint8", "torch\nCharStorage"},
    [FORMAT_U8] = {"U8", 1, "torch\nuint8", "torch\nByteStorage"},
    [FORMAT_BOOL] = {"BOOL", 1, "torch\nbool", "torch\nBoolStorage"},
};

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

/* False where the product of the shape leaves the range. */
static bool shape_bytes(const struct format_tensor *tensor, uint64_t *bytes) {
    *bytes = format_dtypes[tensor->dtype].bytes;
    for (uint32_t i = 0; i < tensor->dims; i++) {
        if (__builtin_mul_overflow(*bytes, tensor->shape[i], bytes)) {
            return false;
        }
    }
    return *bytes <= file_bytes_max;
}

static enum status check_tensor(const struct format_tensor *tensor, struct error *err) {
    if (tensor->name[0] == '\0') {
        return error_set(err, ERR_USAGE, "a tensor without a name");
    }
    if (tensor->dims > FORMAT_DIMS_MAX) {
        return error_set(err, ERR_USAGE, "tensor '%s' has %u dimensions, at most %d are allowed",
                         tensor->name, tensor->dims, FORMAT_DIMS_MAX);
    }
    uint64_t bytes;
    if (!shape_bytes(tensor, &bytes)) {
        return error_set(err, ERR_USAGE, "tensor '%s' is larger than %" PRIu64 " bytes",
                         tensor->name, file_bytes_max);
    }
    if (bytes != tensor->bytes) {
        return error_set(err, ERR_USAGE,
                         "tensor '%s' of %" PRIu64 " bytes has a shape of %" PRIu64 " bytes",
                         tensor->name, tensor->bytes, bytes);
    }
    return OK;
}

static int compare_names(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static enum status check_names(const struct format_tensor *tensors, uint64_t count,
                               struct error *err) {
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

static enum status check_tensors(const struct format_tensor *tensors, uint64_t count,
                                 struct error *err) {
    if (count > FORMAT_TENSORS_MAX) {
        return error_set(err, ERR_USAGE, "%" PRIu64 " tensors in a file, at most %d are allowed",
                         count, FORMAT_TENSORS_MAX);
    }
    uint64_t total = 0;
    for (uint64_t i = 0; i < count; i++) {
        enum status status = check_tensor(&tensors[i], err);
        if (status != OK) {
            return status;
        }
        total += tensors[i].bytes;
        if (total > file_bytes_max) {
            return error_set(err, ERR_USAGE, "a file of more than %" PRIu64 " bytes",
                             file_bytes_max);
        }
    }
    return check_names(tensors, count, err);
}

enum status format_measure(const struct format *format, const struct format_tensor *tensors,
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
