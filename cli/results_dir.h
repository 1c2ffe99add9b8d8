#ifndef CKPTSIM_CLI_RESULTS_DIR_H
#define CKPTSIM_CLI_RESULTS_DIR_H

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>

/* The folder of one run's output: result.json, journal.jsonl, checkpoints.csv, passes.csv,
 * summary.json. */

/* Makes `wanted`, or results/TIME-MODEL where that is NULL, and gives back its path. A folder that
 * holds a result already is refused. */
enum status results_dir_make(const char *wanted, const char *time, const char *model,
                             struct arena *arena, const char **path, struct error *err);

/* Removes a folder that nothing was put into; harmless otherwise. */
void results_dir_drop(const char *path);

#endif
