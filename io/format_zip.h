#ifndef CKPTSIM_IO_FORMAT_ZIP_H
#define CKPTSIM_IO_FORMAT_ZIP_H

#include "io/format_builder.h"

/* Zip archives as torch writes them: stored entries under one folder, each beginning at a multiple
 * of its alignment, with the CRC-32 behind the data so that the file is written from front to back.
 */

enum { ZIP_ALIGN = 64, ZIP_NAME = 64 };

struct zip_entry {
    char name[ZIP_NAME];
    uint64_t bytes, header_offset;
    uint32_t crc;        /* of a literal */
    uint32_t crc_number; /* of payload; FORMAT_NO_CRC for a literal */
};

/* Offsets inside the archive count from its own beginning. */
struct zip {
    struct format_builder *builder;
    const char *folder;
    uint64_t begin;
    uint64_t entry_count, entry_max;
    struct zip_entry *entries;
};

/* Begins where the builder stands; that must be a multiple of the largest alignment used. */
void zip_begin(struct zip *zip, struct format_builder *builder, const char *folder,
               uint64_t entry_max);
void zip_literal(struct zip *zip, const char *name, const void *data, size_t length);
void zip_payload(struct zip *zip, const char *name, const struct tensor *tensor,
                 struct format_place *place, uint64_t align);
/* Writes the directory. */
void zip_end(struct zip *zip);
void zip_fini(struct zip *zip);

#endif
