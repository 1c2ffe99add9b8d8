#ifndef CKPTSIM_BASE_NAMES_H
#define CKPTSIM_BASE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Names as people type them: "Llama-3.1_405B" and "llama3.1-405b" are the same. */

/* True where both are equal once case and everything but letters and digits is dropped. */
bool names_equal(const char *left, const char *right);

/* Edit distance of the two simplified names, at most 255; for "did you mean". */
unsigned names_distance(const char *left, const char *right);

/* Writes up to three of the given names nearest to `wanted`, ", " between them, into buffer. */
void names_nearest(const char *wanted, const char *const *names, size_t count, char *buffer,
                   size_t size);

#endif
