#ifndef CKPTSIM_METRICS_RECORDER_H
#define CKPTSIM_METRICS_RECORDER_H

#include "metrics/result.h"

/* The recorder turns completions into a result: one checkpoint record after another and the two
 * histograms. It runs on the job's thread; nothing is allocated between begin and end. */

enum recorder_op { RECORDER_WRITE, RECORDER_SYNC, RECORDER_COPY };

struct recorder_rank {
    uint64_t end_ns; /* of its last completion, then its own end */
    uint64_t sync_ns, payload_ns, bytes;
    bool ended;
};

struct recorder {
    struct result *result;
    uint32_t ranks;
    struct recorder_rank *rank; /* of the checkpoint under way */
    struct checkpoint_record now;
    /* Of this checkpoint alone; they stay as they are until the next one begins (the journal keeps
     * them), and recorder_end adds them to the result's. */
    struct histogram write_latency, sync_latency;
};

void recorder_init(struct recorder *recorder, struct result *result, uint32_t ranks,
                   struct arena *arena);

/* A checkpoint begins: all ranks stand at the barrier at start_ns. */
void recorder_begin(struct recorder *recorder, uint32_t pass, uint32_t checkpoint,
                    uint64_t start_ns);
/* A write, sync or copy of `rank` came back; bytes is 0 for the latter two. A copy into memory is no
 * request to the drive: only its payload counts. */
void recorder_request(struct recorder *recorder, uint32_t rank, enum recorder_op op,
                      uint64_t begin_ns, uint64_t end_ns, uint64_t payload_ns, uint64_t bytes);
/* And beside that of each write to a compressed file: what the drive got, and how long it took
 * on a CPU and on the clock. */
void recorder_compressed(struct recorder *recorder, uint64_t stored_bytes, uint64_t cpu_ns,
                         uint64_t wall_ns);
/* The rank has its last byte (and fsync) done. A rank that never says so did not finish; one with
 * nothing to write says so at start_ns. */
void recorder_rank_end(struct recorder *recorder, uint32_t rank, uint64_t end_ns);
/* All ranks are done, or the checkpoint broke (complete false, note says why; copied): the record
 * is added to the result. A broken one's duration runs to the last completion of any rank. The
 * caller fills commit_ns, used_bytes, total_bytes, device_bytes after (RESULT_UNKNOWN until then).
 */
struct checkpoint_record *recorder_end(struct recorder *recorder, bool complete, const char *note);

/* Live figures of the checkpoint under way, for progress: bytes so far, and the rank furthest
 * behind (by bytes) among those not done, or UINT32_MAX where all are. */
uint64_t recorder_bytes(const struct recorder *recorder);
uint32_t recorder_furthest_behind(const struct recorder *recorder);

#endif
