#ifndef CKPTSIM_IO_SEEK_TABLE_H
#define CKPTSIM_IO_SEEK_TABLE_H

#include "base/error.h"
#include "base/memory.h"

#include <stdint.h>

/* Where the windows of a compressed file (io/codec.h) lie. It is the file's tail, in zstd's
 * seekable format 0.1.0, so that any reader of that format takes the file and `zstd -d` skips it:
 *
 *   tail     padding | head | entries | footer         a multiple of CODEC_BLOCK, the file's end
 *   head     u32 184d2a5e | u32 length of entries and footer
 *   entry    u32 stored bytes | u32 raw bytes          one per window, padding counted as stored
 *   footer   u32 entries | u8 0 | u32 8f92eab1
 *
 * The tail's own padding counts to the last window, so that the entries' stored bytes lead up to
 * the head. The descriptor is 0: no checksums here, each frame has its own. */

/* The format's own limit. */
#define SEEK_TABLE_WINDOWS_MAX (UINT64_C(1) << 27)

enum { SEEK_TABLE_FOOTER = 9 };

/* Where a window begins. */
struct seek_point {
    uint64_t stored_offset, raw_offset;
};

struct seek_table {
    uint64_t count, limit;     /* windows there are, and there is room for */
    struct seek_point *points; /* one per window, and at `count` where the last one ends */
};

/* An empty table with room for `limit` windows. */
void seek_table_init(struct seek_table *table, uint64_t limit, struct arena *arena);

/* Empties it for the next file. */
void seek_table_clear(struct seek_table *table);

/* The next window of the file, in order: what codec_compress returned, and what it was given. */
void seek_table_add(struct seek_table *table, uint64_t stored_bytes, uint64_t raw_bytes);

/* Which window holds raw byte raw_offset; `count` where none does. */
uint64_t seek_table_find(const struct seek_table *table, uint64_t raw_offset);

static inline uint64_t seek_table_stored_bytes(const struct seek_table *table, uint64_t window) {
    return table->points[window + 1].stored_offset - table->points[window].stored_offset;
}

static inline uint64_t seek_table_raw_bytes(const struct seek_table *table, uint64_t window) {
    return table->points[window + 1].raw_offset - table->points[window].raw_offset;
}

/* The length of the tail of a file of this many windows. */
uint64_t seek_table_tail_bytes(uint64_t count);

/* Makes the tail of a file of at least one window: seek_table_tail_bytes(table->count) bytes, to be
 * written where the last window ends. */
void seek_table_write(const struct seek_table *table, void *tail);

/* How long the tail of a file of file_bytes is, from its last SEEK_TABLE_FOOTER bytes. ERR_FAILED
 * where they are no footer or the file has no room for such a tail. */
enum status seek_table_measure(const void *footer, uint64_t file_bytes, uint64_t *tail_bytes,
                               struct error *err);

/* Reads a tail that seek_table_write made, of the length that seek_table_measure found. ERR_FAILED
 * where it is damaged. What it gives covers the file without a gap, but damage may have moved
 * bytes from one window to another: only the frames themselves tell. */
enum status seek_table_read(const void *tail, uint64_t tail_bytes, uint64_t file_bytes,
                            struct arena *arena, struct seek_table *table, struct error *err);

#endif
