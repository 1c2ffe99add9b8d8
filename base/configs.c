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

/* The config with exactly this kind and name: the folder's wins over the built-in. */
static enum status read_named(const char *kind, const char *found, const char *config_dir,
                              struct arena *arena, struct yaml_node **root, struct error *err) {
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

static bool has_alias(const struct yaml_node *root, const char *name) {
    const struct yaml_node *aliases = yaml_get(root, "aliases");
    for (uint32_t i = 0; aliases != NULL && aliases->kind == YAML_LIST && i < aliases->count; i++) {
        const struct yaml_node *alias = aliases->items[i];
        if (alias->kind == YAML_TEXT && names_equal(alias->text, name)) {
            return true;
        }
    }
    return false;
}

/* The config that lists `name` under its key `aliases`, or NULL. One that cannot be read is passed
 * over: its error is for whoever asks for it by its own name. */
static const char *find_alias(const char *kind, const char *const *names, size_t count,
                              const char *name, const char *config_dir) {
    const char *found = NULL;
    for (size_t i = 0; i < count && found == NULL; i++) {
        struct arena scratch = {0};
        struct yaml_node *root;
        if (read_named(kind, names[i], config_dir, &scratch, &root, NULL) == OK &&
            has_alias(root, name)) {
            found = names[i];
        }
        arena_fini(&scratch);
    }
    return found;
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
        found = find_alias(kind, names, count, name, config_dir);
    }
    if (found == NULL) {
        char nearest[256];
        names_nearest(name, names, count, nearest, sizeof nearest);
        return error_set(err, ERR_USAGE,
                         "unknown name '%.100s'; nearest: %s (`ckptsim list %s` "
                         "names all; a path to a YAML or JSON file works too)",
                         name, nearest, kind);
    }
    return read_named(kind, found, config_dir, arena, root, err);
}
