#ifndef CKPTSIM_IO_FOLDER_H
#define CKPTSIM_IO_FOLDER_H

#include "base/error.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The one folder that ckptsim works in: DIR/ckptsim, marked with a file of its own and locked while
 * in use. All paths are relative to it; no symbolic link is followed and nothing outside is reached
 * (openat2 with RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS). */

struct folder {
    int fd;           /* of the folder, O_PATH free */
    int marker_fd;    /* holds the lock */
    const char *path; /* for messages */
    char run_id[40];  /* from the marker: who filled it */
};

/* Opens (mode) and returns a descriptor or a negative errno. With O_CREAT missing parent folders are
 * made. The last part may not be a symbolic link; only regular files are opened. */
int folder_open_file(const struct folder *folder, const char *path, int flags);

/* Each returns 0 or an errno. remove takes regular files only; remove_dir only empty folders. */
int folder_remove(const struct folder *folder, const char *path);
int folder_remove_dir(const struct folder *folder, const char *path);
int folder_rename(const struct folder *folder, const char *from, const char *to);
int folder_sync_dir(const struct folder *folder, const char *path); /* "" is the folder itself */

/* Free and total bytes of its file system for an ordinary user; 0 or an errno. */
int folder_space(const struct folder *folder, uint64_t *free_bytes, uint64_t *total_bytes);

#endif
