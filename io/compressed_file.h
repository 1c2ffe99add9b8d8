#ifndef CKPTSIM_IO_COMPRESSED_FILE_H
#define CKPTSIM_IO_COMPRESSED_FILE_H

#include "io/seek_table.h"

/* Reading compressed files (io/codec.h) of which it is known what they should hold. */

/* Reads the seek table of the file open at fd, with O_DIRECT or without. 0 or an errno; EBADMSG, and
 * err says why, where the table is damaged or not that of raw_bytes in windows of chunk_bytes. */
int compressed_file_table(int fd, uint64_t raw_bytes, uint64_t chunk_bytes, struct arena *arena,
                          struct seek_table *table, struct error *err);

#endif
