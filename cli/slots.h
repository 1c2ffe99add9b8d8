#ifndef CKPTSIM_CLI_SLOTS_H
#define CKPTSIM_CLI_SLOTS_H

#include "io/manifest.h"

/* The checkpoints that a folder holds, by the names of their two text files. */

struct slots {
    uint32_t *numbers; /* ascending */
    size_t count;
    size_t strangers;  /* names in the folder that are neither */
};

enum status slots_find(const struct folder *folder, struct arena *arena, struct slots *slots,
                       struct error *err);

/* Removes the shards, manifest and list of names of one checkpoint: only what its own list names.
 * Without a readable list nothing is removed and the error says so. */
enum status slots_remove(const struct folder *folder, uint32_t number, struct error *err);

#endif
