/* Arena: a chain of blocks, each at least 64 KiB; a block is never moved, so pointers stay valid
 * until arena_fini. */
#include "base/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_BLOCK_BYTES = 64 * 1024, ARENA_ALIGN = 16 };

struct arena_block {
    struct arena_block *next;
    size_t size, used;
    _Alignas(ARENA_ALIGN) unsigned char bytes[];
};

static _Noreturn void out_of_memory(void) {
    fputs("ckptsim: out of memory\n", stderr);
    exit(3);
}

void *mem_new(size_t count, size_t size) {
    void *memory = calloc(count > 0 ? count : 1, size > 0 ? size : 1);
    if (memory == NULL) {
        out_of_memory();
    }
    return memory;
}

void *mem_resize(void *old, size_t count, size_t size) {
    void *memory = reallocarray(old, count > 0 ? count : 1, size > 0 ? size : 1);
    if (memory == NULL) {
        out_of_memory();
    }
    return memory;
}

void mem_free(void *memory) {
    free(memory);
}

static struct arena_block *arena_grow(struct arena *arena, size_t need) {
    size_t size = need > ARENA_BLOCK_BYTES ? need : ARENA_BLOCK_BYTES;
    struct arena_block *block = mem_new(1, sizeof *block + size);
    block->size = size;
    block->next = arena->block;
    arena->block = block;
    return block;
}

void *arena_new(struct arena *arena, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - ARENA_ALIGN) {
        out_of_memory();
    }
    bytes = (bytes + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    struct arena_block *block = arena->block;
    if (block == NULL || block->size - block->used < bytes) {
        block = arena_grow(arena, bytes);
    }
    void *memory = block->bytes + block->used;
    block->used += bytes;
    arena->used_bytes += bytes;
    return memory;
}

char *arena_text_n(struct arena *arena, const char *text, size_t length) {
    char *copy = arena_new(arena, length + 1, 1);
    memcpy(copy, text, length);
    return copy;
}

char *arena_text(struct arena *arena, const char *text) {
    return arena_text_n(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = arena_new(arena, (size_t)(length < 0 ? 0 : length) + 1, 1);
    va_start(args, format);
    vsnprintf(text, (size_t)(length < 0 ? 0 : length) + 1, format, args);
    va_end(args);
    return text;
}

void arena_fini(struct arena *arena) {
    while (arena->block != NULL) {
        struct arena_block *next = arena->block->next;
        mem_free(arena->block);
        arena->block = next;
    }
    arena->used_bytes = 0;
}
