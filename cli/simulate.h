#ifndef CKPTSIM_CLI_SIMULATE_H
#define CKPTSIM_CLI_SIMULATE_H

#include "base/error.h"
#include "cli/command.h"
#include "cli/reading.h"
#include "metrics/result.h"
#include "sim/job/shards.h"
#include "sim/drive/drive_sheet.h"

#include <signal.h>

/* The main job on simulated drives: the same job code, another engine and clock. */

struct simulation {
    const char *drive;        /* as given */
    struct drive_sheet sheet;
    struct result result;     /* kind simulated, with its drive part */
};

/* Names of --drive, split at the commas; at least one. */
const char *const *simulate_drives(const char *drives, struct arena *arena, size_t *count);

/* Whether the drive exists, is possible, holds a checkpoint and fits into memory; its name. Nothing is
 * run. */
enum status simulate_check(struct command_input *input, const struct shards *shards, const char *drive,
                           const char **name, struct error *err);

/* Reads drive and host, checks that the job fits and runs it, and after its passes the restores of
 * `reading` (NULL: none). `each` is told every checkpoint. */
enum status simulate_run(struct command_input *input, const struct shards *shards, const char *drive,
                         const struct reading *reading, const volatile sig_atomic_t *stop,
                         void (*each)(const struct result *result,
                                      const struct checkpoint_record *record),
                         struct simulation *simulation, struct error *err);

#endif
