#ifndef CKPTSIM_IO_BUFFER_H
#define CKPTSIM_IO_BUFFER_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* The one pool of I/O buffers of an engine: equal pieces of one mapping, on huge pages where there
 * are any, because a drive takes a write from huge pages in far fewer segments. All of it is
 * touched on opening, so that no page fault falls into the measured time. */

enum buffer_pages { BUFFER_HUGE, BUFFER_TRANSPARENT, BUFFER_PARTLY_TRANSPARENT, BUFFER_NORMAL };

struct buffer_pool {
    uint8_t *memory;
    size_t mapped_bytes;
    size_t count;
    uint64_t chunk_bytes;
    enum buffer_pages pages;
};

/* ranks x per_rank buffers of chunk_bytes each. ERR_USAGE where that is more than the memory that
 * this machine, or this process's control group, has left. */
enum status buffer_open(struct buffer_pool *pool, uint32_t ranks, uint64_t per_rank,
                        uint64_t chunk_bytes, struct error *err);
void buffer_close(struct buffer_pool *pool);

/* Starts at a multiple of 4096 and holds zeros until it is first used. */
void *buffer_at(const struct buffer_pool *pool, size_t i);

/* Which pages it got, for the facts: "reserved", "transparent", "partly transparent", "none". */
const char *buffer_pages_name(const struct buffer_pool *pool);

#endif
