#ifndef CKPTSIM_CLI_MANIFEST_SHARDS_H
#define CKPTSIM_CLI_MANIFEST_SHARDS_H

#include "cli/command.h"
#include "sim/job/shards.h"

/* A manifest keeps the settings that its files follow from, so that a checkpoint can be read back by
 * whoever finds it. */

/* The settings that were given and belong there. A path of a model becomes absolute. ERR_USAGE where a
 * value cannot stand in a line of text. */
enum status manifest_settings(const struct settings *settings, struct arena *arena,
                              const struct manifest_setting **list, uint64_t *count,
                              struct error *err);

/* The codec of the files, and the chunk that is a window of theirs. ERR_FAILED where they are none. */
enum status manifest_codec(const struct manifest_head *head, struct codec_choice *codec,
                           uint64_t *chunk_bytes, struct error *err);

/* Plan and shards of a checkpoint that was found: from its manifest's settings, with those of
 * `instead` (count of them; NULL: none) in their place. ERR_USAGE where they do not lead to the model
 * that it was written with: nothing can be said about its files then. */
struct manifest_job {
    struct spec spec;
    struct plan plan;
    struct shards shards;
};

enum status manifest_job_build(const struct manifest_head *head,
                               const struct manifest_setting *instead, uint64_t count,
                               enum shards_depth depth, struct arena *arena,
                               struct manifest_job *job, struct error *err);

/* Whether the files are payload from end to end, as in the plain job: then no model is needed to know
 * what is in them. */
bool manifest_is_plain(const struct manifest_head *head);

/* Holds a manifest's files against shards: the same names and sizes in the same order. ERR_FAILED says
 * which differ. */
enum status manifest_job_check(const struct manifest *manifest, const struct shards *shards,
                               struct error *err);

#endif
