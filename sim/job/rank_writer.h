#ifndef CKPTSIM_SIM_JOB_RANK_WRITER_H
#define CKPTSIM_SIM_JOB_RANK_WRITER_H

#include "sim/job/job.h"
#include "sim/job/snapshot.h"

/* One simulated GPU rank writing its share of a checkpoint, file after file:
 *
 *          ┌──────────────────── next file ◄─────────────────────┐
 *          ▼                                                      │
 *   start ─► OPENING ─► WRITING (queue depth chunks) ─► SYNCING ─► CLOSING ─► DONE
 *                                        └── fsync none ────────────┘
 *
 * Where its state is copied first, the rank begins in COPYING and writes what its snapshot holds.
 *
 * A compressed file ends in its seek table, which is known once all its windows are written, and may
 * be longer than a chunk:  WRITING windows ─► ENDING (the table in chunks) ─► SYNCING.
 *
 * With fsync per checkpoint the rank goes through its files a second time, opening each for its
 * sync. Once the checkpoint is broken or the run is to stop, a rank submits nothing but the close of
 * its open file. */

enum rank_state {
    RANK_COPYING, RANK_OPENING, RANK_WRITING, RANK_ENDING, RANK_SYNCING, RANK_CLOSING, RANK_DONE,
};

struct rank_writer {
    struct job *job;
    uint32_t rank;
    enum rank_state state;
    bool second_round;     /* syncing the files written before */
    bool opened;           /* the engine holds the file open */
    uint64_t index;        /* of the file under way */
    uint64_t offset;       /* next byte to submit, of the file's content or of its tail */
    uint64_t file_chunk;   /* number of the file's first chunk among all of the rank */
    uint64_t under_way;    /* requests the engine holds */
    uint64_t bytes;        /* written in this checkpoint */
    uint64_t end_ns;       /* of the latest completion */
    struct snapshot *snapshot; /* NULL: bytes are made as they are written */
    struct shard_file shard;
    struct io_file file;
    struct format_crc *crcs;         /* of the open file */
    struct seek_table table;         /* of a compressed one */
    uint8_t *tail;                   /* which is written out here */
    uint64_t tail_bytes;
    struct io_request *requests;     /* queue depth of them */
    struct io_request **free_requests;
    uint64_t free_count;
};

void rank_writer_init(struct rank_writer *writer, struct job *job, uint32_t rank,
                      struct arena *arena);
/* Begins the rank's share; true if it is done already, having no files. */
bool rank_writer_start(struct rank_writer *writer, uint64_t start_ns);
/* Its snapshot went on: submits what follows from that; true when the rank just became done. */
bool rank_writer_go_on(struct rank_writer *writer);
/* Takes a completion of this rank and submits what follows; true when the rank just became done. */
bool rank_writer_take(struct rank_writer *writer, struct io_request *request);

#endif
