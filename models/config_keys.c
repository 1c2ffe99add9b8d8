#include "models/config_keys.h"

#include "base/check.h"
#include "base/names.h"
#include "models/datatype.h"

#include <stdbool.h>
#include <string.h>

enum { KEYS_LIMIT = 96 };

static enum status read_datatype(const struct yaml_node *node, const char *key,
                                 enum datatype *datatype, struct error *err) {
    enum datatype found = node->kind == YAML_TEXT ? datatype_find(node->text) : DATATYPE_UNSET;
    if (found == DATATYPE_UNSET) {
        return yaml_error(node, err,
                          "'%s' is '%.40s'; fp16, bf16, fp32, fp64, int8, uint8, int32 or int64 is "
                          "allowed",
                          key, node->kind == YAML_TEXT ? node->text : "not a single word");
    }
    *datatype = found;
    return OK;
}

static enum status read_limited(const struct yaml_node *node, const struct config_key *row,
                                uint64_t *value, struct error *err) {
    uint64_t read;
    struct error inner;
    if (yaml_count(node, row->key, &read, &inner) != OK) {
        return error_set(err, ERR_USAGE, "%.800s; %llu to %llu is allowed", inner.text,
                         (unsigned long long)row->minimum, (unsigned long long)row->maximum);
    }
    if (read < row->minimum || read > row->maximum) {
        return yaml_error(node, err, "'%s' is %llu; %llu to %llu is allowed", row->key,
                          (unsigned long long)read, (unsigned long long)row->minimum,
                          (unsigned long long)row->maximum);
    }
    *value = read;
    return OK;
}

static enum status read_text(const struct yaml_node *node, const char *key, const char **text,
                             struct error *err) {
    if (node->kind != YAML_TEXT) {
        return yaml_error(node, err, "'%s' must be a single word", key);
    }
    *text = node->text;
    return OK;
}

static enum status read_key(const struct yaml_node *node, const struct config_key *row,
                            void *target, struct error *err) {
    void *field = (char *)target + row->field;
    switch (row->type) {
    case KEY_COUNT: return read_limited(node, row, field, err);
    case KEY_BOOL: return yaml_bool(node, row->key, field, err);
    case KEY_DATATYPE: return read_datatype(node, row->key, field, err);
    case KEY_TEXT: return read_text(node, row->key, field, err);
    case KEY_OTHER: return OK;
    }
    return OK;
}

static const struct config_key *find_row(const char *key, const struct config_key *rows,
                                         size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].key, key) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

enum status config_keys_read(const struct yaml_node *map, const struct config_key *rows,
                             size_t count, void *target, struct error *err) {
    enum status status = OK;
    for (uint32_t i = 0; i < map->count && status == OK; i++) {
        const struct config_key *row = find_row(map->keys[i]->text, rows, count);
        if (row != NULL && !yaml_is_null(map->items[i])) {
            status = read_key(map->items[i], row, target, err);
        }
    }
    return status;
}

enum status config_keys_refuse(const struct yaml_node *map, const struct config_key *rows,
                               size_t count, struct error *err) {
    const char *names[KEYS_LIMIT];
    CHECK(count <= KEYS_LIMIT);
    for (size_t i = 0; i < count; i++) {
        names[i] = rows[i].key;
    }
    for (uint32_t i = 0; i < map->count; i++) {
        if (find_row(map->keys[i]->text, rows, count) == NULL) {
            char nearest[256];
            names_nearest(map->keys[i]->text, names, count, nearest, sizeof nearest);
            return yaml_error(map->keys[i], err, "unknown key '%.100s'; nearest: %s",
                              map->keys[i]->text, nearest);
        }
    }
    return OK;
}
