#ifndef CKPTSIM_IO_FORMAT_DCP_METADATA_H
#define CKPTSIM_IO_FORMAT_DCP_METADATA_H

#include "io/format.h"

/* The file beside those of format dcp, written last, that makes a checkpoint of them: it tells
 * where each part of each tensor lies. */

/* One item of a checkpoint, in one of its files. */
struct format_dcp_item {
    const struct tensor *tensor;
    const struct format_place *place; /* as measured in that file */
    const char *path;                 /* of the file, from the checkpoint's folder */
};

/* Parts of one tensor have the same name, type and whole shape. Of replicas the first one counts.
 */
enum status format_dcp_metadata(const struct format_dcp_item *items, uint64_t count,
                                struct arena *arena, struct format_file *file, struct error *err);

#endif
