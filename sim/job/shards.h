#ifndef CKPTSIM_SIM_JOB_SHARDS_H
#define CKPTSIM_SIM_JOB_SHARDS_H

#include "io/codec.h"
#include "io/format.h"
#include "models/plan.h"

/* The files of a checkpoint as they lie on a drive: a plan says which rank writes which tensors into
 * which file, a format how tensors lie in a file.
 *
 *   plan (files, tensors) ──format──> shards (files, sizes, contents, markers)
 *
 * Files of raw payload of one kind need no look at any tensor and take no memory. */

struct shards {
    const struct plan *plan;
    const struct format *format;
    uint32_t ranks;
    uint64_t files;
    uint64_t checkpoint_bytes;         /* of all files, markers not among them */
    uint64_t marker_bytes;
    const struct plan_share *shares;   /* of each rank */
    const struct format_file *formats; /* of each file, rank by rank; NULL: payload from end to end */
    const uint64_t *sizes;             /* of each file; NULL: as the plan has them */
    const uint64_t *first;             /* number of each rank's first file */
    uint64_t most_crcs;                /* of one file */
    struct codec_choice codec;         /* of the files */
    uint64_t chunk_bytes;              /* their windows; 0 without a codec */
    uint64_t most_bytes;               /* that all files may take on a drive: with a codec more than they hold */
    struct format_file metadata;       /* of DCP, all literal; size_bytes 0: there is none */
    uint64_t memory_bytes;             /* that contents take; 0 where nothing is measured */
};

enum shards_depth {
    SHARDS_CONTENTS, /* for writing and reading real files */
    SHARDS_SIZES,    /* for a simulated drive */
};

/* What contents may take; more is refused. */
#define SHARDS_MEMORY_BYTES (UINT64_C(2) << 30)

/* The format by name: "auto" is what the layout's framework writes. ERR_USAGE where there is no such
 * format or the layout does not go with it. */
enum status shards_format(const char *name, const struct layout *layout,
                          const struct format **format, struct error *err);

/* `classes` are the payloads of the classes of tensors, FORMAT_CLASSES of them; where they differ,
 * even raw files are looked into. All lives in the arena. ERR_USAGE where the format cannot hold some
 * tensor, or the contents would take too much memory. */
enum status shards_measure(const struct plan *plan, const struct format *format,
                           const struct payload *classes, enum shards_depth depth,
                           struct arena *arena, struct shards *shards, struct error *err);

/* Raw files of one kind of payload: nothing is measured and nothing can fail. */
void shards_raw(const struct plan *plan, struct arena *arena, struct shards *shards);

/* Compresses the files of measured shards, window by window. ERR_USAGE where the format has none that
 * are compressed, or a file would have too many windows. */
enum status shards_compress(struct shards *shards, const struct codec_choice *codec,
                            uint64_t chunk_bytes, struct error *err);

/* The most windows that a file of this rank has; 0 without a codec. */
uint64_t shards_windows(const struct shards *shards, uint32_t rank);

/* As plan_file, with the size that the format gives it, and the extensions of format and codec. */
void shards_file(const struct shards *shards, uint32_t rank, uint64_t index, uint32_t checkpoint,
                 struct shard_file *file);

/* The contents of a file; NULL: payload from end to end. */
const struct format_file *shards_content(const struct shards *shards, uint32_t rank,
                                         uint64_t index);

/* As plan_markers, plan_marker and plan_marker_text; DCP's metadata is the real one where the format
 * is DCP. */
uint64_t shards_markers(const struct shards *shards);
void shards_marker(const struct shards *shards, uint64_t index, uint32_t checkpoint,
                   struct shard_marker *marker);
void shards_marker_text(const struct shards *shards, uint64_t index, uint32_t checkpoint,
                        struct text_sink *sink);

#endif
