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

static inline void shard_name_text(struct shard_name *name, const char *text) {
    size_t length = strlen(text);
    size_t room = SHARD_PATH - 1 - name->used;
    length = length < room ? length : room;
    memcpy(name->file->path + name->used, text, length);
    name->used += length;
    name->file->path[name->used] = '\0';
}

static inline void shard_name_number(struct shard_name *name, uint64_t number) {
    char digits[21];
    char *at = digits + sizeof digits - 1;
    *at = '\0';
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    shard_name_text(name, at);
}

#endif
