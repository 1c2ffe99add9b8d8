/* libyaml's event stream becomes a tree. The parser is driven by events, not by libyaml's own
 * document loader, because that one recurses without a limit and copies aliases. */
#include "base/yaml.h"

#include "base/check.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

struct open_node {
    struct yaml_node *node;
    struct yaml_node *key; /* the key read last, its value not yet */
    uint32_t capacity;
    struct yaml_node **keys, **items; /* growing, copied into the arena at the end */
};

struct reader {
    const char *file;
    struct arena *arena;
    struct error *err;
    yaml_parser_t parser;
    struct open_node stack[YAML_DEPTH];
    uint32_t depth, nodes, documents;
    struct yaml_node *root;
};

static enum status at(struct reader *reader, yaml_mark_t mark, const char *what) {
    return error_set(reader->err, ERR_USAGE, "%s:%zu:%zu: %s", reader->file, mark.line + 1,
                     mark.column + 1, what);
}

static void grow(struct open_node *open) {
    if (open->node->count < open->capacity) {
        return;
    }
    open->capacity = open->capacity == 0 ? 8 : open->capacity * 2;
    open->items = mem_resize(open->items, open->capacity, sizeof *open->items);
    open->keys = mem_resize(open->keys, open->capacity, sizeof *open->keys);
}

/* Puts a finished or just opened node under the node that is open. */
static enum status place(struct reader *reader, struct yaml_node *node, yaml_mark_t mark) {
    if (reader->depth == 0) {
        reader->root = node;
        return OK;
    }
    struct open_node *open = &reader->stack[reader->depth - 1];
    if (open->node->kind == YAML_MAP && open->key == NULL) {
        if (node->kind != YAML_TEXT) {
            return at(reader, mark, "a key must be plain text");
        }
        open->key = node;
        return OK;
    }
    grow(open);
    open->items[open->node->count] = node;
    open->keys[open->node->count++] = open->key;
    open->key = NULL;
    return OK;
}

static struct yaml_node *new_node(struct reader *reader, enum yaml_kind kind, yaml_mark_t mark) {
    struct yaml_node *node = arena_new(reader->arena, 1, sizeof *node);
    node->kind = kind;
    node->file = reader->file;
    node->line = (uint32_t)mark.line + 1;
    node->column = (uint32_t)mark.column + 1;
    return node;
}

static enum status open_collection(struct reader *reader, enum yaml_kind kind, yaml_mark_t mark) {
    if (reader->depth == YAML_DEPTH) {
        return error_set(reader->err, ERR_USAGE,
                         "%s:%zu:%zu: nested deeper than the %d levels allowed", reader->file,
                         mark.line + 1, mark.column + 1, YAML_DEPTH);
    }
    struct yaml_node *node = new_node(reader, kind, mark);
    if (place(reader, node, mark) != OK) {
        return reader->err != NULL ? reader->err->status : ERR_USAGE;
    }
    reader->stack[reader->depth++] = (struct open_node){.node = node};
    return OK;
}

static int compare_keys(const void *left, const void *right) {
    const struct yaml_node *const *a = left, *const *b = right;
    return strcmp((*a)->text, (*b)->text);
}

/* A key given twice is a mistake that YAML's readers hide; sorting keeps the check cheap. */
static enum status refuse_double_keys(struct reader *reader, const struct yaml_node *map) {
    struct yaml_node **sorted = mem_new(map->count, sizeof *sorted);
    memcpy(sorted, map->keys, map->count * sizeof *sorted);
    qsort(sorted, map->count, sizeof *sorted, compare_keys);
    enum status status = OK;
    for (uint32_t i = 1; i < map->count && status == OK; i++) {
        if (strcmp(sorted[i - 1]->text, sorted[i]->text) == 0) {
            const struct yaml_node *later =
                sorted[i]->line >= sorted[i - 1]->line ? sorted[i] : sorted[i - 1];
            status = yaml_error(later, reader->err, "key '%s' is given twice", later->text);
        }
    }
    mem_free(sorted);
    return status;
}

static enum status close_collection(struct reader *reader) {
    CHECK(reader->depth > 0);
    struct open_node *open = &reader->stack[--reader->depth];
    struct yaml_node *node = open->node;
    size_t bytes = node->count * sizeof *open->items;
    node->items = arena_new(reader->arena, node->count, sizeof *open->items);
    if (node->count > 0) {
        memcpy(node->items, open->items, bytes);
    }
    if (node->kind == YAML_MAP) {
        node->keys = arena_new(reader->arena, node->count, sizeof *open->keys);
        if (node->count > 0) {
            memcpy(node->keys, open->keys, bytes);
        }
    }
    mem_free(open->items);
    mem_free(open->keys);
    return node->kind == YAML_MAP && node->count > 1 ? refuse_double_keys(reader, node) : OK;
}

static enum status take_scalar(struct reader *reader, const yaml_event_t *event) {
    struct yaml_node *node = new_node(reader, YAML_TEXT, event->start_mark);
    const char *value = (const char *)event->data.scalar.value;
    if (memchr(value, '\0', event->data.scalar.length) != NULL) {
        return at(reader, event->start_mark, "a zero byte in a text");
    }
    node->text = arena_text_n(reader->arena, value, event->data.scalar.length);
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    return place(reader, node, event->start_mark);
}

static enum status take_event(struct reader *reader, const yaml_event_t *event) {
    if (++reader->nodes > YAML_NODES) {
        return at(reader, event->start_mark, "more than 4,000,000 nodes");
    }
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return at(reader, event->start_mark, "aliases (*name) are not supported");
    case YAML_DOCUMENT_START_EVENT:
        return ++reader->documents > 1 ? at(reader, event->start_mark, "a second document") : OK;
    case YAML_SCALAR_EVENT: return take_scalar(reader, event);
    case YAML_SEQUENCE_START_EVENT: return open_collection(reader, YAML_LIST, event->start_mark);
    case YAML_MAPPING_START_EVENT: return open_collection(reader, YAML_MAP, event->start_mark);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: return close_collection(reader);
    default: return OK;
    }
}

static enum status syntax_error(struct reader *reader) {
    yaml_parser_t *parser = &reader->parser;
    yaml_mark_t mark = parser->problem_mark;
    return error_set(reader->err, ERR_USAGE, "%s:%zu:%zu: not valid YAML or JSON: %s",
                     reader->file, mark.line + 1, mark.column + 1,
                     parser->problem != NULL ? parser->problem : "out of memory");
}

static enum status read_events(struct reader *reader) {
    for (;;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&reader->parser, &event)) {
            return syntax_error(reader);
        }
        bool end = event.type == YAML_STREAM_END_EVENT;
        enum status status = take_event(reader, &event);
        yaml_event_delete(&event);
        if (status != OK || end) {
            return status;
        }
    }
}

enum status yaml_read_text(const char *name, const char *text, size_t length, struct arena *arena,
                           struct yaml_node **root, struct error *err) {
    struct reader *reader = mem_new(1, sizeof *reader);
    reader->file = arena_text(arena, name);
    reader->arena = arena;
    reader->err = err;
    enum status status;
    if (!yaml_parser_initialize(&reader->parser)) {
        status = error_set(err, ERR_FAILED, "%s: the YAML parser did not start", name);
        goto fail_parser;
    }
    yaml_parser_set_input_string(&reader->parser, (const unsigned char *)text, length);
    status = read_events(reader);
    while (reader->depth > 0) {
        struct open_node *open = &reader->stack[--reader->depth];
        mem_free(open->items);
        mem_free(open->keys);
    }
    if (status == OK && reader->root == NULL) {
        status = error_set(err, ERR_USAGE, "%s: the file is empty", name);
    }
    if (status == OK) {
        *root = reader->root;
    }
    yaml_parser_delete(&reader->parser);
fail_parser:
    mem_free(reader);
    return status;
}

static enum status read_whole(int fd, const char *path, char **text, size_t *length,
                              struct error *err) {
    struct stat info;
    if (fstat(fd, &info) != 0) {
        return error_set(err, ERR_USAGE, "cannot read '%s': %s", path, error_words(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        return error_set(err, ERR_USAGE, "cannot read '%s': not a regular file", path);
    }
    if ((uint64_t)info.st_size > YAML_FILE_BYTES) {
        return error_set(err, ERR_USAGE, "cannot read '%s': %lld bytes, at most %llu are allowed",
                         path, (long long)info.st_size, (unsigned long long)YAML_FILE_BYTES);
    }
    size_t size = (size_t)info.st_size, used = 0;
    char *buffer = mem_new(size + 1, 1);
    while (used < size) {
        ssize_t got = read(fd, buffer + used, size - used);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            mem_free(buffer);
            return error_set(err, ERR_USAGE, "cannot read '%s': %s", path, error_words(errno));
        }
        if (got == 0) {
            break;
        }
        used += (size_t)got;
    }
    *text = buffer;
    *length = used;
    return OK;
}

enum status yaml_read_file(const char *path, struct arena *arena, struct yaml_node **root,
                           struct error *err) {
    /* O_NONBLOCK: a FIFO named by mistake must not hang the program. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return error_set(err, ERR_USAGE, "cannot read '%s': %s", path, error_words(errno));
    }
    char *text = NULL;
    size_t length = 0;
    enum status status = read_whole(fd, path, &text, &length, err);
    close(fd);
    if (status != OK) {
        return status;
    }
    status = yaml_read_text(path, text, length, arena, root, err);
    mem_free(text);
    return status;
}

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key) {
    if (map == NULL || map->kind != YAML_MAP) {
        return NULL;
    }
    for (uint32_t i = 0; i < map->count; i++) {
        if (strcmp(map->keys[i]->text, key) == 0) {
            return map->items[i];
        }
    }
    return NULL;
}

bool yaml_is_null(const struct yaml_node *node) {
    if (node == NULL) {
        return true;
    }
    if (node->kind != YAML_TEXT || node->quoted) {
        return false;
    }
    return node->text[0] == '\0' || strcmp(node->text, "~") == 0 ||
           strcasecmp(node->text, "null") == 0;
}

enum status yaml_error(const struct yaml_node *node, struct error *err, const char *format, ...) {
    char text[800];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(err, ERR_USAGE, "%s:%u:%u: %s", node->file, node->line, node->column, text);
}

static enum status need_text(const struct yaml_node *node, const char *key, const char *what,
                             struct error *err) {
    if (node->kind != YAML_TEXT) {
        return yaml_error(node, err, "'%s' must be %s, not a %s", key, what,
                          node->kind == YAML_LIST ? "list" : "map");
    }
    return OK;
}

enum status yaml_count(const struct yaml_node *node, const char *key, uint64_t *value,
                       struct error *err) {
    struct error inner;
    if (need_text(node, key, "a whole number", err) != OK) {
        return ERR_USAGE;
    }
    if (units_parse_count(node->text, value, &inner) != OK) {
        return yaml_error(node, err, "'%s': %.200s", key, inner.text);
    }
    return OK;
}

enum status yaml_number(const struct yaml_node *node, const char *key, double *value,
                        struct error *err) {
    if (need_text(node, key, "a number", err) != OK) {
        return ERR_USAGE;
    }
    char *end;
    *value = strtod(node->text, &end);
    if (end == node->text || *end != '\0' || node->quoted || !(*value - *value == 0)) {
        return yaml_error(node, err, "'%s': '%.100s' is not a number", key, node->text);
    }
    return OK;
}

enum status yaml_bool(const struct yaml_node *node, const char *key, bool *value,
                      struct error *err) {
    static const char *const yes[] = {"true", "yes", "on"}, *const no[] = {"false", "no", "off"};
    if (need_text(node, key, "true or false", err) != OK) {
        return ERR_USAGE;
    }
    for (size_t i = 0; i < COUNT_OF(yes); i++) {
        if (strcasecmp(node->text, yes[i]) == 0 || strcasecmp(node->text, no[i]) == 0) {
            *value = strcasecmp(node->text, yes[i]) == 0;
            return OK;
        }
    }
    return yaml_error(node, err, "'%s': '%.100s' is not true or false", key, node->text);
}
