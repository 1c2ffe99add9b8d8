#ifndef CKPTSIM_SIM_JOB_JOB_H
#define CKPTSIM_SIM_JOB_JOB_H

#include "base/error.h"
#include "base/memory.h"
#include "io/engine.h"
#include "io/manifest.h"
#include "metrics/recorder.h"
#include "sim/job/failure.h"
#include "sim/job/fill.h"
#include "sim/job/shards.h"
#include "sim/job/tier.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* The job: simulated GPU ranks write checkpoint after checkpoint until the target is full, pass
 * after pass. The same code drives a real directory and a simulated drive; only the engine differs.
 *
 *   job_run ── pass ── slot ──┬─ invalidate   latest and manifest of the slot go first
 *                             ├─ write        barrier; every rank writes its files (rank_writer)
 *                             ├─ commit       manifest, then latest, each synced
 *                             └─ pause        computing between checkpoints
 *
 * In JOB_ASYNC ranks copy their state into memory at the barrier (snapshot) and the pause begins
 * there: they compute while the copies are written and committed. The next checkpoint waits for both.
 *
 * With a second folder (tier_copy) checkpoints are committed locally first and copied in the background.
 *
 * A slot is the set of file names of the n-th checkpoint of a pass; every pass uses the same slots.
 * All of this runs on one thread; the engine's threads are behind its contract. */

enum job_reuse { JOB_TRUNCATE, JOB_OVERWRITE, JOB_DELETE };
enum job_mode { JOB_SYNC, JOB_ASYNC, JOB_TIERED /* locally as JOB_SYNC */ };
enum job_fsync { JOB_FSYNC_NONE, JOB_FSYNC_FILE, JOB_FSYNC_CHECKPOINT };

struct job_config {
    struct fill fill;
    uint64_t passes;
    uint64_t checkpoints_per_pass; /* 0: until the target is full */
    uint64_t interval_ns;          /* that ranks compute between two checkpoints */
    int mode;                      /* enum job_mode: what ranks wait for at a checkpoint */
    uint64_t snapshot_bytes;       /* JOB_ASYNC: of host memory for all ranks; 0: see the setting */
    int reuse;                     /* enum job_reuse: what happens to last pass's files */
    int fsync;                     /* enum job_fsync */
    struct retention keep;         /* complete checkpoints that stay */
    uint64_t drain_ranks;          /* copiers to the second folder; 0: there is none */
    struct retention drain_keep;   /* complete checkpoints that stay there */
    bool commit;                   /* manifests and latest; without them plain files only */
};

/* Where a run stands; for progress. */
struct job_progress {
    uint64_t pass, passes, checkpoint, checkpoints_per_pass; /* the last 0 while unknown */
    uint64_t bytes, checkpoint_bytes;  /* of the checkpoint under way */
    uint64_t checkpoint_ns;            /* since its barrier */
    uint64_t run_ns;                   /* since the run began */
    uint64_t used_bytes, total_bytes;  /* of the target, at the last look */
    uint32_t behind_rank;              /* the slowest so far, or UINT32_MAX */
    uint64_t read, reads;              /* of a restore: which of how many; 0: it writes */
    const char *doing;                 /* "copying", "writing", "removing", "computing", ... */
};

struct job_observer {
    void *context;
    void (*tick)(void *context, const struct job_progress *progress); /* a few times a second */
    /* A checkpoint ended; may add what it knows (device_bytes) to the record. `settled` says that it
     * is complete or ended its pass, so that a resumed run need not write it again. An error ends
     * the run: what cannot be journalled must not be claimed. */
    enum status (*checkpoint)(void *context, struct checkpoint_record *record, bool settled,
                              struct error *err);
    /* The checkpoint of an earlier record, which now says so, is complete in the second folder. */
    enum status (*copied)(void *context, const struct checkpoint_record *record, uint64_t index,
                          struct error *err);
};

/* What a manifest tells of. */
struct checkpoint {
    uint64_t slot, serial;
    uint64_t *sums;        /* checksum of every file */
    uint64_t *stored_bytes; /* and the length of every compressed one; NULL without a codec */
    uint32_t *marker_crcs; /* and of every marker's text */
};

struct rank_writer;
struct snapshot;
struct snapshot_plan;
struct tier_copy;

struct job {
    /* Given: */
    const struct job_config *config;
    const struct engine_config *io;
    const struct shards *shards;
    struct engine *engine;
    struct recorder *recorder;
    struct arena *arena;
    const char *run_id;
    const struct manifest_setting *settings; /* for the manifests */
    uint64_t setting_count;
    const struct snapshot_plan *snapshot_plan; /* JOB_ASYNC alone */
    const struct buffer_pool *snapshot_pool;   /* its memory; NULL: counted but not there */
    const struct buffer_pool *drain_pool;      /* queue depth chunks for each copier */
    uint64_t planned_slots;       /* computed to fit a pass before the run; 0: not computed */
    const volatile sig_atomic_t *stop; /* set by a signal: finish soon */
    struct job_observer observer;
    /* Its state: */
    struct rank_writer *writers;  /* one per rank */
    struct snapshot *snapshots;   /* one per rank, or NULL */
    uint64_t *sums;               /* checksum of every file of the checkpoint under way */
    uint64_t *stored_bytes;       /* and the length of every compressed one; NULL without a codec */
    uint32_t *marker_crcs;        /* and of every marker's text */
    uint64_t pass, slot, serial;  /* from 1; serial counts checkpoints over the run */
    uint64_t slots;               /* slots written in pass 1; later passes use the same */
    struct tier local;            /* the folder that ranks write to */
    struct tier_copy *copy;       /* to a second folder, or NULL */
    uint64_t pass_wait_ns;        /* for copies, between two passes; counts to the next checkpoint */
    uint64_t copy_wait_ns;        /* that the checkpoint under way waited for it, or RESULT_UNKNOWN */
    uint64_t drain_filled;        /* the slot that the second folder had no room for; 0: none */
    uint64_t checkpoint_start_ns, last_tick_ns;
    uint64_t earlier_ns;          /* what an earlier process of this run took; 0: there was none */
    uint64_t used_bytes, total_bytes;
    bool drive_filled;            /* some pass ended with ENOSPC inside a checkpoint */
    const char *doing;
    uint32_t ranks_left;          /* of the checkpoint under way: not done yet */
    uint32_t snapshots_left;      /* and those still copying their state */
    uint64_t snapshot_end_ns;     /* when the last of them had it */
    uint64_t compute_end_ns;      /* when ranks are, or were, ready for the next checkpoint */
    struct io_request control;    /* of the job itself, with its file */
    struct io_file control_file;
    bool controlling;             /* it is under way */
    struct io_request pause;      /* ranks compute */
    bool pausing;                 /* it is under way */
    char *text;                   /* JOB_TEXT_BYTES: manifests in pieces */
};

enum { JOB_TEXT_BYTES = 1 << 20 };

/* Allocates everything; nothing is allocated after this. The given fields are set before. */
void job_init(struct job *job);

/* Goes on where an earlier process stopped: after `record`, the last settled one, with
 * `first_pass` checkpoints complete in pass 1 and `count` records in all. The caller says by
 * tier_set_held and tier_set_complete what the folder holds. Before job_run. */
void job_resume(struct job *job, const struct checkpoint_record *record, uint64_t first_pass,
                uint64_t count);

/* Runs all passes. The result's outcome and outcome_text say how it ended; only an I/O error (or a
 * failing observer) returns ERR_FAILED. */
enum status job_run(struct job *job, struct error *err);

/* Removes what was written, after the report: a drive may take its time over terabytes. */
enum status job_remove_files(struct job *job, struct error *err);

/* More than this in one pass is refused: nobody reads so many rows. */
enum { JOB_CHECKPOINTS_LIMIT = 100000 };

/* Checkpoints of one pass that fit a target with this much room; 0: not one. */
uint64_t job_checkpoints_that_fit(const struct job_config *config, const struct shards *shards,
                                  uint64_t free_bytes, uint64_t total_bytes);

void job_fini(struct job *job);

/* For the job's own files: submits job->control to a tier and waits for it, as the only one of its
 * kind; the errno, noted in the tier but for a file to remove that is not there. */
int job_control(struct job *job, struct tier *tier);
bool job_stopping(const struct job *job);
/* The checkpoint under way will not be complete: it failed, or the run is to stop. */
bool job_broken(const struct job *job);
/* Fills in a rank's file of the checkpoint under way, for a first write, and begins its checksums. */
void job_begin_file(const struct job *job, uint32_t rank, uint64_t index, struct format_crc *crcs,
                    struct shard_file *shard, struct io_file *file);
void job_tick(struct job *job);
/* Waits for one completion and gives it to whoever submitted it: at any moment there may be requests of
 * ranks and copiers, one of the job itself and a pause under way. */
void job_take(struct job *job);
/* Where copies to the second folder wait for the job: does what is due. */
void job_attend(struct job *job);
/* Both; while no request of the job itself is under way. */
void job_wait(struct job *job);
void job_look_at_space(struct job *job);
/* ENOSPC or EDQUOT: the target is full, which is an outcome. */
bool job_is_full(int error);

#endif
