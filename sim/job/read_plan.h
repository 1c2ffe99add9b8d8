#ifndef CKPTSIM_SIM_JOB_READ_PLAN_H
#define CKPTSIM_SIM_JOB_READ_PLAN_H

#include "base/error.h"
#include "base/memory.h"
#include "sim/job/shards.h"

#include <stdbool.h>
#include <stdint.h>

/* Which rank reads which bytes of which files in a restore. Files are counted over a checkpoint as
 * its manifest lists them, rank by rank. The same plan holds for every checkpoint of a run. Pure
 * arithmetic; made before the first request. */

struct read_range {
    uint64_t file;         /* of the checkpoint */
    uint64_t offset;       /* a multiple of PAYLOAD_BLOCK, of compressed files of their chunk */
    uint64_t length_bytes; /* whole ones of these, but for the end of the file */
};

struct read_plan {
    uint32_t ranks;        /* that read */
    const uint64_t *first; /* ranks + 1: of each rank's ranges, sorted by file and offset */
    const struct read_range *ranges;
    const uint64_t *rank_bytes; /* what each rank reads */
    uint64_t bytes;             /* of all ranges */
    uint64_t needed_bytes;   /* of the tensors in them; less where ranges cover what lies between */
    uint64_t distinct_bytes; /* each byte counted once, however many ranks read it */
    const uint64_t *files;   /* the files that are read, ascending; file_count of them */
    uint64_t file_count;
    uint64_t file_bytes; /* their sizes */
};

/* The files of a checkpoint, as much of them as reading needs to know. */
struct read_files {
    uint32_t ranks;        /* that wrote */
    const uint64_t *first; /* ranks + 1: number of each rank's first file */
    const uint64_t *sizes; /* of each file */
    uint64_t chunk_bytes;  /* windows of compressed files, which are read whole; 0: blocks are */
};

enum readers { READERS_ALL, READERS_ONE_PER_DP };

/* More ranges than this are refused; each takes 24 bytes, and as much while they are made. */
enum { READ_RANGES_MAX = 1 << 24 };

void read_files_of(const struct shards *shards, struct arena *arena, struct read_files *files);

/* Every rank reads back what the rank `shift` behind it wrote; with READERS_ONE_PER_DP the first of
 * each data parallel group reads what its group would. `plan` tells of groups and may be NULL with
 * READERS_ALL. */
void read_plan_back(const struct read_files *files, const struct plan *plan, enum readers readers,
                    uint64_t shift, struct arena *arena, struct read_plan *out);

/* Ranges as they come, for whoever makes a plan: they are sorted, and merged where they touch. */
struct range_list {
    struct read_range *ranges;
    uint64_t count, capacity, needed_bytes;
    uint64_t begin; /* of the rank under way */
};

/* Widens [offset, offset + length) to whole blocks, or windows, within the file. False where there
 * are too many. */
bool range_list_add(struct range_list *list, const struct read_files *files, uint64_t file,
                    uint64_t offset, uint64_t length_bytes);
/* The rank under way has all its ranges; what follows is the next one's. */
void range_list_end_rank(struct range_list *list);
/* Copies to the arena and adds up; first holds ranks + 1 numbers of ranges. Empties the list. */
void range_list_finish(struct range_list *list, const struct read_files *files, uint32_t ranks,
                       const uint64_t *first, struct arena *arena, struct read_plan *out);

#endif
