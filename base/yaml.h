#ifndef CKPTSIM_BASE_YAML_H
#define CKPTSIM_BASE_YAML_H

#include "base/error.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One reader for YAML and JSON (libyaml). A document becomes a tree of nodes that know their place,
 * so that an error can say file:line:column. Limits: YAML_FILE_BYTES, YAML_DEPTH, YAML_NODES; no
 * aliases, no second document, no key twice. */

enum { YAML_DEPTH = 64, YAML_NODES = 4 * 1000 * 1000 };
#define YAML_FILE_BYTES (UINT64_C(64) * 1024 * 1024)

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAP };

struct yaml_node {
    enum yaml_kind kind;
    bool quoted;          /* the text stood in quotes: never a number or null */
    uint32_t line, column; /* 1-based */
    uint32_t count;       /* of list items or map pairs */
    const char *file;
    const char *text;     /* YAML_TEXT */
    struct yaml_node **items; /* list items or map values */
    struct yaml_node **keys;  /* YAML_MAP: count keys, all YAML_TEXT */
};

/* Reads a file, or `length` bytes named `name`; the tree lives in the arena. Errors are ERR_USAGE. */
enum status yaml_read_file(const char *path, struct arena *arena, struct yaml_node **root,
                           struct error *err);
enum status yaml_read_text(const char *name, const char *text, size_t length, struct arena *arena,
                           struct yaml_node **root, struct error *err);

/* The value under key, or NULL. */
const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);
/* True for an absent node, null, ~ or an empty plain text. */
bool yaml_is_null(const struct yaml_node *node);

/* An error whose text starts with file:line:column of the node. */
enum status yaml_error(const struct yaml_node *node, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Typed reads of a scalar; the key's name is for the message. */
enum status yaml_count(const struct yaml_node *node, const char *key, uint64_t *value,
                       struct error *err);
enum status yaml_number(const struct yaml_node *node, const char *key, double *value,
                        struct error *err);
enum status yaml_bool(const struct yaml_node *node, const char *key, bool *value,
                      struct error *err);

#endif
