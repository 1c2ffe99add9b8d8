#ifndef CKPTSIM_SIM_JOB_RESTORE_H
#define CKPTSIM_SIM_JOB_RESTORE_H

#include "base/error.h"
#include "base/memory.h"
#include "io/engine.h"
#include "io/manifest.h"
#include "metrics/read_recorder.h"
#include "sim/job/failure.h"
#include "sim/job/job.h"
#include "sim/job/read_plan.h"

#include <signal.h>

/* Restores: simulated GPU ranks read checkpoints back, as after a failure or a restart, cold. The
 * same code reads from a real directory and from a simulated drive; only the engine differs.
 *
 *   restore_run ── restore ──┬─ cold     every file to be read leaves the page cache; what stays is
 *                            │           counted
 *                            └─ read     barrier; every rank reads its ranges (rank_reader)
 *
 * The plan of who reads what is made before (read_plan, reshard); which checkpoint is read comes
 * from a source, one restore after another. Nothing is allocated from the first request of a
 * restore to its last. */

/* A checkpoint that can be read: with a manifest its names and checksums are taken from there, else
 * its names from the shards. */
struct restore_checkpoint {
    uint32_t number; /* in its file names */
    uint64_t serial;
    const struct manifest *manifest;
};

/* Which checkpoint restore number `nth` (from 0) reads; what it points at stays until the next
 * call. ERR_FAILED ends the restores. */
struct restore_source {
    enum status (*take)(struct restore_source *source, uint64_t nth,
                        struct restore_checkpoint *checkpoint, struct error *err);
};

/* One file of the checkpoint under way. */
struct restore_file {
    uint64_t number; /* over the checkpoint */
    uint32_t rank;   /* that wrote it */
    uint64_t index;
    uint64_t bytes, sum;
    bool has_sum;
    const char *path;
    struct shard_file shard; /* holds the path where there is no manifest */
};

struct restore_config {
    uint64_t reads;
    bool verify; /* compares what is read with what was written */
    bool cold; /* drops files from the page cache and counts what stays; not of a simulated drive */
};

/* A restore of which a larger part than one in so many was in the page cache was none of the drive.
 */
enum { RESTORE_CACHED_PART = 1000 };

struct rank_reader;

struct restore {
    /* Given: */
    const struct restore_config *config;
    const struct engine_config *io;
    const struct read_plan *plan;
    const struct read_files *files;
    const struct shards
        *shards; /* NULL: files are payload from end to end, and manifests name them */
    struct restore_source *source;
    struct engine *engine;
    struct result *result;
    struct arena *arena;
    uint64_t earlier_ns; /* of the run before this engine's clock began */
    const volatile sig_atomic_t *stop;
    struct job_observer observer; /* tick alone */
    void (*each)(void *context,
                 const struct read_record *record); /* a restore ended; may be NULL */
    /* Its state: */
    struct read_recorder recorder;
    struct rank_reader *readers;
    struct restore_checkpoint checkpoint;
    uint64_t nth;
    uint64_t start_ns, last_tick_ns;
    struct failure failure;
    const char *doing;
    struct io_request control;
    struct io_file control_file;
};

/* Allocates everything that reading needs. The given fields are set before. */
void restore_init(struct restore *restore);

/* Runs all restores and adds them to the result. A failure or a signal sets the result's outcome,
 * else it is left alone; ERR_FAILED says what failed. */
enum status restore_run(struct restore *restore, struct error *err);

/* For the restore's own files. */
void restore_file_at(const struct restore *restore, uint64_t number, struct restore_file *file);
struct io_file restore_io_file(const struct restore *restore, const struct restore_file *file);
bool restore_is_over(const struct restore *restore); /* broken, or asked to stop */

#endif
