#ifndef CKPTSIM_METRICS_TEXT_LINES_H
#define CKPTSIM_METRICS_TEXT_LINES_H

#include "base/facts.h"
#include "metrics/metric_rows.h"

#include <stdint.h>
#include <stdio.h>

/* How text reports are laid out: labelled lines and tables, none wider than TEXT_COLUMNS. */

enum { TEXT_COLUMNS = 100, TEXT_LABEL = 16, TEXT_LINE = 8192, TEXT_BYTES = 80 };

/* "label          words ..." with the words folded under each other. */
void text_line(FILE *stream, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "2.1 GB (2.0 GiB)": both units, each under its own name. Returns buffer of TEXT_BYTES. */
const char *text_bytes(uint64_t bytes, char *buffer);

/* "type ext4, size 7,681.5 GB (7,153.9 GiB)": all facts in words. Returns buffer. */
const char *text_facts(const struct facts *facts, char *buffer, size_t size);

/* The heads and one record of the columns that have a width, ending without a newline. The result says
 * which columns are there; NULL: those that always are. */
void text_table_head(const struct metric_table *table, const struct result *result, FILE *stream);
void text_table_row(const struct metric_table *table, const struct result *result,
                    const void *record, FILE *stream);

#endif
