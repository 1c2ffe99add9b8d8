#ifndef CKPTSIM_IO_SHIM_QUOTA_H
#define CKPTSIM_IO_SHIM_QUOTA_H

#include "io/engine.h"

/* A small drive: requests fail with ENOSPC where the files written through this engine would come
 * to hold more than quota_bytes. Overwriting in place costs nothing; truncating and removing give
 * back. A second folder is another drive and not counted. */
struct engine *shim_quota_open(const struct engine_config *config, struct engine *inner);

#endif
