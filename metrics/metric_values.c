/* What is done with metric rows: values out of records and into JSON and text, and back. */
#include "metrics/metric_rows.h"

#include "base/check.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool holds_number(enum metric_kind kind) {
    return kind == METRIC_SECONDS || kind == METRIC_RATE || kind == METRIC_GIB_RATE ||
           kind == METRIC_SHARE || kind == METRIC_NUMBER;
}

static struct metric_value recorded(const struct metric_row *row, const void *field) {
    struct metric_value value = {.known = true};
    if (row->kind == METRIC_TEXT) {
        value.text = *(const char *const *)field;
        value.known = value.text != NULL;
    } else if (row->kind == METRIC_FLAG) {
        value.whole = *(const bool *)field;
    } else if (holds_number(row->kind)) {
        value.number = *(const double *)field;
        value.known = isfinite(value.number);
    } else if (row->size == sizeof(uint32_t)) {
        value.whole = *(const uint32_t *)field;
    } else {
        value.whole = *(const uint64_t *)field;
        value.known = value.whole != RESULT_UNKNOWN;
    }
    return value;
}

struct metric_value metric_get(const struct metric_row *row, const struct result *result,
                               const void *record) {
    if (row->compute != NULL) {
        return row->compute(row, result, record);
    }
    return recorded(row, (const char *)record + row->field);
}

const struct metric_row *metric_find(const struct metric_table *table, const char *key) {
    for (size_t i = 0; i < table->count; i++) {
        if (strcmp(table->rows[i].key, key) == 0) {
            return &table->rows[i];
        }
    }
    return NULL;
}

static void write_value(const struct metric_row *row, struct metric_value value,
                        struct json *json) {
    if (!value.known) {
        json_text(json, row->key, NULL);
        return;
    }
    switch (row->kind) {
    case METRIC_COUNT:
    case METRIC_BYTES: json_count(json, row->key, value.whole); break;
    case METRIC_NS: json_seconds(json, row->key, value.whole); break;
    case METRIC_FLAG: json_bool(json, row->key, value.whole != 0); break;
    case METRIC_TEXT: json_text(json, row->key, value.text); break;
    case METRIC_SECONDS:
    case METRIC_RATE:
    case METRIC_GIB_RATE:
    case METRIC_SHARE:
    case METRIC_NUMBER: json_number(json, row->key, value.number); break;
    }
}

void metric_write_json(const struct metric_table *table, const struct result *result,
                       const void *record, struct json *json) {
    for (size_t i = 0; i < table->count; i++) {
        write_value(&table->rows[i], metric_get(&table->rows[i], result, record), json);
    }
}

/* "467.930000001" to ns. Through a double the last digit of a run of 104 days and more would be
 * lost, and the reader would not return what was written. */
static bool parse_seconds(const char *text, uint64_t *ns) {
    uint64_t whole = 0, fraction = 0, unit = NS_PER_SECOND;
    const char *at = text;
    bool fits = *at >= '0' && *at <= '9';
    for (; fits && *at >= '0' && *at <= '9'; at++) {
        fits = !__builtin_mul_overflow(whole, UINT64_C(10), &whole) &&
               !__builtin_add_overflow(whole, (uint64_t)(*at - '0'), &whole);
    }
    if (*at == '.') {
        for (at++; *at >= '0' && *at <= '9' && unit > 1; at++) {
            unit /= 10;
            fraction += unit * (uint64_t)(*at - '0');
        }
    }
    return fits && *at == '\0' && !__builtin_mul_overflow(whole, NS_PER_SECOND, &whole) &&
           !__builtin_add_overflow(whole, fraction, ns);
}

static enum status read_whole(const struct metric_row *row, const struct yaml_node *node,
                              uint64_t *value, struct error *err) {
    if (row->kind != METRIC_NS) {
        return yaml_count(node, row->key, value, err);
    }
    if (node->kind != YAML_TEXT || !parse_seconds(node->text, value)) {
        return yaml_error(node, err, "'%s' must be seconds", row->key);
    }
    return OK;
}

static enum status read_null(const struct metric_row *row, const struct yaml_node *node,
                             void *field, struct error *err) {
    if (row->kind == METRIC_TEXT) {
        *(const char **)field = NULL;
    } else if (holds_number(row->kind)) {
        *(double *)field = NAN;
    } else if (row->kind != METRIC_FLAG && row->size == sizeof(uint64_t)) {
        *(uint64_t *)field = RESULT_UNKNOWN;
    } else {
        return yaml_error(node, err, "'%s' may not be null", row->key);
    }
    return OK;
}

static enum status read_value(const struct metric_row *row, const struct yaml_node *node,
                              struct arena *arena, void *field, struct error *err) {
    if (yaml_is_null(node)) {
        return read_null(row, node, field, err);
    }
    if (row->kind == METRIC_FLAG) {
        return yaml_bool(node, row->key, field, err);
    }
    if (holds_number(row->kind)) {
        return yaml_number(node, row->key, field, err);
    }
    if (row->kind == METRIC_TEXT) {
        if (node->kind != YAML_TEXT) {
            return yaml_error(node, err, "'%s' must be a text", row->key);
        }
        *(const char **)field = arena_text(arena, node->text);
        return OK;
    }
    uint64_t whole;
    if (read_whole(row, node, &whole, err) != OK) {
        return ERR_USAGE;
    }
    if (row->size == sizeof(uint32_t)) {
        if (whole > UINT32_MAX) {
            return yaml_error(node, err, "'%s' is too large", row->key);
        }
        *(uint32_t *)field = (uint32_t)whole;
    } else {
        *(uint64_t *)field = whole;
    }
    return OK;
}

enum status metric_read(const struct metric_table *table, const struct yaml_node *map,
                        struct arena *arena, void *record, struct error *err) {
    for (size_t i = 0; i < table->count; i++) {
        const struct metric_row *row = &table->rows[i];
        if (row->size == 0) {
            continue;
        }
        const struct yaml_node *node = yaml_get(map, row->key);
        if (node == NULL) {
            return yaml_error(map, err, "'%s' is missing", row->key);
        }
        if (read_value(row, node, arena, (char *)record + row->field, err) != OK) {
            return ERR_USAGE;
        }
    }
    return OK;
}

const char *metric_text(const struct metric_row *row, struct metric_value value, char *buffer,
                        size_t size) {
    if (!value.known) {
        snprintf(buffer, size, "-");
        return buffer;
    }
    switch (row->kind) {
    case METRIC_COUNT:
    case METRIC_BYTES: snprintf(buffer, size, "%llu", (unsigned long long)value.whole); break;
    case METRIC_NS: snprintf(buffer, size, "%.3f", (double)value.whole / 1e9); break;
    case METRIC_SECONDS:
    case METRIC_NUMBER:
    case METRIC_GIB_RATE: snprintf(buffer, size, "%.3f", value.number); break;
    case METRIC_RATE: snprintf(buffer, size, "%.3f", value.number / 1e9); break;
    case METRIC_SHARE: snprintf(buffer, size, "%.1f", value.number * 100); break;
    case METRIC_FLAG: snprintf(buffer, size, "%s", value.whole != 0 ? "yes" : "no"); break;
    case METRIC_TEXT: snprintf(buffer, size, "%s", value.text); break;
    }
    return buffer;
}

static const char *unit_of(enum metric_kind kind) {
    switch (kind) {
    case METRIC_NS:
    case METRIC_SECONDS: return "s";
    case METRIC_BYTES: return "bytes";
    case METRIC_RATE: return "bytes/s";
    case METRIC_GIB_RATE: return "GiB/s";
    case METRIC_SHARE: return "share";
    case METRIC_NUMBER: return "ratio";
    case METRIC_FLAG: return "true, false";
    case METRIC_TEXT: return "text";
    case METRIC_COUNT: break;
    }
    return "count";
}

static void write_table_docs(const struct metric_table *table, FILE *stream) {
    static const char *const better[] = {"", "lower", "higher"};
    bool recorded_here = table == &metric_checkpoints || table == &metric_reads ||
                         table == &metric_latencies;
    fprintf(stream, "\n## %s\n\n%s\n\n", table->name, table->about);
    fputs("| key | unit | from | better | meaning |\n| --- | --- | --- | --- | --- |\n", stream);
    for (size_t i = 0; i < table->count; i++) {
        const struct metric_row *row = &table->rows[i];
        fprintf(stream, "| `%s` | %s | %s | %s | %s |\n", row->key, unit_of(row->kind),
                recorded_here && row->size > 0 ? "measured" : "computed", better[row->better],
                row->help);
    }
}

void metrics_write_docs(FILE *stream) {
    fputs("# Metrics\n\n"
          "Written by `make docs` from the rows in `metrics/metric_rows.c`. Keys are those of "
          "`result.json`\n(see `result.md`) and the heads of the CSV files. A value that is not "
          "known is null in JSON and\nempty in CSV. Measured means taken from the run: read off "
          "the clock and the counters, or, of a\nsimulated run, off the simulated ones. Shares are "
          "parts of 1.\n",
          stream);
    const struct metric_table *const tables[] = {&metric_checkpoints, &metric_passes,
                                                 &metric_truths, &metric_latencies,
                                                 &metric_drive_passes, &metric_reads,
                                                 &metric_read_statistics};
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        write_table_docs(tables[i], stream);
    }
}
