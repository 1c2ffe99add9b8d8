#include "cli/plan_result.h"

#include "base/units.h"
#include "cli/strategy.h"

void plan_result_fill(struct result_plan *out, const struct shards *shards, const struct spec *spec,
                      uint64_t checkpoints) {
    const struct plan *plan = shards->plan;
    *out = (struct result_plan){
        .model = plan->model.name,
        .layout = plan->layout->name,
        .layout_leaves_out = plan->layout->leaves_out,
        .parameters = plan->parameters,
        .format = shards->format->name,
        .checkpoint_bytes = shards->checkpoint_bytes,
        .model_bytes = plan->model_bytes,
        .optimizer_bytes = plan->optimizer_bytes,
        .files = plan->files,
        .ranks = plan->ranks,
        .tp = plan->parallelism.tp,
        .pp = plan->parallelism.pp,
        .dp = plan->parallelism.dp,
        .zero_stage = plan->parallelism.zero,
        .scale = plan->scale,
        .passes = spec->job.passes,
        .checkpoints_per_pass = checkpoints,
        .mode = strategy_name(spec),
        .interval_ns = spec->job.interval_ns,
        .smallest_rank_bytes = UINT64_MAX,
    };
    for (uint32_t rank = 0; rank < plan->ranks; rank++) {
        uint64_t bytes = shards->shares[rank].bytes;
        out->largest_rank_bytes = bytes > out->largest_rank_bytes ? bytes : out->largest_rank_bytes;
        out->smallest_rank_bytes =
            bytes < out->smallest_rank_bytes ? bytes : out->smallest_rank_bytes;
    }
    uint64_t count; /* of checkpoints; a run beyond 2^64 bytes says that number */
    if (__builtin_mul_overflow(out->passes, out->checkpoints_per_pass, &count) ||
        __builtin_mul_overflow(count, out->checkpoint_bytes, &out->run_bytes)) {
        out->run_bytes = UINT64_MAX;
    }
}

void plan_result_codec(struct result_plan *out, const struct spec *spec, struct arena *arena) {
    if (spec->io.codec.kind != CODEC_NONE) {
        out->codec = arena_printf(arena, "zstd:%d", spec->io.codec.level);
        out->codec_workers = engine_workers(spec->engine, &spec->io);
    }
}

enum status plan_result_check(const struct spec *spec, uint64_t checkpoints, struct error *err) {
    char count[UNITS_TEXT], limit[UNITS_TEXT];
    if (checkpoints <= JOB_CHECKPOINTS_LIMIT || spec->job.checkpoints_per_pass > 0) {
        return OK;
    }
    return error_set(err, ERR_USAGE,
                     "a pass would have %s checkpoints, more than the %s allowed; "
                     "--checkpoints-per-pass bounds them, or a larger --scale",
                     units_grouped(checkpoints, count), units_grouped(JOB_CHECKPOINTS_LIMIT, limit));
}
