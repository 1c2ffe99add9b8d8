#ifndef CKPTSIM_CLI_SPEC_SHARDS_H
#define CKPTSIM_CLI_SPEC_SHARDS_H

#include "cli/spec.h"
#include "sim/job/shards.h"

/* From settings to files. */

/* Makes io.codec from --codec. */
enum status spec_set_codec(struct spec *spec, struct error *err);

/* After that: makes io.classes, and io.payload for streams and raw files, from --compressible. */
enum status spec_set_classes(struct spec *spec, struct error *err);

/* Plan and shards of the settings, compressed by io.codec; `classes` as in shards_measure. */
enum status spec_shards(const struct spec *spec, const struct payload *classes,
                        enum shards_depth depth, struct arena *arena, struct plan *plan,
                        struct shards *shards, struct error *err);

#endif
