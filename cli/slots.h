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

/* Whether the folder has a list of names for this checkpoint. */
bool slots_listed(const struct folder *folder, uint32_t number);

/* Whether it has a manifest, which makes it complete. */
bool slots_complete(const struct folder *folder, uint32_t number);

/* What ckpt-latest says, cut to a buffer of MANIFEST_NAME characters; false where there is none. number
 * becomes the complete checkpoint that it names, 0 where it names none. */
bool slots_latest(const struct folder *folder, char *name, uint32_t *number);

/* Removes the shards, manifest and list of names of one checkpoint: only what its own list names.
 * Without a readable list nothing is removed and the error says so, unless may_be_absent and there
 * is none. `newest`: also the layout's marker that all checkpoints share. */
enum status slots_remove(const struct folder *folder, uint32_t number, bool may_be_absent,
                         bool newest, struct error *err);

/* Removes the .tmp files of a process that was killed while it put a text file in place. One that
 * cannot be removed stays: the folder is then not empty in the end, and that is said. */
void slots_remove_torn(const struct folder *folder, struct arena *arena);

#endif
