#ifndef CKPTSIM_IO_VERIFY_H
#define CKPTSIM_IO_VERIFY_H

#include "io/manifest.h"

/* Reads a checkpoint back and says whether it is what its manifest promises, byte by byte. */

enum verify_state {
    VERIFY_COMPLETE,   /* every file is there, of its size, with its bytes */
    VERIFY_INCOMPLETE, /* no manifest: it was being written, or was written as plain files */
    VERIFY_DAMAGED,    /* a manifest, but not the bytes it promises */
    VERIFY_UNCHECKED,  /* nobody knows what should be in its files: its model is gone, say */
};

struct verify_verdict {
    enum verify_state state;
    uint64_t files, bytes; /* that were read and right */
    char text[512];        /* of a damaged one: file, offset, what is wrong */
};

/* Who knows what is in a manifest's files; the first member of the struct that knows more. */
struct verify_contents {
    /* Gets ready for the files of this manifest. ERR_USAGE: what they hold cannot be known. */
    enum status (*begin)(struct verify_contents *contents, const struct manifest *manifest,
                         struct error *err);
    /* Of its file `nth`; NULL: payload from end to end. */
    const struct format_file *(*content)(struct verify_contents *contents, uint64_t nth);
    uint64_t chunk_bytes; /* set by begin: of compressed files, 0 where they are not */
};

/* Checkpoint number `checkpoint` of the folder. buffer holds size bytes, a multiple of
 * PAYLOAD_BLOCK. */
void verify_checkpoint(const struct folder *folder, uint32_t checkpoint,
                       struct verify_contents *contents, void *buffer, size_t size,
                       struct verify_verdict *verdict);

#endif
