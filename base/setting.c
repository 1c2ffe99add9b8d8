#include "base/setting.h"

#include "base/check.h"
#include "base/names.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_CHARS = 64 };

void settings_init(struct settings *settings, const struct setting_row *rows, size_t count,
                   uint32_t command, void *spec, struct arena *arena) {
    *settings = (struct settings){.rows = rows, .count = count, .command = command,
                                  .spec = spec, .arena = arena};
    settings->values = arena_new(arena, count, sizeof *settings->values);
    for (size_t i = 0; i < count; i++) {
        struct error err = {0};
        settings->values[i].origin = "default";
        if (rows[i].fallback != NULL) {
            uint32_t own = settings->command;
            settings->command = UINT32_MAX; /* defaults hold for every row, taking part or not */
            enum status status =
                settings_set(settings, rows[i].name, rows[i].fallback, "default", &err);
            settings->command = own;
            CHECK(status == OK);
            settings->values[i].given = false;
        }
    }
}

static bool takes_part(const struct settings *settings, const struct setting_row *row) {
    return (row->commands & settings->command) != 0;
}

/* '_' and '-' are the same in a name. */
static bool same_name(const char *row, const char *given, size_t length) {
    for (size_t i = 0; i < length; i++) {
        char c = given[i] == '_' ? '-' : given[i];
        if (row[i] == '\0' || c != row[i]) {
            return false;
        }
    }
    return row[length] == '\0';
}

static const struct setting_row *find_row(const struct settings *settings, const char *name,
                                          size_t length) {
    for (size_t i = 0; i < settings->count; i++) {
        const struct setting_row *row = &settings->rows[i];
        if (takes_part(settings, row) && same_name(row->name, name, length)) {
            return row;
        }
    }
    return NULL;
}

static enum status unknown_name(const struct settings *settings, const char *kind,
                                const char *name, struct error *err) {
    const char **names = mem_new(settings->count, sizeof *names);
    size_t count = 0;
    for (size_t i = 0; i < settings->count; i++) {
        if (takes_part(settings, &settings->rows[i])) {
            names[count++] = settings->rows[i].name;
        }
    }
    char nearest[256];
    names_nearest(name, names, count, nearest, sizeof nearest);
    mem_free(names);
    if (count == 0) {
        return error_set(err, ERR_USAGE, "unknown %s '%.100s'; this command takes none", kind, name);
    }
    return error_set(err, ERR_USAGE, "unknown %s '%.100s'; nearest: %s", kind, name, nearest);
}

/* The index of a word in "a|b|c", or -1. */
static int choice_index(const char *choices, const char *word) {
    size_t length = strlen(word);
    int index = 0;
    for (const char *at = choices; at != NULL; index++) {
        const char *bar = strchr(at, '|');
        size_t size = bar != NULL ? (size_t)(bar - at) : strlen(at);
        if (size == length && strncmp(at, word, size) == 0) {
            return index;
        }
        at = bar != NULL ? bar + 1 : NULL;
    }
    return -1;
}

static const char *row_number(const struct setting_row *row, double value, char *buffer) {
    if (row->type == SETTING_SIZE) {
        return units_gib((uint64_t)value, buffer);
    }
    if (row->type == SETTING_DURATION) {
        snprintf(buffer, UNITS_TEXT, "%g s", value / 1e9);
        return buffer;
    }
    if (row->type == SETTING_COUNT) {
        return units_grouped((uint64_t)value, buffer);
    }
    snprintf(buffer, UNITS_TEXT, "%g", value);
    return buffer;
}

static enum status check_limits(const struct setting_row *row, double value, const char *text,
                                struct error *err) {
    char low[UNITS_TEXT], high[UNITS_TEXT];
    row_number(row, row->minimum, low);
    if (value < row->minimum) {
        return error_set(err, ERR_USAGE, "'%s' is too small; at least %s is allowed", text, low);
    }
    if (row->maximum > 0 && value > row->maximum) {
        return error_set(err, ERR_USAGE, "'%s' is too large; %s to %s is allowed", text, low,
                         row_number(row, row->maximum, high));
    }
    return OK;
}

static bool is_utf8(const char *text) {
    for (size_t length; *text != '\0'; text += length) {
        length = json_utf8_length(text);
        if (length == 0) {
            return false;
        }
    }
    return true;
}

static enum status parse_value(struct settings *settings, const struct setting_row *row,
                               const char *text, struct error *err) {
    void *field = (char *)settings->spec + row->field;
    uint64_t whole = 0;
    double number = 0;
    enum status status = OK;
    switch (row->type) {
    case SETTING_FLAG:
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
            return error_set(err, ERR_USAGE, "'%s' is not allowed; true or false is", text);
        }
        *(bool *)field = text[0] == 't';
        return OK;
    case SETTING_CHOICE: {
        int index = choice_index(row->choices, text);
        if (index < 0) {
            return error_set(err, ERR_USAGE, "'%s' is not allowed; %s is", text, row->choices);
        }
        *(int *)field = index;
        return OK;
    }
    case SETTING_TEXT:
        if (!is_utf8(text)) { /* result.json and the journal could not give it back */
            return error_set(err, ERR_USAGE, "the value is not valid UTF-8");
        }
        *(const char **)field = arena_text(settings->arena, text);
        return OK;
    case SETTING_NUMBER:
        if (row->choices != NULL && strcmp(text, row->choices) == 0) {
            number = row->maximum;
        } else {
            status = units_parse_number(text, &number, err);
        }
        status = status == OK ? check_limits(row, number, text, err) : status;
        if (status == OK) {
            *(double *)field = number;
        }
        return status;
    case SETTING_COUNT: status = units_parse_count(text, &whole, err); break;
    case SETTING_SIZE: status = units_parse_size(text, &whole, err); break;
    case SETTING_DURATION: status = units_parse_duration(text, &whole, err); break;
    }
    status = status == OK ? check_limits(row, (double)whole, text, err) : status;
    if (status == OK) {
        *(uint64_t *)field = whole;
    }
    return status;
}

static enum status set_row(struct settings *settings, const struct setting_row *row,
                           const char *text, const char *origin, struct error *err) {
    enum status status = parse_value(settings, row, text, err);
    if (status != OK) {
        return status;
    }
    struct setting_value *value = &settings->values[row - settings->rows];
    if (row->repeats && value->given) {
        text = arena_printf(settings->arena, "%s,%s", value->text, text);
        parse_value(settings, row, text, err); /* a text is never refused */
    }
    value->text = arena_text(settings->arena, text);
    value->origin = origin;
    value->given = true;
    return OK;
}

enum status settings_set(struct settings *settings, const char *name, const char *value,
                         const char *origin, struct error *err) {
    const struct setting_row *row = find_row(settings, name, strlen(name));
    if (row == NULL) {
        return unknown_name(settings, "setting", name, err);
    }
    if (set_row(settings, row, value, origin, err) != OK) {
        return error_wrap(err, "--%s", row->name);
    }
    return OK;
}

struct option {
    const struct setting_row *row;
    const char *value; /* after '=', or NULL */
    bool negated;      /* --no-name */
};

static struct option split_option(const struct settings *settings, const char *word) {
    const char *name = word + 2;
    const char *equals = strchr(name, '=');
    size_t length = equals != NULL ? (size_t)(equals - name) : strlen(name);
    struct option option = {.row = find_row(settings, name, length),
                            .value = equals != NULL ? equals + 1 : NULL};
    if (option.row == NULL && length > 3 && strncmp(name, "no-", 3) == 0) {
        option.row = find_row(settings, name + 3, length - 3);
        bool can = option.row != NULL && equals == NULL &&
                   (option.row->type == SETTING_FLAG ||
                    (option.row->choices != NULL && choice_index(option.row->choices, "off") >= 0));
        option.negated = can;
        option.row = can ? option.row : NULL;
    }
    return option;
}

static enum status take_option(struct settings *settings, int argc, char *const *argv, int *at,
                               struct error *err) {
    const char *word = argv[*at];
    struct option option = split_option(settings, word);
    const struct setting_row *row = option.row;
    if (row == NULL) {
        return unknown_name(settings, "option", word, err);
    }
    const char *value = option.value;
    if (option.negated) {
        value = row->type == SETTING_FLAG ? "false" : "off";
    } else if (value == NULL && row->type == SETTING_FLAG) {
        value = "true";
    } else if (value == NULL && row->when_bare != NULL) {
        /* "--direct off" is as good as "--direct=off". */
        bool follows = *at + 1 < argc && choice_index(row->choices, argv[*at + 1]) >= 0;
        value = follows ? argv[++*at] : row->when_bare;
    } else if (value == NULL) {
        if (*at + 1 >= argc) {
            return error_set(err, ERR_USAGE, "--%s: a value is missing: %s", row->name,
                             row->choices != NULL && row->type == SETTING_CHOICE
                                 ? row->choices : row->placeholder);
        }
        value = argv[++*at];
    }
    if (set_row(settings, row, value, "command line", err) != OK) {
        return error_wrap(err, "--%s", row->name);
    }
    return OK;
}

enum status settings_parse(struct settings *settings, int argc, char *const *argv,
                           const char **positionals, size_t *positional_count, struct error *err) {
    *positional_count = 0;
    bool only_positionals = false;
    for (int at = 0; at < argc; at++) {
        if (!only_positionals && strcmp(argv[at], "--") == 0) {
            only_positionals = true;
        } else if (!only_positionals && strncmp(argv[at], "--", 2) == 0) {
            enum status status = take_option(settings, argc, argv, &at, err);
            if (status != OK) {
                return status;
            }
        } else if (!only_positionals && argv[at][0] == '-' && argv[at][1] != '\0') {
            return unknown_name(settings, "option", argv[at], err);
        } else {
            positionals[(*positional_count)++] = argv[at];
        }
    }
    return OK;
}

enum status settings_read_yaml(struct settings *settings, const struct yaml_node *map,
                               struct error *err) {
    if (map->kind != YAML_MAP) {
        return yaml_error(map, err, "settings must be a map of names and values");
    }
    for (uint32_t i = 0; i < map->count; i++) {
        const struct yaml_node *key = map->keys[i], *node = map->items[i];
        if (strcmp(key->text, "about") == 0) {
            continue; /* a line for people */
        }
        const struct setting_row *row = find_row(settings, key->text, strlen(key->text));
        if (row == NULL) {
            struct error inner;
            unknown_name(settings, "key", key->text, &inner);
            return yaml_error(key, err, "%s", inner.text);
        }
        if (settings->values[row - settings->rows].given) {
            continue; /* the command line wins */
        }
        if (node->kind != YAML_TEXT) {
            return yaml_error(node, err, "'%s' must be a single value", key->text);
        }
        const char *origin = arena_printf(settings->arena, "%s:%u", node->file, node->line);
        struct error inner;
        if (set_row(settings, row, node->text, origin, &inner) != OK) {
            return yaml_error(node, err, "'%s': %s", key->text, inner.text);
        }
        settings->values[row - settings->rows].given = false; /* a later file may still win */
    }
    return OK;
}

const struct setting_value *settings_value(const struct settings *settings, const char *name) {
    for (size_t i = 0; i < settings->count; i++) {
        if (strcmp(settings->rows[i].name, name) == 0) {
            return &settings->values[i];
        }
    }
    return NULL;
}

void settings_write_json(const struct settings *settings, struct json *json, const char *key) {
    json_begin_map(json, key);
    for (size_t i = 0; i < settings->count; i++) {
        if (takes_part(settings, &settings->rows[i]) && !settings->rows[i].private) {
            json_begin_map(json, settings->rows[i].name);
            json_text(json, "value", settings->values[i].text);
            json_text(json, "origin", settings->values[i].origin);
            json_end_map(json);
        }
    }
    json_end_map(json);
}

static void write_row_help(const struct setting_row *row, FILE *stream) {
    char left[NAME_CHARS + 64];
    const char *value = row->type == SETTING_CHOICE ? row->choices : row->placeholder;
    if (row->type == SETTING_FLAG) {
        bool on = row->fallback != NULL && strcmp(row->fallback, "true") == 0;
        snprintf(left, sizeof left, "--%s%s", on ? "no-" : "", row->name);
    } else {
        snprintf(left, sizeof left, "--%s%s%s%s", row->name, row->when_bare != NULL ? "[=" : " ",
                 value, row->when_bare != NULL ? "]" : "");
    }
    bool negated = row->type == SETTING_FLAG && strncmp(left, "--no-", 5) == 0;
    fprintf(stream, "  %-34s %s%s%s", left,
            strlen(left) > 34 ? "\n                                     " : "",
            negated ? "do not " : "", row->help);
    if (row->fallback != NULL && row->type != SETTING_FLAG) {
        fprintf(stream, " (default %s)", row->fallback);
    }
    putc('\n', stream);
}

void settings_write_help(const struct setting_row *rows, size_t count, uint32_t command,
                         FILE *stream) {
    const char *group = NULL;
    for (size_t i = 0; i < count; i++) {
        if ((rows[i].commands & command) == 0) {
            continue;
        }
        if (group == NULL || strcmp(group, rows[i].group) != 0) {
            group = rows[i].group;
            fprintf(stream, "\n%s:\n", group);
        }
        write_row_help(&rows[i], stream);
    }
}
