#ifndef CKPTSIM_MODELS_SHARD_NAME_H
#define CKPTSIM_MODELS_SHARD_NAME_H

#include "models/layout.h"

#include <string.h>

/* Puts a shard's path together. A plan may have millions of files and their names are made anew
 * whenever one is asked for, which printf would make several times slower. */

struct shard_name {
    struct shard_file *file;
    size_t used;
};

/* Never longer than a path: what does not fit is left out. */
static inline void shard_name_text(struct shard_name *name, const char *text) {
    size_t length = strlen(text);
    if (length < SHARD_PATH - name->used) {
        memcpy(name->file->path + name->used, text, length + 1);
        name->used += length;
    }
}

/* With zeros in front, to at least `width` digits; at most 20. */
static inline void shard_name_padded(struct shard_name *name, uint64_t number, size_t width) {
    char digits[21];
    size_t first = sizeof digits - 1, last = first;
    digits[first] = '\0';
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0 || last - first < width);
    size_t length = sizeof digits - 1 - first;
    if (length < SHARD_PATH - name->used) {
        char *to = name->file->path + name->used;
        for (size_t i = 0; i <= length; i++) {
            to[i] = digits[first + i];
        }
        name->used += length;
    }
}

static inline void shard_name_number(struct shard_name *name, uint64_t number) {
    shard_name_padded(name, number, 1);
}

/* What was appended last ends a folder: the file's own name begins here. */
static inline void shard_name_folder(struct shard_name *name) {
    shard_name_text(name, "/");
    name->file->name = name->file->path + name->used;
}

#endif
