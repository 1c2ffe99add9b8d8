#ifndef CKPTSIM_MODELS_MODEL_CONFIG_H
#define CKPTSIM_MODELS_MODEL_CONFIG_H

#include "models/architecture.h"

#include "base/yaml.h"

/* The readers behind architecture_read, one for each kind of config. Each fills a zeroed struct. */

/* Our own YAML: `family`, and Hugging Face's names for the sizes. Unknown keys are errors. */
enum status model_config_read_own(const struct yaml_node *root, struct architecture *model,
                                  struct error *err);

/* A Hugging Face config.json: `model_type`; keys that do not bear on sizes are passed over. */
enum status model_config_read_hugging_face(const struct yaml_node *root, struct architecture *model,
                                           struct error *err);

/* The `model:` section of a DLIO workload. */
enum status model_config_read_dlio(const struct yaml_node *section, struct arena *arena,
                                   struct architecture *model, struct error *err);

#endif
