#ifndef CKPTSIM_MODELS_DIGEST_H
#define CKPTSIM_MODELS_DIGEST_H

#include "models/plan.h"

#include <stdbool.h>

/* SHA-256 over the lines "name bytes\n" of all files of a plan, sorted: two plans, or a plan and a
 * list of files from elsewhere, are equal if their digests are. */

enum { DIGEST_TEXT = 65 };
#define DIGEST_FILES_LIMIT (UINT64_C(8) * 1000 * 1000)

/* Writes the digest in hex. False, and an empty text, for a plan of more than DIGEST_FILES_LIMIT
 * files: sorting needs all lines in memory. */
/* The first half of the SHA-256 over what a model consists of: parts, layers, weights with names and
 * shapes. Equal configs have equal digests, wherever they lie and whatever they are called. */
enum { DIGEST_MODEL_TEXT = 33 };
void digest_model(const struct architecture *model, char hex[DIGEST_MODEL_TEXT]);

bool digest_plan(const struct plan *plan, uint32_t checkpoint, char hex[DIGEST_TEXT]);

#endif
