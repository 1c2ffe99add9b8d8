#ifndef CKPTSIM_METRICS_RESULT_JSON_H
#define CKPTSIM_METRICS_RESULT_JSON_H

#include "base/error.h"
#include "metrics/result.h"

#include <stdio.h>

/* result.json, as docs/result.md describes it: everything that reports are made from. */

/* Writes it whole beside path and renames it there, so that a reader never sees half of it. */
enum status result_write(const struct result *result, const char *path, struct error *err);

/* Write errors stay in the stream (ferror). */
void result_write_stream(const struct result *result, FILE *stream);

#endif
