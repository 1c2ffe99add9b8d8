#ifndef CKPTSIM_BASE_JSON_H
#define CKPTSIM_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Writes JSON to a stream, indented or on one line. A key of NULL is an element of an array. The
 * caller keeps begin and end in pairs; commas and indents come by themselves. Write errors stay in
 * the stream (ferror). */

enum { JSON_DEPTH = 16 };

struct json {
    FILE *stream;
    bool one_line;
    int depth;
    bool begun[JSON_DEPTH]; /* something was already written on this level */
};

void json_begin_map(struct json *json, const char *key);
void json_begin_list(struct json *json, const char *key);
void json_end_map(struct json *json);
void json_end_list(struct json *json);
void json_text(struct json *json, const char *key, const char *text); /* NULL writes null */
void json_count(struct json *json, const char *key, uint64_t value);
void json_number(struct json *json, const char *key, double value); /* not finite writes null */
void json_bool(struct json *json, const char *key, bool value);
void json_seconds(struct json *json, const char *key, uint64_t ns); /* exact decimal seconds */

/* Length of the UTF-8 sequence at text, 1 to 4; 0 where there is none. */
size_t json_utf8_length(const char *text);

#endif
