#ifndef CKPTSIM_MODELS_VISION_H
#define CKPTSIM_MODELS_VISION_H

#include "models/architecture.h"

#include "base/yaml.h"

/* The tower of a model of text and images: reads `vision_config` of a Hugging Face config, if there
 * is one, and sets model->vision_parameters, or model->vision_left_out where its kind is not known.
 * The language model must have been read. */
enum status vision_read(const struct yaml_node *root, struct architecture *model,
                        struct error *err);

#endif
