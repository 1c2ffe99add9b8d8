#ifndef CKPTSIM_IO_FORMAT_BUILDER_H
#define CKPTSIM_IO_FORMAT_BUILDER_H

#include "io/format.h"
#include "io/format_bytes.h"

/* What a format puts a file together with, from front to back. Only io/format*.c include it. */

struct format_builder {
    uint64_t offset;             /* where the next byte goes */
    struct format_place *places; /* one for each tensor, in the order they were given */
    bool no_crc;
    /* The builder's own: */
    uint64_t place_count;
    struct format_bytes literals, segments, crc_fields, crc_bytes;
};

void builder_init(struct format_builder *builder, struct arena *arena, uint64_t place_count,
                  bool no_crc);
/* Moves all into the arena. */
void builder_finish(const struct format_builder *builder, struct arena *arena,
                    struct format_file *file);
void builder_fini(struct format_builder *builder);

void builder_literal(struct format_builder *builder, const void *data, size_t length);
void builder_repeated(struct format_builder *builder, uint8_t byte, size_t count);
/* The lowest `size` bytes of value, little endian. */
void builder_number(struct format_builder *builder, uint64_t value, size_t size);
/* Leaves zeros up to `offset`. */
void builder_skip_to(struct format_builder *builder, uint64_t offset);

/* The payload of a tensor, whose place is set. */
void builder_payload(struct format_builder *builder, const struct tensor *tensor,
                     struct format_place *place);
/* The same with a CRC-32, whose number is returned. */
uint32_t builder_payload_crc(struct format_builder *builder, const struct tensor *tensor,
                             struct format_place *place);
/* Four bytes that will hold a CRC-32; zero for FORMAT_NO_CRC. */
void builder_crc_field(struct format_builder *builder, uint32_t crc);

static inline uint64_t format_round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

#endif
