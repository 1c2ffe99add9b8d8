#ifndef CKPTSIM_CLI_SPEC_H
#define CKPTSIM_CLI_SPEC_H

#include "base/setting.h"
#include "io/engine.h"
#include "models/plan.h"
#include "sim/job/job.h"
#include "sim/job/read_plan.h"

#include <stdbool.h>

/* Everything a user can set, as the structs of the rooms that use it, filled by the rows in spec.c.
 * Constant once parsed. */

enum command_bit {
    CMD_CHECKPOINT = 1,
    CMD_SHARDS = 2,
    CMD_VERIFY = 4,
    CMD_CLEAN = 8,
    CMD_LIST = 16,
    CMD_HELP = 32,
    CMD_SHOW = 64,
    CMD_VALIDATE = 128,
    CMD_RESTORE = 256,
};

/* Everything in this group of rows a plan is made of. */
#define SPEC_PLAN_GROUP "Model and parallelism"

enum drive_state { DRIVE_STATE_USED, DRIVE_STATE_NEW };
enum commit_kind { COMMIT_MANIFEST, COMMIT_NONE };

/* How checkpoints are restored. */
struct read_spec {
    uint64_t reads;         /* of `restore` */
    const char *checkpoint; /* "newest", "all" or a number */
    uint64_t rank_shift;
    const char *reshard;    /* NULL, or "tp=8,pp=1" */
    int readers;            /* enum readers */
    bool verify;
};

struct spec {
    struct plan_request plan;
    bool tensors;  /* shards: list them */
    uint64_t rank; /* of this rank alone */
    const char *dir, *drain_to;
    const char *engine; /* a name in the engine registry */
    struct engine_config io;
    struct job_config job;
    const char *format;       /* a name in the format registry, or "auto" */
    const char *codec;        /* becomes io.codec */
    const char *compressible; /* becomes io.classes */
    int rules;          /* 1: MLPerf Storage's; metrics/mlperf_rules.h reads the setting's word */
    int commit;         /* enum commit_kind, becomes job.commit */
    struct read_spec restore;
    uint64_t read;            /* checkpoint: restores after the passes */
    const char *results, *resume, *workload;
    bool keep, fill_system_disk, quiet, json, yes, names;
    const char *docs;
    const char *drives;  /* names with commas between them; NULL: a real directory */
    const char *host;
    int placement;       /* enum placement_policy */
    int discard;         /* enum drive_discard */
    int drive_state;     /* enum drive_state */
    uint64_t memory_limit_bytes;
};

extern const struct setting_row spec_rows[];
extern const size_t spec_row_count;

#endif
