#ifndef CKPTSIM_IO_PAYLOAD_H
#define CKPTSIM_IO_PAYLOAD_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of a shard follow from (seed, checkpoint, rank, file, offset) alone, so that they can
 * be made anywhere at memory speed and checked later without a copy. Content comes in blocks of
 * PAYLOAD_BLOCK bytes, each from its own key; see docs/formats.md for the generator. */

enum { PAYLOAD_BLOCK = 4096 };

enum payload_kind { PAYLOAD_RANDOM, PAYLOAD_ZERO };

struct payload {
    int kind; /* enum payload_kind; int because a setting row fills it */
    uint64_t seed;
    double compressible; /* >= 1: raw bytes / bytes a perfect compressor leaves, per block */
    double dedupe;       /* >= 1: blocks / distinct blocks */
};

/* The stream of one file: a key for payload_fill. `serial` counts checkpoints over the whole run
 * from 1, so that no two checkpoints hold the same bytes. */
uint64_t payload_stream(const struct payload *payload, uint64_t serial, uint32_t rank,
                        uint64_t file_index);

/* Fills buffer with the bytes [offset, offset+length) of a stream; offset is a multiple of
 * PAYLOAD_BLOCK, length may be any. Returns the checksum of these bytes. The checksum of a file is
 * the sum modulo 2^64 over its parts, whatever the parts. */
uint64_t payload_fill(const struct payload *payload, uint64_t stream, uint64_t offset, void *buffer,
                      size_t length);

/* The same, and the CRC-32 of these bytes (io/crc32.h), which costs less than reading them again.
 */
uint64_t payload_fill_crc(const struct payload *payload, uint64_t stream, uint64_t offset,
                          void *buffer, size_t length, uint32_t *crc);

/* The checksum of bytes that are already there, as payload_fill would have returned it. */
uint64_t payload_sum(uint64_t offset, const void *buffer, size_t length);

/* The checksum of length zero bytes, without reading any. */
uint64_t payload_zeros_sum(uint64_t offset, size_t length);

/* Compares with what payload_fill would make; returns the first wrong byte's index, or length where
 * all are right. */
size_t payload_compare(const struct payload *payload, uint64_t stream, uint64_t offset,
                       const void *buffer, size_t length);

/* bytes/s at which one thread fills buffers of chunk_bytes, measured here for some milliseconds;
 * for the headroom line. */
double payload_headroom(const struct payload *payload, size_t chunk_bytes);

#endif
