#ifndef CKPTSIM_METRICS_JOURNAL_H
#define CKPTSIM_METRICS_JOURNAL_H

#include "base/error.h"
#include "base/memory.h"
#include "metrics/result.h"

#include <stdbool.h>
#include <stdint.h>

/* The journal: journal.jsonl beside result.json, one JSON map a line, each line one write() and one
 * fdatasync(), so that a run killed at any moment leaves every finished checkpoint behind. Its last
 * line may be torn; a line counts once its newline is there.
 *
 *   {"journal":1,"run_id":...,"program_version":...,"kind":...,"started":...,"settings":{...}}
 *   {"settled":true,"record":{...as in
 * checkpoints[]...},"write_latency":{...},"fsync_latency":{...}}
 *   ... */

enum { JOURNAL_VERSION = 1 };
#define JOURNAL_BYTES (UINT64_C(1) << 30) /* most that is read */

struct journal {
    int fd;
    const char *path; /* the caller's */
};

struct journal_setting {
    const char *name, *value, *origin; /* value NULL: it was not set */
};

struct journal_content {
    const char *run_id, *version, *started;
    enum result_kind kind;
    uint32_t setting_count, checkpoint_count;
    struct journal_setting *settings;
    struct checkpoint_record *checkpoints;
    bool *settled; /* of each checkpoint: a resumed run need not write it again */
    struct histogram write_latency, sync_latency; /* of all of them */
    uint64_t whole_bytes;                         /* up to here lines are whole */
    bool torn;                                    /* something followed that was not */
};

/* A new journal with its first line from run_id, version, kind, started and settings; what was
 * there is replaced. */
enum status journal_create(struct journal *journal, const char *path, const struct result *result,
                           struct error *err);

/* Goes on with one that journal_read read: cuts off the torn tail, then appends. */
enum status journal_resume(struct journal *journal, const char *path,
                           const struct journal_content *content, struct error *err);

/* Adds a checkpoint and its own two histograms, as the recorder holds them when it ends. Settled
 * says that it is complete or ended its pass, not that it was interrupted. */
enum status journal_add(struct journal *journal, const struct result *result,
                        const struct checkpoint_record *record, bool settled,
                        const struct histogram *write_latency, const struct histogram *sync_latency,
                        struct error *err);

/* Adds that the checkpoint of an earlier line, the index-th from 0, is complete in the second folder
 * too: {"copied":index,"copy_lag_seconds":...,"copy_seconds":...}. */
enum status journal_add_copied(struct journal *journal, const struct checkpoint_record *record,
                               uint64_t index, struct error *err);

/* A journal that was never opened (all zero and fd -1) may be closed too. */
void journal_close(struct journal *journal);

/* Reads all whole lines; texts and arrays live in the arena. The struct is large: let it live in
 * the arena as well. */
enum status journal_read(const char *path, struct arena *arena, struct journal_content *content,
                         struct error *err);

/* Puts what was read into a result that is still empty, as if it had recorded it. */
void journal_restore(const struct journal_content *content, struct result *result);

#endif
