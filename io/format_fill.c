/* The bytes of a window. Whole blocks of payload are made where they lie; every other block is put
 * together from its pieces:
 *
 *   ...payload] [literal][payload][zeros][literal] [payload...      one block of PAYLOAD_BLOCK
 *
 * A piece of payload is cut out of its whole block of the file's stream. */
#include "io/format.h"

#include "base/check.h"
#include "io/crc32.h"

#include <string.h>

struct window {
    const struct format_file *file;
    const struct format_source *source;
    struct format_crc *crcs; /* NULL: they are not wanted, and their fields stay zero */
    uint64_t segment;        /* the first one that ends behind what is filled */
    uint64_t field;          /* the first one that does */
};

static uint64_t segment_end(const struct format_segment *segment) {
    return segment->offset + segment->length_bytes;
}

static uint64_t smaller(uint64_t left, uint64_t right) { return left < right ? left : right; }

static uint64_t larger(uint64_t left, uint64_t right) { return left > right ? left : right; }

static uint64_t find_segment(const struct format_file *file, uint64_t offset) {
    uint64_t low = 0, high = file->segment_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (segment_end(&file->segments[middle]) <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static uint64_t field_end(const struct format_crc_field *field) {
    return field->offset + sizeof field->crc;
}

static uint64_t find_field(const struct format_file *file, uint64_t offset) {
    uint64_t low = 0, high = file->crc_field_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (field_end(&file->crc_fields[middle]) <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct window open_window(const struct format_file *file, const struct format_source *source,
                                 struct format_crc *crcs, uint64_t offset) {
    CHECK(offset % PAYLOAD_BLOCK == 0);
    return (struct window){.file = file,
                           .source = source,
                           .crcs = crcs,
                           .segment = find_segment(file, offset),
                           .field = find_field(file, offset)};
}

static const struct payload *segment_payload(const struct window *window,
                                             const struct format_segment *segment) {
    return &window->source->classes[segment->class];
}

static bool wants_crc(const struct window *window, const struct format_segment *segment) {
    return window->crcs != NULL && segment->crc != FORMAT_NO_CRC;
}

/* Adds what [.., end) of a segment's payload contributes. */
static void note_crc(const struct window *window, const struct format_segment *segment,
                     uint64_t end, uint64_t length, uint32_t crc) {
    struct format_crc *noted = &window->crcs[segment->crc];
    CHECK(noted->left_bytes >= length);
    noted->left_bytes -= length;
    noted->crc ^= crc32_shift(crc, segment_end(segment) - end);
}

/* How many bytes from offset on are payload of the current segment and nothing else: whole blocks,
 * and what is left of one at the end of the file. */
static size_t plain_length(const struct window *window, uint64_t offset, uint64_t end) {
    if (window->segment == window->file->segment_count) {
        return 0;
    }
    const struct format_segment *segment = &window->file->segments[window->segment];
    if (segment->literal != NULL || segment->offset > offset) {
        return 0;
    }
    uint64_t length = smaller(segment_end(segment), end) - offset;
    return offset + length == window->file->size_bytes ? length
                                                       : length / PAYLOAD_BLOCK * PAYLOAD_BLOCK;
}

static uint64_t fill_plain(const struct window *window, uint64_t offset, uint8_t *buffer,
                           size_t length) {
    const struct format_segment *segment = &window->file->segments[window->segment];
    const struct payload *payload = segment_payload(window, segment);
    if (!wants_crc(window, segment)) {
        return payload_fill(payload, window->source->stream, offset, buffer, length);
    }
    uint32_t crc;
    uint64_t sum = payload_fill_crc(payload, window->source->stream, offset, buffer, length, &crc);
    note_crc(window, segment, offset + length, length, crc);
    return sum;
}

/* One block of the stream, of the class that was asked for last. */
struct stream_block {
    const struct payload *payload;
    uint8_t bytes[PAYLOAD_BLOCK];
};

/* The part of a segment that lies in [offset, offset + length), one block. */
static void fill_piece(const struct window *window, const struct format_segment *segment,
                       uint64_t offset, uint8_t *block, size_t length,
                       struct stream_block *stream) {
    uint64_t begin = larger(segment->offset, offset);
    uint64_t end = smaller(segment_end(segment), offset + length);
    uint8_t *piece = block + (begin - offset);
    if (segment->literal != NULL) {
        memcpy(piece, segment->literal + (begin - segment->offset), end - begin);
        return;
    }
    const struct payload *payload = segment_payload(window, segment);
    if (stream->payload != payload) {
        payload_fill(payload, window->source->stream, offset, stream->bytes, PAYLOAD_BLOCK);
        stream->payload = payload;
    }
    memcpy(piece, stream->bytes + (begin - offset), end - begin);
    if (wants_crc(window, segment)) {
        note_crc(window, segment, end, end - begin, crc32_more(0, piece, end - begin));
    }
}

/* A field may be cut by the end of a block. */
static void fill_field(const struct window *window, const struct format_crc_field *field,
                       uint64_t offset, uint8_t *block, size_t length) {
    const struct format_crc *noted = &window->crcs[field->crc];
    CHECK(noted->left_bytes == 0);
    for (uint64_t i = 0; i < sizeof noted->crc; i++) {
        if (field->offset + i >= offset && field->offset + i < offset + length) {
            block[field->offset + i - offset] = (uint8_t)(noted->crc >> (8 * i));
        }
    }
}

static void fill_block(struct window *window, uint64_t offset, uint8_t *block, size_t length) {
    const struct format_file *file = window->file;
    uint64_t end = offset + length;
    struct stream_block stream = {.payload = NULL};
    memset(block, 0, length);
    for (uint64_t i = window->segment; i < file->segment_count && file->segments[i].offset < end;
         i++) {
        fill_piece(window, &file->segments[i], offset, block, length, &stream);
    }
    if (window->crcs == NULL) {
        return;
    }
    for (; window->field < file->crc_field_count; window->field++) {
        const struct format_crc_field *field = &file->crc_fields[window->field];
        if (field->offset >= end) {
            break;
        }
        fill_field(window, field, offset, block, length);
        if (field_end(field) > end) {
            break;
        }
    }
}

static void skip_filled(struct window *window, uint64_t offset) {
    const struct format_file *file = window->file;
    while (window->segment < file->segment_count &&
           segment_end(&file->segments[window->segment]) <= offset) {
        window->segment++;
    }
}

void format_begin(const struct format_file *file, struct format_crc *crcs) {
    for (uint64_t i = 0; i < file->crc_count; i++) {
        crcs[i] = (struct format_crc){.left_bytes = file->crc_bytes[i]};
    }
}

uint64_t format_fill(const struct format_file *file, const struct format_source *source,
                     struct format_crc *crcs, uint64_t offset, void *buffer, size_t length) {
    struct window window = open_window(file, source, crcs, offset);
    uint64_t end = offset + length, sum = 0;
    CHECK(end <= file->size_bytes);
    CHECK(length % PAYLOAD_BLOCK == 0 || end == file->size_bytes);
    uint8_t *bytes = buffer;
    while (offset < end) {
        size_t done = plain_length(&window, offset, end);
        if (done > 0) {
            sum += fill_plain(&window, offset, bytes, done);
        } else {
            done = smaller(end - offset, PAYLOAD_BLOCK);
            fill_block(&window, offset, bytes, done);
            sum += payload_sum(offset, bytes, done);
        }
        offset += done;
        bytes += done;
        skip_filled(&window, offset);
    }
    return sum;
}

static size_t first_difference(const uint8_t *left, const uint8_t *right, size_t length) {
    size_t i = 0;
    while (i < length && left[i] == right[i]) {
        i++;
    }
    return i;
}

/* Lets the CRC fields of a block be what was found there. */
static void accept_fields(struct window *window, uint64_t offset, uint8_t *block,
                          const uint8_t *found, size_t length) {
    const struct format_file *file = window->file;
    for (uint64_t i = find_field(file, offset);
         i < file->crc_field_count && file->crc_fields[i].offset < offset + length; i++) {
        uint64_t begin = larger(file->crc_fields[i].offset, offset);
        uint64_t end = smaller(field_end(&file->crc_fields[i]), offset + length);
        memcpy(block + (begin - offset), found + (begin - offset), end - begin);
    }
}

/* The first wrong byte of one block or of a run of plain payload. */
static size_t compare_part(struct window *window, uint64_t offset, const uint8_t *bytes,
                           size_t plain, size_t length) {
    if (plain > 0) {
        const struct format_segment *segment = &window->file->segments[window->segment];
        return payload_compare(segment_payload(window, segment), window->source->stream, offset,
                               bytes, plain);
    }
    uint8_t block[PAYLOAD_BLOCK];
    fill_block(window, offset, block, length);
    accept_fields(window, offset, block, bytes, length);
    return first_difference(block, bytes, length);
}

size_t format_compare(const struct format_file *file, const struct format_source *source,
                      uint64_t offset, const void *buffer, size_t length) {
    struct window window = open_window(file, source, NULL, offset);
    uint64_t begin = offset, end = offset + length;
    CHECK(end <= file->size_bytes);
    const uint8_t *bytes = buffer;
    while (offset < end) {
        size_t plain = plain_length(&window, offset, end);
        size_t part = plain > 0 ? plain : smaller(end - offset, PAYLOAD_BLOCK);
        size_t right = compare_part(&window, offset, bytes, plain, part);
        if (right < part) {
            return offset + right - begin;
        }
        offset += part;
        bytes += part;
        skip_filled(&window, offset);
    }
    return length;
}
