/* Figures of drive and host files: reading a value with its source, limits, and writing it back. */
#include "sim/drive/figure.h"

#include "base/check.h"
#include "base/names.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>

enum { WORD = 64, NAMES_LIMIT = 96 };

struct figure *figure_of(const struct figure_row *row, void *target) {
    return (struct figure *)((char *)target + row->field);
}

const struct figure *figure_in(const struct figure_row *row, const void *target) {
    return (const struct figure *)((const char *)target + row->field);
}

/* Cuts an ending such as "/s" off into `word`; false where the text does not end so. */
static bool cut_ending(const char *text, const char *ending, char *word) {
    size_t length = strlen(text), tail = strlen(ending);
    if (length <= tail || length - tail >= WORD || strcmp(text + length - tail, ending) != 0) {
        return false;
    }
    memcpy(word, text, length - tail);
    word[length - tail] = '\0';
    return true;
}

static enum status parse_rate(const char *text, uint64_t *value, struct error *err) {
    char word[WORD];
    if (!cut_ending(text, "/s", word)) {
        return error_set(err, ERR_USAGE,
                         "'%.60s' is not a rate; a rate is a size a second: 8.7GB/s", text);
    }
    return units_parse_size(word, value, err);
}

/* A fraction with a factor, rounded to a whole number. */
static enum status parse_scaled(const char *text, double factor, uint64_t *value,
                                struct error *err) {
    double number;
    enum status status = units_parse_number(text, &number, err);
    if (status == OK && !(number * factor < 1e19)) {
        status = error_set(err, ERR_USAGE, "'%.60s' is too large", text);
    }
    if (status == OK) {
        *value = (uint64_t)(number * factor + 0.5);
    }
    return status;
}

static enum status parse_iops(const char *text, uint64_t *value, struct error *err) {
    char word[WORD];
    if (cut_ending(text, "k", word)) {
        return parse_scaled(word, 1e3, value, err);
    }
    return cut_ending(text, "M", word) ? parse_scaled(word, 1e6, value, err)
                                       : parse_scaled(text, 1, value, err);
}

static enum status parse_power(const char *text, uint64_t *value, struct error *err) {
    char word[WORD];
    return parse_scaled(cut_ending(text, "W", word) ? word : text, 1e3, value, err);
}

static enum status parse(enum figure_kind kind, const char *text, uint64_t *value,
                         struct error *err) {
    switch (kind) {
    case FIGURE_SIZE: return units_parse_size(text, value, err);
    case FIGURE_RATE: return parse_rate(text, value, err);
    case FIGURE_IOPS: return parse_iops(text, value, err);
    case FIGURE_COUNT: return units_parse_count(text, value, err);
    case FIGURE_DURATION: return units_parse_duration(text, value, err);
    case FIGURE_RATIO: return parse_scaled(text, 1e6, value, err);
    case FIGURE_POWER: return parse_power(text, value, err);
    case FIGURE_WORD: break; /* needs its row's choices */
    }
    return error_set(err, ERR_USAGE, "no such kind of figure");
}

struct step {
    double factor;
    const char *unit;
};

/* Up to five digits, without zeros at the end. */
static const char *decimal(double value, const struct step *steps, char *buffer) {
    while (steps->factor > 1 && value < steps->factor) {
        steps++;
    }
    snprintf(buffer, FIGURE_TEXT, "%.5g%s%s", value / steps->factor,
             steps->unit[0] != '\0' ? " " : "", steps->unit);
    return buffer;
}

/* Powers of 1024 where they come out even, as flash is laid out; else powers of 1000. */
static const char *size_text(uint64_t bytes, char *buffer) {
    static const struct step tens[] = {{1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"},
                                       {1e6, "MB"},  {1e3, "kB"},  {1, "B"}};
    static const char *const twos[] = {"GiB", "MiB", "KiB"};
    for (unsigned i = 0; i < COUNT_OF(twos); i++) {
        uint64_t unit = UINT64_C(1) << (30 - 10 * i);
        if (bytes > 0 && bytes % unit == 0 && bytes / unit < 10000) {
            snprintf(buffer, FIGURE_TEXT, "%llu %s", (unsigned long long)(bytes / unit), twos[i]);
            return buffer;
        }
    }
    return decimal((double)bytes, tens, buffer);
}

const char *figure_text(enum figure_kind kind, uint64_t value, char *buffer) {
    static const struct step rates[] = {
        {1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}};
    static const struct step iops[] = {{1e3, "k/s"}, {1, "/s"}};
    static const struct step times[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    switch (kind) {
    case FIGURE_SIZE: return size_text(value, buffer);
    case FIGURE_RATE: return decimal((double)value, rates, buffer);
    case FIGURE_IOPS: return decimal((double)value, iops, buffer);
    case FIGURE_COUNT: return units_grouped(value, buffer);
    case FIGURE_DURATION: return decimal((double)value, times, buffer);
    case FIGURE_RATIO: snprintf(buffer, FIGURE_TEXT, "%.5g", (double)value / 1e6); return buffer;
    case FIGURE_POWER: snprintf(buffer, FIGURE_TEXT, "%.5g W", (double)value / 1e3); return buffer;
    case FIGURE_WORD: break;
    }
    return "";
}

/* The choice of this number within "greedy|fifo", and its length; NULL past the last. */
static const char *choice(const char *choices, uint64_t number, size_t *length) {
    for (; choices != NULL; number--) {
        *length = strcspn(choices, "|");
        if (number == 0) {
            return choices;
        }
        choices = choices[*length] == '|' ? choices + *length + 1 : NULL;
    }
    return NULL;
}

const char *figure_row_text(const struct figure_row *row, uint64_t value, char *buffer) {
    size_t length;
    if (row->kind != FIGURE_WORD) {
        return figure_text(row->kind, value, buffer);
    }
    const char *word = choice(row->choices, value, &length);
    CHECK(word != NULL);
    snprintf(buffer, FIGURE_TEXT, "%.*s", (int)length, word);
    return buffer;
}

const char *figure_unit(enum figure_kind kind) {
    switch (kind) {
    case FIGURE_SIZE: return "B";
    case FIGURE_RATE: return "B/s";
    case FIGURE_IOPS: return "1/s";
    case FIGURE_COUNT:
    case FIGURE_WORD: return "";
    case FIGURE_DURATION: return "ns";
    case FIGURE_RATIO: return "1e-6";
    case FIGURE_POWER: return "mW";
    }
    return "";
}

const char *figure_origin_text(enum figure_origin origin) {
    switch (origin) {
    case FIGURE_UNKNOWN: return "unknown";
    case FIGURE_SHEET: return "sheet";
    case FIGURE_MEASURED: return "measured";
    case FIGURE_FITTED: return "fitted";
    case FIGURE_DEFAULT: return "family default";
    case FIGURE_DERIVED: return "derived";
    }
    return "";
}

const char *figure_source(const struct yaml_node *sources, const char *word) {
    const struct yaml_node *node = yaml_get(sources, word);
    return node != NULL && node->kind == YAML_TEXT ? node->text : word;
}

/* "'capacity' is 0; 1 MiB to 10 PB is allowed", with what is wrong in place of the zero's words. */
static enum status refuse(const struct yaml_node *node, const struct figure_row *row,
                          const char *what, struct error *err) {
    char least[FIGURE_TEXT], most[FIGURE_TEXT];
    return yaml_error(node, err, "'%s' %.300s; %s to %s is allowed", row->key, what,
                      figure_text(row->kind, row->minimum, least),
                      figure_text(row->kind, row->maximum, most));
}

static enum status read_word(const struct yaml_node *node, const struct figure_row *row,
                             uint64_t *value, struct error *err) {
    size_t length;
    const char *word;
    for (uint64_t i = 0; (word = choice(row->choices, i, &length)) != NULL; i++) {
        if (node->kind == YAML_TEXT && strlen(node->text) == length &&
            strncmp(node->text, word, length) == 0) {
            *value = i;
            return OK;
        }
    }
    return yaml_error(node, err, "'%s' is '%.40s'; one of %s is allowed", row->key,
                      node->kind == YAML_TEXT ? node->text : "not a single word", row->choices);
}

static enum status read_value(const struct yaml_node *node, const struct figure_row *row,
                              uint64_t *value, struct error *err) {
    struct error inner;
    char what[400];
    if (row->kind == FIGURE_WORD) {
        return read_word(node, row, value, err);
    }
    if (node->kind != YAML_TEXT) {
        return refuse(node, row, "must be one value", err);
    }
    if (parse(row->kind, node->text, value, &inner) != OK) {
        snprintf(what, sizeof what, "is not understood: %.340s", inner.text);
        return refuse(node, row, what, err);
    }
    if (*value < row->minimum || *value > row->maximum) {
        snprintf(what, sizeof what, "is %.60s", node->text);
        return refuse(node, row, what, err);
    }
    return OK;
}

static enum status bad_form(const struct yaml_node *node, const struct figure_row *row,
                            struct error *err) {
    return yaml_error(node, err,
                      row->fitted ? "'%s' must be {value: VALUE, fitted_to: TEXT}: a calibrated "
                                    "parameter says what it was fitted to"
                                  : "'%s' must be VALUE, [VALUE, SOURCE] or "
                                    "{value: VALUE, fitted_to: TEXT}",
                      row->key);
}

static bool is_words(const struct yaml_node *node) {
    return node != NULL && node->kind == YAML_TEXT && node->text[0] != '\0';
}

/* Takes the three forms apart: the node of the value, and the source's words. */
static enum status take_apart(const struct yaml_node *node, const struct figure_row *row,
                              const struct yaml_node **value, const char **source, bool *fitted,
                              struct error *err) {
    *value = node;
    *source = NULL;
    *fitted = false;
    if (node->kind == YAML_TEXT && !row->fitted) {
        return OK;
    }
    if (node->kind == YAML_LIST && node->count == 2 && is_words(node->items[1]) && !row->fitted) {
        *value = node->items[0];
        *source = node->items[1]->text;
        return OK;
    }
    const struct yaml_node *words = yaml_get(node, "fitted_to");
    *value = yaml_get(node, "value");
    if (node->kind != YAML_MAP || node->count != 2 || *value == NULL || !is_words(words)) {
        return bad_form(node, row, err);
    }
    *source = words->text;
    *fitted = true;
    return OK;
}

static enum status read_figure(const struct yaml_node *node, const struct figure_row *row,
                               const struct yaml_node *sources, enum figure_origin origin,
                               struct figure *figure, struct error *err) {
    struct figure read = {.node = node};
    const struct yaml_node *value;
    const char *source;
    bool fitted;
    enum status status = take_apart(node, row, &value, &source, &fitted, err);
    status = status == OK ? read_value(value, row, &read.value, err) : status;
    if (status == OK) {
        read.origin = fitted ? FIGURE_FITTED : origin;
        read.source = source != NULL ? figure_source(sources, source) : NULL;
        *figure = read;
    }
    return status;
}

static const struct figure_row *find_row(const char *key, const struct figure_row *rows,
                                         size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].key, key) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

enum status figures_read(const struct yaml_node *map, const struct figure_row *rows, size_t count,
                         const struct yaml_node *sources, enum figure_origin origin, void *target,
                         struct error *err) {
    enum status status = OK;
    for (uint32_t i = 0; i < map->count && status == OK; i++) {
        const struct figure_row *row = find_row(map->keys[i]->text, rows, count);
        if (row != NULL && !yaml_is_null(map->items[i])) {
            status = read_figure(map->items[i], row, sources, origin, figure_of(row, target), err);
        }
    }
    return status;
}

enum status figures_refuse_unknown(const struct yaml_node *map, const struct figure_row *rows,
                                   size_t count, const char *const *others, struct error *err) {
    const char *names[NAMES_LIMIT];
    size_t known = 0;
    for (; known < count; known++) {
        CHECK(known < NAMES_LIMIT);
        names[known] = rows[known].key;
    }
    for (; *others != NULL; others++) {
        CHECK(known < NAMES_LIMIT);
        names[known++] = *others;
    }
    for (uint32_t i = 0; i < map->count; i++) {
        const char *key = map->keys[i]->text;
        bool found = false;
        for (size_t k = 0; k < known && !found; k++) {
            found = strcmp(names[k], key) == 0;
        }
        if (!found) {
            char nearest[256];
            names_nearest(key, names, known, nearest, sizeof nearest);
            return yaml_error(map->keys[i], err, "unknown key '%.100s'; nearest: %s", key, nearest);
        }
    }
    return OK;
}
