#ifndef CKPTSIM_MODELS_HF_RULES_H
#define CKPTSIM_MODELS_HF_RULES_H

#include "models/architecture.h"

#include "base/yaml.h"

/* What a Hugging Face config must say and must not say, so that its sizes are the model's. */

/* The sections of text and images are maps where they are there. */
enum status hf_rules_sections(const struct yaml_node *root, struct error *err);

/* Refuses a config whose weights are not those that the model came out with. */
enum status hf_rules_check(const struct yaml_node *root, const struct architecture *model,
                           struct error *err);

/* Reads the type that the weights are published in; untouched where the config does not say it. */
enum status hf_rules_datatype(const struct yaml_node *root, enum datatype *datatype,
                              struct error *err);

#endif
