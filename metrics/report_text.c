/* The plan and the rows of checkpoints; the end of the report is in report_passes.c. */
#include "metrics/report_text.h"

#include "base/units.h"
#include "metrics/metric_rows.h"
#include "metrics/report_reads.h"
#include "metrics/report_strategy.h"
#include "metrics/text_lines.h"

#include <string.h>

static const char *or_unknown(const char *text) { return text != NULL ? text : "unknown"; }

static void write_ranks(const struct result_plan *plan, FILE *stream) {
    unsigned long long all = (unsigned long long)(plan->tp * plan->pp * plan->dp);
    if (plan->ranks != all) {
        text_line(stream, "ranks",
                  "the first %llu of %llu = TP %llu x PP %llu x DP %llu, ZeRO stage %llu",
                  (unsigned long long)plan->ranks, all, (unsigned long long)plan->tp,
                  (unsigned long long)plan->pp, (unsigned long long)plan->dp,
                  (unsigned long long)plan->zero_stage);
    } else {
        text_line(stream, "ranks", "%llu = TP %llu x PP %llu x DP %llu, ZeRO stage %llu", all,
                  (unsigned long long)plan->tp, (unsigned long long)plan->pp,
                  (unsigned long long)plan->dp, (unsigned long long)plan->zero_stage);
    }
}

static void write_sizes(const struct result_plan *plan, FILE *stream) {
    char all[TEXT_BYTES], model[TEXT_BYTES], optimizer[TEXT_BYTES], count[UNITS_TEXT];
    text_line(stream, "checkpoint", "%s in %s files; model %s, optimizer %s",
              text_bytes(plan->checkpoint_bytes, all), units_grouped(plan->files, count),
              text_bytes(plan->model_bytes, model), text_bytes(plan->optimizer_bytes, optimizer));
    uint64_t tensors = plan->model_bytes + plan->optimizer_bytes;
    if (tensors > 0 && plan->checkpoint_bytes > tensors) {
        text_line(stream, "", "the rest, %s, is what the format puts around tensors",
                  text_bytes(plan->checkpoint_bytes - tensors, all));
    }
    text_line(stream, plan->passes > 0 ? "a rank writes" : "a rank wrote", "%s to %s", text_bytes(plan->smallest_rank_bytes, model),
              text_bytes(plan->largest_rank_bytes, all));
    if (plan->scale < 1) {
        text_line(stream, "scale",
                  "%g: every tensor is shrunk by this, so sizes above are not the "
                  "model's own",
                  plan->scale);
    } else {
        text_line(stream, "scale", "1, full size");
    }
}

static void write_amount(const struct result_plan *plan, FILE *stream) {
    char bytes[TEXT_BYTES];
    const char *passes = plan->passes == 1 ? "pass" : "passes";
    if (plan->checkpoints_per_pass > 0) {
        text_line(stream, "run", "%llu %s x %llu checkpoints, %s in all (computed)",
                  (unsigned long long)plan->passes, passes,
                  (unsigned long long)plan->checkpoints_per_pass,
                  text_bytes(plan->run_bytes, bytes));
    } else {
        text_line(stream, "run", "%llu %s, each until the drive is as full as asked",
                  (unsigned long long)plan->passes, passes);
    }
}

static void write_means(const struct result *result, FILE *stream) {
    const struct result_plan *plan = &result->plan;
    char bytes[TEXT_BYTES], rate[UNITS_TEXT], words[TEXT_LINE];
    const struct {
        const char *label;
        const struct facts *facts;
    } found[] = {{"engine", &result->engine},
                 {"file system", &result->file_system},
                 {"device", &result->device},
                 {"machine", &result->machine}};
    for (size_t i = 0; i < sizeof found / sizeof found[0]; i++) {
        if (result->kind == RESULT_SIMULATED && found[i].facts->count == 0) {
            continue; /* it runs on nothing in particular */
        }
        const char *text = text_facts(found[i].facts, words, sizeof words);
        text_line(stream, found[i].label, "%s", text[0] != '\0' ? text : "unknown");
    }
    text_line(stream, "memory", "%s at most%s", text_bytes(plan->memory_bytes, bytes),
              result->kind == RESULT_SIMULATED ? " for the drive's tables" : "");
    if (plan->payload_bytes_per_second > 0) {
        text_line(stream, "payload",
                  "one worker makes %s (measured): a ceiling per worker that is ours, not "
                  "the drive's",
                  units_rate(plan->payload_bytes_per_second, rate));
    }
}

/* Given is what stands otherwise than its default; the same word given again is no difference. */
static bool differs(const struct setting_row *row, const struct setting_value *value) {
    if (value->text == NULL || strcmp(value->origin, "default") == 0) {
        return false;
    }
    return row->fallback == NULL || strcmp(row->fallback, value->text) != 0;
}

static void write_settings(const struct settings *settings, FILE *stream) {
    char words[TEXT_LINE];
    size_t used = 0;
    words[0] = '\0';
    for (size_t i = 0; settings != NULL && i < settings->count && used < sizeof words; i++) {
        const struct setting_value *value = &settings->values[i];
        if (differs(&settings->rows[i], value)) {
            int length =
                snprintf(words + used, sizeof words - used, "%s%s %s (%s)", used > 0 ? ", " : "",
                         settings->rows[i].name, value->text, value->origin);
            used += length > 0 ? (size_t)length : 0;
        }
    }
    text_line(stream, "not default", "%s", words[0] != '\0' ? words : "nothing");
}

void report_plan(const struct result *result, FILE *stream) {
    const struct result_plan *plan = &result->plan;
    char count[UNITS_TEXT];
    text_line(stream, "model", "%s, %s parameters", or_unknown(plan->model),
              units_grouped(plan->parameters, count));
    text_line(stream, "layout", "%s; leaves out: %s", or_unknown(plan->layout),
              plan->layout_leaves_out != NULL ? plan->layout_leaves_out : "nothing");
    if (plan->format != NULL) {
        text_line(stream, "format", "%s%s", plan->format,
                  strcmp(plan->format, "raw") == 0 ? ": the tensors' bytes alone, no container" : "");
    }
    if (plan->codec != NULL) {
        text_line(stream, "codec", "%s, compressed by %llu workers; bytes and rates "
                                   "are those before it but where stored is said",
                  plan->codec, (unsigned long long)plan->codec_workers);
    }
    write_ranks(plan, stream);
    write_sizes(plan, stream);
    if (plan->passes > 0) {
        write_amount(plan, stream);
    }
    report_strategy_plan(result, stream);
    report_restore_plan(result, stream);
    write_means(result, stream);
    write_settings(result->settings, stream);
}

void report_checkpoint_head(const struct result *result, FILE *stream) {
    text_table_head(&metric_checkpoints, result, stream);
    putc('\n', stream);
}

void report_checkpoint_row(const struct result *result, const struct checkpoint_record *record,
                           FILE *stream) {
    text_table_row(&metric_checkpoints, result, record, stream);
    fputs(record->complete ? "\n" : " !\n", stream);
    if (!record->complete) {
        text_line(stream, "   ! broken", "%s",
                  record->note != NULL ? record->note : "it did not end; the reason is not known");
    }
}
