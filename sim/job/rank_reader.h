#ifndef CKPTSIM_SIM_JOB_RANK_READER_H
#define CKPTSIM_SIM_JOB_RANK_READER_H

#include "sim/job/restore.h"

/* One simulated GPU rank reading its ranges of a checkpoint, file after file:
 *
 *          ┌─────────── next file ◄───────────┐
 *          ▼                                  │
 *   start ─► OPENING ─► READING (queue depth chunks) ─► CLOSING ─► DONE
 *
 * Ranges of one file share an opening. A file that is read whole is read in chunks from its
 * beginning, and its checksum is held against the manifest's. Once the restore is broken or is to
 * stop, a rank submits nothing but the close of its open file. */

enum reader_state { READER_OPENING, READER_READING, READER_CLOSING, READER_DONE };

struct rank_reader {
    struct restore *restore;
    uint32_t rank;
    enum reader_state state;
    bool opened;          /* the engine holds the file open */
    uint64_t range, last; /* under way; where the rank's ranges end */
    uint64_t offset;      /* next byte to submit of the range */
    uint64_t under_way;   /* requests the engine holds */
    uint64_t file_bytes;  /* read of the open file */
    uint64_t bytes;       /* read in this restore */
    struct restore_file shard;
    struct io_file file;
    struct io_request *requests; /* queue depth of them */
    struct io_request **free_requests;
    uint64_t free_count;
};

void rank_reader_init(struct rank_reader *reader, struct restore *restore, uint32_t rank,
                      struct arena *arena);
/* Begins the rank's share; true if it is done already, having nothing to read. */
bool rank_reader_start(struct rank_reader *reader);
/* Takes a completion of this rank and submits what follows; true when the rank just became done. */
bool rank_reader_take(struct rank_reader *reader, struct io_request *request);

#endif
