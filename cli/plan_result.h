#ifndef CKPTSIM_CLI_PLAN_RESULT_H
#define CKPTSIM_CLI_PLAN_RESULT_H

#include "cli/spec.h"
#include "metrics/result.h"

/* The plan as the result holds it; checkpoints is how many fit in a pass. Memory and payload are the
 * caller's to add. */
void plan_result_fill(struct result_plan *out, const struct shards *shards, const struct spec *spec,
                      uint64_t checkpoints);

/* The codec of an engine's files, and how many workers compress. */
void plan_result_codec(struct result_plan *out, const struct spec *spec, struct arena *arena);

/* ERR_USAGE where a pass that nothing but the drive bounds would have more checkpoints than anybody
 * reads. */
enum status plan_result_check(const struct spec *spec, uint64_t checkpoints, struct error *err);

#endif
