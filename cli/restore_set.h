#ifndef CKPTSIM_CLI_RESTORE_SET_H
#define CKPTSIM_CLI_RESTORE_SET_H

#include "cli/manifest_shards.h"
#include "sim/job/restore.h"

/* The checkpoints of a folder that are restored, one after another; their manifests say what is in
 * them. All must have been written by one job, as those of one folder are. */

struct restore_set {
    struct restore_source base;
    const struct folder *folder;
    const uint32_t *numbers; /* chosen; restore n reads number n mod count */
    size_t count;
    const struct shards *shards;    /* that every manifest must fit; NULL: files are plain */
    const struct read_files *files; /* and these */
    const struct payload *classes;  /* and what their payload is made of */
    struct arena arena;             /* of the manifest under way */
    struct manifest manifest;
};

/* "newest", "all" or a number. ERR_USAGE where it is none of these. */
enum status restore_set_check(const char *choice, struct error *err);

/* Chooses among the complete checkpoints of the folder. ERR_USAGE where there is none at all,
 * ERR_FAILED where none is complete or a manifest that had to be read is damaged. */
enum status restore_set_choose(struct restore_set *set, const struct folder *folder,
                               const char *choice, struct arena *arena, struct error *err);

/* Reads the manifest of one checkpoint into the arena. */
enum status restore_set_manifest(const struct folder *folder, uint32_t number, struct arena *arena,
                                 struct manifest *manifest, struct error *err);

void restore_set_fini(struct restore_set *set);

#endif
