/* Drive files by name. A family's file holds what its capacities share and a map `capacities` of
 * what each has for itself; the latter wins. */
#include "sim/drive/drive_config.h"

#include "base/check.h"
#include "base/configs.h"
#include "base/names.h"
#include "base/units.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { DRIVES_LIMIT = 4096, NAME_TEXT = 160 };

static const char *const family_keys[] = {"about", "aliases", "vendor",   "model",      "nand",
                                          "flash", "sources", "measured", "capacities", NULL};
static const char *const capacity_keys[] = {"flash", "measured", NULL};
static const char *const no_keys[] = {NULL};

const char *drive_nand_text(enum drive_nand nand) { return nand == DRIVE_TLC ? "TLC" : "QLC"; }

/* A drive that a family's file describes. */
struct found {
    const char *family;
    const char *capacity; /* its key under `capacities`; NULL: the file is one drive */
};

static const char *drive_name(const struct found *found, struct arena *arena) {
    if (found->capacity == NULL) {
        return arena_text(arena, found->family);
    }
    char *name = arena_printf(arena, "%s-%s", found->family, found->capacity);
    for (char *c = name; *c != '\0'; c++) {
        *c = (char)tolower((unsigned char)*c);
    }
    return name;
}

static enum status read_text(const struct yaml_node *root, const char *key, const char **text,
                             struct error *err) {
    const struct yaml_node *node = yaml_get(root, key);
    if (node != NULL && node->kind != YAML_TEXT) {
        return yaml_error(node, err, "'%s' must be a text", key);
    }
    *text = node != NULL ? node->text : NULL;
    return OK;
}

static enum status read_nand(const struct yaml_node *root, enum drive_nand *nand,
                             struct error *err) {
    const struct yaml_node *node = yaml_get(root, "nand");
    if (node == NULL) {
        return yaml_error(root, err, "the drive needs the key 'nand': TLC or QLC");
    }
    for (enum drive_nand known = DRIVE_TLC; known <= DRIVE_QLC; known++) {
        if (node->kind == YAML_TEXT && strcasecmp(node->text, drive_nand_text(known)) == 0) {
            *nand = known;
            return OK;
        }
    }
    return yaml_error(node, err, "'nand' is '%.40s'; TLC or QLC is allowed",
                      node->kind == YAML_TEXT ? node->text : "not a single word");
}

/* `flash` is TEXT or [TEXT, SOURCE]. */
static enum status read_flash(const struct yaml_node *map, const struct yaml_node *sources,
                              struct drive_config *config, struct error *err) {
    const struct yaml_node *node = yaml_get(map, "flash");
    if (node == NULL) {
        return OK;
    }
    bool pair = node->kind == YAML_LIST && node->count == 2 && node->items[0]->kind == YAML_TEXT &&
                node->items[1]->kind == YAML_TEXT;
    if (!pair && node->kind != YAML_TEXT) {
        return yaml_error(node, err, "'flash' must be TEXT or [TEXT, SOURCE]");
    }
    config->flash = pair ? node->items[0]->text : node->text;
    config->flash_source = pair ? figure_source(sources, node->items[1]->text) : NULL;
    return OK;
}

static enum status need_map(const struct yaml_node *node, const char *what, struct error *err) {
    return node->kind == YAML_MAP
               ? OK
               : yaml_error(node, err, "'%s' must be a map of keys and values", what);
}

static enum status read_measured(const struct yaml_node *map, const struct yaml_node *sources,
                                 struct drive_config *config, struct error *err) {
    const struct yaml_node *node = yaml_get(map, "measured");
    if (node == NULL) {
        return OK;
    }
    enum status status = need_map(node, "measured", err);
    if (status == OK) {
        status = figures_refuse_unknown(node, drive_measured_figures, drive_measured_figures_count,
                                        no_keys, err);
    }
    return status == OK ? figures_read(node, drive_measured_figures, drive_measured_figures_count,
                                       sources, FIGURE_MEASURED, config, err)
                        : status;
}

/* One map of figures: the family's, or that of a capacity. */
static enum status read_map(const struct yaml_node *map, const char *const *others,
                            const struct yaml_node *sources, struct drive_config *config,
                            struct error *err) {
    enum status status =
        figures_refuse_unknown(map, drive_figures, drive_figures_count, others, err);
    if (status == OK) {
        status = figures_read(map, drive_figures, drive_figures_count, sources, FIGURE_SHEET,
                              config, err);
    }
    status = status == OK ? read_flash(map, sources, config, err) : status;
    return status == OK ? read_measured(map, sources, config, err) : status;
}

/* A capacity's own map; its key is the capacity. */
static enum status read_capacity(const struct yaml_node *capacities, const char *capacity,
                                 const struct yaml_node *sources, struct drive_config *config,
                                 struct error *err) {
    const struct yaml_node *map = yaml_get(capacities, capacity);
    CHECK(map != NULL);
    /* The key becomes a figure like any other, so that the same limits hold and are named. */
    struct yaml_node key = {.kind = YAML_TEXT, .text = capacity, .file = map->file};
    key.line = map->line;
    key.column = map->column;
    struct yaml_node name = {.kind = YAML_TEXT, .text = "capacity"};
    struct yaml_node *keys[] = {&name}, *items[] = {&key};
    const struct yaml_node pair = {.kind = YAML_MAP, .count = 1, .items = items, .keys = keys};
    enum status status =
        figures_read(&pair, drive_figures, drive_figures_count, NULL, FIGURE_SHEET, config, err);
    config->capacity_bytes.node = map;
    config->capacity_bytes.source = "the drive's name";
    status = status == OK && !yaml_is_null(map) ? need_map(map, capacity, err) : status;
    if (status != OK || yaml_is_null(map)) {
        return status;
    }
    if (yaml_get(map, "capacity") != NULL) {
        return yaml_error(yaml_get(map, "capacity"), err,
                          "'capacity' stands under 'capacities'; its key is the capacity");
    }
    return read_map(map, capacity_keys, sources, config, err);
}

static enum status read_identity(const struct yaml_node *root, struct drive_config *config,
                                 struct error *err) {
    enum status status = read_text(root, "vendor", &config->vendor, err);
    status = status == OK ? read_text(root, "model", &config->model, err) : status;
    status = status == OK ? read_text(root, "about", &config->about, err) : status;
    return status == OK ? read_nand(root, &config->nand, err) : status;
}

static enum status need_figures(const struct yaml_node *root, const struct drive_config *config,
                                struct error *err) {
    if (config->capacity_bytes.origin == FIGURE_UNKNOWN) {
        return yaml_error(root, err, "the drive needs the key 'capacity'");
    }
    if (config->sequential_write_rate.origin == FIGURE_UNKNOWN &&
        config->measured.sequential_write_rate.origin == FIGURE_UNKNOWN) {
        return yaml_error(root, err, "the drive needs the key 'sequential_write'");
    }
    return OK;
}

static enum status read_root(const struct yaml_node *root, const struct found *found,
                             struct arena *arena, struct drive_config *config, struct error *err) {
    struct drive_config read = {.root = root};
    const struct yaml_node *sources = yaml_get(root, "sources");
    enum status status = sources != NULL ? need_map(sources, "sources", err) : OK;
    status = status == OK ? read_map(root, family_keys, sources, &read, err) : status;
    status = status == OK ? read_identity(root, &read, err) : status;
    if (status == OK && found->capacity != NULL) {
        status = read_capacity(yaml_get(root, "capacities"), found->capacity, sources, &read, err);
    }
    status = status == OK ? need_figures(root, &read, err) : status;
    if (status == OK) {
        read.family = arena_text(arena, found->family);
        read.name = drive_name(found, arena);
        *config = read;
    }
    return status;
}

/* The capacities of a file: its keys under `capacities`, or one without a key. */
static uint32_t capacity_count(const struct yaml_node *root) {
    const struct yaml_node *capacities = yaml_get(root, "capacities");
    return capacities != NULL && capacities->kind == YAML_MAP ? capacities->count : 1;
}

static const char *capacity_key(const struct yaml_node *root, uint32_t i) {
    const struct yaml_node *capacities = yaml_get(root, "capacities");
    return capacities != NULL && capacities->kind == YAML_MAP ? capacities->keys[i]->text : NULL;
}

static enum status check_capacities(const struct yaml_node *root, struct error *err) {
    if (root->kind != YAML_MAP) {
        return yaml_error(root, err, "a drive file must be a map of keys and values");
    }
    const struct yaml_node *capacities = yaml_get(root, "capacities");
    if (capacities == NULL) {
        return OK;
    }
    if (capacities->kind != YAML_MAP || capacities->count == 0) {
        return yaml_error(capacities, err, "'capacities' must be a map of at least one capacity");
    }
    if (yaml_get(root, "capacity") != NULL) {
        return yaml_error(yaml_get(root, "capacity"), err,
                          "'capacity' and 'capacities' are both given; one is allowed");
    }
    return OK;
}

/* "x200p-1.92tb, x200p-3.84tb" */
static void list_capacities(const struct yaml_node *root, const char *family, char *buffer,
                            size_t size) {
    struct arena scratch = {0};
    size_t used = 0;
    buffer[0] = '\0';
    for (uint32_t i = 0; i < capacity_count(root) && used < size; i++) {
        struct found found = {family, capacity_key(root, i)};
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", i > 0 ? ", " : "",
                                 drive_name(&found, &scratch));
    }
    arena_fini(&scratch);
}

/* True where `name` is one of the names that `family`, or an alias of it, gives to a capacity. The
 * ending "tb" may be left out. */
static bool names_capacity(const char *name, const char *family, const char *capacity) {
    char full[NAME_TEXT];
    snprintf(full, sizeof full, "%s-%s", family, capacity);
    if (names_equal(name, full)) {
        return true;
    }
    size_t length = strlen(full);
    bool terabytes = length > 2 && strcasecmp(full + length - 2, "tb") == 0;
    full[length - (terabytes ? 2 : 0)] = '\0';
    return terabytes && names_equal(name, full);
}

/* Looks for `name` among the capacities of a family that is called so; *several: the name is that
 * of the family alone, which has more than one. */
static bool matches(const struct yaml_node *root, const char *family, const char *called,
                    const char *name, struct found *found, bool *several) {
    uint32_t count = capacity_count(root);
    bool alone = names_equal(name, called);
    for (uint32_t i = 0; i < count; i++) {
        const char *capacity = capacity_key(root, i);
        if ((alone && count == 1) || (capacity != NULL && names_capacity(name, called, capacity))) {
            *found = (struct found){family, capacity};
            return true;
        }
    }
    *several = alone;
    *found = alone ? (struct found){family, NULL} : *found;
    return alone;
}

static bool family_matches(const struct yaml_node *root, const char *family, const char *name,
                           struct found *found, bool *several) {
    const struct yaml_node *aliases = yaml_get(root, "aliases");
    bool found_it = matches(root, family, family, name, found, several);
    for (uint32_t i = 0;
         !found_it && aliases != NULL && aliases->kind == YAML_LIST && i < aliases->count; i++) {
        const struct yaml_node *alias = aliases->items[i];
        found_it =
            alias->kind == YAML_TEXT && matches(root, family, alias->text, name, found, several);
    }
    return found_it;
}

static enum status several_error(const struct yaml_node *root, const char *family,
                                 struct error *err) {
    char list[400];
    list_capacities(root, family, list, sizeof list);
    return error_set(err, ERR_USAGE, "a family of several capacities: %s", list);
}

/* The family whose name `name` begins with, the longest; NULL: none. */
static const char *family_begun(const char *name, const char *config_dir, struct arena *arena) {
    size_t count, longest = 0;
    const char *begun = NULL;
    const char *const *families = config_names("drives", config_dir, arena, &count);
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(families[i]);
        if (length > longest && strncasecmp(name, families[i], length) == 0) {
            longest = length;
            begun = families[i];
        }
    }
    return begun;
}

static enum status unknown_error(const char *name, const char *config_dir, struct arena *arena,
                                 struct error *err) {
    char list[400];
    struct yaml_node *root;
    const char *family = family_begun(name, config_dir, arena);
    if (family != NULL && config_read("drives", family, config_dir, arena, &root, NULL) == OK) {
        list_capacities(root, family, list, sizeof list);
        return error_set(err, ERR_USAGE, "unknown capacity; the family has %s", list);
    }
    size_t count;
    const char *const *names = drive_config_names(config_dir, arena, &count);
    names_nearest(name, names, count, list, sizeof list);
    return error_set(err, ERR_USAGE,
                     "unknown name; nearest: %s (`ckptsim list drives` names all; a path to a YAML "
                     "or JSON file works too)",
                     list);
}

/* Does the family's file hold the drive that `name` means? Then found says which. The many files
 * that do not are forgotten again. */
static enum status try_family(const char *family, const char *name, const char *config_dir,
                              struct arena *arena, struct found *found, bool *matched,
                              struct error *err) {
    struct arena scratch = {0};
    struct yaml_node *root;
    struct error inner;
    bool several = false;
    enum status status = config_read("drives", family, config_dir, &scratch, &root, &inner);
    status = status == OK ? check_capacities(root, &inner) : status;
    *matched = status == OK && family_matches(root, family, name, found, &several);
    if (status != OK) {
        /* A damaged file that is asked for must say what is wrong with it; one that is only passed
         * on the way to another must not stand in the way. */
        bool meant = strncasecmp(name, family, strlen(family)) == 0;
        status = meant ? error_set(err, status, "%s", inner.text) : OK;
    } else if (*matched && several) {
        status = several_error(root, family, err);
    } else if (*matched && found->capacity != NULL) {
        found->capacity = arena_text(arena, found->capacity);
    }
    arena_fini(&scratch);
    return status;
}

static enum status read_named(const char *name, const char *config_dir, struct arena *arena,
                              struct drive_config *config, struct error *err) {
    struct found found;
    bool matched = false;
    size_t count;
    const char *const *families = config_names("drives", config_dir, arena, &count);
    for (size_t i = 0; i < count && !matched; i++) {
        enum status status =
            try_family(families[i], name, config_dir, arena, &found, &matched, err);
        if (status != OK) {
            return status;
        }
    }
    if (!matched) {
        return unknown_error(name, config_dir, arena, err);
    }
    struct yaml_node *root;
    enum status status = config_read("drives", found.family, config_dir, arena, &root, err);
    return status == OK ? read_root(root, &found, arena, config, err) : status;
}

static bool has_ending(const char *name, const char *ending) {
    size_t length = strlen(name), tail = strlen(ending);
    return length > tail && strcmp(name + length - tail, ending) == 0;
}

static bool is_path(const char *name) {
    return strchr(name, '/') != NULL || has_ending(name, ".yaml") || has_ending(name, ".yml") ||
           has_ending(name, ".json");
}

/* "drives/my-drive.yaml" -> "my-drive". */
static const char *base_name(const char *path, struct arena *arena) {
    const char *slash = strrchr(path, '/');
    const char *start = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(start, '.');
    return arena_text_n(arena, start, dot != NULL ? (size_t)(dot - start) : strlen(start));
}

static enum status read_path(const char *path, struct arena *arena, struct drive_config *config,
                             struct error *err) {
    struct yaml_node *root;
    enum status status = config_read("drives", path, NULL, arena, &root, err);
    status = status == OK ? check_capacities(root, err) : status;
    if (status != OK) {
        return status;
    }
    struct found found = {base_name(path, arena), capacity_key(root, 0)};
    if (capacity_count(root) > 1) {
        return yaml_error(yaml_get(root, "capacities"), err,
                          "a path must lead to a file of one capacity, this one has %u; put it "
                          "into DIR/drives/ and give --config-dir=DIR and FAMILY-CAPACITY",
                          capacity_count(root));
    }
    return read_root(root, &found, arena, config, err);
}

enum status drive_config_read(const char *name, const char *config_dir, struct arena *arena,
                              struct drive_config *config, struct error *err) {
    enum status status = is_path(name) ? read_path(name, arena, config, err)
                                       : read_named(name, config_dir, arena, config, err);
    return status == OK ? OK : error_wrap(err, "drive '%.100s'", name);
}

const char *const *drive_config_names(const char *config_dir, struct arena *arena, size_t *count) {
    size_t families_count, kept = 0;
    const char *const *families = config_names("drives", config_dir, arena, &families_count);
    const char **names = arena_new(arena, DRIVES_LIMIT, sizeof *names);
    for (size_t f = 0; f < families_count; f++) {
        struct arena scratch = {0};
        struct yaml_node *root;
        bool usable = config_read("drives", families[f], config_dir, &scratch, &root, NULL) == OK &&
                      check_capacities(root, NULL) == OK;
        for (uint32_t i = 0; usable && i < capacity_count(root) && kept < DRIVES_LIMIT; i++) {
            struct found found = {families[f], capacity_key(root, i)};
            names[kept++] = drive_name(&found, arena);
        }
        arena_fini(&scratch);
    }
    *count = kept;
    return names;
}
