/* A Hugging Face model folder: safetensors shards with their index, as save_pretrained writes them.
 *
 *     checkpoint-7/model-00001-of-00004.safetensors ...     weights alone, in the model's order
 *     checkpoint-7/model.safetensors.index.json             where there are several files
 *     checkpoint-7/model.safetensors                        instead where there is one
 *
 * Rank 0 writes, all other ranks stand by. A file is full when the next tensor would make it larger
 * than 5 GB (10^9), the default up to transformers 4; its boundaries are those of the unscaled
 * model, so that a scaled one has as many files.
 *
 * Sources: the format is safetensors'; the sharding rule and the index are from general knowledge
 * and have not been held against files. The real index is sorted by name. */
#include "base/check.h"
#include "models/marker.h"
#include "models/plan.h"
#include "models/shard_name.h"
#include "models/stage.h"

#define SHARD_BYTES UINT64_C(5000000000)

struct shards {
    uint64_t count;
    uint64_t *first; /* count + 1: the first tensor of each file */
    uint64_t *bytes; /* of each file, scaled */
};

static const struct seat only = {0};

static struct place weight_at(const struct plan *plan, uint64_t nth) {
    return stage_at(plan, FILTER_ALL, MODE_WEIGHTS, 0, nth);
}

/* Two rounds: how many files there are, then where they begin. */
static uint64_t cut_files(const struct plan *plan, struct shards *shards) {
    uint64_t count = stage_count(plan, FILTER_ALL, MODE_WEIGHTS, 0);
    uint64_t files = 0, real = 0;
    for (uint64_t i = 0; i < count; i++) {
        const struct part_weight *weight = weight_at(plan, i).at.weight;
        uint64_t width = datatype_bytes(weight->datatype);
        uint64_t bytes = weight->real_elements * width;
        if (i == 0 || real + bytes > SHARD_BYTES) {
            if (shards->first != NULL) {
                shards->first[files] = i;
            }
            files++;
            real = 0;
        }
        real += bytes;
        if (shards->bytes != NULL) {
            shards->bytes[files - 1] += weight->elements * width;
        }
    }
    return files;
}

static const void *prepare(const struct plan *plan, struct arena *arena) {
    struct shards *shards = arena_new(arena, 1, sizeof *shards);
    shards->count = cut_files(plan, shards);
    shards->first = arena_new(arena, shards->count + 1, sizeof *shards->first);
    shards->bytes = arena_new(arena, shards->count, sizeof *shards->bytes);
    cut_files(plan, shards);
    shards->first[shards->count] = stage_count(plan, FILTER_ALL, MODE_WEIGHTS, 0);
    return shards;
}

static uint64_t rank_files(const struct plan *plan, uint32_t rank) {
    const struct shards *shards = plan->prepared;
    return rank == 0 ? shards->count : 0;
}

static void name_file(const struct plan *plan, uint64_t index, struct shard_name *name) {
    const struct shards *shards = plan->prepared;
    if (shards->count == 1) {
        shard_name_text(name, "model.safetensors");
        return;
    }
    shard_name_text(name, "model-");
    shard_name_padded(name, index + 1, 5);
    shard_name_text(name, "-of-");
    shard_name_padded(name, shards->count, 5);
    shard_name_text(name, ".safetensors");
}

static void file_at(const struct plan *plan, uint32_t rank, uint64_t index, uint32_t checkpoint,
                    struct shard_file *file) {
    const struct shards *shards = plan->prepared;
    struct shard_name name = {.file = file};
    (void)rank;
    shard_name_text(&name, "checkpoint-");
    shard_name_number(&name, checkpoint);
    shard_name_folder(&name);
    name_file(plan, index, &name);
    file->kind = SHARD_MODEL;
    file->bytes = shards->bytes[index];
}

static uint64_t file_tensors(const struct plan *plan, uint32_t rank, uint64_t index) {
    const struct shards *shards = plan->prepared;
    (void)rank;
    return shards->first[index + 1] - shards->first[index];
}

static void file_tensor(const struct plan *plan, uint32_t rank, uint64_t index, uint64_t nth,
                        struct tensor *tensor) {
    const struct shards *shards = plan->prepared;
    struct place place = weight_at(plan, shards->first[index] + nth);
    (void)rank;
    place_tensor(plan, &place, &only, "", tensor);
}

/* Whoever reads, by whatever parallelism, holds its part of the weights. */
static uint64_t held(const struct plan *plan, uint32_t rank) {
    struct seat seat = grid_seat(&plan->parallelism, rank);
    return stage_count(plan, FILTER_ALL, MODE_WEIGHTS, seat.pp);
}

static void held_tensor(const struct plan *plan, uint32_t rank, uint64_t nth,
                        struct tensor *tensor) {
    struct seat seat = grid_seat(&plan->parallelism, rank);
    struct place place = stage_at(plan, FILTER_ALL, MODE_WEIGHTS, seat.pp, nth);
    place_tensor(plan, &place, &seat, "", tensor);
}

static uint64_t markers(const struct plan *plan) {
    const struct shards *shards = plan->prepared;
    return shards->count > 1 ? 1 : 0;
}

static void put_index(const struct plan *plan, struct text_sink *sink) {
    const struct shards *shards = plan->prepared;
    const char *comma = "";
    uint64_t total = 0;
    for (uint64_t i = 0; i < shards->count; i++) {
        total += shards->bytes[i];
    }
    sink_text(sink, "{\n  \"metadata\": {\n    \"total_size\": ");
    sink_number(sink, total);
    sink_text(sink, "\n  },\n  \"weight_map\": {");
    for (uint64_t i = 0; i < shards->count; i++) {
        struct shard_file file;
        struct shard_name name = {.file = &file};
        name_file(plan, i, &name);
        for (uint64_t k = 0; k < file_tensors(plan, 0, i); k++) {
            struct tensor tensor;
            file_tensor(plan, 0, i, k, &tensor);
            sink_text(sink, comma);
            sink_text(sink, "\n    \"");
            sink_text(sink, tensor.name);
            sink_text(sink, "\": \"");
            sink_text(sink, file.path);
            sink_text(sink, "\"");
            comma = ",";
        }
    }
    sink_text(sink, "\n  }\n}\n");
}

static void marker_at(const struct plan *plan, uint64_t index, uint32_t checkpoint,
                      struct shard_marker *marker, struct text_sink *sink) {
    char folder[SHARD_PATH];
    (void)index;
    marker_folder("checkpoint-", checkpoint, 1, folder);
    marker_begin(marker, MARKER_INDEX, folder, "model.safetensors.index.json");
    put_index(plan, sink);
}

const struct layout layout_hf = {
    .name = "hf",
    .format = "safetensors",
    .about = "Hugging Face safetensors shards of 5 GB with index: the weights, written by rank 0",
    .leaves_out = "weights alone, no optimizer; no config.json and tokenizer",
    .takes = TAKES_MODEL_DATATYPE,
    .optimizers = 1U << OPTIMIZER_NONE,
    .zero_most = 3,
    .gathers = true,
    .as_published = true,
    .style = STYLE_HUGGING_FACE,
    .style_split = STYLE_HUGGING_FACE,
    .prepare = prepare,
    .rank_files = rank_files,
    .file = file_at,
    .tensors = file_tensors,
    .tensor = file_tensor,
    .held = held,
    .held_tensor = held_tensor,
    .markers = markers,
    .marker = marker_at,
};
