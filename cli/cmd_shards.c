/* `ckptsim shards`: the plan as text or JSON, with --tensors down to each tensor. Everything is
 * computed and nothing is written to a drive. A plan may have millions of files, so they are
 * printed one by one as the plan tells them.
 */
#include "base/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/spec_shards.h"
#include "models/digest.h"

#include <stdio.h>
#include <string.h>

enum { OUTPUT_BUFFER = 1024 * 1024, ROWS_SHOWN = 32, DIGITS = 20, SHAPE_TEXT = 128 };

/* The ranks that are listed one by one, and whether their tensors are. */
struct shown {
    uint32_t first, last;
    bool tensors;
    const struct shards *shards; /* as a format that was asked for has them; NULL: none was */
};

/* Ranks next to each other that write as much and as many files. */
struct rank_group {
    uint32_t first, last;
    struct plan_share share;
};

struct rank_range {
    uint64_t smallest, largest, mean;
};

static struct rank_range measure_ranks(const struct plan *plan) {
    struct rank_range range = {.smallest = UINT64_MAX,
                               .mean = plan->checkpoint_bytes / plan->ranks};
    for (uint32_t i = 0; i < plan->ranks; i++) {
        uint64_t bytes = plan->shares[i].bytes;
        range.smallest = bytes < range.smallest ? bytes : range.smallest;
        range.largest = bytes > range.largest ? bytes : range.largest;
    }
    return range;
}

static void say_bytes(const char *label, uint64_t bytes) {
    char gb[UNITS_TEXT], gib[UNITS_TEXT], exact[UNITS_TEXT];
    printf("%-16s %s = %s (%s bytes)", label, units_gb(bytes, gb), units_gib(bytes, gib),
           units_grouped(bytes, exact));
}

static void say_share(const char *label, uint64_t bytes, uint64_t of) {
    say_bytes(label, bytes);
    printf(", %.1f %%\n", of > 0 ? 100.0 * (double)bytes / (double)of : 0.0);
}

static void say_totals(const struct plan *plan) {
    char text[UNITS_TEXT];
    struct rank_range range = measure_ranks(plan);
    printf("%-16s %s\n", "parameters", units_grouped(plan->parameters, text));
    say_bytes("checkpoint", plan->checkpoint_bytes);
    if (plan->parameters > 0 && plan->ranks == plan->all_ranks && plan->scale >= 1) {
        printf(", %.2f bytes per parameter",
               (double)plan->checkpoint_bytes / (double)plan->parameters);
    }
    putchar('\n');
    say_share("  model", plan->model_bytes, plan->checkpoint_bytes);
    say_share("  optimizer", plan->optimizer_bytes, plan->checkpoint_bytes);
    printf("%-16s %s, the largest %s\n", "files", units_grouped(plan->files, text),
           units_gb(plan->largest_file_bytes, (char[UNITS_TEXT]){0}));
    say_bytes("largest rank", range.largest);
    putchar('\n');
    say_bytes("smallest rank", range.smallest);
    putchar('\n');
    say_bytes("mean rank", range.mean);
    putchar('\n');
}

/* " x CP 2" where it is not 1. */
static void say_factor(const char *name, uint64_t value) {
    if (value > 1) {
        printf(" x %s %llu", name, (unsigned long long)value);
    }
}

static void say_recipe(const struct plan *plan) {
    const struct parallelism *parallelism = &plan->parallelism;
    if (plan->model.experts > 0 && !plan->layout->flat) {
        printf("%-16s EP %llu, tensor parallel %llu inside an expert\n", "experts",
               (unsigned long long)parallelism->ep, (unsigned long long)parallelism->etp);
    }
    if (!plan->layout->flat) {
        printf("%-16s model %s, optimizer %s", "types", datatype_name(plan->model_datatype),
               optimizer_name(plan->optimizer));
        if (plan->optimizer != OPTIMIZER_NONE) {
            printf(" with %s states", datatype_name(plan->optimizer_datatype));
        }
        putchar('\n');
    }
    if (plan->vocab != plan->model.vocab) {
        printf("%-16s padded from %llu to %llu\n", "vocabulary",
               (unsigned long long)plan->model.vocab, (unsigned long long)plan->vocab);
    }
    if (plan->model.vision_left_out) {
        printf("%-16s the vision tower of the model is of no known kind and left out\n", "note");
    }
}

static void say_head(const struct plan *plan) {
    const struct parallelism *parallelism = &plan->parallelism;
    printf("%s, layout %s, TP %llu x PP %llu x DP %llu", plan->model.name, plan->layout->name,
           (unsigned long long)parallelism->tp, (unsigned long long)parallelism->pp,
           (unsigned long long)parallelism->dp);
    say_factor("CP", parallelism->cp);
    printf(" = %u ranks, ZeRO %llu (all figures are computed)\n", plan->all_ranks,
           (unsigned long long)parallelism->zero);
    say_recipe(plan);
    if (plan->ranks < plan->all_ranks) {
        printf("%-16s only ranks 0 to %u of %u write; their files alone are counted\n", "subset",
               plan->ranks - 1, plan->all_ranks);
    }
    if (plan->scale < 1) {
        printf(
            "%-16s SCALED: every tensor is shrunk to %g of its size; ranks and files are those of "
            "the whole model\n",
            "scale", plan->scale);
    }
}

static struct rank_group group_at(const struct plan *plan, uint32_t first) {
    struct rank_group group = {.first = first, .last = first, .share = plan->shares[first]};
    while (group.last + 1 < plan->ranks &&
           memcmp(&plan->shares[group.last + 1], &group.share, sizeof group.share) == 0) {
        group.last++;
    }
    return group;
}

static void say_group(const struct rank_group *group) {
    char ranks[UNITS_TEXT], bytes[UNITS_TEXT], gb[UNITS_TEXT], files[UNITS_TEXT];
    snprintf(ranks, sizeof ranks, group->first == group->last ? "%u" : "%u-%u", group->first,
             group->last);
    printf("%-16s %22s %14s %10s\n", ranks, units_grouped(group->share.bytes, bytes),
           units_gb(group->share.bytes, gb), units_grouped(group->share.files, files));
}

/* Equal neighbours share a row; of very many rows the first ones stand for the rest. */
static void say_ranks(const struct plan *plan) {
    printf("\n%-16s %22s %14s %10s\n", "rank", "bytes each", "", "files each");
    uint32_t rank = 0;
    for (int rows = 0; rank < plan->ranks && rows < ROWS_SHOWN; rows++) {
        struct rank_group group = group_at(plan, rank);
        say_group(&group);
        rank = group.last + 1;
    }
    if (rank < plan->ranks) {
        char left[UNITS_TEXT];
        printf("... and %s ranks more; --json has all of them\n",
               units_grouped(plan->ranks - rank, left));
    }
}

static void say_shape(const struct tensor *tensor, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "[");
    for (uint32_t i = 0; i < tensor->dimensions && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%llu", i > 0 ? ", " : "",
                                 (unsigned long long)tensor->shape[i]);
    }
    if (used < size) {
        snprintf(text + used, size - used, "]");
    }
}

static void say_tensors(const struct plan *plan, const struct shown *shown, uint32_t rank,
                        uint64_t index) {
    struct shard_file file;
    char bytes[UNITS_TEXT], shape[SHAPE_TEXT];
    if (shown->shards != NULL) {
        shards_file(shown->shards, rank, index, 1, &file);
    } else {
        plan_file(plan, rank, index, 1, &file);
    }
    uint64_t count = plan_tensors(plan, rank, index);
    printf("\nrank %u  %s  %s bytes, %llu tensors\n", rank, file.path,
           units_grouped(file.bytes, bytes), (unsigned long long)count);
    for (uint64_t i = 0; i < count && !ferror(stdout); i++) {
        struct tensor tensor;
        plan_tensor(plan, rank, index, i, &tensor);
        say_shape(&tensor, shape, sizeof shape);
        printf("  %-72s %-5s %-24s %20s\n", tensor.name, datatype_name(tensor.datatype), shape,
               units_grouped(tensor.bytes, bytes));
    }
}

static void say_all_tensors(const struct plan *plan, const struct shown *shown) {
    for (uint32_t rank = shown->first; rank <= shown->last && !ferror(stdout); rank++) {
        for (uint64_t i = 0; i < plan->shares[rank].files; i++) {
            say_tensors(plan, shown, rank, i);
        }
    }
}

static void say_plan(const struct plan *plan, const struct shown *shown) {
    say_head(plan);
    say_totals(plan);
    if (shown->shards != NULL) {
        say_bytes("format", shown->shards->checkpoint_bytes);
        printf("%-16s %s takes %.2f %% more than the tensors alone\n", "", shown->shards->format->name,
               100 * ((double)shown->shards->checkpoint_bytes / (double)plan->checkpoint_bytes - 1));
    }
    if (shown->shards == NULL) {
        printf("%-16s sizes are of tensors alone; --format NAME says what files take\n", "format");
    }
    printf("%-16s %s\n", "leaves out", plan->layout->leaves_out);
    for (uint64_t i = 0; i < plan_markers(plan); i++) {
        struct shard_marker marker;
        plan_marker(plan, i, 1, &marker);
        printf("%-16s %s\n", i == 0 ? "markers" : "", marker.file.path);
    }
    say_ranks(plan);
    if (shown->tensors) {
        say_all_tensors(plan, shown);
    }
}

static void put_count(uint64_t count) {
    char digits[DIGITS + 1];
    char *at = digits + DIGITS;
    *at = '\0';
    do {
        *--at = (char)('0' + count % 10);
        count /= 10;
    } while (count > 0);
    fputs_unlocked(at, stdout);
}

static void put_counts(const char *key, const uint64_t *counts, uint32_t dimensions) {
    fputs_unlocked(key, stdout);
    putc_unlocked('[', stdout);
    for (uint32_t i = 0; i < dimensions; i++) {
        fputs_unlocked(i > 0 ? ", " : "", stdout);
        put_count(counts[i]);
    }
    putc_unlocked(']', stdout);
}

/* Where it is a part of a larger one, also which. */
static void put_shape(const struct tensor *tensor) {
    put_counts("\", \"shape\": ", tensor->shape, tensor->dimensions);
    if (memcmp(tensor->shape, tensor->whole, tensor->dimensions * sizeof tensor->shape[0]) != 0) {
        put_counts(", \"whole\": ", tensor->whole, tensor->dimensions);
        put_counts(", \"offset\": ", tensor->offset, tensor->dimensions);
    }
}

static void put_tensors(const struct plan *plan, uint32_t rank, uint64_t index) {
    uint64_t count = plan_tensors(plan, rank, index);
    fputs_unlocked(", \"tensors\": [", stdout);
    for (uint64_t i = 0; i < count && !ferror(stdout); i++) {
        struct tensor tensor;
        plan_tensor(plan, rank, index, i, &tensor);
        fputs_unlocked(i > 0 ? ",\n          {\"name\": \"" : "\n          {\"name\": \"", stdout);
        fputs_unlocked(tensor.name, stdout);
        fputs_unlocked("\", \"dtype\": \"", stdout);
        fputs_unlocked(datatype_name(tensor.datatype), stdout);
        fputs_unlocked("\", \"class\": \"", stdout);
        fputs_unlocked(tensor_class_name(tensor.class), stdout);
        put_shape(&tensor);
        fputs_unlocked(", \"bytes\": ", stdout);
        put_count(tensor.bytes);
        putc_unlocked('}', stdout);
    }
    putc_unlocked(']', stdout);
}

/* The one place that writes JSON by hand: a million files through the general writer would take
 * seconds. Names of shards and tensors hold nothing that needs escaping. */
static void write_files(const struct plan *plan, uint32_t rank, const struct shown *shown,
                        struct json *json) {
    json_begin_list(json, "files");
    for (uint64_t i = 0; i < plan->shares[rank].files; i++) {
        struct shard_file file;
        plan_file(plan, rank, i, 1, &file);
        fputs_unlocked(i > 0 ? ",\n        {\"name\": \"" : "\n        {\"name\": \"", stdout);
        fputs_unlocked(file.name, stdout);
        fputs_unlocked("\", \"path\": \"", stdout);
        fputs_unlocked(file.path, stdout);
        fputs_unlocked("\", \"bytes\": ", stdout);
        put_count(file.bytes);
        if (shown->shards != NULL) {
            shards_file(shown->shards, rank, i, 1, &file);
            fputs_unlocked(", \"file\": \"", stdout);
            fputs_unlocked(file.path, stdout);
            fputs_unlocked("\", \"file_bytes\": ", stdout);
            put_count(file.bytes);
        }
        if (shown->tensors) {
            put_tensors(plan, rank, i);
        }
        putc_unlocked('}', stdout);
        json->begun[json->depth - 1] = true;
    }
    json_end_list(json);
}

static void write_ranks(const struct plan *plan, const struct shown *shown, struct json *json) {
    json_begin_list(json, "ranks");
    for (uint32_t rank = shown->first; rank <= shown->last && !ferror(stdout); rank++) {
        json_begin_map(json, NULL);
        json_count(json, "rank", rank);
        json_count(json, "bytes", plan->shares[rank].bytes);
        write_files(plan, rank, shown, json);
        json_end_map(json);
    }
    json_end_list(json);
}

static void write_markers(const struct plan *plan, struct json *json) {
    json_begin_list(json, "markers");
    for (uint64_t i = 0; i < plan_markers(plan); i++) {
        struct shard_marker marker;
        plan_marker(plan, i, 1, &marker);
        json_begin_map(json, NULL);
        json_text(json, "path", marker.file.path);
        json_count(json, "bytes", marker.file.bytes);
        json_end_map(json);
    }
    json_end_list(json);
}

static void write_head(const struct plan *plan, struct json *json) {
    json_text(json, "figures", "computed");
    json_text(json, "model", plan->model.name);
    json_text(json, "layout", plan->layout->name);
    json_count(json, "tp", plan->parallelism.tp);
    json_count(json, "pp", plan->parallelism.pp);
    json_count(json, "dp", plan->parallelism.dp);
    json_count(json, "zero", plan->parallelism.zero);
    json_count(json, "cp", plan->parallelism.cp);
    json_count(json, "ep", plan->parallelism.ep);
    json_count(json, "etp", plan->parallelism.etp);
    json_count(json, "vpp", plan->parallelism.vpp);
    json_text(json, "model_dtype", datatype_name(plan->model_datatype));
    json_text(json, "optimizer", optimizer_name(plan->optimizer));
    json_text(json, "optimizer_dtype", datatype_name(plan->optimizer_datatype));
    json_number(json, "scale", plan->scale);
    json_text(json, "leaves_out", plan->layout->leaves_out);
}

/* The digest is null where the plan has too many files to sort. */
static void write_plan(const struct plan *plan, const struct shown *shown) {
    struct json json = {.stream = stdout};
    struct rank_range range = measure_ranks(plan);
    char sha256[DIGEST_TEXT];
    bool digested = digest_plan(plan, 1, sha256);
    json_begin_map(&json, NULL);
    write_head(plan, &json);
    json_count(&json, "parameters", plan->parameters);
    json_count(&json, "checkpoint_bytes", plan->checkpoint_bytes);
    json_count(&json, "model_bytes", plan->model_bytes);
    json_count(&json, "optimizer_bytes", plan->optimizer_bytes);
    json_count(&json, "files", plan->files);
    json_count(&json, "largest_file_bytes", plan->largest_file_bytes);
    json_count(&json, "largest_rank_bytes", range.largest);
    json_count(&json, "smallest_rank_bytes", range.smallest);
    json_count(&json, "mean_rank_bytes", range.mean);
    json_text(&json, "sha256", digested ? sha256 : NULL);
    if (shown->shards != NULL) {
        json_text(&json, "format", shown->shards->format->name);
        json_count(&json, "format_bytes", shown->shards->checkpoint_bytes);
    }
    write_markers(plan, &json);
    write_ranks(plan, shown, &json);
    json_end_map(&json);
}

static enum status choose_ranks(const struct command_input *input, const struct plan *plan,
                                struct shown *shown, struct error *err) {
    *shown = (struct shown){.last = plan->ranks - 1, .tensors = input->spec.tensors};
    if (!settings_value(&input->settings, "rank")->given) {
        return OK;
    }
    if (input->spec.rank >= plan->ranks) {
        return error_set(err, ERR_USAGE, "--rank %llu does not write; 0 to %u is allowed",
                         (unsigned long long)input->spec.rank, plan->ranks - 1);
    }
    shown->first = shown->last = (uint32_t)input->spec.rank;
    return OK;
}

/* The sizes in a format take a look at every tensor; only who asks for one waits for it. */
static enum status measure_format(const struct command_input *input, const struct plan *plan,
                                  struct shown *shown, struct error *err) {
    static const struct payload any[FORMAT_CLASSES];
    const struct format *format;
    if (!settings_value(&input->settings, "format")->given) {
        return OK;
    }
    struct shards *shards = arena_new(input->arena, 1, sizeof *shards);
    shown->shards = shards;
    if (shards_format(input->spec.format, plan->layout, &format, err) != OK) {
        return err->status;
    }
    return shards_measure(plan, format, any, SHARDS_SIZES, input->arena, shards, err);
}

enum status cmd_shards(struct command_input *input, struct error *err) {
    struct plan plan;
    struct shown shown;
    enum status status = plan_build(&input->spec.plan, input->arena, &plan, err);
    status = status == OK ? choose_ranks(input, &plan, &shown, err) : status;
    status = status == OK ? measure_format(input, &plan, &shown, err) : status;
    if (status != OK) {
        return status;
    }
    /* A pipe is slow in small pieces; if this fails, only the speed suffers. */
    setvbuf(stdout, NULL, _IOFBF, OUTPUT_BUFFER);
    if (input->spec.json) {
        write_plan(&plan, &shown);
    } else {
        say_plan(&plan, &shown);
    }
    return OK;
}
