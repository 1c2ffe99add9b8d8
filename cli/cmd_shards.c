/* `ckptsim shards`: the plan as text or JSON. Everything is computed and nothing is written to a
 * drive. A plan may have millions of files, so they are printed one by one as the plan tells them.
 */
#include "base/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "models/digest.h"

#include <stdio.h>
#include <string.h>

enum { OUTPUT_BUFFER = 1024 * 1024, ROWS_SHOWN = 32, DIGITS = 20 };

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
    const struct parallelism *parallelism = &plan->parallelism;
    bool whole = plan->ranks == parallelism->tp * parallelism->pp * parallelism->dp;
    if (plan->parameters > 0 && whole && plan->scale >= 1) {
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

static void say_head(const struct plan *plan) {
    const struct parallelism *parallelism = &plan->parallelism;
    unsigned long long all = parallelism->tp * parallelism->pp * parallelism->dp;
    printf("%s, layout %s, TP %llu x PP %llu x DP %llu = %llu ranks, ZeRO %llu (all figures are "
           "computed)\n",
           plan->model.name, plan->layout->name, (unsigned long long)parallelism->tp,
           (unsigned long long)parallelism->pp, (unsigned long long)parallelism->dp, all,
           (unsigned long long)parallelism->zero);
    if (plan->ranks < all) {
        printf("%-16s only ranks 0 to %u of %llu write; their files alone are counted\n", "subset",
               plan->ranks - 1, all);
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

static void say_plan(const struct plan *plan) {
    say_head(plan);
    say_totals(plan);
    printf("%-16s %s\n", "leaves out", plan->layout->leaves_out);
    say_ranks(plan);
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

/* The one place that writes JSON by hand: a million files through the general writer would take
 * seconds. Names of shards hold letters, digits and -_. alone, so nothing needs escaping. */
static void write_files(const struct plan *plan, uint32_t rank, struct json *json) {
    json_begin_list(json, "files");
    for (uint64_t i = 0; i < plan->shares[rank].files; i++) {
        struct shard_file file;
        plan_file(plan, rank, i, 1, &file);
        fputs_unlocked(i > 0 ? ",\n        {\"name\": \"" : "\n        {\"name\": \"", stdout);
        fputs_unlocked(file.name, stdout);
        fputs_unlocked("\", \"bytes\": ", stdout);
        put_count(file.bytes);
        putc_unlocked('}', stdout);
        json->begun[json->depth - 1] = true;
    }
    json_end_list(json);
}

static void write_ranks(const struct plan *plan, struct json *json) {
    json_begin_list(json, "ranks");
    for (uint32_t rank = 0; rank < plan->ranks && !ferror(stdout); rank++) {
        json_begin_map(json, NULL);
        json_count(json, "rank", rank);
        json_count(json, "bytes", plan->shares[rank].bytes);
        write_files(plan, rank, json);
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
    json_number(json, "scale", plan->scale);
    json_text(json, "leaves_out", plan->layout->leaves_out);
}

/* The digest is null where the plan has too many files to sort. */
static void write_plan(const struct plan *plan) {
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
    write_ranks(plan, &json);
    json_end_map(&json);
}

enum status cmd_shards(struct command_input *input, struct error *err) {
    struct plan plan;
    enum status status = plan_build(&input->spec.plan, input->arena, &plan, err);
    if (status != OK) {
        return status;
    }
    /* A pipe is slow in small pieces; if this fails, only the speed suffers. */
    setvbuf(stdout, NULL, _IOFBF, OUTPUT_BUFFER);
    if (input->spec.json) {
        write_plan(&plan);
    } else {
        say_plan(&plan);
    }
    return OK;
}
