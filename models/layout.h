#ifndef CKPTSIM_MODELS_LAYOUT_H
#define CKPTSIM_MODELS_LAYOUT_H

#include "base/error.h"
#include "base/memory.h"
#include "models/architecture.h"
#include "models/tensor.h"

#include <stdbool.h>
#include <stdint.h>

/* A layout says which files a rank writes, their names, their bytes and the tensors in them. To add
 * one: a file layout_NAME.c with a struct layout, and its row in layout.c. */

enum shard_kind { SHARD_MODEL, SHARD_OPTIMIZER, SHARD_MARKER };

enum { SHARD_PATH = 160 };

struct shard_file {
    char path[SHARD_PATH]; /* relative to the folder of all checkpoints */
    const char *name;      /* points at the last part of path */
    uint64_t bytes;
    uint64_t optimizer_bytes; /* of them; plan_file knows it where kind says it */
    enum shard_kind kind;     /* both model and optimizer in one file: SHARD_MODEL */
};

/* Markers are the small files that make a checkpoint one: which is the newest, what lies where.
 * Rank 0 writes them, in order, when all shards are written. They are no shards: plan_file does not
 * tell them, and the newest-checkpoint marker is the same file for all checkpoints. */
enum marker_role {
    MARKER_LATEST,   /* names the newest checkpoint; always the last */
    MARKER_INDEX,    /* which tensor is in which file */
    MARKER_METADATA, /* DCP's .metadata: its text is a stand-in that a writer of DCP replaces */
    MARKER_OTHER,
};

struct shard_marker {
    struct shard_file file; /* of kind SHARD_MARKER; its bytes are the length of the text */
    enum marker_role role;
};

/* Takes the text of a marker piece by piece: the first member of the struct that keeps it. */
struct text_sink {
    void (*put)(struct text_sink *sink, const char *text, uint64_t length);
};

struct plan;

/* What a layout understands beside tp, pp, dp and zero; all else is refused. */
enum layout_takes {
    TAKES_EP = 1,
    TAKES_CP = 2,
    TAKES_VPP = 4,
    TAKES_UNEVEN = 8,
    TAKES_VOCAB = 16,
    TAKES_MODEL_DATATYPE = 32,
    TAKES_OPTIMIZER_DATATYPE = 64,
};

struct layout {
    const char *name;
    const char *alias;      /* another name for it, or NULL */
    const char *format;     /* that the framework writes; NULL: any */
    const char *about;      /* one line for `ckptsim list layouts` */
    const char *leaves_out; /* what a real checkpoint holds and this does not; for the output */
    unsigned takes;         /* enum layout_takes */
    unsigned optimizers;    /* bit set of enum optimizer_kind; OPTIMIZER_NONE alone: holds none */
    uint64_t zero_least, zero_most, zero_default; /* stages */
    bool zero_of_config;                          /* what the model's config says is the default */
    bool zero_of_weights;                         /* stage 3 goes with pipeline stages */
    bool flat;             /* DLIO: tensors are numbers of elements, floored at every division */
    bool master_with_zero; /* from stage 1 on even an fp32 model has an fp32 copy */
    bool no_master;        /* the weights themselves are what the optimizer works on */
    bool even_stages;      /* layers must divide among pipeline stages */
    bool tied_copy;        /* the copy of a tied embedding is written by the last stage */
    bool gathers;          /* the model is put together again: tp, pp and ep are 1 */
    bool as_published;     /* weights are of the type that the config says they are published in */
    enum weight_style style, style_split; /* the latter where tp, pp or ep are above 1 */
    enum datatype model_datatype;         /* where nobody says otherwise; UNSET: the config's */
    /* --vocab-divisible-by of the framework, and where tp or pp are above 1; 0: no padding. */
    uint64_t vocab_divisor, vocab_divisor_split;

    /* NULL: nothing more to refuse, nothing to prepare. `prepared` ends in plan->prepared. */
    enum status (*check)(const struct plan *plan, struct error *err);
    const void *(*prepare)(const struct plan *plan, struct arena *arena);

    uint64_t (*rank_files)(const struct plan *plan, uint32_t rank);
    void (*file)(const struct plan *plan, uint32_t rank, uint64_t index, uint32_t checkpoint,
                 struct shard_file *file);
    /* A rank, at most this one, whose files have the same sizes and kinds: each such class is added
     * up once. NULL: every rank for itself. */
    uint32_t (*rank_like)(const struct plan *plan, uint32_t rank);

    /* The tensors of one file. */
    uint64_t (*tensors)(const struct plan *plan, uint32_t rank, uint64_t index);
    void (*tensor)(const struct plan *plan, uint32_t rank, uint64_t index, uint64_t nth,
                   struct tensor *tensor);

    /* What a rank holds while it trains, whoever of the ranks that hold it writes it, under the
     * names that the files have. NULL where a file's tensors do not say which part of which whole
     * they are: cannot_reshard then says why another parallelism cannot read them. */
    uint64_t (*held)(const struct plan *plan, uint32_t rank);
    void (*held_tensor)(const struct plan *plan, uint32_t rank, uint64_t nth,
                        struct tensor *tensor);
    const char *cannot_reshard;

    /* NULL: the layout has none. */
    uint64_t (*markers)(const struct plan *plan);
    void (*marker)(const struct plan *plan, uint64_t index, uint32_t checkpoint,
                   struct shard_marker *marker, struct text_sink *sink);
};

extern const struct layout layout_dlio2, layout_dlio, layout_megatron, layout_megatron_dist,
    layout_deepspeed, layout_fsdp, layout_hf;

/* The registry: a NULL-terminated table. */
extern const struct layout *const layouts[];

const struct layout *layout_find(const char *name);

#endif
