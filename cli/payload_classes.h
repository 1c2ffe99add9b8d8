#ifndef CKPTSIM_CLI_PAYLOAD_CLASSES_H
#define CKPTSIM_CLI_PAYLOAD_CLASSES_H

#include "io/format.h"

/* What --compressible means for each class of tensors: "1.3" for all of them, "published" for what was
 * published of trained models, or "weight=1.46,moment=1.08" with 1 for those left out. */
enum status payload_classes_parse(const char *text, const struct payload *base,
                                  struct payload *classes, struct error *err);

#endif
