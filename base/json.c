#include "base/json.h"

#include "base/check.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Length of the UTF-8 sequence at text, 1 to 4; 0 where there is none. */
size_t json_utf8_length(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] < 0x80) {
        return 1;
    }
    size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool beyond = (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf4 && at[1] > 0x8f);
    return overlong || beyond ? 0 : length;
}

static void write_quoted(FILE *stream, const char *text) {
    putc('"', stream);
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        size_t length = json_utf8_length((const char *)at);
        if (length != 1) { /* what is no UTF-8 becomes the replacement character */
            fwrite(length > 0 ? (const char *)at : "\xef\xbf\xbd", length > 0 ? length : 3, 1, stream);
            at += length > 0 ? length - 1 : 0;
            continue;
        }
        switch (*at) {
        case '"': fputs("\\\"", stream); break;
        case '\\': fputs("\\\\", stream); break;
        case '\n': fputs("\\n", stream); break;
        case '\t': fputs("\\t", stream); break;
        default:
            if (*at < 0x20 || *at == 0x7f) {
                fprintf(stream, "\\u%04x", *at);
            } else {
                putc(*at, stream);
            }
        }
    }
    putc('"', stream);
}

static void start_item(struct json *json, const char *key) {
    if (json->depth > 0) {
        if (json->begun[json->depth - 1]) {
            putc(',', json->stream);
        }
        json->begun[json->depth - 1] = true;
        if (!json->one_line) {
            fprintf(json->stream, "\n%*s", json->depth * 2, "");
        }
    }
    if (key != NULL) {
        write_quoted(json->stream, key);
        fputs(json->one_line ? ":" : ": ", json->stream);
    }
}

static void begin(struct json *json, const char *key, char bracket) {
    start_item(json, key);
    putc(bracket, json->stream);
    CHECK(json->depth < JSON_DEPTH);
    json->begun[json->depth++] = false;
}

static void end(struct json *json, char bracket) {
    CHECK(json->depth > 0);
    bool begun = json->begun[--json->depth];
    if (begun && !json->one_line) {
        fprintf(json->stream, "\n%*s", json->depth * 2, "");
    }
    putc(bracket, json->stream);
    if (json->depth == 0) {
        putc('\n', json->stream);
    }
}

void json_begin_map(struct json *json, const char *key) {
    begin(json, key, '{');
}

void json_begin_list(struct json *json, const char *key) {
    begin(json, key, '[');
}

void json_end_map(struct json *json) {
    end(json, '}');
}

void json_end_list(struct json *json) {
    end(json, ']');
}

void json_text(struct json *json, const char *key, const char *text) {
    start_item(json, key);
    if (text == NULL) {
        fputs("null", json->stream);
    } else {
        write_quoted(json->stream, text);
    }
}

void json_count(struct json *json, const char *key, uint64_t value) {
    start_item(json, key);
    fprintf(json->stream, "%llu", (unsigned long long)value);
}

/* The shortest of 15 to 17 digits that reads back as the same number. */
void json_number(struct json *json, const char *key, double value) {
    start_item(json, key);
    if (!isfinite(value)) {
        fputs("null", json->stream);
        return;
    }
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    fputs(text, json->stream);
}

void json_bool(struct json *json, const char *key, bool value) {
    start_item(json, key);
    fputs(value ? "true" : "false", json->stream);
}

void json_seconds(struct json *json, const char *key, uint64_t ns) {
    start_item(json, key);
    fprintf(json->stream, "%llu.%09llu", (unsigned long long)(ns / NS_PER_SECOND),
            (unsigned long long)(ns % NS_PER_SECOND));
}
