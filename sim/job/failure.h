#ifndef CKPTSIM_SIM_JOB_FAILURE_H
#define CKPTSIM_SIM_JOB_FAILURE_H

#include "io/engine.h"
#include "models/layout.h"

#include <stdbool.h>

/* The first thing that went wrong while a checkpoint was written or read. */

struct failure {
    int error; /* errno; 0: nothing */
    bool short_write;
    bool checksum; /* the bytes passed, but their checksum is not the manifest's */
    enum io_op op;
    uint64_t offset;
    char path[SHARD_PATH];
};

/* Notes a request that failed, unless something failed before. */
void failure_note(struct failure *failure, const struct io_request *request);

/* Notes that a file was read to its end and has another checksum than its manifest says. */
void failure_note_checksum(struct failure *failure, const char *path);

/* "write of 'x' at byte 4,096: no space left on device (ENOSPC)". Returns text. */
const char *failure_text(const struct failure *failure, char *text, size_t size);

#endif
