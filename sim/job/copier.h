#ifndef CKPTSIM_SIM_JOB_COPIER_H
#define CKPTSIM_SIM_JOB_COPIER_H

#include "sim/job/tier_copy.h"

/* Copies files of a checkpoint from the local folder to the shared one, one at a time, queue depth
 * chunks at a time:
 *
 *        ┌───────────────────────────── next file ◄──────────────────────────────┐
 *        ▼                                                                       │
 *   OPEN_SOURCE ─► OPEN_TARGET ─► MOVING ─► SYNCING ─► CLOSE_TARGET ─► CLOSE_SOURCE ─► DONE
 *                          read a chunk, write it
 *
 * What was read has to have the checksum that the manifest will say. Once something failed or the run
 * is to stop, a copier closes what it has open and is done. */

enum copier_state {
    COPIER_OPEN_SOURCE,
    COPIER_OPEN_TARGET,
    COPIER_MOVING,
    COPIER_SYNCING,
    COPIER_CLOSE_TARGET,
    COPIER_CLOSE_SOURCE,
    COPIER_DONE,
};

struct copier {
    struct tier_copy *copy;
    uint32_t rank;         /* of the engine */
    enum copier_state state;
    bool source_open, target_open;
    uint32_t file_rank;    /* whose file it is */
    uint64_t file_index;
    uint64_t bytes;        /* of the file as it is stored */
    uint64_t offset;       /* next byte to read */
    uint64_t under_way;    /* requests the engine holds */
    struct shard_file shard;
    struct io_file source, target;
    struct io_request *requests; /* queue depth of them, each with a chunk of memory of its own */
    void **memory;
    struct io_request **free_requests;
    uint64_t free_count;
};

void copier_init(struct copier *copier, struct tier_copy *copy, uint32_t number);
/* Takes a first file; true where there is none. */
bool copier_start(struct copier *copier);
/* Takes a completion and submits what follows; true when it just became done. */
bool copier_take(struct copier *copier, const struct io_request *request);

#endif
