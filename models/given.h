#ifndef CKPTSIM_MODELS_GIVEN_H
#define CKPTSIM_MODELS_GIVEN_H

#include "models/architecture.h"

#include "base/yaml.h"

/* A model described by hand: its tensors one by one, or nothing but their number of elements.
 *
 *     parameters: 25557032
 *
 *     tensors:
 *       conv1.weight: [64, 3, 7, 7]
 *     buffers:                          # saved with the model, but no parameters
 *       bn1.running_mean: [64]
 *       bn1.num_batches_tracked: {shape: [], datatype: int64}
 */
enum status given_read(const struct yaml_node *root, struct arena *arena,
                       struct architecture *model, struct error *err);

#endif
