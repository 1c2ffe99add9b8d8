#ifndef CKPTSIM_SIM_DRIVE_WRITE_BACK_H
#define CKPTSIM_SIM_DRIVE_WRITE_BACK_H

#include "base/memory.h"
#include "io/engine.h"
#include "sim/drive/drive_files.h"

#include <stdbool.h>
#include <stdint.h>

/* What has arrived from the ranks and waits for the drive: a rank's bytes in order, and ranks in
 * turn. The ring holds every rank that has something waiting, but the one that is being served. */

/* Bytes of one write on their way to the drive, or a mark that a sync waits for. */
struct segment {
    struct segment *next;
    struct drive_file *file;
    struct io_request *request; /* completes with the segment; NULL: completed before */
    uint64_t bytes;
};

struct write_back_rank {
    struct segment *first, *last; /* arrived, in order */
    bool ready;                   /* in the ring */
    uint32_t next_ready;
};

struct write_back {
    struct write_back_rank *ranks;
    uint32_t ready_first, ready_last, ready_count;
    uint64_t waiting_bytes; /* arrived and not taken by the drive */
    bool serving;           /* a piece of serving_rank's first segment is at the drive */
    uint32_t serving_rank;
    uint64_t serving_bytes;
    struct segment *free_segments;
    struct arena arena;
};

void write_back_init(struct write_back *back, uint32_t ranks);
void write_back_fini(struct write_back *back);

/* Behind all that the rank has waiting; no bytes and no file make a mark. */
void write_back_add(struct write_back *back, uint32_t rank, struct drive_file *file, uint64_t bytes,
                    struct io_request *request);
/* The same without a segment of its own, where the last one is of the same file and has room. */
bool write_back_join(struct write_back *back, uint32_t rank, const struct drive_file *file,
                     uint64_t bytes);

/* The rank whose turn it is leaves the ring, which must not be empty. */
uint32_t write_back_take(struct write_back *back);
void write_back_make_ready(struct write_back *back, uint32_t rank);

/* A piece of the rank's first segment goes to the drive, and has been taken by it. */
void write_back_serve(struct write_back *back, uint32_t rank, uint64_t bytes);
void write_back_served(struct write_back *back);

/* Takes segments that are done from a rank's front, up to one that a request waits for, and gives
 * back that; NULL where none is left. */
struct io_request *write_back_settle(struct write_back *back, uint32_t rank);

/* What is waiting of a file need not go to the drive any more; what is being served does. */
void write_back_drop_file(struct write_back *back, const struct drive_file *file, uint32_t ranks);
/* Nothing of the rank waits any more; gives back the requests that did, linked by next. */
struct io_request *write_back_drop_rank(struct write_back *back, uint32_t rank);

#endif
