#ifndef CKPTSIM_BASE_SETTING_H
#define CKPTSIM_BASE_SETTING_H

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/yaml.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One row per setting. From the row come the command line option, the YAML key, parsing, limits,
 * --help, docs/options.md, the man page, shell completion and the echo in result.json. */

enum setting_type {
    SETTING_FLAG,     /* bool; --name, --no-name, name: true */
    SETTING_COUNT,    /* uint64_t */
    SETTING_SIZE,     /* uint64_t bytes; "8MiB" */
    SETTING_DURATION, /* uint64_t ns; "5s" */
    SETTING_NUMBER,   /* double; "1.3", "1/1000", "88%"; a word in choices stands for maximum */
    SETTING_CHOICE,   /* int: index into choices */
    SETTING_TEXT,     /* const char *, in the arena; NULL when unset */
};

struct setting_row {
    const char *name; /* "queue-depth"; in YAML also queue_depth */
    enum setting_type type;
    size_t field;         /* offset of the value in the spec struct */
    const char *fallback; /* the default as a user would type it; NULL: zero, NULL or unset */
    double minimum, maximum; /* of COUNT, SIZE, DURATION (ns), NUMBER; maximum 0: no limit */
    const char *choices;  /* "none|file|checkpoint"; for NUMBER a word meaning maximum */
    const char *when_bare; /* value of "--name" without "=value"; NULL: a value must follow */
    bool repeats;         /* of a TEXT: given again it is added, with a comma */
    bool private;         /* where output goes, not what is measured: not echoed in result.json */
    const char *group;    /* heading in the help */
    const char *placeholder; /* "SIZE" in the help */
    const char *help;     /* one sentence, lower case, no full stop */
    uint32_t commands;    /* bit set of the commands that take it; the caller's meaning */
};

struct setting_value {
    const char *text;   /* as given: "8MiB"; the default's text when not given; NULL when unset */
    const char *origin; /* "default", "command line" or "file:line" */
    bool given;
};

struct settings {
    const struct setting_row *rows;
    size_t count;
    uint32_t command;      /* only rows with this bit take part */
    struct arena *arena;
    void *spec;            /* the struct that the fields are offsets into */
    struct setting_value *values; /* count of them, parallel to rows */
};

/* Sets every field to its default. */
void settings_init(struct settings *settings, const struct setting_row *rows, size_t count,
                   uint32_t command, void *spec, struct arena *arena);

/* Parses options up to argc; what is not an option goes to positionals (an array of argc pointers),
 * their number to positional_count. Later options win over earlier ones and over YAML. */
enum status settings_parse(struct settings *settings, int argc, char *const *argv,
                           const char **positionals, size_t *positional_count, struct error *err);

/* Takes every key of a map but `about`; keys already given on the command line keep their value. */
enum status settings_read_yaml(struct settings *settings, const struct yaml_node *map,
                               struct error *err);

/* Sets one by name, as `origin` ("resumed run", ...). */
enum status settings_set(struct settings *settings, const char *name, const char *value,
                         const char *origin, struct error *err);

const struct setting_value *settings_value(const struct settings *settings, const char *name);

/* {"name": {"value": ..., "origin": ...}, ...} of the rows that take part. */
void settings_write_json(const struct settings *settings, struct json *json, const char *key);

/* The help of one command's rows, grouped; for --help. */
void settings_write_help(const struct setting_row *rows, size_t count, uint32_t command,
                         FILE *stream);

#endif
