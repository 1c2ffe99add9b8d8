#include "metrics/report_drive.h"

#include "base/units.h"
#include "metrics/chart.h"
#include "metrics/metric_rows.h"
#include "metrics/text_lines.h"

#include <math.h>

enum { NAME_WIDTH = 20, COMPARE_MARKS = 72 };

#define SECONDS_PER_DAY 86400.0

void report_drive_passes(const struct result *result, FILE *stream) {
    if (result->drive.name == NULL) {
        return;
    }
    fputs("\nthe drive (simulated)\n", stream);
    text_table_head(&metric_drive_passes, result, stream);
    putc('\n', stream);
    for (uint32_t i = 0; i < result->drive.pass_count; i++) {
        text_table_row(&metric_drive_passes, result, &result->drive.passes[i], stream);
        putc('\n', stream);
    }
    fputs("(WA: bytes programmed per byte written; P/E and life since the run began, years at this "
          "rate)\n", stream);
    for (uint32_t i = 0; i < result->drive.pass_count; i++) {
        const struct drive_pass *pass = &result->drive.passes[i];
        char host[TEXT_BYTES], gc[TEXT_BYTES], media[TEXT_BYTES];
        text_line(stream, i == 0 ? "bytes" : "",
                  "pass %u: host %s, copied %s, programmed %s; energy %.1f kJ", pass->pass,
                  text_bytes(pass->host_bytes, host), text_bytes(pass->gc_bytes, gc),
                  text_bytes(pass->unit_bytes + pass->gc_bytes, media),
                  pass->energy_joules / 1e3);
    }
    fputs("why\n", stream);
    for (uint32_t i = 0; i < result->drive.pass_count; i++) {
        text_line(stream, "", "pass %u: %s", result->drive.passes[i].pass,
                  result->drive.passes[i].why);
    }
}

static uint64_t longest_ns(const struct result *result) {
    struct pass_record all;
    result_all_passes(result, &all);
    return all.max_ns;
}

static void compare_passes(const struct result *const *results, size_t count, uint32_t pass,
                           FILE *stream) {
    struct pass_record first, record;
    result_pass(results[0], pass, &first);
    for (size_t i = 0; i < count; i++) {
        result_pass(results[i], pass, &record);
        if (record.checkpoints == 0) {
            fprintf(stream, "%-*s %4u  no complete checkpoint\n", NAME_WIDTH,
                    results[i]->drive.name, pass);
            continue;
        }
        const struct drive_pass *drive =
            pass <= results[i]->drive.pass_count ? &results[i]->drive.passes[pass - 1] : NULL;
        double media = drive != NULL ? (double)(drive->unit_bytes + drive->gc_bytes) : NAN;
        char relative[16] = "-"; /* the first drive may have none in this pass */
        if (first.checkpoints > 0) {
            snprintf(relative, sizeof relative, "%.2fx", record.mean_seconds / first.mean_seconds);
        }
        fprintf(stream, "%-*s %4u %6u %10.1f %10.1f %8.2f %10s %7.3f %11s\n", NAME_WIDTH,
                results[i]->drive.name, pass, record.checkpoints, record.mean_seconds,
                (double)record.max_ns / 1e9, record.bytes_per_second / 1e9,
                relative,
                drive != NULL ? media / (double)drive->host_bytes : NAN,
                drive != NULL ? drive->bottleneck : "-");
    }
}

/* Who slows, by how much and when. */
static void slowing_in_words(const struct result *result, FILE *stream) {
    struct pass_record first, last;
    uint32_t passes = result_pass_count(result);
    result_pass(result, 1, &first);
    result_pass(result, passes, &last);
    if (passes < 2 || first.checkpoints == 0 || last.checkpoints == 0) {
        return;
    }
    double change = last.mean_seconds / first.mean_seconds - 1;
    double worst = 0;
    uint32_t worst_at = 0;
    for (uint32_t i = 0; i < result->checkpoint_count; i++) {
        double seconds = (double)result->checkpoints[i].duration_ns / 1e9;
        if (result->checkpoints[i].complete && seconds > worst) {
            worst = seconds;
            worst_at = i + 1;
        }
    }
    const struct drive_pass *drive = &result->drive.passes[result->drive.pass_count - 1];
    text_line(stream, "",
              "%s %s %.1f %% from pass 1 to pass %u (%.1f s to %.1f s per checkpoint), its slowest "
              "is checkpoint %u of the run with %.1f s; in pass %u %s",
              result->drive.name, change >= 0 ? "slows by" : "gains", fabs(change) * 100, passes,
              first.mean_seconds, last.mean_seconds, worst_at, worst, passes, drive->why);
}

/* What a day of checkpoints without a rest costs in life, and what one an hour would. */
static void life_in_words(const struct result *result, FILE *stream) {
    const struct drive_result *drive = &result->drive;
    if (drive->pass_count == 0 || drive->rated_media_bytes <= 0) {
        return;
    }
    const struct drive_pass *pass = &drive->passes[drive->pass_count - 1];
    struct pass_record record;
    result_pass(result, pass->pass, &record);
    if (record.checkpoints == 0) {
        return;
    }
    double media = (double)(pass->unit_bytes + pass->gc_bytes);
    double per_day = media / ((double)pass->elapsed_ns / 1e9) * SECONDS_PER_DAY;
    double hourly = 24 * media / record.checkpoints;
    text_line(stream, "",
              "%s: a day of checkpoints one after another programs %.1f TB, %.3f %% of its rated "
              "life (worn out after %.1f years); one checkpoint an hour, %.3f %% a day",
              drive->name, per_day / 1e12, 100 * per_day / drive->rated_media_bytes,
              pass->years_to_wear_out, 100 * hourly / drive->rated_media_bytes);
}

void report_compare(const struct result *const *results, size_t count, FILE *stream) {
    uint32_t passes = 0;
    uint64_t top_ns = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t own = result_pass_count(results[i]);
        passes = own > passes ? own : passes;
        uint64_t longest = longest_ns(results[i]);
        top_ns = longest > top_ns ? longest : top_ns;
    }
    fprintf(stream, "\ncomparison (simulated; relative to %s)\n%-*s %4s %6s %10s %10s %8s %10s %7s %11s\n",
            results[0]->drive.name, NAME_WIDTH, "drive", "pass", "ckpts", "mean s", "max s", "GB/s",
            "relative", "WA", "bottleneck");
    for (uint32_t pass = 1; pass <= passes; pass++) {
        compare_passes(results, count, pass, stream);
    }
    fprintf(stream, "\nseconds per checkpoint over the run, heights from 0 to %.1f s\n",
            (double)top_ns / 1e9);
    for (size_t i = 0; i < count; i++) {
        fprintf(stream, "%-*s ", NAME_WIDTH, results[i]->drive.name);
        uint32_t group = chart_write(results[i], top_ns, COMPARE_MARKS, stream);
        fprintf(stream, " (a mark is %u)\n", group);
    }
    fputs("who slows, and when\n", stream);
    for (size_t i = 0; i < count; i++) {
        slowing_in_words(results[i], stream);
    }
    fputs("what it costs in life\n", stream);
    for (size_t i = 0; i < count; i++) {
        life_in_words(results[i], stream);
    }
}

void report_compare_csv(const struct result *const *results, size_t count, FILE *stream) {
    fputs("drive,pass,checkpoint,run_checkpoint,start_seconds,seconds,bytes_per_second,"
          "relative_to_first_drives_pass\n", stream);
    for (size_t i = 0; i < count; i++) {
        struct pass_record first = {0}; /* the first drive's, of the pass of the line */
        for (uint32_t k = 0; k < results[i]->checkpoint_count; k++) {
            const struct checkpoint_record *record = &results[i]->checkpoints[k];
            if (record->pass != first.pass) {
                result_pass(results[0], record->pass, &first);
            }
            double seconds = (double)record->duration_ns / 1e9;
            fprintf(stream, "%s,%u,%u,%u,%.9f,%.9f,%.0f,", results[i]->drive.name, record->pass,
                    record->checkpoint, k + 1, (double)record->start_ns / 1e9, seconds,
                    (double)record->bytes / seconds);
            if (first.checkpoints > 0) {
                fprintf(stream, "%.6f", seconds / first.mean_seconds);
            }
            putc('\n', stream);
        }
    }
}
