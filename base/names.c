#include "base/names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_CHARS = 64, NEAREST = 3 };

static size_t simplify(const char *name, char *out) {
    size_t length = 0;
    for (; *name != '\0' && length + 1 < NAME_MAX_CHARS; name++) {
        if (isalnum((unsigned char)*name)) {
            out[length++] = (char)tolower((unsigned char)*name);
        }
    }
    out[length] = '\0';
    return length;
}

bool names_equal(const char *left, const char *right) {
    char a[NAME_MAX_CHARS], b[NAME_MAX_CHARS];
    simplify(left, a);
    simplify(right, b);
    return a[0] != '\0' && strcmp(a, b) == 0;
}

static unsigned least(unsigned a, unsigned b, unsigned c) {
    unsigned two = a < b ? a : b;
    return two < c ? two : c;
}

/* Levenshtein's distance with one row of the table. */
unsigned names_distance(const char *left, const char *right) {
    char a[NAME_MAX_CHARS], b[NAME_MAX_CHARS];
    size_t rows = simplify(left, a), columns = simplify(right, b);
    unsigned row[NAME_MAX_CHARS];
    for (size_t j = 0; j <= columns; j++) {
        row[j] = (unsigned)j;
    }
    for (size_t i = 1; i <= rows; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= columns; j++) {
            unsigned change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = least(row[j] + 1, row[j - 1] + 1, change);
        }
    }
    return row[columns];
}

void names_nearest(const char *wanted, const char *const *names, size_t count, char *buffer,
                   size_t size) {
    const char *best[NEAREST] = {NULL};
    unsigned distance[NEAREST] = {255, 255, 255};
    for (size_t i = 0; i < count; i++) {
        unsigned d = names_distance(wanted, names[i]);
        const char *name = names[i];
        for (size_t k = 0; k < NEAREST; k++) { /* insertion into the sorted best */
            if (d < distance[k]) {
                unsigned old = distance[k];
                const char *old_name = best[k];
                distance[k] = d;
                best[k] = name;
                d = old;
                name = old_name;
            }
        }
    }
    size_t used = 0;
    buffer[0] = '\0';
    for (size_t k = 0; k < NEAREST && best[k] != NULL && used < size; k++) {
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", k > 0 ? ", " : "", best[k]);
    }
}
