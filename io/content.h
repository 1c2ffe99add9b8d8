#ifndef CKPTSIM_IO_CONTENT_H
#define CKPTSIM_IO_CONTENT_H

#include "io/engine.h"

/* What a shard's bytes are: those of its format, or payload from end to end. */

/* The request's part of its file into buffer; returns its checksum. In the order of the file. */
uint64_t content_make(const struct engine_config *config, const struct io_request *request,
                      void *buffer);

/* How many of the bytes from the request's offset on are what content_make makes there. */
size_t content_right(const struct engine_config *config, const struct io_request *request,
                     const void *bytes, size_t length);

#endif
