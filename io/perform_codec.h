#ifndef CKPTSIM_IO_PERFORM_CODEC_H
#define CKPTSIM_IO_PERFORM_CODEC_H

#include "io/perform.h"

/* What a worker does for compressed files beside the system calls: a part of perform.c. */

/* A context for one worker; NULL without a codec. */
struct codec *perform_codec_new(const struct engine_config *config);
/* The memory of one. */
uint64_t perform_codec_bytes(const struct engine_config *config);

/* As a file is opened at fd: its table is empty, or what lies at its end. 0 or an errno. */
int perform_codec_open(const struct engine_config *config, struct io_file *file, int fd);
void perform_codec_close(struct io_file *file);

/* Puts a window in the place of the content that `write` holds, behind the window before; a literal
 * stays what it is. */
void perform_codec_write(const struct engine_config *config, struct io_request *request,
                         const struct perform_tools *tools, struct perform_write *write);

/* The window that a request reads. */
struct perform_read perform_codec_read(const struct engine_config *config,
                                       const struct io_request *request,
                                       const struct perform_tools *tools);
/* Its content; 0 or EBADMSG. */
int perform_codec_unpack(struct io_request *request, const struct perform_read *read,
                         const struct perform_tools *tools, void *content);

#endif
