/* A request becomes a plan: the model is read, the parallelism resolved and checked against it, and
 * the layout's files are added up rank by rank. Ranks of equal sizes are added up once, so that a
 * plan of a million files costs no more than its different ranks. */
#include "models/plan.h"

#include "base/check.h"
#include "models/grid.h"
#include "base/names.h"
#include "models/plan_check.h"

#include <stdio.h>

enum { ALLOWED_TEXT = 160 };

/* A long double holds every element count of a legal model exactly where it has 64 bits of
 * mantissa; elsewhere the product is off by less than a byte in 2^53. */
uint64_t plan_scaled(const struct plan *plan, uint64_t elements) {
    if (elements == 0 || plan->scale >= 1) {
        return elements;
    }
    uint64_t scaled = (uint64_t)((long double)elements * (long double)plan->scale);
    return scaled > 0 ? scaled : 1;
}

static void make_file(const struct plan *plan, uint32_t rank, uint64_t index, uint32_t checkpoint,
                      struct shard_file *file) {
    file->optimizer_bytes = 0;
    plan->layout->file(plan, rank, index, checkpoint, file);
    if (file->kind == SHARD_OPTIMIZER) {
        file->optimizer_bytes = file->bytes;
    }
}

/* Adds up one rank's files; false if the bytes do not fit 64 bits. */
static bool add_files(struct plan *plan, uint32_t rank, uint64_t *model_bytes) {
    struct plan_share *share = &plan->shares[rank];
    share->files = plan->layout->rank_files(plan, rank);
    for (uint64_t i = 0; i < share->files; i++) {
        struct shard_file file;
        make_file(plan, rank, i, 1, &file);
        if (__builtin_add_overflow(share->bytes, file.bytes, &share->bytes)) {
            return false;
        }
        *model_bytes += file.bytes - file.optimizer_bytes;
        if (file.bytes > plan->largest_file_bytes) {
            plan->largest_file_bytes = file.bytes;
        }
    }
    return true;
}

static bool add_ranks(struct plan *plan, uint64_t *model_bytes) {
    const struct layout *layout = plan->layout;
    for (uint32_t rank = 0; rank < plan->ranks; rank++) {
        uint32_t like = layout->rank_like != NULL ? layout->rank_like(plan, rank) : rank;
        CHECK(like <= rank);
        if (like < rank) {
            plan->shares[rank] = plan->shares[like];
            model_bytes[rank] = model_bytes[like];
        } else if (!add_files(plan, rank, &model_bytes[rank])) {
            return false;
        }
        uint64_t bytes = plan->shares[rank].bytes;
        if (__builtin_add_overflow(plan->checkpoint_bytes, bytes, &plan->checkpoint_bytes)) {
            return false;
        }
        plan->model_bytes += model_bytes[rank];
        plan->files += plan->shares[rank].files;
    }
    plan->optimizer_bytes = plan->checkpoint_bytes - plan->model_bytes;
    return plan->checkpoint_bytes <= INT64_MAX; /* file systems count in signed numbers */
}

static enum status add_up(struct plan *plan, struct arena *arena, struct error *err) {
    plan->shares = arena_new(arena, plan->ranks, sizeof *plan->shares);
    uint64_t *model_bytes = mem_new(plan->ranks, sizeof *model_bytes);
    bool fits = add_ranks(plan, model_bytes);
    mem_free(model_bytes);
    if (!fits) {
        return error_set(err, ERR_USAGE,
                         "model '%.100s' is too large: one checkpoint of %u ranks "
                         "has 2^63 bytes or more",
                         plan->model.name, plan->ranks);
    }
    return OK;
}

static enum status unknown_layout(const char *name, struct error *err) {
    char all[ALLOWED_TEXT] = "";
    size_t used = 0;
    for (size_t i = 0; layouts[i] != NULL && used < sizeof all; i++) {
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i > 0 ? ", " : "",
                                 layouts[i]->name);
    }
    return error_set(err, ERR_USAGE, "--layout '%.100s' does not exist; %s is allowed", name, all);
}

enum status plan_build(const struct plan_request *request, struct arena *arena, struct plan *plan,
                       struct error *err) {
    struct plan built = {.scale = request->scale, .layout = layout_find(request->layout)};
    if (built.layout == NULL) {
        return unknown_layout(request->layout, err);
    }
    if (request->model == NULL) {
        return error_set(err, ERR_USAGE,
                         "--model is missing; a built-in name (`ckptsim list "
                         "models`) or a path to a YAML or JSON file is allowed");
    }
    if (!(request->scale > 0 && request->scale <= 1)) {
        return error_set(err, ERR_USAGE, "--scale %g is not allowed; more than 0 and at most 1 is",
                         request->scale);
    }
    enum status status =
        architecture_read(request->model, request->config_dir, arena, &built.model, err);
    status = status == OK ? plan_resolve(request, &built, err) : status;
    if (status != OK) {
        return status;
    }
    built.parameters = architecture_parameters(&built.model);
    parts_build(&built, arena);
    built.prepared = built.layout->prepare != NULL ? built.layout->prepare(&built, arena) : NULL;
    status = add_up(&built, arena, err);
    if (status == OK) {
        *plan = built;
    }
    return status;
}

void plan_file(const struct plan *plan, uint32_t rank, uint64_t index, uint32_t checkpoint,
               struct shard_file *file) {
    CHECK(rank < plan->ranks);
    CHECK(index < plan->shares[rank].files);
    make_file(plan, rank, index, checkpoint, file);
}

uint64_t plan_tensors(const struct plan *plan, uint32_t rank, uint64_t index) {
    CHECK(rank < plan->ranks);
    CHECK(index < plan->shares[rank].files);
    return plan->layout->tensors(plan, rank, index);
}

void plan_tensor(const struct plan *plan, uint32_t rank, uint64_t index, uint64_t nth,
                 struct tensor *tensor) {
    CHECK(rank < plan->ranks);
    CHECK(index < plan->shares[rank].files);
    plan->layout->tensor(plan, rank, index, nth, tensor);
}

uint64_t plan_held(const struct plan *plan, uint32_t rank) {
    CHECK(rank < plan->ranks);
    return plan->layout->held(plan, rank);
}

void plan_held_tensor(const struct plan *plan, uint32_t rank, uint64_t nth, struct tensor *tensor) {
    CHECK(rank < plan->ranks);
    plan->layout->held_tensor(plan, rank, nth, tensor);
}

/* DLIO counts data parallel ranks outermost; all others count pipeline stages so. */
uint32_t plan_group_leader(const struct plan *plan, uint32_t rank) {
    const struct parallelism *parallelism = &plan->parallelism;
    if (plan->layout->flat) {
        return (uint32_t)(rank % (parallelism->tp * parallelism->pp));
    }
    uint64_t stage = grid_stage_ranks(parallelism);
    return (uint32_t)(rank / stage * stage + rank % stage % parallelism->tp);
}

uint64_t plan_markers(const struct plan *plan) {
    return plan->layout->markers != NULL ? plan->layout->markers(plan) : 0;
}

/* Counts the text instead of keeping it. */
struct counting_sink {
    struct text_sink sink;
    uint64_t length;
};

static void count_text(struct text_sink *sink, const char *text, uint64_t length) {
    (void)text;
    ((struct counting_sink *)sink)->length += length;
}

void plan_marker(const struct plan *plan, uint64_t index, uint32_t checkpoint,
                 struct shard_marker *marker) {
    struct counting_sink counting = {.sink = {count_text}};
    CHECK(index < plan_markers(plan));
    plan->layout->marker(plan, index, checkpoint, marker, &counting.sink);
    marker->file.kind = SHARD_MARKER;
    marker->file.bytes = counting.length;
}

void plan_marker_text(const struct plan *plan, uint64_t index, uint32_t checkpoint,
                      struct text_sink *sink) {
    struct shard_marker marker;
    CHECK(index < plan_markers(plan));
    plan->layout->marker(plan, index, checkpoint, &marker, sink);
}
