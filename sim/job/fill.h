#ifndef CKPTSIM_SIM_JOB_FILL_H
#define CKPTSIM_SIM_JOB_FILL_H

#include <stdbool.h>
#include <stdint.h>

struct shards;

/* When a pass is full: arithmetic alone, the same for a directory and a simulated drive. */

struct fill {
    double share;            /* of the target that may be in use, (0, 1] */
    uint64_t reserve_bytes;  /* stay free in any case */
    uint64_t max_bytes;      /* the run holds at most this much; 0: no limit */
};

/* Bytes of one checkpoint as a file system counts them: whole 4 KiB blocks, markers and the two
 * text files beside the shards. An upper bound but for the file system's own metadata; of compressed
 * files what they take if nothing in them compresses. */
uint64_t fill_checkpoint_bytes(const struct shards *shards);

/* Bytes that may still be written when free of total bytes are free and the run holds held bytes. */
uint64_t fill_room(const struct fill *fill, uint64_t free_bytes, uint64_t total_bytes,
                   uint64_t held_bytes);

#endif
