#include "io/format_bytes.h"

#include "base/check.h"
#include "base/memory.h"

#include <string.h>

enum { FIRST_ROOM = 256 };

void *bytes_grow(struct format_bytes *bytes, size_t length) {
    size_t room = bytes->room > 0 ? bytes->room : FIRST_ROOM;
    while (room - bytes->used < length) {
        room *= 2;
    }
    if (room != bytes->room) {
        bytes->data = mem_resize(bytes->data, room, 1);
        bytes->room = room;
    }
    void *added = bytes->data + bytes->used;
    bytes->used += length;
    return added;
}

void bytes_add(struct format_bytes *bytes, const void *data, size_t length) {
    memcpy(bytes_grow(bytes, length), data, length);
}

void bytes_add_text(struct format_bytes *bytes, const char *text) {
    bytes_add(bytes, text, strlen(text));
}

void bytes_add_repeated(struct format_bytes *bytes, uint8_t byte, size_t length) {
    memset(bytes_grow(bytes, length), byte, length);
}

void bytes_add_number(struct format_bytes *bytes, uint64_t value, size_t size) {
    CHECK(size <= sizeof value);
    uint8_t *added = bytes_grow(bytes, size);
    for (size_t i = 0; i < size; i++) {
        added[i] = (uint8_t)(value >> (8 * i));
    }
}

void bytes_fini(struct format_bytes *bytes) {
    mem_free(bytes->data);
    *bytes = (struct format_bytes){0};
}
