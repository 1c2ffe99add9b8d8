#include "cli/reading.h"

#include "base/check.h"
#include "cli/restore_set.h"
#include "metrics/report_reads.h"
#include "sim/job/reshard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What another parallelism may change; the model, layout and types are the checkpoint's. */
static const char *const reshard_keys[] = {"tp",
                                           "pp",
                                           "dp",
                                           "ep",
                                           "etp",
                                           "cp",
                                           "vpp",
                                           "first-stage-layers",
                                           "last-stage-layers",
                                           "vocab-divisible-by"};

enum status reading_check(const struct read_spec *spec, struct error *err) {
    if (spec->reshard != NULL && spec->rank_shift > 0) {
        return error_set(err, ERR_USAGE,
                         "--rank-shift does not go with --reshard: which rank wrote what "
                         "a new rank reads follows from the new parallelism");
    }
    return restore_set_check(spec->checkpoint, err);
}

enum status reading_refuse_idle(const struct settings *settings, struct error *err) {
    static const char *const idle[] = {"rank-shift", "reshard"};
    for (size_t i = 0; i < COUNT_OF(idle); i++) {
        if (strcmp(settings_value(settings, idle[i])->origin, "command line") == 0) {
            return error_set(err, ERR_USAGE, "--%s is about restores; --read N asks for some",
                             idle[i]);
        }
    }
    return OK;
}

enum status reading_check_number(const struct read_spec *spec, uint64_t most, struct error *err) {
    uint64_t number = strtoull(spec->checkpoint, NULL, 10); /* 0 of a word */
    if (most == 0 || number <= most) {
        return OK;
    }
    return error_set(err, ERR_USAGE,
                     "--checkpoint: %llu will not be there, a pass has %llu checkpoints",
                     (unsigned long long)number, (unsigned long long)most);
}

static enum status reshard_error(const char *pair, struct error *err) {
    return error_set(err, ERR_USAGE,
                     "--reshard: '%s' is not like tp=8; tp, pp, dp, ep, etp, cp, vpp, "
                     "first-stage-layers, last-stage-layers and vocab-divisible-by "
                     "are allowed, with commas between them",
                     pair);
}

static enum status set_pair(struct settings *settings, char *pair, struct error *err) {
    char *value = strchr(pair, '=');
    if (value == NULL) {
        return reshard_error(pair, err);
    }
    *value++ = '\0';
    for (size_t i = 0; i < COUNT_OF(reshard_keys); i++) {
        if (strcmp(pair, reshard_keys[i]) == 0) {
            enum status status = settings_set(settings, pair, value, "--reshard", err);
            return status == OK ? OK : error_wrap(err, "--reshard");
        }
    }
    return reshard_error(pair, err);
}

/* The request that made the files with what --reshard says in its place; what it does not say
 * stays, whether it was given then or came from the model's config. */
static enum status new_request(const char *reshard, const struct plan_request *request,
                               const struct plan *plan, struct arena *arena,
                               struct plan_request *out, struct error *err) {
    struct spec spec = {0};
    struct settings settings;
    settings_init(&settings, spec_rows, spec_row_count, CMD_CHECKPOINT, &spec, arena);
    spec.plan = *request;
    spec.plan.tp = plan->parallelism.tp;
    spec.plan.pp = plan->parallelism.pp;
    spec.plan.dp = plan->parallelism.dp;
    spec.plan.zero_stage = plan->parallelism.zero;
    spec.plan.subset_ranks = 0;
    spec.plan.reads = true;
    char *rest = arena_text(arena, reshard);
    for (char *pair; (pair = strsep(&rest, ",")) != NULL;) {
        if (set_pair(&settings, pair, err) != OK) {
            return err->status;
        }
    }
    *out = spec.plan;
    return OK;
}

static enum status plan_reshard(const struct read_spec *spec, const struct plan_request *request,
                                const struct shards *shards, struct arena *arena,
                                struct reading *reading, struct error *err) {
    struct plan_request wanted;
    struct plan *to = arena_new(arena, 1, sizeof *to);
    if (reshard_check_layout(shards->plan->layout, err) != OK ||
        new_request(spec->reshard, request, shards->plan, arena, &wanted, err) != OK) {
        return err->status;
    }
    if (plan_build(&wanted, arena, to, err) != OK) {
        return error_wrap(err, "--reshard %s", spec->reshard);
    }
    return reshard_plan(shards, &reading->files, to, (enum readers)spec->readers, arena,
                        &reading->plan, err);
}

/* A manifest lists its files rank by rank. */
static enum status files_of_manifest(const struct manifest *manifest, struct arena *arena,
                                     struct read_files *files, struct error *err) {
    CHECK(manifest != NULL);
    uint64_t count = manifest->head.files;
    uint32_t ranks = count > 0 ? manifest->entries[count - 1].rank + 1 : 1;
    uint64_t *first = arena_new(arena, (size_t)ranks + 1, sizeof *first);
    uint64_t *sizes = arena_new(arena, count, sizeof *sizes);
    for (uint64_t i = 0; i < count; i++) {
        const struct manifest_entry *entry = &manifest->entries[i];
        const struct manifest_entry *before = i > 0 ? entry - 1 : NULL;
        bool next = before == NULL || entry->rank > before->rank;
        if (entry->rank >= ranks || (!next && entry->rank < before->rank) ||
            entry->index != (next ? 0 : before->index + 1)) {
            return error_set(err, ERR_FAILED, "the manifest lists '%s' out of order", entry->path);
        }
        first[entry->rank + 1] = i + 1;
        sizes[i] = entry->bytes;
    }
    for (uint32_t rank = 0; rank < ranks; rank++) { /* ranks without files end where they begin */
        first[rank + 1] = first[rank + 1] > first[rank] ? first[rank + 1] : first[rank];
    }
    *files = (struct read_files){ranks, first, sizes, 0}; /* read whole: any unit will do */
    return OK;
}

static enum status check_shift(const struct read_spec *spec, uint32_t ranks, struct error *err) {
    if (spec->rank_shift < ranks) {
        return OK;
    }
    if (ranks == 1) {
        return error_set(err, ERR_USAGE,
                         "--rank-shift: the checkpoint is of one rank, which can read "
                         "nothing but its own");
    }
    return error_set(err, ERR_USAGE,
                     "--rank-shift %llu is not below the number of ranks; 0 to %u is "
                     "allowed",
                     (unsigned long long)spec->rank_shift, ranks - 1);
}

enum status reading_plan(const struct read_spec *spec, const struct plan_request *request,
                         const struct shards *shards, const struct manifest *manifest,
                         struct arena *arena, struct reading *reading, struct error *err) {
    if (shards != NULL) {
        read_files_of(shards, arena, &reading->files);
    } else if (spec->reshard != NULL || spec->readers != READERS_ALL) {
        return error_set(err, ERR_USAGE,
                         "--%s needs the model that was checkpointed, and it cannot be "
                         "found any more",
                         spec->reshard != NULL ? "reshard" : "readers one-per-dp");
    } else if (files_of_manifest(manifest, arena, &reading->files, err) != OK) {
        return err->status;
    }
    reading->config.verify = spec->verify;
    reading->config.cold = true;
    if (spec->reshard != NULL) {
        return plan_reshard(spec, request, shards, arena, reading, err);
    }
    if (check_shift(spec, reading->files.ranks, err) != OK) {
        return err->status;
    }
    read_plan_back(&reading->files, shards != NULL ? shards->plan : NULL,
                   (enum readers)spec->readers, spec->rank_shift, arena, &reading->plan);
    return OK;
}

void reading_result(const struct read_spec *spec, const struct reading *reading,
                    struct result_restore *out) {
    const struct read_plan *plan = &reading->plan;
    *out = (struct result_restore){
        .reads = reading->config.reads,
        .checkpoint = spec->checkpoint,
        .readers = spec->readers == READERS_ALL ? "all" : "one-per-dp",
        .reshard = spec->reshard,
        .rank_shift = spec->rank_shift,
        .ranks = plan->ranks,
        .files = plan->file_count,
        .bytes = plan->bytes,
        .needed_bytes = plan->needed_bytes,
        .distinct_bytes = plan->distinct_bytes,
        .verify = reading->config.verify,
    };
}

static void take_tick(void *context, const struct job_progress *progress) {
    struct reading_view *view = context;
    if (view->progress != NULL) {
        progress_draw(view->progress, progress);
    }
}

static void take_read(void *context, const struct read_record *record) {
    struct reading_view *view = context;
    if (view->progress != NULL) {
        progress_clear(view->progress);
        progress_read(view->progress, record);
    }
    if (view->rows) {
        report_read_row(view->result, record, stdout);
        fflush(stdout);
    }
}

void reading_show(struct restore *restore, struct reading_view *view) {
    restore->observer = (struct job_observer){.context = view, .tick = take_tick};
    restore->each = take_read;
}
