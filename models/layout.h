#ifndef CKPTSIM_MODELS_LAYOUT_H
#define CKPTSIM_MODELS_LAYOUT_H

#include "models/architecture.h"

#include <stdbool.h>
#include <stdint.h>

/* A layout says which files a rank writes, their names and their bytes. To add one: a file
 * layout_NAME.c with a struct layout, and its row in layout.c. */

enum shard_kind { SHARD_MODEL, SHARD_OPTIMIZER };

enum { SHARD_PATH = 160 };

struct shard_file {
    char path[SHARD_PATH]; /* relative to the folder of all checkpoints */
    const char *name;      /* points at the last part of path */
    uint64_t bytes;
    enum shard_kind kind;
};

struct plan;

struct layout {
    const char *name;
    const char *about;      /* one line for `ckptsim list layouts` */
    const char *leaves_out; /* what a real checkpoint holds and this does not; for the output */
    uint64_t (*rank_files)(const struct plan *plan, uint32_t rank);
    void (*file)(const struct plan *plan, uint32_t rank, uint64_t index, uint32_t checkpoint,
                 struct shard_file *file);
    /* A rank, at most this one, whose files have the same sizes and kinds: each such class is added
     * up once. NULL: every rank for itself. */
    uint32_t (*rank_like)(const struct plan *plan, uint32_t rank);
};

extern const struct layout layout_dlio2, layout_dlio;

/* The registry: a NULL-terminated table. */
extern const struct layout *const layouts[];

const struct layout *layout_find(const char *name);

#endif
