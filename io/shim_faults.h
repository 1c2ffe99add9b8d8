#ifndef CKPTSIM_IO_SHIM_FAULTS_H
#define CKPTSIM_IO_SHIM_FAULTS_H

#include "io/engine.h"

/* Makes requests fail on purpose, by a list of rules "OP:ERROR[:WHEN]" with commas between them:
 *
 *   OP     open write read copy sync close remove rename sync-dir pause; with "drain-" before it of
 *          the second folder, which counts for itself
 *   ERROR  eio enospc edquot efbig erofs eacces enoent; short (OP write: half of it is taken)
 *   WHEN   after=SIZE  once SIZE bytes were written; a write that would pass SIZE fails already
 *          at=N        the N-th request of that operation, counted from 1
 *          rate=P      each with probability P, from the run's seed
 *          nothing     each
 *
 * "write:enospc:after=1GiB" is a drive that somebody else has filled: the free space that the
 * engine reports does not change. The first rule that applies decides. */

/* ERR_USAGE where the rules cannot be read; says what is allowed. */
enum status shim_faults_check(const char *rules, struct error *err);

/* The inner engine stays the caller's when this fails. */
enum status shim_faults_open(const struct engine_config *config, struct engine *inner,
                             struct engine **engine, struct error *err);

#endif
