#ifndef CKPTSIM_IO_FORMAT_BYTES_H
#define CKPTSIM_IO_FORMAT_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that grow at their end: what headers are put together in. All zero is valid and empty. */

struct format_bytes {
    uint8_t *data;
    size_t used, room;
};

/* Room for length more bytes, which the caller fills. */
void *bytes_grow(struct format_bytes *bytes, size_t length);
void bytes_add(struct format_bytes *bytes, const void *data, size_t length);
void bytes_add_text(struct format_bytes *bytes, const char *text);
void bytes_add_repeated(struct format_bytes *bytes, uint8_t byte, size_t length);
/* The lowest `size` bytes of value, little endian. */
void bytes_add_number(struct format_bytes *bytes, uint64_t value, size_t size);
void bytes_fini(struct format_bytes *bytes);

#endif
