#include "metrics/text_lines.h"

#include "base/units.h"

#include <stdarg.h>
#include <string.h>

/* Characters, not bytes, of the first `length` bytes: continuation bytes of UTF-8 take no column.
 */
static int columns_of(const char *text, size_t length) {
    int columns = 0;
    for (size_t i = 0; i < length; i++) {
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return columns;
}

static void fold(FILE *stream, const char *words) {
    int column = TEXT_LABEL;
    while (*words != '\0') {
        size_t length = strcspn(words, " ");
        int width = columns_of(words, length);
        if (column > TEXT_LABEL && column + 1 + width > TEXT_COLUMNS) {
            fprintf(stream, "\n%*s", TEXT_LABEL, "");
            column = TEXT_LABEL;
        } else if (column > TEXT_LABEL) {
            putc(' ', stream);
            column++;
        }
        fwrite(words, 1, length, stream);
        column += width;
        words += length;
        words += strspn(words, " ");
    }
}

void text_line(FILE *stream, const char *label, const char *format, ...) {
    char words[TEXT_LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    fprintf(stream, "%-*s", TEXT_LABEL, label);
    fold(stream, words);
    putc('\n', stream);
}

const char *text_bytes(uint64_t bytes, char *buffer) {
    char decimal[UNITS_TEXT], binary[UNITS_TEXT];
    snprintf(buffer, TEXT_BYTES, "%s (%s)", units_gb(bytes, decimal), units_gib(bytes, binary));
    return buffer;
}

/* "size_bytes" is "size" where its value carries the unit, "mount_point" is "mount point". */
static void fact_name(const char *key, bool is_bytes, char *name, size_t size) {
    size_t length = strlen(key) - (is_bytes ? strlen("_bytes") : 0);
    snprintf(name, size, "%.*s", (int)length, key);
    for (char *at = name; *at != '\0'; at++) {
        *at = *at == '_' ? ' ' : *at;
    }
}

static bool counts_bytes(const struct fact *fact) {
    size_t length = strlen(fact->key);
    return fact->text == NULL && length > 6 && strcmp(fact->key + length - 6, "_bytes") == 0;
}

const char *text_facts(const struct facts *facts, char *buffer, size_t size) {
    size_t used = 0;
    buffer[0] = '\0';
    for (uint32_t i = 0; i < facts->count && used < size; i++) {
        const struct fact *fact = &facts->items[i];
        char name[64], number[TEXT_BYTES];
        bool is_bytes = counts_bytes(fact);
        fact_name(fact->key, is_bytes, name, sizeof name);
        const char *value = fact->text;
        if (value == NULL) {
            value =
                is_bytes ? text_bytes(fact->number, number) : units_grouped(fact->number, number);
        }
        int length =
            snprintf(buffer + used, size - used, "%s%s %s", i > 0 ? ", " : "", name, value);
        used += length > 0 ? (size_t)length : 0;
    }
    return buffer;
}

static bool is_shown(const struct metric_row *row, const struct result *result) {
    bool copied = result != NULL && result->plan.snapshot_bytes > 0;
    return row->width > 0 && (!row->copied_only || copied);
}

void text_table_head(const struct metric_table *table, const struct result *result, FILE *stream) {
    const char *space = "";
    for (size_t i = 0; i < table->count; i++) {
        if (is_shown(&table->rows[i], result)) {
            fprintf(stream, "%s%*s", space, table->rows[i].width, table->rows[i].title);
            space = " ";
        }
    }
}

void text_table_row(const struct metric_table *table, const struct result *result,
                    const void *record, FILE *stream) {
    const char *space = "";
    for (size_t i = 0; i < table->count; i++) {
        const struct metric_row *row = &table->rows[i];
        if (is_shown(row, result)) {
            char cell[64];
            metric_text(row, metric_get(row, result, record), cell, sizeof cell);
            fprintf(stream, "%s%*s", space, row->width, cell);
            space = " ";
        }
    }
}
