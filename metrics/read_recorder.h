#ifndef CKPTSIM_METRICS_READ_RECORDER_H
#define CKPTSIM_METRICS_READ_RECORDER_H

#include "metrics/result.h"

/* Turns the completions of a restore into a record and the histogram of reads. It runs on the job's
 * thread; nothing is allocated between begin and end. */

struct read_recorder_rank {
    uint64_t end_ns; /* of its last byte so far */
    uint64_t verify_ns, bytes;
};

struct read_recorder {
    struct result *result;
    uint32_t ranks;
    struct read_recorder_rank *rank; /* of the restore under way */
    struct read_record now;
};

void read_recorder_init(struct read_recorder *recorder, struct result *result, uint32_t ranks,
                        struct arena *arena);

/* All ranks stand at the barrier at record->start_ns; what else is known is in the record. */
void read_recorder_begin(struct read_recorder *recorder, const struct read_record *record);
/* A read of `rank` came back. */
void read_recorder_request(struct read_recorder *recorder, uint32_t rank, uint64_t begin_ns,
                           uint64_t end_ns, uint64_t verify_ns, uint64_t bytes);
/* Something of `rank` that is no read came back: an opening. */
void read_recorder_reached(struct read_recorder *recorder, uint32_t rank, uint64_t end_ns);
/* All ranks are done, or the restore broke (complete false, note says why; copied): the record is
 * added to the result. */
struct read_record *read_recorder_end(struct read_recorder *recorder, bool complete,
                                      const char *note);

/* Of the restore under way, for progress. */
uint64_t read_recorder_bytes(const struct read_recorder *recorder);

#endif
