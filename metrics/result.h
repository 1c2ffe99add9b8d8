#ifndef CKPTSIM_METRICS_RESULT_H
#define CKPTSIM_METRICS_RESULT_H

#include "base/error.h"
#include "base/facts.h"
#include "base/memory.h"
#include "base/setting.h"
#include "metrics/drive_pass.h"
#include "metrics/histogram.h"

#include <stdbool.h>
#include <stdint.h>

/* The result of a run in memory: exactly what result.json holds. The job fills it through a
 * recorder; reports read it and nothing else. What follows from the checkpoints (passes, means,
 * drift) is computed from them when it is asked for, never stored. */

enum { RESULT_VERSION = 1 };

enum result_kind { RESULT_MEASURED, RESULT_SIMULATED };

enum result_outcome {
    RESULT_RUNNING,     /* in the journal of a run that was killed */
    RESULT_COMPLETE,    /* all passes as planned */
    RESULT_DRIVE_FULL,  /* all passes, but a pass ended early: ENOSPC or quota in a checkpoint */
    RESULT_INTERRUPTED, /* Ctrl-C: partial */
    RESULT_FAILED,      /* an I/O error ended it: partial */
};

/* Not available: a counter that the device or the kernel does not give. */
#define RESULT_UNKNOWN UINT64_MAX

struct checkpoint_record {
    uint32_t pass, checkpoint; /* from 1; checkpoint counts within the pass */
    bool complete;
    uint64_t start_ns;    /* since the run began; the barrier of all ranks */
    uint64_t duration_ns; /* barrier to the slowest rank's last byte and fsync */
    uint64_t rank0_ns;    /* rank 0's own time, as DLIO reports it */
    uint64_t fastest_ns;
    uint32_t slowest_rank, fastest_rank;
    uint64_t bytes;          /* written, by all ranks */
    uint64_t rank_ns_sum;    /* over ranks: barrier to own end */
    uint64_t sync_ns_sum;    /* over ranks: in fsync */
    uint64_t payload_ns_sum; /* over ranks: making payload and checksums */
    /* Of compressed files, else RESULT_UNKNOWN: bytes that the drive got for `bytes`, CPU time
     * for that and how long it took, over all workers. */
    uint64_t stored_bytes, compress_ns_sum, compress_wall_ns_sum;
    uint64_t commit_ns; /* manifest, latest and folder syncs, after the end, or RESULT_UNKNOWN */
    uint64_t removal_ns; /* older checkpoints that are not kept, after the commit; or RESULT_UNKNOWN */
    /* Of a checkpoint that was copied into memory first, else RESULT_UNKNOWN: */
    uint64_t stall_ns;   /* barrier to the slowest rank's last copy */
    uint64_t blocked_ns; /* ranks were ready for the next one, this one was not done and committed */
    /* Where it was copied to a second folder, else RESULT_UNKNOWN: */
    uint64_t copy_wait_ns; /* ranks waited before it, since an earlier one was still to be copied */
    uint64_t copy_lag_ns;  /* from its commit in the first folder to that in the second */
    uint64_t copy_ns;      /* from the first byte that was read to the last one's fsync */
    uint64_t used_bytes, total_bytes; /* of the file system after it, or RESULT_UNKNOWN */
    uint64_t device_bytes;            /* the block device counted as written, or RESULT_UNKNOWN */
    const char *note;                 /* NULL, or why it is not complete: file, offset, errno */
};

/* One restore of a checkpoint. */
struct read_record {
    uint32_t read, checkpoint; /* from 1; checkpoint: the number in its file names */
    bool complete;
    bool cached;          /* more than a thousandth of it was in the page cache: no figure of the drive */
    bool verified;        /* what was read was compared with what was written */
    uint64_t start_ns;    /* since the run began; the barrier of all ranks */
    uint64_t duration_ns; /* barrier to the slowest rank's last byte */
    uint64_t rank0_ns;    /* rank 0's own time, as DLIO reports it */
    uint64_t fastest_ns;
    uint32_t slowest_rank, fastest_rank;
    uint64_t bytes;         /* read, by all ranks */
    uint64_t cached_bytes;  /* of the files in the page cache at the barrier, or RESULT_UNKNOWN */
    uint64_t rank_ns_sum;   /* over ranks: barrier to own end */
    uint64_t verify_ns_sum; /* over ranks: comparing and checksums */
    const char *note;       /* NULL, or why it is not complete: file, offset, errno */
};

/* How the restores of a run were asked for. */
struct result_restore {
    uint64_t reads;         /* planned; 0: there are none, and nothing below counts */
    const char *checkpoint; /* "newest", "all" or a number */
    const char *readers;    /* "all", "one-per-dp" */
    const char *reshard;    /* NULL, or the parallelism that read: "tp=8,pp=1" */
    uint64_t rank_shift, ranks, files;
    /* Of one restore: what is read, the tensors' part of it, each byte counted once. */
    uint64_t bytes, needed_bytes, distinct_bytes;
    bool verify;
};

struct result_plan {
    const char *model, *layout, *layout_leaves_out, *format;
    /* checkpoint_bytes: of the files; model_bytes and optimizer_bytes: of the tensors in them. */
    uint64_t parameters, checkpoint_bytes, model_bytes, optimizer_bytes, files;
    uint64_t ranks, tp, pp, dp, zero_stage;
    uint64_t largest_rank_bytes, smallest_rank_bytes;
    double scale;
    uint64_t passes, checkpoints_per_pass; /* as planned at the start; 0: unknown */
    uint64_t run_bytes;                    /* estimate of all passes */
    const char *mode;                      /* "sync", "async", ... */
    uint64_t interval_ns;                  /* that ranks compute between two checkpoints */
    const char *drain_to;                  /* folder that checkpoints are copied to, or NULL */
    uint64_t drain_ranks;                  /* by so many copiers */
    uint64_t snapshot_bytes;               /* host memory for copies of a checkpoint; 0: none */
    uint64_t memory_bytes;                 /* promised limit */
    const char *codec;                     /* "zstd:3"; NULL: nothing is compressed */
    uint64_t codec_workers;                /* threads of the engine, that compress */
    double payload_bytes_per_second;       /* headroom of one worker */
};

struct result {
    enum result_kind kind;
    enum result_outcome outcome;
    const char *outcome_text; /* one sentence: what ended the run, file and errno included */
    const char *run_id, *version, *started; /* started: ISO 8601, UTC */
    uint64_t elapsed_ns;
    struct result_plan plan;
    const struct settings *settings;
    struct facts machine, file_system, device, engine; /* as far as known */
    struct histogram write_latency, sync_latency;      /* ns per request */
    struct histogram read_latency;                     /* of restores */
    uint32_t checkpoint_count, checkpoint_capacity;
    struct checkpoint_record *checkpoints;
    struct result_restore restore;
    uint32_t read_count, read_capacity;
    struct read_record *reads;
    struct drive_result drive;                    /* of a simulated one; its name is NULL otherwise */
    struct arena *arena; /* notes and texts */
};

/* Statistics of one pass over its complete checkpoints. Where there is none, or too few for a
 * figure (drift needs two), the doubles are NAN. */
struct pass_record {
    uint32_t pass, checkpoints, broken; /* complete ones, and those that did not end */
    uint64_t bytes, duration_ns_sum, min_ns, max_ns;
    double mean_seconds, stdev_seconds; /* population, of the slowest rank's time */
    double rank0_mean_seconds;
    double bytes_per_second; /* bytes / sum of durations */
    double against_pass1;    /* mean / mean of pass 1 - 1 */
    double drift;            /* last quarter's mean / first quarter's mean - 1 */
    double sync_share;       /* sum of sync_ns_sum / sum of rank_ns_sum */
    double stall_seconds, blocked_seconds; /* means; NAN where nothing was copied into memory */
    uint64_t copied;         /* that are in the second folder too; RESULT_UNKNOWN without one */
    double copy_lag_seconds, copy_rate, copy_wait_seconds; /* of those; NAN without a second folder */
    double idle_share;       /* of the time from one barrier to the next: ranks did not compute */
    uint64_t blocked_ns_max;
    uint32_t blocked;        /* checkpoints that held up the next one */
    uint64_t device_bytes;   /* or RESULT_UNKNOWN */
    uint64_t rank_ns_sum;
    /* As of a checkpoint; unknown where one of them is. */
    uint64_t stored_bytes, compress_ns_sum, compress_wall_ns_sum;
};

uint32_t result_pass_count(const struct result *result);
void result_pass(const struct result *result, uint32_t pass, struct pass_record *record);

/* The same over the complete checkpoints of all passes; pass is 0 and against_pass1 NAN. */
void result_all_passes(const struct result *result, struct pass_record *record);

/* The words that result.json uses: "measured", "drive_full". */
const char *result_kind_name(enum result_kind kind);
const char *result_outcome_name(enum result_outcome outcome);
/* True where the run ended before its plan did. */
bool result_partial(const struct result *result);

/* Room for one more record; the pointer is good until the next call. */
struct checkpoint_record *result_add_checkpoint(struct result *result);

struct read_record *result_add_read(struct result *result);

void result_fini(struct result *result);

#endif
