#ifndef CKPTSIM_SIM_JOB_SNAPSHOT_H
#define CKPTSIM_SIM_JOB_SNAPSHOT_H

#include "io/buffer.h"
#include "io/engine.h"
#include "sim/job/shards.h"

#include <stdbool.h>
#include <stdint.h>

/* The copy of one rank's state in host memory, from which its files are written while it computes
 * again. It is made file after file, chunk after chunk, front to back, into the rank's part of a pool
 * of chunk buffers that all ranks share:
 *
 *           IO_COPY           the writer takes it            written
 *   FREE ────────────► FULL ──────────────────────► WRITING ─────────► FREE
 *
 * Chunk n of the rank lies in buffer n % buffers. Where the rank has fewer buffers than chunks, it
 * copies on as its writer gives them back. The rank stands still from the barrier to its last copy. */

/* How the pool is divided: one chunk for every rank with anything to write, the rest in proportion. */
struct snapshot_plan {
    uint64_t chunk_bytes;
    uint64_t buffers; /* of all ranks; at most what a checkpoint takes */
    uint64_t chunks;  /* of a checkpoint */
    uint32_t ranks;   /* that write anything */
};

/* A pool of at most limit_bytes. ERR_USAGE where not every rank gets a buffer. */
enum status snapshot_plan(const struct shards *shards, uint64_t chunk_bytes, uint64_t limit_bytes,
                          struct snapshot_plan *plan, struct error *err);

/* Bytes that a whole checkpoint takes in chunk buffers. */
uint64_t snapshot_whole_bytes(const struct shards *shards, uint64_t chunk_bytes);

struct job;
enum snapshot_buffer { SNAPSHOT_FREE, SNAPSHOT_COPYING, SNAPSHOT_FULL, SNAPSHOT_WRITING };

struct snapshot {
    struct job *job;
    uint32_t rank;
    uint64_t first_buffer, buffers; /* of the pool */
    uint8_t *states;                /* enum snapshot_buffer, of each */
    bool done;                      /* nothing is left to copy, or it broke off */
    uint64_t index, offset;         /* of the next byte to copy */
    uint64_t file_chunk;            /* number of the first chunk of the file under way */
    uint64_t under_way;             /* copies the engine holds */
    uint64_t end_ns;                /* of the latest copy */
    struct shard_file shard;
    struct io_file file;            /* its sum is that of the copies; the writer has one of its own */
    struct format_crc *crcs;
    struct io_request *requests;    /* queue depth of them */
    struct io_request **free_requests;
    uint64_t free_count;
};

/* One for each rank of the job, in its arena. */
struct snapshot *snapshots_new(struct job *job, const struct snapshot_plan *plan);

/* At the barrier: copying begins. */
void snapshot_start(struct snapshot *snapshot);
/* Takes a completed copy. */
void snapshot_take(struct snapshot *snapshot, const struct io_request *request);
/* Copies what there is room for. True when it just became done. */
bool snapshot_go_on(struct snapshot *snapshot);

/* The rest is for the rank's writer. True where there is a reason to write: all is copied, or all
 * buffers are in use. */
bool snapshot_wants_writing(const struct snapshot *snapshot);
/* Takes a chunk that is copied; false where it is not yet. memory stays NULL in a simulation. */
bool snapshot_take_chunk(struct snapshot *snapshot, uint64_t chunk, void **memory);
/* Gives its buffer back. */
void snapshot_release(struct snapshot *snapshot, uint64_t chunk);

#endif
