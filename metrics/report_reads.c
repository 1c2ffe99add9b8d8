/* Restores in the text report. */
#include "metrics/report_reads.h"

#include "base/units.h"
#include "metrics/metric_rows.h"
#include "metrics/read_statistics.h"
#include "metrics/text_lines.h"

#include <math.h>
#include <string.h>

static const char *verified_words(const struct result *result) {
    if (result->kind == RESULT_SIMULATED) {
        return "a simulated drive holds no bytes: nothing is verified";
    }
    return result->restore.verify ? "every byte read is compared with what was written"
                                  : "NOTHING IS VERIFIED (--no-verify)";
}

static void write_bytes(const struct result_restore *restore, FILE *stream) {
    char bytes[TEXT_BYTES], part[TEXT_BYTES], count[UNITS_TEXT];
    text_line(stream, "", "each reads %s of %s files%s%s%s", text_bytes(restore->bytes, bytes),
              units_grouped(restore->files, count),
              restore->needed_bytes < restore->bytes ? ", " : "",
              restore->needed_bytes < restore->bytes ? text_bytes(restore->needed_bytes, part) : "",
              restore->needed_bytes < restore->bytes ? " of it needed (computed)" : "");
    if (restore->distinct_bytes < restore->bytes) {
        text_line(stream, "",
                  "several ranks read the same: without that it is %s (computed). Through the page "
                  "cache the second reader finds it there; with --direct on each reads the drive",
                  text_bytes(restore->distinct_bytes, bytes));
    }
}

void report_restore_plan(const struct result *result, FILE *stream) {
    const struct result_restore *restore = &result->restore;
    char how[TEXT_LINE] = "each what it wrote";
    if (restore->reads == 0) {
        return;
    }
    if (restore->reshard != NULL) {
        snprintf(how, sizeof how, "as %s", restore->reshard);
    } else if (restore->rank_shift > 0) {
        snprintf(how, sizeof how, "each what the rank %llu behind it wrote",
                 (unsigned long long)restore->rank_shift);
    }
    text_line(stream, "restores", "%llu of checkpoint %s by %llu ranks, %s%s; %s",
              (unsigned long long)restore->reads, restore->checkpoint,
              (unsigned long long)restore->ranks, how,
              strcmp(restore->readers, "all") == 0
                  ? ""
                  : "; the first of each data parallel group reads for its group",
              verified_words(result));
    write_bytes(restore, stream);
}

void report_read_head(FILE *stream) {
    text_table_head(&metric_reads, NULL, stream);
    putc('\n', stream);
}

void report_read_row(const struct result *result, const struct read_record *record, FILE *stream) {
    text_table_row(&metric_reads, result, record, stream);
    fputs(!record->complete ? " !\n" : record->cached ? " c\n" : "\n", stream);
    if (!record->complete) {
        text_line(stream, "   ! broken", "%s",
                  record->note != NULL ? record->note : "it did not end; the reason is not known");
    }
}

static void write_statistics(const struct result *result, const struct read_statistics *statistics,
                             FILE *stream) {
    text_table_head(&metric_read_statistics, result, stream);
    putc('\n', stream);
    text_table_row(&metric_read_statistics, result, statistics, stream);
    fputs("\n(restores: seconds per complete, cold restore, by its slowest rank)\n", stream);
}

void report_reads(const struct result *result, FILE *stream) {
    struct read_statistics statistics;
    read_statistics(result, &statistics);
    if (statistics.restores > 0) {
        write_statistics(result, &statistics, stream);
    } else {
        text_line(stream, "restores", "there is no cold read: %s",
                  statistics.cached > 0
                      ? "what was read was in the page cache (marked c), as on a file system in "
                        "memory it always is, or the kernel does not tell (cached B is - then: it "
                        "tells only those who own the files or may write them); these times say "
                        "nothing of a drive"
                      : "no restore completed");
    }
    if (statistics.restores > 0 && statistics.cached > 0) {
        text_line(stream, "", "%u more came from the page cache (marked c) and are left out",
                  statistics.cached);
    }
    text_line(stream, "verified", "%s", verified_words(result));
    putc('\n', stream);
}
