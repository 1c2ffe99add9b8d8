#include "io/format_builder.h"

#include "base/check.h"

#include <string.h>

/* A segment whose literal has no address yet, since the literals still move. */
struct built_segment {
    struct format_segment segment;
    bool is_literal;
    size_t literal_at;
};

static struct built_segment *last_segment(const struct format_builder *builder) {
    size_t used = builder->segments.used;
    return used == 0 ? NULL : (struct built_segment *)(void *)(builder->segments.data + used) - 1;
}

/* True where the last segment ends at the place that the next byte takes. */
static bool touches(const struct format_builder *builder, const struct built_segment *last) {
    return last != NULL && last->segment.offset + last->segment.length_bytes == builder->offset;
}

static struct built_segment *add_segment(struct format_builder *builder, uint64_t length) {
    struct built_segment *added = bytes_grow(&builder->segments, sizeof *added);
    *added = (struct built_segment){
        .segment = {.offset = builder->offset, .length_bytes = length, .crc = FORMAT_NO_CRC}};
    return added;
}

void builder_init(struct format_builder *builder, struct arena *arena, uint64_t place_count,
                  bool no_crc) {
    *builder = (struct format_builder){.place_count = place_count, .no_crc = no_crc};
    builder->places = arena_new(arena, place_count, sizeof builder->places[0]);
}

void builder_fini(struct format_builder *builder) {
    bytes_fini(&builder->literals);
    bytes_fini(&builder->segments);
    bytes_fini(&builder->crc_fields);
    bytes_fini(&builder->crc_bytes);
}

static void *move(struct arena *arena, const struct format_bytes *bytes) {
    void *moved = arena_new(arena, bytes->used, 1);
    if (bytes->used > 0) {
        memcpy(moved, bytes->data, bytes->used);
    }
    return moved;
}

void builder_finish(const struct format_builder *builder, struct arena *arena,
                    struct format_file *file) {
    const struct built_segment *built = (const void *)builder->segments.data;
    uint64_t segment_count = builder->segments.used / sizeof *built;
    struct format_segment *segments = arena_new(arena, segment_count, sizeof *segments);
    const uint8_t *literals = move(arena, &builder->literals);
    for (uint64_t i = 0; i < segment_count; i++) {
        segments[i] = built[i].segment;
        segments[i].literal = built[i].is_literal ? literals + built[i].literal_at : NULL;
    }
    *file = (struct format_file){
        .size_bytes = builder->offset,
        .segment_count = segment_count,
        .segments = segments,
        .crc_field_count = builder->crc_fields.used / sizeof file->crc_fields[0],
        .crc_fields = move(arena, &builder->crc_fields),
        .crc_count = builder->crc_bytes.used / sizeof file->crc_bytes[0],
        .crc_bytes = move(arena, &builder->crc_bytes),
        .place_count = builder->place_count,
        .places = builder->places,
    };
}

static void extend_literal(struct format_builder *builder, size_t length) {
    struct built_segment *last = last_segment(builder);
    if (!touches(builder, last) || !last->is_literal) {
        last = add_segment(builder, 0);
        last->is_literal = true;
        last->literal_at = builder->literals.used;
    }
    last->segment.length_bytes += length;
    builder->offset += length;
}

void builder_literal(struct format_builder *builder, const void *data, size_t length) {
    if (length > 0) {
        extend_literal(builder, length);
        bytes_add(&builder->literals, data, length);
    }
}

void builder_repeated(struct format_builder *builder, uint8_t byte, size_t count) {
    if (count > 0) {
        extend_literal(builder, count);
        bytes_add_repeated(&builder->literals, byte, count);
    }
}

void builder_number(struct format_builder *builder, uint64_t value, size_t size) {
    extend_literal(builder, size);
    bytes_add_number(&builder->literals, value, size);
}

void builder_skip_to(struct format_builder *builder, uint64_t offset) {
    CHECK(offset >= builder->offset);
    builder->offset = offset;
}

static void set_place(const struct format_builder *builder, const struct tensor *tensor,
                      struct format_place *place) {
    *place = (struct format_place){.offset = builder->offset,
                                   .bytes = tensor->bytes,
                                   .item_offset = builder->offset,
                                   .item_bytes = tensor->bytes};
}

/* Neighbours of one class are one segment, so that tensors of any size cost nothing to fill. */
void builder_payload(struct format_builder *builder, const struct tensor *tensor,
                     struct format_place *place) {
    set_place(builder, tensor, place);
    if (tensor->bytes == 0) {
        return;
    }
    struct built_segment *last = last_segment(builder);
    if (!touches(builder, last) || last->is_literal || last->segment.class != tensor->class) {
        last = add_segment(builder, 0);
        last->segment.class = tensor->class;
    }
    last->segment.length_bytes += tensor->bytes;
    builder->offset += tensor->bytes;
}

uint32_t builder_payload_crc(struct format_builder *builder, const struct tensor *tensor,
                             struct format_place *place) {
    set_place(builder, tensor, place);
    if (tensor->bytes == 0) {
        return FORMAT_NO_CRC; /* and a CRC-32 of no bytes is 0, as the field will say */
    }
    struct built_segment *added = add_segment(builder, tensor->bytes);
    added->segment.class = tensor->class;
    builder->offset += tensor->bytes;
    if (!builder->no_crc) {
        added->segment.crc = (uint32_t)(builder->crc_bytes.used / sizeof tensor->bytes);
        bytes_add(&builder->crc_bytes, &tensor->bytes, sizeof tensor->bytes);
    }
    return added->segment.crc;
}

void builder_crc_field(struct format_builder *builder, uint32_t crc) {
    if (crc != FORMAT_NO_CRC) {
        struct format_crc_field field = {.offset = builder->offset, .crc = crc};
        bytes_add(&builder->crc_fields, &field, sizeof field);
    }
    builder_number(builder, 0, sizeof crc);
}
