#ifndef CKPTSIM_METRICS_OUTPUT_H
#define CKPTSIM_METRICS_OUTPUT_H

#include "base/error.h"
#include "metrics/result.h"

#include <stdio.h>

/* A file that is there whole or not at all: written as path.tmp, synced, renamed, folder synced. */

typedef void output_writer(const struct result *result, FILE *stream);

enum status output_write(const char *path, const struct result *result, output_writer *writer,
                         struct error *err);

/* Syncs the folder that holds path, so that a new name in it survives a power loss; 0 or an errno.
 */
int output_sync_folder_of(const char *path);

#endif
