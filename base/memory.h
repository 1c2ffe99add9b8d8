#ifndef CKPTSIM_BASE_MEMORY_H
#define CKPTSIM_BASE_MEMORY_H

#include <stddef.h>

/* Memory. A failed allocation ends the program here, in one place, with exit code 3; nobody else
 * tests for NULL. What lives as long as the run comes from an arena. */

/* Zeroed memory for count objects of size bytes; overflow counts as out of memory. */
void *mem_new(size_t count, size_t size);
/* Grows or shrinks; new bytes are not zeroed. */
void *mem_resize(void *old, size_t count, size_t size);
void mem_free(void *memory);

struct arena_block;

struct arena {
    struct arena_block *block;
    size_t used_bytes; /* in all blocks, for memory limits and tests */
};

/* An all-zero struct arena is a valid empty arena. */
void *arena_new(struct arena *arena, size_t count, size_t size);
char *arena_text(struct arena *arena, const char *text);
char *arena_text_n(struct arena *arena, const char *text, size_t length);
char *arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void arena_fini(struct arena *arena);

#endif
