/* The seek table. In memory it is a row of offsets, so that a window is found by halving; the file
 * has lengths. Reading trusts nothing: a length is held against the file's before memory is taken
 * for it, and every entry against what codec_compress can have made. */
#include "io/seek_table.h"

#include "base/check.h"
#include "io/codec.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tables are little endian");

enum { HEAD_MAGIC = 0x184d2a5e };
#define FOOTER_MAGIC UINT32_C(0x8f92eab1)

struct seek_head {
    uint32_t magic, length_bytes; /* without this head */
};

struct seek_entry {
    uint32_t stored_bytes, raw_bytes;
};

struct __attribute__((packed)) seek_footer {
    uint32_t entries;
    uint8_t descriptor;
    uint32_t magic;
};

_Static_assert(sizeof(struct seek_footer) == SEEK_TABLE_FOOTER, "no gaps");
_Static_assert(SEEK_TABLE_WINDOWS_MAX * sizeof(struct seek_entry) < UINT32_MAX / 2,
               "the length of all entries fits into the head");

/* Building and finding. */

static bool entry_is_possible(uint64_t stored_bytes, uint64_t raw_bytes) {
    return stored_bytes > 0 && stored_bytes % CODEC_BLOCK == 0 && raw_bytes <= CODEC_WINDOW_MAX &&
           stored_bytes <= codec_bound(raw_bytes);
}

void seek_table_init(struct seek_table *table, uint64_t limit, struct arena *arena) {
    CHECK(limit <= SEEK_TABLE_WINDOWS_MAX);
    *table = (struct seek_table){
        .limit = limit,
        .points = arena_new(arena, limit + 1, sizeof(struct seek_point)),
    };
    seek_table_clear(table);
}

void seek_table_clear(struct seek_table *table) {
    table->count = 0;
    table->points[0] = (struct seek_point){0};
}

void seek_table_add(struct seek_table *table, uint64_t stored_bytes, uint64_t raw_bytes) {
    CHECK(table->count < table->limit);
    CHECK(entry_is_possible(stored_bytes, raw_bytes));
    const struct seek_point *begin = &table->points[table->count];
    table->points[++table->count] = (struct seek_point){
        .stored_offset = begin->stored_offset + stored_bytes,
        .raw_offset = begin->raw_offset + raw_bytes,
    };
}

uint64_t seek_table_find(const struct seek_table *table, uint64_t raw_offset) {
    uint64_t low = 0, high = table->count; /* the first window that ends behind raw_offset */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (table->points[middle + 1].raw_offset > raw_offset) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Writing. */

static uint64_t frame_bytes(uint64_t count) {
    return sizeof(struct seek_head) + count * sizeof(struct seek_entry) +
           sizeof(struct seek_footer);
}

static struct seek_head head_of(uint64_t count) {
    return (struct seek_head){
        .magic = HEAD_MAGIC,
        .length_bytes = (uint32_t)(frame_bytes(count) - sizeof(struct seek_head)),
    };
}

uint64_t seek_table_tail_bytes(uint64_t count) {
    return frame_bytes(count) + codec_padding_bytes(frame_bytes(count));
}

void seek_table_write(const struct seek_table *table, void *tail) {
    CHECK(table->count > 0);
    uint8_t *at = tail;
    size_t padding_bytes = codec_padding_bytes(frame_bytes(table->count));
    codec_pad(at, padding_bytes);
    at += padding_bytes;
    struct seek_head head = head_of(table->count);
    at = (uint8_t *)memcpy(at, &head, sizeof head) + sizeof head;
    for (uint64_t i = 0; i < table->count; i++) {
        bool last = i == table->count - 1;
        struct seek_entry entry = {
            .stored_bytes =
                (uint32_t)(seek_table_stored_bytes(table, i) + (last ? padding_bytes : 0)),
            .raw_bytes = (uint32_t)seek_table_raw_bytes(table, i),
        };
        at = (uint8_t *)memcpy(at, &entry, sizeof entry) + sizeof entry;
    }
    struct seek_footer footer = {.entries = (uint32_t)table->count, .magic = FOOTER_MAGIC};
    memcpy(at, &footer, sizeof footer);
}

/* Reading. */

enum status seek_table_measure(const void *footer, uint64_t file_bytes, uint64_t *tail_bytes,
                               struct error *err) {
    struct seek_footer read;
    memcpy(&read, footer, sizeof read);
    if (read.magic != FOOTER_MAGIC || read.descriptor != 0) {
        return error_set(err, ERR_FAILED, "no seek table at the end");
    }
    uint64_t count = read.entries;
    if (count == 0 || count > SEEK_TABLE_WINDOWS_MAX || file_bytes % CODEC_BLOCK != 0 ||
        count * CODEC_BLOCK + seek_table_tail_bytes(count) > file_bytes) {
        return error_set(err, ERR_FAILED, "seek table of %llu windows in a file of %llu bytes",
                         (unsigned long long)count, (unsigned long long)file_bytes);
    }
    *tail_bytes = seek_table_tail_bytes(count);
    return OK;
}

/* Adds all entries; the last one's stored bytes contain the tail's padding. */
static enum status read_entries(const uint8_t *at, uint64_t count, uint64_t padding_bytes,
                                struct seek_table *table, struct error *err) {
    for (uint64_t i = 0; i < count; i++) {
        struct seek_entry entry;
        memcpy(&entry, at + i * sizeof entry, sizeof entry);
        uint64_t extra = i == count - 1 ? padding_bytes : 0;
        if (entry.stored_bytes < extra ||
            !entry_is_possible(entry.stored_bytes - extra, entry.raw_bytes)) {
            return error_set(err, ERR_FAILED, "seek table is damaged at window %llu",
                             (unsigned long long)i);
        }
        seek_table_add(table, entry.stored_bytes - extra, entry.raw_bytes);
    }
    return OK;
}

enum status seek_table_read(const void *tail, uint64_t tail_bytes, uint64_t file_bytes,
                            struct arena *arena, struct seek_table *table, struct error *err) {
    const uint8_t *at = tail;
    uint64_t measured_bytes;
    CHECK(tail_bytes >= SEEK_TABLE_FOOTER);
    enum status status =
        seek_table_measure(at + tail_bytes - SEEK_TABLE_FOOTER, file_bytes, &measured_bytes, err);
    if (status != OK) {
        return status;
    }
    struct seek_footer footer;
    memcpy(&footer, at + tail_bytes - sizeof footer, sizeof footer);
    struct seek_head head = head_of(footer.entries);
    size_t padding_bytes = codec_padding_bytes(frame_bytes(footer.entries));
    if (measured_bytes != tail_bytes || !codec_is_padding(at, padding_bytes) ||
        memcmp(at + padding_bytes, &head, sizeof head) != 0) {
        return error_set(err, ERR_FAILED, "seek table is damaged at its head");
    }
    struct seek_table read;
    seek_table_init(&read, footer.entries, arena);
    status =
        read_entries(at + padding_bytes + sizeof head, footer.entries, padding_bytes, &read, err);
    if (status != OK) {
        return status;
    }
    if (read.points[read.count].stored_offset + tail_bytes != file_bytes) {
        return error_set(err, ERR_FAILED, "seek table does not cover the file");
    }
    *table = read;
    return OK;
}
