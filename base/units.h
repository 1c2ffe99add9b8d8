#ifndef CKPTSIM_BASE_UNITS_H
#define CKPTSIM_BASE_UNITS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Sizes, durations and fractions as people write them. GB is 10^9 bytes and GiB is 2^30, always. */

enum { UNITS_TEXT = 32 };

#define NS_PER_SECOND UINT64_C(1000000000)

/* "8MiB", "2GB", "4096", "1.5 TiB" -> bytes. Error text says what is wrong with the word alone. */
enum status units_parse_size(const char *text, uint64_t *bytes, struct error *err);
/* "5s", "200ms", "1.5h", "2m", "0" -> nanoseconds. */
enum status units_parse_duration(const char *text, uint64_t *ns, struct error *err);
/* "0.001", "1/1000", "88%" -> a finite number >= 0. */
enum status units_parse_number(const char *text, double *value, struct error *err);
/* A whole number: digits only. */
enum status units_parse_count(const char *text, uint64_t *value, struct error *err);

/* Writers into a caller's buffer of UNITS_TEXT characters; each returns the buffer. */
const char *units_gb(uint64_t bytes, char *buffer);        /* "1,636.2 GB", small ones in MB, kB, B */
const char *units_gib(uint64_t bytes, char *buffer);       /* "1,523.8 GiB" */
const char *units_rate(double bytes_per_second, char *buffer); /* "3.41 GB/s" */
const char *units_seconds(uint64_t ns, char *buffer);      /* "467.930 s" */
const char *units_span(uint64_t ns, char *buffer);         /* "1 h 02 m", "12 s": for progress */
const char *units_grouped(uint64_t value, char *buffer);   /* "1,636,164,354,048" */

#endif
