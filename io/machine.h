#ifndef CKPTSIM_IO_MACHINE_H
#define CKPTSIM_IO_MACHINE_H

#include "base/facts.h"

#include <limits.h>
#include <stdbool.h>

/* What a run ran on: the host, and the file system that holds a path. `root` stands before /proc
 * and /sys; it is "" but in tests, which bring a tree of their own. What cannot be found is left
 * out. */

/* hostname, kernel, cpu_model, cpus, memory_bytes, build. */
void machine_facts(const char *root, struct facts *facts);

/* type, mount_point, source, mount_options, size_bytes, free_bytes, block_bytes. */
void machine_file_system_facts(const char *root, const char *path, struct facts *facts);

/* A line of /proc/self/mountinfo. */
struct machine_mount {
    unsigned major, minor;
    char point[PATH_MAX], source[PATH_MAX], type[64];
    char options[256];        /* of the mount: rw,relatime */
    char super_options[2048]; /* of the file system; the end may be cut off */
};

/* The mount that an existing path lies on. False where it cannot be told. */
bool machine_find_mount(const char *root, const char *path, struct machine_mount *mount);

/* Reads the first line of root + path, without its newline; false where there is none. */
bool machine_read_line(const char *root, const char *path, char *line, size_t size);

#endif
