#ifndef CKPTSIM_BASE_CONFIGS_H
#define CKPTSIM_BASE_CONFIGS_H

#include "base/error.h"
#include "base/memory.h"
#include "base/yaml.h"

#include <stddef.h>

/* Configs are data: the YAML files under configs/KIND/NAME.yaml, built into the binary by
 * tools/embed. A folder given by the user (--config-dir) and a path win over them. */

struct config {
    const char *kind; /* "models", "workloads", "drives", "hosts" */
    const char *name;
    const char *text;
    size_t length;
};

/* Ends with a row of NULLs; sorted by kind and name. */
extern const struct config builtin_configs[];

/* The names of one kind, built-in and from config_dir (NULL: none), sorted, each once. */
const char *const *config_names(const char *kind, const char *config_dir, struct arena *arena,
                                size_t *count);

/* Reads the config that `name` means: an existing file's path (it holds a '/' or ends in .yaml, .yml
 * or .json), else config_dir/KIND/NAME.yaml, else a built-in of that name (names_equal). An unknown
 * name is ERR_USAGE and offers the nearest ones. */
enum status config_read(const char *kind, const char *name, const char *config_dir,
                        struct arena *arena, struct yaml_node **root, struct error *err);

#endif
