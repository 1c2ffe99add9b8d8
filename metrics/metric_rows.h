#ifndef CKPTSIM_METRICS_METRIC_ROWS_H
#define CKPTSIM_METRICS_METRIC_ROWS_H

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/yaml.h"
#include "metrics/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* One row per metric. From the row come the key in result.json, the head in CSV, the column in
 * text, better-or-worse and docs/metrics.md. To add a metric: one row in metric_rows.c. */

enum metric_kind {
    METRIC_COUNT,    /* a whole number */
    METRIC_NS,       /* uint64_t ns, written as seconds with nine decimals */
    METRIC_SECONDS,  /* double */
    METRIC_BYTES,    /* uint64_t */
    METRIC_RATE,     /* double, bytes/s; GB/s in text */
    METRIC_GIB_RATE, /* double, GiB/s: where DLIO's own unit is kept */
    METRIC_SHARE,    /* double; 0.05 is 5 % in text */
    METRIC_NUMBER,   /* double, of no unit: a ratio like write amplification */
    METRIC_FLAG,     /* bool */
    METRIC_TEXT,     /* const char * */
};

enum metric_better { METRIC_NEITHER, METRIC_LOWER, METRIC_HIGHER };

struct metric_value {
    bool known;     /* false: null in JSON, empty in CSV, "-" in text */
    uint64_t whole; /* COUNT, NS, BYTES, FLAG */
    double number;  /* SECONDS, RATE, GIB_RATE, SHARE */
    const char *text;
};

struct metric_row {
    const char *key;   /* unit at the end; the head in CSV too */
    const char *title; /* of the text column */
    int width;         /* of the text column; 0: not in the text table */
    enum metric_kind kind;
    enum metric_better better;
    size_t field, size; /* where a recorded value lies in the record; size 0: it is computed */
    /* Computes one that is not recorded; result may be needed for what lies outside the record. */
    struct metric_value (*compute)(const struct metric_row *row, const struct result *result,
                                   const void *record);
    double share;     /* of a percentile */
    bool copied_only; /* the text column is there only where state is copied into memory first */
    const char *help; /* one sentence, lower case, no full stop */
};

struct metric_table {
    const char *name;  /* the key in result.json */
    const char *about; /* one sentence for docs/metrics.md */
    const struct metric_row *rows;
    size_t count;
};

extern const struct metric_table metric_checkpoints; /* of struct checkpoint_record */
extern const struct metric_table metric_passes;      /* of struct pass_record */
extern const struct metric_table metric_truths;      /* of struct truth */
extern const struct metric_table metric_drive_passes; /* of struct drive_pass; `pass` comes first */
extern const struct metric_table metric_reads;       /* of struct read_record */
extern const struct metric_table metric_read_statistics; /* of struct read_statistics */
extern const struct metric_table metric_latencies;   /* of struct histogram */

struct metric_value metric_get(const struct metric_row *row, const struct result *result,
                               const void *record);
/* The row of a key, or NULL. */
const struct metric_row *metric_find(const struct metric_table *table, const char *key);

/* One record as key and value pairs into the map that is open. */
void metric_write_json(const struct metric_table *table, const struct result *result,
                       const void *record, struct json *json);
/* Takes back what metric_write_json wrote: the recorded values; computed ones are passed over. A
 * key that is missing or wrong is an error. */
enum status metric_read(const struct metric_table *table, const struct yaml_node *map,
                        struct arena *arena, void *record, struct error *err);

/* A value as the text table shows it, without padding: "467.930", "3.50", "-". Returns buffer. */
const char *metric_text(const struct metric_row *row, struct metric_value value, char *buffer,
                        size_t size);

/* docs/metrics.md. */
void metrics_write_docs(FILE *stream);

#endif
