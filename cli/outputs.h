#ifndef CKPTSIM_CLI_OUTPUTS_H
#define CKPTSIM_CLI_OUTPUTS_H

#include "base/error.h"
#include "base/memory.h"
#include "metrics/result.h"

/* The files of a run in its results folder, each whole or not at all. */
enum status outputs_write(const struct result *result, const char *folder, struct arena *arena,
                          struct error *err);

/* comparison.csv of several simulated drives. */
enum status outputs_write_comparison(const struct result *const *results, size_t count,
                                     const char *folder, struct arena *arena, struct error *err);

#endif
