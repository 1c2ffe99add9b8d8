#ifndef CKPTSIM_METRICS_RECORDER_H
#define CKPTSIM_METRICS_RECORDER_H

#include "metrics/result.h"

/* The recorder turns completions into a result: one checkpoint record after another and the two
 * histograms. It runs on the job's thread; nothing is allocated between begin and end. */

enum recorder_op { RECORDER_WRITE, RECORDER_SYNC };

struct recorder_rank {
    uint64_t end_ns, sync_ns, payload_ns, bytes;
};

struct recorder {
    struct result *result;
    uint32_t ranks;
    struct recorder_rank *rank; /* of the checkpoint under way */
    struct checkpoint_record now;
};

void recorder_init(struct recorder *recorder, struct result *result, uint32_t ranks,
                   struct arena *arena);

/* A checkpoint begins: all ranks stand at the barrier at start_ns. */
void recorder_begin(struct recorder *recorder, uint32_t pass, uint32_t checkpoint,
                    uint64_t start_ns);
/* A write or sync of `rank` came back. */
void recorder_request(struct recorder *recorder, uint32_t rank, enum recorder_op op,
                      uint64_t begin_ns, uint64_t end_ns, uint64_t payload_ns, uint64_t bytes);
/* The rank has its last byte (and fsync) done. A rank that never says so did not finish. */
void recorder_rank_end(struct recorder *recorder, uint32_t rank, uint64_t end_ns);
/* All ranks are done, or the checkpoint broke (complete false, note says why; copied): the record is
 * added to the result. The caller fills commit_ns, used_bytes, total_bytes, device_bytes after. */
struct checkpoint_record *recorder_end(struct recorder *recorder, bool complete, const char *note);

/* Live figures of the checkpoint under way, for progress: bytes so far, and the rank furthest behind
 * (by bytes) among those not done. */
uint64_t recorder_bytes(const struct recorder *recorder);

#endif
