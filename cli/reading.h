#ifndef CKPTSIM_CLI_READING_H
#define CKPTSIM_CLI_READING_H

#include "cli/progress.h"
#include "cli/spec.h"
#include "sim/job/restore.h"

/* From the settings of restores to the plan of who reads what; shared by `restore`, `checkpoint
 * --read` and simulated drives. */

struct reading {
    struct restore_config config;
    struct read_files files;
    struct read_plan plan;
};

/* What can be said before any checkpoint is known. */
enum status reading_check(const struct read_spec *spec, struct error *err);

/* Settings without a default that were given although there will be no restores (`checkpoint`
 * without
 * --read): whoever gives one expects some. */
enum status reading_refuse_idle(const struct settings *settings, struct error *err);

/* A checkpoint asked for by a number that no pass will reach; most 0: not known. */
enum status reading_check_number(const struct read_spec *spec, uint64_t most, struct error *err);

/* `request` is what the files were made by, and shards are they. With shards NULL the files are
 * those of a manifest, of which no more is known. */
enum status reading_plan(const struct read_spec *spec, const struct plan_request *request,
                         const struct shards *shards, const struct manifest *manifest,
                         struct arena *arena, struct reading *reading, struct error *err);

/* As the result holds it. */
void reading_result(const struct read_spec *spec, const struct reading *reading,
                    struct result_restore *out);

/* How a run shows its restores. */
struct reading_view {
    struct result *result;
    struct progress *progress; /* NULL: none */
    bool rows;
};

/* Connects a restore with what shows it. */
void reading_show(struct restore *restore, struct reading_view *view);

#endif
