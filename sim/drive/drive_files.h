#ifndef CKPTSIM_SIM_DRIVE_DRIVE_FILES_H
#define CKPTSIM_SIM_DRIVE_DRIVE_FILES_H

#include "base/memory.h"
#include "sim/drive/placement.h"

#include <stdint.h>

/* The files of a simulated file system by path. A file that was removed keeps its place in the table,
 * so pointers stay good for the life of the table. */

struct drive_file {
    const char *path;
    uint64_t hash;
    struct placement_file placed;
    uint64_t size_bytes;    /* as the writer sees it: delayed allocation places later */
    uint64_t cursor_bytes;  /* next byte that reaches the drive: writes come in file order */
    uint32_t cursor_extent; /* the extent that holds it, when written in place ... */
    uint64_t cursor_offset; /* ... and where in that */
    uint64_t last_unit;     /* last unit written: a neighbour merges with it in the buffer */
    bool exists, reused;    /* reused: it existed when it was opened */
};

struct drive_files {
    struct drive_file **slots; /* open addressing */
    uint64_t capacity, count;
    uint32_t folders;
    struct arena arena;
};

void drive_files_init(struct drive_files *files);
/* Closes placement entries too. */
void drive_files_fini(struct drive_files *files);

/* The file of that path; made, not existing, if `make`; NULL otherwise. */
struct drive_file *drive_files_find(struct drive_files *files, const char *path, bool make);
/* `file` is from now on found under `new_path`. What was there before is given back for freeing, under
 * the name that `file` had and no longer existing; NULL where nothing changed. */
struct drive_file *drive_files_rename(struct drive_files *files, struct drive_file *file,
                                      const char *new_path);

#endif
