#ifndef CKPTSIM_IO_ENGINES_H
#define CKPTSIM_IO_ENGINES_H

#include "io/engine.h"

/* The rows of the registry in engine.c; everybody else finds engines by name. */

extern const struct engine_ops engine_threads;
extern const struct engine_ops engine_uring;
extern const struct engine_ops engine_uv;
extern const struct engine_ops engine_null;

#endif
