#include "metrics/report_csv.h"

#include "base/json.h"
#include "metrics/metric_rows.h"
#include "metrics/output.h"

#include <limits.h>
#include <string.h>

static void write_quoted(const char *text, FILE *stream) {
    if (strpbrk(text, ",\"\n\r") == NULL) {
        fputs(text, stream);
        return;
    }
    putc('"', stream);
    for (; *text != '\0'; text++) {
        if (*text == '"') {
            putc('"', stream);
        }
        putc(*text, stream);
    }
    putc('"', stream);
}

/* Numbers look the same as in JSON; so the JSON writer writes them. */
static void write_value(const struct metric_row *row, struct metric_value value, FILE *stream) {
    struct json json = {.stream = stream, .one_line = true};
    if (!value.known) {
        return;
    }
    switch (row->kind) {
    case METRIC_COUNT:
    case METRIC_BYTES: json_count(&json, NULL, value.whole); break;
    case METRIC_NS: json_seconds(&json, NULL, value.whole); break;
    case METRIC_FLAG: json_bool(&json, NULL, value.whole != 0); break;
    case METRIC_TEXT: write_quoted(value.text, stream); break;
    case METRIC_SECONDS:
    case METRIC_RATE:
    case METRIC_GIB_RATE:
    case METRIC_SHARE:
    case METRIC_NUMBER: json_number(&json, NULL, value.number); break;
    }
}

static void write_head(const struct metric_table *table, FILE *stream) {
    for (size_t i = 0; i < table->count; i++) {
        fprintf(stream, "%s%s", i > 0 ? "," : "", table->rows[i].key);
    }
    putc('\n', stream);
}

static void write_record(const struct metric_table *table, const struct result *result,
                         const void *record, FILE *stream) {
    for (size_t i = 0; i < table->count; i++) {
        if (i > 0) {
            putc(',', stream);
        }
        write_value(&table->rows[i], metric_get(&table->rows[i], result, record), stream);
    }
    putc('\n', stream);
}

void report_csv_checkpoints(const struct result *result, FILE *stream) {
    write_head(&metric_checkpoints, stream);
    for (uint32_t i = 0; i < result->checkpoint_count; i++) {
        write_record(&metric_checkpoints, result, &result->checkpoints[i], stream);
    }
}

void report_csv_passes(const struct result *result, FILE *stream) {
    write_head(&metric_passes, stream);
    for (uint32_t pass = 1; pass <= result_pass_count(result); pass++) {
        struct pass_record record;
        result_pass(result, pass, &record);
        write_record(&metric_passes, result, &record, stream);
    }
}

void report_csv_reads(const struct result *result, FILE *stream) {
    write_head(&metric_reads, stream);
    for (uint32_t i = 0; i < result->read_count; i++) {
        write_record(&metric_reads, result, &result->reads[i], stream);
    }
}

void report_csv_drive_passes(const struct result *result, FILE *stream) {
    write_head(&metric_drive_passes, stream);
    for (uint32_t i = 0; i < result->drive.pass_count; i++) {
        write_record(&metric_drive_passes, result, &result->drive.passes[i], stream);
    }
}

enum status report_csv_write(const struct result *result, const char *folder, struct error *err) {
    static const struct {
        const char *name;
        output_writer *write;
    } files[] = {{"checkpoints.csv", report_csv_checkpoints}, {"passes.csv", report_csv_passes}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", folder, files[i].name);
        enum status status = output_write(path, result, files[i].write, err);
        if (status != OK) {
            return status;
        }
    }
    return OK;
}
