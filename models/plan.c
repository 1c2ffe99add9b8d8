/* A request becomes a plan: the model is read, the parallelism resolved and checked against it, and
 * the layout's files are added up rank by rank. Ranks of equal sizes are added up once, so that a
 * plan of a million files costs no more than its different ranks. */
#include "models/plan.h"

#include "base/check.h"
#include "base/names.h"

#include <stdio.h>

enum { ALLOWED_TEXT = 160 };

static enum status too_large(const char *setting, uint64_t value, struct error *err) {
    return error_set(err, ERR_USAGE, "--%s %llu is too large; 1 to %d is allowed", setting,
                     (unsigned long long)value, RANKS_LIMIT);
}

static uint64_t first_given(uint64_t request, uint64_t config) {
    return request > 0 ? request : config > 0 ? config : 1;
}

static enum status resolve(const struct plan_request *request, const struct architecture *model,
                           struct parallelism *parallelism, struct error *err) {
    const struct parallelism *config = &model->parallelism;
    uint64_t zero = request->zero_stage;
    *parallelism = (struct parallelism){
        .tp = first_given(request->tp, config->tp),
        .pp = first_given(request->pp, config->pp),
        .dp = first_given(request->dp, config->dp),
        .zero = zero == PLAN_ZERO_DEFAULT ? config->zero : zero,
    };
    if (parallelism->tp > RANKS_LIMIT) {
        return too_large("tp", parallelism->tp, err);
    }
    if (parallelism->pp > RANKS_LIMIT) {
        return too_large("pp", parallelism->pp, err);
    }
    if (parallelism->dp > RANKS_LIMIT) {
        return too_large("dp", parallelism->dp, err);
    }
    if (parallelism->zero > 3) {
        return error_set(err, ERR_USAGE, "--zero %llu does not exist; 0, 1, 2 or 3 is allowed",
                         (unsigned long long)parallelism->zero);
    }
    return OK;
}

/* "1, 2, 4, 8": the divisors of heads, as many as fit. */
static const char *divisors(uint64_t heads, char *buffer, size_t size) {
    size_t used = 0;
    for (uint64_t i = 1; i <= heads && used + 16 < size; i++) {
        if (heads % i == 0) {
            used += (size_t)snprintf(buffer + used, size - used, "%s%llu", i > 1 ? ", " : "",
                                     (unsigned long long)i);
        }
    }
    return buffer;
}

static enum status check_split(const struct architecture *model,
                               const struct parallelism *parallelism, struct error *err) {
    bool shaped = model->layers > 0 && model->raw.layer_count == 0;
    char allowed[ALLOWED_TEXT];
    if (shaped && model->heads % parallelism->tp != 0) {
        return error_set(err, ERR_USAGE,
                         "--tp %llu does not divide the %llu attention heads of "
                         "model '%.100s'; %s is allowed",
                         (unsigned long long)parallelism->tp, (unsigned long long)model->heads,
                         model->name, divisors(model->heads, allowed, sizeof allowed));
    }
    if (model->layers > 0 && parallelism->pp > model->layers) {
        return error_set(err, ERR_USAGE,
                         "--pp %llu is more than the %llu layers of model "
                         "'%.100s'; 1 to %llu is allowed",
                         (unsigned long long)parallelism->pp, (unsigned long long)model->layers,
                         model->name, (unsigned long long)model->layers);
    }
    if (parallelism->zero == 3 && parallelism->pp > 1) {
        return error_set(err, ERR_USAGE,
                         "--zero 3 does not go with --pp %llu; --pp 1, or --zero 0 "
                         "to 2, is allowed",
                         (unsigned long long)parallelism->pp);
    }
    return OK;
}

static enum status count_ranks(const struct plan_request *request,
                               const struct parallelism *parallelism, uint32_t *ranks,
                               struct error *err) {
    uint64_t all = parallelism->tp * parallelism->pp * parallelism->dp; /* each at most 2^20 */
    if (all > RANKS_LIMIT) {
        return error_set(err, ERR_USAGE,
                         "--tp %llu x --pp %llu x --dp %llu is %llu ranks; at most "
                         "%d are allowed",
                         (unsigned long long)parallelism->tp, (unsigned long long)parallelism->pp,
                         (unsigned long long)parallelism->dp, (unsigned long long)all, RANKS_LIMIT);
    }
    if (request->subset_ranks > all) {
        return error_set(err, ERR_USAGE,
                         "--subset %llu is more than the %llu ranks of the job; 1 "
                         "to %llu is allowed",
                         (unsigned long long)request->subset_ranks, (unsigned long long)all,
                         (unsigned long long)all);
    }
    *ranks = (uint32_t)(request->subset_ranks > 0 ? request->subset_ranks : all);
    return OK;
}

/* A long double holds every element count of a legal model exactly where it has 64 bits of
 * mantissa; elsewhere the product is off by less than a byte in 2^53. */
uint64_t plan_scaled(const struct plan *plan, uint64_t elements) {
    if (elements == 0 || plan->scale >= 1) {
        return elements;
    }
    uint64_t scaled = (uint64_t)((long double)elements * (long double)plan->scale);
    return scaled > 0 ? scaled : 1;
}

/* Adds up one rank's files; false if the bytes do not fit 64 bits. */
static bool add_files(struct plan *plan, uint32_t rank, uint64_t *model_bytes) {
    struct plan_share *share = &plan->shares[rank];
    share->files = plan->layout->rank_files(plan, rank);
    for (uint64_t i = 0; i < share->files; i++) {
        struct shard_file file;
        plan->layout->file(plan, rank, i, 1, &file);
        if (__builtin_add_overflow(share->bytes, file.bytes, &share->bytes)) {
            return false;
        }
        *model_bytes += file.kind == SHARD_MODEL ? file.bytes : 0;
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
    status = status == OK ? resolve(request, &built.model, &built.parallelism, err) : status;
    status = status == OK ? check_split(&built.model, &built.parallelism, err) : status;
    status = status == OK ? count_ranks(request, &built.parallelism, &built.ranks, err) : status;
    if (status != OK) {
        return status;
    }
    built.parameters = architecture_parameters(&built.model);
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
    plan->layout->file(plan, rank, index, checkpoint, file);
}
