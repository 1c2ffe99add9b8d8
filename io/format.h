#ifndef CKPTSIM_IO_FORMAT_H
#define CKPTSIM_IO_FORMAT_H

#include "base/error.h"
#include "base/memory.h"
#include "io/payload.h"
#include "models/tensor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The format contract. A format says where bytes go; the engine moves them:
 *
 *   tensors ──measure──> size, segments, CRC fields ──fill, window by window──> the file's bytes
 *
 * Rules (held by tests/unit/test_format.c, for every format of the registry):
 * 1. Measuring needs names, types and shapes only. It is done before the first write, and the file
 *    gets exactly size_bytes. Same tensors, same file.
 * 2. Segments are sorted by offset and do not overlap; what lies between them is zero. Each is a
 *    literal, or payload: then byte x of the file is byte x of the file's payload stream, as in a
 *    file that is payload from end to end. So a window is made without a look at any other, and
 *    whole blocks inside a segment are made in place.
 * 3. Payload of FORMAT_ALIGNED_BYTES or more begins at a multiple of PAYLOAD_BLOCK, where the real
 *    reader allows it.
 * 4. Some literals hold the CRC-32 of payload that lies before them. They are zero in the segment
 *    and listed as fields. format_fill adds up the CRC-32s and puts them there; the windows of a
 *    file may come in any order, one at a time, but one with a field comes after the payload that
 *    the field is about. Filling from front to back is always right. */

enum {
    FORMAT_ALIGNED_BYTES = 128 * 1024,
    FORMAT_TENSORS_MAX = 1 << 24,
    FORMAT_CLASSES = TENSOR_OTHER + 1, /* of payload: one for each class of tensors */
};

/* What formats call a datatype. */
struct format_type {
    const char *safetensors;
    const char *torch_dtype, *torch_storage; /* as a pickle has them: "torch\nfloat32" */
};

extern const struct format_type format_types[DATATYPE_COUNT];

struct format_options {
    bool no_crc;     /* zip entries with a CRC-32 of 0, as torch can be told to write them */
    bool torch_1_13; /* the very bytes of torch 1.13: entries aligned to 64, order of strings */
};

struct format_segment {
    uint64_t offset, length_bytes;
    const uint8_t *literal;  /* NULL: payload */
    enum tensor_class class; /* of payload */
    uint32_t crc;            /* number of its CRC-32, or FORMAT_NO_CRC */
};

#define FORMAT_NO_CRC UINT32_MAX

/* Four bytes of a literal, little endian. */
struct format_crc_field {
    uint64_t offset;
    uint32_t crc; /* the number of the CRC-32 that goes there */
};

/* Where a tensor lies in the file. */
struct format_place {
    uint64_t offset, bytes;           /* its elements */
    uint64_t item_offset, item_bytes; /* with what wraps it: dcp's item; elsewhere the same */
};

/* A measured file; all in the arena, and constant from then on. */
struct format_file {
    uint64_t size_bytes;
    uint64_t segment_count, crc_field_count, crc_count, place_count;
    const struct format_segment *segments;
    const struct format_crc_field *crc_fields;
    const uint64_t *crc_bytes;         /* how much payload each CRC-32 is over */
    const struct format_place *places; /* one for each tensor, in the order they were given */
};

struct format_builder;

struct format {
    const char *name;
    const char *about;     /* one line for `ckptsim list formats` */
    const char *extension; /* of file names, with the dot; "" for none */
    bool reads_items; /* the framework's reader takes each tensor as it was written, never a part */
    const char *no_codec;  /* why such files are not compressed; NULL: they may be */
    /* Puts all of the file into the builder. */
    enum status (*build)(const struct tensor *tensors, uint64_t count,
                         const struct format_options *options, struct format_builder *builder,
                         struct error *err);
};

/* The registry: a NULL-terminated table. To add one: format_NAME.c and its row in format.c. */
extern const struct format *const formats[];

const struct format *format_find(const char *name);

/* ERR_USAGE where the format cannot hold these tensors; says which and why. options may be NULL. */
enum status format_measure(const struct format *format, const struct tensor *tensors,
                           uint64_t count, const struct format_options *options,
                           struct arena *arena, struct format_file *file, struct error *err);

/* Where payload comes from: the file's stream, and what payload each class of tensors is. */
struct format_source {
    uint64_t stream;
    const struct payload *classes; /* FORMAT_CLASSES of them, indexed by enum tensor_class */
};

/* The CRC-32s of one file while it is written: crc_count of them, in any memory. */
struct format_crc {
    uint32_t crc;
    uint64_t left_bytes; /* of its payload, not yet filled */
};

/* Before each writing of the file. */
void format_begin(const struct format_file *file, struct format_crc *crcs);

/* Fills buffer with [offset, offset + length) of the file and returns the checksum of these bytes,
 * as payload_sum would. offset is a multiple of PAYLOAD_BLOCK, and so is length unless it ends the
 * file. */
uint64_t format_fill(const struct format_file *file, const struct format_source *source,
                     struct format_crc *crcs, uint64_t offset, void *buffer, size_t length);

/* Compares with what format_fill would make; returns the first wrong byte's index, or length where
 * all are right. CRC fields are not looked at: the file's checksum covers them. */
size_t format_compare(const struct format_file *file, const struct format_source *source,
                      uint64_t offset, const void *buffer, size_t length);

#endif
