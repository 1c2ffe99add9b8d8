#include "sim/job/failure.h"

#include "base/units.h"

#include <errno.h>
#include <string.h>

void failure_note(struct failure *failure, const struct io_request *request) {
    if (failure->error != 0) {
        return;
    }
    const char *path = request->file != NULL ? request->file->path : request->path;
    *failure = (struct failure){.error = request->error != 0 ? request->error : EIO,
                                .short_write = request->short_write,
                                .op = request->op,
                                .offset = request->offset + request->done_bytes};
    snprintf(failure->path, sizeof failure->path, "%s", path != NULL ? path : "");
}

void failure_note_checksum(struct failure *failure, const char *path) {
    if (failure->error != 0) {
        return;
    }
    *failure = (struct failure){.error = EBADMSG, .checksum = true, .op = IO_READ};
    snprintf(failure->path, sizeof failure->path, "%s", path);
}

static const char *op_words(enum io_op op) {
    static const char *const words[IO_OP_COUNT] = {
        [IO_OPEN] = "open",     [IO_WRITE] = "write",
        [IO_READ] = "read",     [IO_COPY] = "copy",
        [IO_SYNC] = "fsync",    [IO_COLD] = "drop from the page cache",
        [IO_CLOSE] = "close",   [IO_REMOVE] = "remove",
        [IO_RENAME] = "rename", [IO_SYNC_DIR] = "sync folder of",
        [IO_PAUSE] = "pause",
    };
    return words[op];
}

/* What the engine's contract says of reads is no error of the system's. */
static const char *words_of(const struct failure *failure) {
    if (failure->short_write) {
        return "short write, the rest was not taken";
    }
    if (failure->checksum) {
        return "the checksum of the whole file differs from the manifest's";
    }
    if (failure->op == IO_READ && failure->error == EBADMSG) {
        return "not the bytes that were written";
    }
    if (failure->op == IO_READ && failure->error == ENODATA) {
        return "the file ends too early";
    }
    if (failure->op == IO_OPEN && failure->error == EBADMSG) {
        return "its seek table is damaged, or not that of this file";
    }
    return error_words(failure->error);
}

const char *failure_text(const struct failure *failure, char *text, size_t size) {
    char at[UNITS_TEXT], where[UNITS_TEXT + 16] = "";
    if (failure->op == IO_WRITE || failure->op == IO_READ) {
        snprintf(where, sizeof where, " at byte %s", units_grouped(failure->offset, at));
    }
    const char *path = failure->path[0] != '\0' ? failure->path : "."; /* the working folder itself */
    snprintf(text, size, "%s '%s'%s: %s (%s)", op_words(failure->op), path, where,
             words_of(failure), strerrorname_np(failure->error));
    return text;
}
