#ifndef CKPTSIM_MODELS_PLAN_H
#define CKPTSIM_MODELS_PLAN_H

#include "base/error.h"
#include "base/memory.h"
#include "models/architecture.h"
#include "models/layout.h"
#include "models/optimizer.h"
#include "models/part.h"
#include "models/tensor.h"

#include <stdbool.h>
#include <stdint.h>

/* The plan: which rank writes which files of how many bytes, and which tensors are in them. Pure
 * arithmetic; nothing is stored per file or tensor, so a plan for 16,384 ranks is small. */

/* What the user asks for; zero means "as the model's config says, else 1" for tp, pp, dp, "1" for
 * ep, cp, vpp, "as tp" for etp, "as the layout's framework has it" for the rest, and
 * PLAN_ZERO_DEFAULT that for the ZeRO stage. */
struct plan_request {
    const char *model;      /* a built-in name or a path */
    const char *config_dir; /* NULL, or a folder whose models/NAME.yaml wins over the built-in */
    const char *layout;     /* a name in the layout registry */
    uint64_t tp, pp, dp;
    uint64_t zero_stage;   /* 0-3, or PLAN_ZERO_DEFAULT */
    uint64_t subset_ranks; /* only the first N ranks write; 0: all */
    double scale;          /* every tensor shrunk by this, (0, 1] */
    uint64_t ep, etp, cp, vpp;
    uint64_t first_stage_layers, last_stage_layers;
    uint64_t vocab_divisible_by; /* the vocabulary is padded to a multiple of this times tp */
    int optimizer;               /* enum optimizer_kind */
    int model_datatype, optimizer_datatype; /* enum datatype */
    bool reads; /* of ranks that read: tp and pp may cut what the layout gathers in its files */
};

#define PLAN_ZERO_DEFAULT UINT64_C(9)

/* What one rank writes in one checkpoint. */
struct plan_share {
    uint64_t bytes;
    uint64_t files;
};

struct plan {
    struct architecture model;
    struct parallelism parallelism; /* resolved */
    const struct layout *layout;
    double scale;
    uint64_t vocab; /* padded */
    enum weight_style style;
    enum datatype model_datatype, optimizer_datatype;
    enum optimizer_kind optimizer;
    struct state_list states[2]; /* of a weight; [1]: of Muon's matrices */
    struct part parts[FILTER_COUNT][PART_COUNT];
    const void *prepared;      /* the layout's own */
    uint64_t parameters;       /* of the unscaled model, without padding */
    uint32_t ranks;            /* that write here: shares[0 .. ranks-1] */
    uint32_t all_ranks;        /* of the job */
    uint64_t checkpoint_bytes; /* of the ranks that write, after scaling, like the next three */
    uint64_t model_bytes, optimizer_bytes;
    uint64_t files;
    uint64_t largest_file_bytes;
    struct plan_share *shares;
};

/* Reads the model, checks that the parallelism fits it and adds everything up; all lives in the
 * arena. Every error is ERR_USAGE and names the setting, the value and what is allowed. */
enum status plan_build(const struct plan_request *request, struct arena *arena, struct plan *plan,
                       struct error *err);

/* File `index` (0 .. shares[rank].files-1) of a rank, in the order the rank writes them, for
 * checkpoint number `checkpoint` (from 1); file->path is relative to the checkpoint folder and
 * file->name is its last part. */
void plan_file(const struct plan *plan, uint32_t rank, uint64_t index, uint32_t checkpoint,
               struct shard_file *file);

/* How many tensors are in file `index` of a rank, and number `nth` of them, in the order of their
 * bytes in the file. Their bytes add up to the file's. A file may have none. */
uint64_t plan_tensors(const struct plan *plan, uint32_t rank, uint64_t index);
void plan_tensor(const struct plan *plan, uint32_t rank, uint64_t index, uint64_t nth,
                 struct tensor *tensor);

/* How many tensors a rank holds, whoever writes them, and number `nth` of them. Only of layouts that
 * tell (layout->held). */
uint64_t plan_held(const struct plan *plan, uint32_t rank);
void plan_held_tensor(const struct plan *plan, uint32_t rank, uint64_t nth, struct tensor *tensor);

/* The first rank of the data parallel group that a rank belongs to: of those with the same part of
 * the pipeline and of tensor parallelism. */
uint32_t plan_group_leader(const struct plan *plan, uint32_t rank);

/* The markers of a checkpoint, which rank 0 writes when all shards are there, in this order. Their
 * texts are of the files as --format raw has them. */
uint64_t plan_markers(const struct plan *plan);
void plan_marker(const struct plan *plan, uint64_t index, uint32_t checkpoint,
                 struct shard_marker *marker);
void plan_marker_text(const struct plan *plan, uint64_t index, uint32_t checkpoint,
                      struct text_sink *sink);

/* What `elements` of one tensor are after the plan's scale: at least one. */
uint64_t plan_scaled(const struct plan *plan, uint64_t elements);

#endif
