#include "base/configs.h"

#include "base/names.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_LIMIT = 4096 };

static int compare_names(const void *left, const void *right) {
    const char *const *a = left, *const *b = right;
    return strcmp(*a, *b);
}

static bool has_ending(const char *name, const char *ending) {
    size_t length = strlen(name), tail = strlen(ending);
    return length > tail && strcmp(name + length - tail, ending) == 0;
}

static void add_folder_names(const char *kind, const char *config_dir, struct arena *arena,
                             const char **names, size_t *count) {
    DIR *dir = opendir(arena_printf(arena, "%s/%s", config_dir, kind));
    if (dir == NULL) {
        return; /* a config folder need not have every kind */
    }
    for (struct dirent *entry; (entry = readdir(dir)) != NULL && *count < NAMES_LIMIT;) {
        if (has_ending(entry->d_name, ".yaml")) {
            names[(*count)++] = arena_text_n(arena, entry->d_name, strlen(entry->d_name) - 5);
        }
    }
    closedir(dir);
}

const char *const *config_names(const char *kind, const char *config_dir, struct arena *arena,
                                size_t *count) {
    const char **names = arena_new(arena, NAMES_LIMIT, sizeof *names);
    size_t found = 0, kept = 0;
    for (const struct config *config = builtin_configs; config->kind != NULL; config++) {
        if (strcmp(config->kind, kind) == 0 && found < NAMES_LIMIT) {
            names[found++] = config->name;
        }
    }
    if (config_dir != NULL) {
        add_folder_names(kind, config_dir, arena, names, &found);
    }
    qsort(names, found, sizeof *names, compare_names);
    for (size_t i = 0; i < found; i++) {
        if (kept == 0 || strcmp(names[kept - 1], names[i]) != 0) {
            names[kept++] = names[i];
        }
    }
    *count = kept;
    return names;
}

static bool is_path(const char *name) {
    return strchr(name, '/') != NULL || has_ending(name, ".yaml") || has_ending(name, ".yml") ||
           has_ending(name, ".json");
}

enum status config_read(const char *kind, const char *name, const char *config_dir,
                        struct arena *arena, struct yaml_node **root, struct error *err) {
    if (is_path(name)) {
        return yaml_read_file(name, arena, root, err);
    }
    size_t count;
    const char *const *names = config_names(kind, config_dir, arena, &count);
    const char *found = NULL;
    for (size_t i = 0; i < count && found == NULL; i++) {
        found = names_equal(names[i], name) ? names[i] : NULL;
    }
    if (found == NULL) {
        char nearest[256];
        names_nearest(name, names, count, nearest, sizeof nearest);
        return error_set(err, ERR_USAGE, "unknown name '%.100s'; nearest: %s (`ckptsim list %s` "
                         "names all; a path to a YAML or JSON file works too)",
                         name, nearest, kind);
    }
    if (config_dir != NULL) {
        const char *path = arena_printf(arena, "%s/%s/%s.yaml", config_dir, kind, found);
        struct error missing;
        if (yaml_read_file(path, arena, root, &missing) == OK) {
            return OK;
        }
        if (strstr(missing.text, "no such file") == NULL) {
            return error_set(err, missing.status, "%s", missing.text);
        }
    }
    for (const struct config *config = builtin_configs; config->kind != NULL; config++) {
        if (strcmp(config->kind, kind) == 0 && strcmp(config->name, found) == 0) {
            const char *where = arena_printf(arena, "configs/%s/%s.yaml", kind, found);
            return yaml_read_text(where, config->text, config->length, arena, root, err);
        }
    }
    return error_set(err, ERR_USAGE, "cannot read config '%s/%s'", kind, found);
}
