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

enum { FOLDER_RUN_ID = 40 };
#define FOLDER_NAME "ckptsim"
#define FOLDER_MARKER ".ckptsim"
#define FOLDER_PROBE "probe.tmp" /* an engine tries O_DIRECT on it */

struct folder {
    int fd;           /* of the folder itself */
    int marker_fd;    /* holds the lock */
    const char *path; /* for messages */
    bool created;     /* by this opening; an empty folder found there stays in the end */
    char run_id[FOLDER_RUN_ID]; /* from the marker: the run that filled it */
};

/* Makes DIR/ckptsim, marks it with run_id and locks it. A marked folder that is there already and
 * holds nothing but its marker is taken over. ERR_USAGE, with nothing changed, where DIR is missing
 * or not writable, the folder is a link, is not marked, is in use, or holds files of another run. */
enum status folder_create(const char *dir, const char *run_id, struct arena *arena,
                          struct folder *folder, struct error *err);

/* Opens a marked folder, files and all, and locks it: DIR itself or DIR/ckptsim. For going on with a
 * run, verifying and cleaning. */
enum status folder_open(const char *dir, struct arena *arena, struct folder *folder,
                        struct error *err);

void folder_close(struct folder *folder);

/* Removes marker and folder, which holds nothing else by now, and closes. Returns 0 or the errno
 * (ENOTEMPTY: somebody else's files are in it; the marker then stays). */
int folder_remove_self(struct folder *folder);

/* Opens (mode) and returns a descriptor or a negative errno. With O_CREAT missing parent folders are
 * made. The last part may not be a symbolic link; only regular files are opened. */
int folder_open_file(const struct folder *folder, const char *path, int flags);

/* Each returns 0 or an errno. remove takes regular files only, and with a folder's last file the
 * folder; remove_dir takes empty folders. */
int folder_remove(const struct folder *folder, const char *path);
int folder_remove_dir(const struct folder *folder, const char *path);
int folder_rename(const struct folder *folder, const char *from, const char *to);
int folder_sync_dir(const struct folder *folder, const char *path); /* "" is the folder itself */

/* Calls visit for every name in the folder but the marker, in sorted order; 0 or an errno. */
int folder_list(const struct folder *folder, struct arena *arena,
                void (*visit)(void *context, const char *name), void *context);

/* Free and total bytes of its file system for an ordinary user; 0 or an errno. */
int folder_space(const struct folder *folder, uint64_t *free_bytes, uint64_t *total_bytes);

#endif
