#ifndef CKPTSIM_MODELS_MARKER_H
#define CKPTSIM_MODELS_MARKER_H

#include "models/layout.h"

/* What the markers of layouts are put together with. */

/* Its path is folder (empty, or ending in '/') and name. */
void marker_begin(struct shard_marker *marker, enum marker_role role, const char *folder,
                  const char *name);

void sink_text(struct text_sink *sink, const char *text);
void sink_number(struct text_sink *sink, uint64_t number);

/* "iter_0000007/" for the prefix "iter_" and width 7, into a buffer of SHARD_PATH characters. */
void marker_folder(const char *prefix, uint32_t checkpoint, unsigned width, char *folder);

/* The stand-in for DCP's .metadata, whose real text depends on where a format puts tensors. */
void sink_metadata(const struct plan *plan, struct text_sink *sink);

#endif
