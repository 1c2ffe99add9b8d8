#ifndef CKPTSIM_IO_CODEC_H
#define CKPTSIM_IO_CODEC_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Compressed files. Each window of a file becomes one zstd frame by itself, so that any worker
 * makes it and any reader finds it; what is stored fills whole blocks, so that it is written with
 * O_DIRECT:
 *
 *   raw     | window 0          | window 1          | .. | last, shorter |
 *   stored  | frame   | padding | frame   | padding | .. | frame | pad.  | padding | seek table |
 *            multiple of 4096    multiple of 4096         multiple of 4096, so is the rest
 *
 *   frame    a zstd frame with its content's size and checksum; of an empty file: of no bytes
 *   padding  nothing, or a skippable frame: u32 184d2a5f | u32 n | n zeros
 *
 * Frames lie in the order of their windows. So the file is what `zstd -d` takes; the seek table is
 * in io/seek_table.h.
 *
 * The checksum is there, as in what the zstd command makes, because zstd keeps what it cannot
 * compress as it is: without one, damage to most of a shard would go through `zstd -t` unseen. It
 * costs a core XXH64 at some 15 GB/s: 7 % of the time of level 1 for payload of ratio 1.46, 15 %
 * for 1.08. */

enum {
    CODEC_BLOCK = 4096,
    CODEC_LEVEL_DEFAULT = 3, /* zstd's own */
    CODEC_LEVEL_MAX = 19,    /* higher ones want windows that a reader has to be told to allow */
};

/* The seekable format's own limit, so that every reader takes the file. */
#define CODEC_WINDOW_MAX (UINT64_C(1) << 30)

#define CODEC_EXTENSION ".zst" /* of a compressed file's name, behind its others */

enum codec_kind { CODEC_NONE, CODEC_ZSTD };

struct codec_choice {
    enum codec_kind kind;
    int level; /* of CODEC_ZSTD */
};

/* "none", "zstd" or "zstd:LEVEL"; ERR_USAGE says what is allowed. */
enum status codec_parse(const char *text, struct codec_choice *choice, struct error *err);

/* How many windows a file has: at least one, also where it is empty. */
uint64_t codec_windows(uint64_t raw_bytes, uint64_t chunk_bytes);

/* Room for what is stored of raw_bytes, at most CODEC_WINDOW_MAX, whatever they hold. */
uint64_t codec_bound(uint64_t raw_bytes);

/* What compresses and decompresses windows, for one thread at a time. */
struct codec;

/* All the memory of one, to the byte. */
uint64_t codec_memory_bytes(int level, uint64_t chunk_bytes);

/* Takes and touches all its memory here; nothing below allocates. Windows of up to chunk_bytes. */
struct codec *codec_open(int level, uint64_t chunk_bytes);
void codec_close(struct codec *codec);

/* Makes a window's frame and padding in `stored`, which has room for codec_bound(raw_bytes), and
 * returns their length, a multiple of CODEC_BLOCK. Same level and same bytes, same frame. */
size_t codec_compress(struct codec *codec, const void *raw, size_t raw_bytes, void *stored,
                      size_t capacity);

/* The inverse for one window that holds raw_bytes. ERR_FAILED where it is damaged, cut, or of
 * another length; then raw holds anything. */
enum status codec_decompress(struct codec *codec, const void *stored, size_t stored_bytes,
                             void *raw, size_t raw_bytes, struct error *err);

/* The length of the padding that follows used_bytes: 0, or at least a skippable frame's head. */
size_t codec_padding_bytes(uint64_t used_bytes);

/* Makes padding of this length. */
void codec_pad(void *padding, size_t length);

/* Whether these bytes are what codec_pad makes. */
bool codec_is_padding(const void *bytes, size_t length);

#endif
