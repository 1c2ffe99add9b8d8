#ifndef CKPTSIM_TESTS_UNIT_SAMPLE_RESULT_H
#define CKPTSIM_TESTS_UNIT_SAMPLE_RESULT_H

#include "metrics/result.h"

#include <string.h>

/* A result made by hand, for tests of what is done with results. Two ranks, 2 GiB a checkpoint.
 *
 *   pass 1: 4 checkpoints, slowest rank 10 s each, rank 0 8 s each
 *   pass 2: 4 checkpoints, slowest rank 14, 14, 16, 16 s, rank 0 10 s each, then one that broke */

struct sample_spec {
    uint64_t passes;
    const char *engine;
};

static const struct setting_row sample_rows[] = {
    {.name = "passes",
     .type = SETTING_COUNT,
     .field = offsetof(struct sample_spec, passes),
     .fallback = "3",
     .group = "run",
     .placeholder = "N",
     .help = "passes",
     .commands = 1},
    {.name = "engine",
     .type = SETTING_TEXT,
     .field = offsetof(struct sample_spec, engine),
     .group = "run",
     .placeholder = "NAME",
     .help = "engine",
     .commands = 1},
};

#define SAMPLE_S UINT64_C(1000000000)
#define SAMPLE_GIB UINT64_C(1073741824)

static struct checkpoint_record *sample_checkpoint(struct result *result, uint32_t pass,
                                                   uint32_t checkpoint, uint64_t start_s,
                                                   uint64_t slowest_s, uint64_t rank0_s) {
    struct checkpoint_record *record = result_add_checkpoint(result);
    *record =
        (struct checkpoint_record){.pass = pass,
                                   .checkpoint = checkpoint,
                                   .complete = true,
                                   .start_ns = start_s * SAMPLE_S,
                                   .duration_ns = slowest_s * SAMPLE_S,
                                   .rank0_ns = rank0_s * SAMPLE_S,
                                   .fastest_ns = rank0_s * SAMPLE_S,
                                   .slowest_rank = 1,
                                   .fastest_rank = 0,
                                   .bytes = 2 * SAMPLE_GIB,
                                   .rank_ns_sum = (slowest_s + rank0_s) * SAMPLE_S,
                                   .sync_ns_sum = SAMPLE_S,
                                   .payload_ns_sum = SAMPLE_S / 2,
                                   .stored_bytes = RESULT_UNKNOWN,
                                   .compress_ns_sum = RESULT_UNKNOWN,
                                   .compress_wall_ns_sum = RESULT_UNKNOWN,
                                   .commit_ns = 5000000,
                                   .used_bytes = (pass == 1 ? checkpoint : 4) * 2 * SAMPLE_GIB,
                                   .total_bytes = 10 * SAMPLE_GIB,
                                   .device_bytes = 2 * SAMPLE_GIB + 4096};
    return record;
}

static void sample_fill(struct result *result, struct arena *arena) {
    static struct sample_spec spec;
    struct settings *settings = arena_new(arena, 1, sizeof *settings);
    struct error err;
    settings_init(settings, sample_rows, 2, 1, &spec, arena);
    settings_set(settings, "passes", "2", "command line", &err);
    memset(result, 0, sizeof *result);
    *result =
        (struct result){.kind = RESULT_MEASURED,
                        .outcome = RESULT_DRIVE_FULL,
                        .outcome_text = "pass 2 ended at checkpoint 5: no space left on device",
                        .run_id = "run-1",
                        .version = "0.1.0",
                        .started = "2024-08-13T10:00:00Z",
                        .elapsed_ns = 125 * SAMPLE_S,
                        .settings = settings,
                        .arena = arena};
    result->machine.arena = result->file_system.arena = arena;
    result->device.arena = result->engine.arena = arena;
    result->plan = (struct result_plan){.model = "llama3.1-8b",
                                        .layout = "dlio2",
                                        .layout_leaves_out = "nothing of note",
                                        .parameters = 8030261248,
                                        .checkpoint_bytes = 2 * SAMPLE_GIB,
                                        .model_bytes = SAMPLE_GIB / 2,
                                        .optimizer_bytes = SAMPLE_GIB + SAMPLE_GIB / 2,
                                        .files = 4,
                                        .ranks = 2,
                                        .tp = 2,
                                        .pp = 1,
                                        .dp = 1,
                                        .zero_stage = 1,
                                        .largest_rank_bytes = SAMPLE_GIB + 512,
                                        .smallest_rank_bytes = SAMPLE_GIB - 512,
                                        .scale = 0.02,
                                        .passes = 2,
                                        .checkpoints_per_pass = 5,
                                        .run_bytes = 20 * SAMPLE_GIB,
                                        .memory_bytes = 256 << 20,
                                        .payload_bytes_per_second = 8e9};
    facts_text(&result->machine, "hostname", "box");
    facts_text(&result->file_system, "type", "ext4");
    for (uint32_t i = 0; i < 4; i++) {
        sample_checkpoint(result, 1, i + 1, 10 * i, 10, 8);
    }
    for (uint32_t i = 0; i < 4; i++) {
        sample_checkpoint(result, 2, i + 1, 40 + 15 * i, i < 2 ? 14 : 16, 10);
    }
    struct checkpoint_record *broken = sample_checkpoint(result, 2, 5, 100, 3, 3);
    broken->complete = false;
    broken->bytes = SAMPLE_GIB / 4;
    broken->device_bytes = broken->commit_ns = RESULT_UNKNOWN;
    broken->note = "write of 'pass_2/ckpt_5/rank1.pt' at 268435456: no space left on device";
    for (uint64_t i = 1; i <= 1000; i++) {
        histogram_add(&result->write_latency, i * 1000000);
    }
    histogram_add(&result->sync_latency, 250000);
}

#endif
