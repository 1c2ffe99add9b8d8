#include "cli/outputs.h"

#include "metrics/output.h"
#include "metrics/report_csv.h"
#include "metrics/report_drive.h"
#include "metrics/result_json.h"
#include "metrics/summary_dlio.h"

#include <errno.h>

enum status outputs_write(const struct result *result, const char *folder, struct arena *arena,
                          struct error *err) {
    static const struct {
        const char *name;
        output_writer *write;
    } outputs[] = {{"checkpoints.csv", report_csv_checkpoints},
                   {"passes.csv", report_csv_passes},
                   {"summary.json", summary_dlio_write_stream},
                   {"result.json", result_write_stream}};
    bool wrote = result->plan.passes > 0 || result->restore.reads == 0;
    if (result->drive.name != NULL) {
        const char *path = arena_printf(arena, "%s/drive_passes.csv", folder);
        enum status status = output_write(path, result, report_csv_drive_passes, err);
        if (status != OK) {
            return status;
        }
    }
    if (result->restore.reads > 0) {
        const char *path = arena_printf(arena, "%s/reads.csv", folder);
        enum status status = output_write(path, result, report_csv_reads, err);
        if (status != OK) {
            return status;
        }
    }
    for (size_t i = wrote ? 0 : 2; i < sizeof outputs / sizeof outputs[0]; i++) {
        const char *path = arena_printf(arena, "%s/%s", folder, outputs[i].name);
        enum status status = output_write(path, result, outputs[i].write, err);
        if (status != OK) {
            return status;
        }
    }
    return OK;
}

enum status outputs_write_comparison(const struct result *const *results, size_t count,
                                     const char *folder, struct arena *arena, struct error *err) {
    const char *path = arena_printf(arena, "%s/comparison.csv", folder);
    FILE *stream = fopen(path, "we");
    if (stream == NULL) {
        return error_set(err, ERR_FAILED, "cannot write '%s': %s", path, error_words(errno));
    }
    report_compare_csv(results, count, stream);
    bool good = ferror(stream) == 0;
    good = fclose(stream) == 0 && good;
    return good ? OK : error_set(err, ERR_FAILED, "cannot write '%s': %s", path,
                                 error_words(errno));
}
