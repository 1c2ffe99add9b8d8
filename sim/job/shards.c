#include "sim/job/shards.h"

#include "base/check.h"
#include "base/names.h"
#include "base/units.h"
#include "io/format_dcp_metadata.h"
#include "io/seek_table.h"

#include <string.h>

/* Which format. */

static bool goes_with(const struct format *format, const struct layout *layout) {
    return layout->format == NULL || strcmp(format->name, "raw") == 0 ||
           strcmp(format->name, layout->format) == 0;
}

enum status shards_format(const char *name, const struct layout *layout,
                          const struct format **format, struct error *err) {
    if (names_equal(name, "auto")) {
        name = layout->format != NULL ? layout->format : "raw";
    }
    *format = format_find(name);
    if (*format == NULL) {
        return error_set(err, ERR_USAGE, "--format: unknown format '%s'; `ckptsim list formats` "
                                         "names all", name);
    }
    if (!goes_with(*format, layout)) {
        return error_set(err, ERR_USAGE, "--format: '%s' does not go with layout '%s', whose framework "
                                         "writes %s; %s, raw and auto are allowed",
                         name, layout->name, layout->format, layout->format);
    }
    return OK;
}

/* Measuring. */

struct measure {
    const struct plan *plan;
    struct shards *shards;
    enum shards_depth depth;
    struct arena *arena, scratch; /* scratch: of one file, where only its size is kept */
    bool keeps_tensors;           /* DCP's metadata is about all of them */
    /* Of each file: */
    struct format_file *formats;
    uint64_t *sizes;
    struct tensor **tensors;
};

static bool classes_differ(const struct payload *classes) {
    for (int i = 1; i < FORMAT_CLASSES; i++) {
        if (memcmp(&classes[i], &classes[0], sizeof classes[0]) != 0) {
            return true;
        }
    }
    return false;
}

static enum status measure_file(struct measure *measure, uint32_t rank, uint64_t index,
                                uint64_t nth, struct error *err) {
    struct shards *shards = measure->shards;
    bool contents = measure->depth == SHARDS_CONTENTS;
    struct arena *arena = contents ? measure->arena : &measure->scratch;
    uint64_t count = plan_tensors(measure->plan, rank, index);
    struct tensor *tensors = measure->keeps_tensors ? arena_new(measure->arena, count, sizeof *tensors)
                                                    : mem_new(count, sizeof *tensors);
    for (uint64_t i = 0; i < count; i++) {
        plan_tensor(measure->plan, rank, index, i, &tensors[i]);
    }
    struct format_file file;
    enum status status = format_measure(shards->format, tensors, count, NULL, arena, &file, err);
    if (status != OK) {
        struct shard_file shard;
        plan_file(measure->plan, rank, index, 1, &shard);
        error_wrap(err, "--format: '%s'", shard.path);
    } else {
        measure->sizes[nth] = file.size_bytes;
        shards->most_crcs =
            file.crc_count > shards->most_crcs ? file.crc_count : shards->most_crcs;
        if (contents) {
            measure->formats[nth] = file;
        }
        if (measure->keeps_tensors) {
            measure->tensors[nth] = tensors;
        }
    }
    if (!measure->keeps_tensors) {
        mem_free(tensors);
    }
    if (!contents) {
        arena_fini(&measure->scratch);
        measure->scratch = (struct arena){0};
    }
    return status;
}

static enum status refuse_memory(const struct measure *measure, struct error *err) {
    char limit[UNITS_TEXT];
    return error_set(err, ERR_USAGE,
                     "--format: '%s' of so many tensors takes more than %s of memory; --format raw "
                     "takes none, --subset takes fewer ranks",
                     measure->shards->format->name, units_gib(SHARDS_MEMORY_BYTES, limit));
}

static enum status check_memory(const struct measure *measure, uint64_t before, struct error *err) {
    uint64_t used = measure->arena->used_bytes - before;
    return used <= SHARDS_MEMORY_BYTES ? OK : refuse_memory(measure, err);
}

/* A tensor takes more than this in any format's structure; where DCP's metadata tells of it, twice. */
enum { TENSOR_MEMORY_BYTES = 128 };

/* Before minutes are spent on what is going to be refused. */
static enum status estimate_memory(const struct measure *measure, struct error *err) {
    uint64_t tensors = 0;
    if (measure->depth == SHARDS_SIZES) {
        return OK; /* sizes take next to none */
    }
    for (uint32_t rank = 0; rank < measure->plan->ranks; rank++) {
        for (uint64_t i = 0; i < measure->plan->shares[rank].files; i++) {
            tensors += plan_tensors(measure->plan, rank, i);
        }
    }
    uint64_t each = TENSOR_MEMORY_BYTES + (measure->keeps_tensors ? sizeof(struct tensor) : 0);
    return tensors < SHARDS_MEMORY_BYTES / each ? OK : refuse_memory(measure, err);
}

static enum status measure_ranks(struct measure *measure, uint64_t before, struct error *err) {
    struct shards *shards = measure->shards;
    struct plan_share *shares = arena_new(measure->arena, shards->ranks, sizeof *shares);
    uint64_t nth = 0;
    shards->checkpoint_bytes = 0;
    for (uint32_t rank = 0; rank < shards->ranks; rank++) {
        shares[rank].files = measure->plan->shares[rank].files;
        for (uint64_t i = 0; i < shares[rank].files; i++, nth++) {
            if (measure_file(measure, rank, i, nth, err) != OK ||
                check_memory(measure, before, err) != OK) {
                return err->status;
            }
            shares[rank].bytes += measure->sizes[nth];
        }
        shards->checkpoint_bytes += shares[rank].bytes;
    }
    shards->shares = shares;
    shards->sizes = measure->sizes;
    shards->formats = measure->formats;
    return OK;
}

/* DCP's metadata tells of every tensor in every file, under the file's name in its folder. */
static enum status measure_metadata(struct measure *measure, struct error *err) {
    struct shards *shards = measure->shards;
    uint64_t count = 0, nth = 0, used = 0;
    for (uint64_t i = 0; i < shards->files; i++) {
        count += measure->formats[i].place_count;
    }
    struct format_dcp_item *items = mem_new(count, sizeof *items);
    for (uint32_t rank = 0; rank < shards->ranks; rank++) {
        for (uint64_t i = 0; i < shards->shares[rank].files; i++, nth++) {
            struct shard_file file;
            shards_file(shards, rank, i, 1, &file);
            const char *name = arena_text(measure->arena, file.name);
            for (uint64_t k = 0; k < measure->formats[nth].place_count; k++) {
                items[used++] = (struct format_dcp_item){.tensor = &measure->tensors[nth][k],
                                                         .place = &measure->formats[nth].places[k],
                                                         .path = name};
            }
        }
    }
    enum status status =
        format_dcp_metadata(items, count, measure->arena, &shards->metadata, err);
    mem_free(items);
    return status == OK ? OK : error_wrap(err, "--format: dcp's .metadata");
}

static bool has_metadata(const struct plan *plan) {
    for (uint64_t i = 0; i < plan_markers(plan); i++) {
        struct shard_marker marker;
        plan_marker(plan, i, 1, &marker);
        if (marker.role == MARKER_METADATA) {
            return true;
        }
    }
    return false;
}

static void add_markers(struct shards *shards) {
    shards->marker_bytes = 0;
    for (uint64_t i = 0; i < shards_markers(shards); i++) {
        struct shard_marker marker;
        shards_marker(shards, i, 1, &marker);
        shards->marker_bytes += marker.file.bytes;
    }
}

void shards_raw(const struct plan *plan, struct arena *arena, struct shards *shards) {
    *shards = (struct shards){.plan = plan,
                              .format = format_find("raw"),
                              .ranks = plan->ranks,
                              .files = plan->files,
                              .checkpoint_bytes = plan->checkpoint_bytes,
                              .most_bytes = plan->checkpoint_bytes,
                              .shares = plan->shares};
    uint64_t *first = arena_new(arena, plan->ranks, sizeof *first);
    for (uint32_t rank = 1; rank < plan->ranks; rank++) {
        first[rank] = first[rank - 1] + plan->shares[rank - 1].files;
    }
    shards->first = first;
    add_markers(shards);
}

enum status shards_measure(const struct plan *plan, const struct format *format,
                           const struct payload *classes, enum shards_depth depth,
                           struct arena *arena, struct shards *shards, struct error *err) {
    shards_raw(plan, arena, shards);
    shards->format = format;
    uint64_t before = arena->used_bytes;
    uint64_t files = shards->files;
    bool raw = strcmp(format->name, "raw") == 0;
    enum status status = OK;
    if (!raw || (depth == SHARDS_CONTENTS && classes_differ(classes))) {
        struct measure measure = {.plan = plan, .shards = shards, .depth = depth, .arena = arena};
        measure.keeps_tensors = depth == SHARDS_CONTENTS && strcmp(format->name, "dcp") == 0 &&
                                has_metadata(plan);
        measure.sizes = arena_new(arena, files, sizeof measure.sizes[0]);
        if (depth == SHARDS_CONTENTS) {
            measure.formats = arena_new(arena, files, sizeof measure.formats[0]);
        }
        if (measure.keeps_tensors) {
            measure.tensors = arena_new(arena, files, sizeof measure.tensors[0]);
        }
        status = estimate_memory(&measure, err);
        status = status == OK ? measure_ranks(&measure, before, err) : status;
        if (status == OK && measure.keeps_tensors) {
            status = measure_metadata(&measure, err);
        }
    }
    shards->most_bytes = shards->checkpoint_bytes;
    add_markers(shards);
    shards->memory_bytes = arena->used_bytes - before;
    return status;
}

/* Compressing. */

/* A table and its text, a job's own buffer for that, as long as the longest of a rank's files. */
static uint64_t table_bytes(uint64_t windows) {
    return (windows + 1) * sizeof(struct seek_point) + seek_table_tail_bytes(windows);
}

static uint64_t most_stored_bytes(uint64_t raw_bytes, uint64_t chunk_bytes) {
    uint64_t windows = codec_windows(raw_bytes, chunk_bytes);
    uint64_t last_bytes = raw_bytes - (windows - 1) * chunk_bytes;
    return (windows - 1) * codec_bound(chunk_bytes) + codec_bound(last_bytes) +
           seek_table_tail_bytes(windows);
}

static enum status too_many_windows(const struct shard_file *file, struct error *err) {
    uint64_t chunk_bytes = CODEC_BLOCK;
    while (codec_windows(file->bytes, chunk_bytes) > SEEK_TABLE_WINDOWS_MAX) {
        chunk_bytes *= 2;
    }
    char limit[UNITS_TEXT];
    return error_set(err, ERR_USAGE,
                     "--chunk: '%s' of %llu bytes would have more than the %s windows that zstd's "
                     "seekable format allows; with --codec at least --chunk=%lluKiB is needed",
                     file->path, (unsigned long long)file->bytes,
                     units_grouped(SEEK_TABLE_WINDOWS_MAX, limit),
                     (unsigned long long)chunk_bytes / 1024);
}

uint64_t shards_windows(const struct shards *shards, uint32_t rank) {
    uint64_t most = 0;
    for (uint64_t i = 0; shards->chunk_bytes > 0 && i < shards->shares[rank].files; i++) {
        struct shard_file file;
        shards_file(shards, rank, i, 1, &file);
        uint64_t windows = codec_windows(file.bytes, shards->chunk_bytes);
        most = windows > most ? windows : most;
    }
    return most;
}

/* Adds up what the files of all ranks may take on the drive, and tables in memory. */
static enum status add_windows(struct shards *shards, uint64_t *memory_bytes, struct error *err) {
    for (uint32_t rank = 0; rank < shards->ranks; rank++) {
        for (uint64_t i = 0; i < shards->shares[rank].files; i++) {
            struct shard_file file;
            shards_file(shards, rank, i, 1, &file);
            if (codec_windows(file.bytes, shards->chunk_bytes) > SEEK_TABLE_WINDOWS_MAX) {
                return too_many_windows(&file, err);
            }
            shards->most_bytes += most_stored_bytes(file.bytes, shards->chunk_bytes);
        }
        *memory_bytes += table_bytes(shards_windows(shards, rank));
    }
    return OK;
}

enum status shards_compress(struct shards *shards, const struct codec_choice *codec,
                            uint64_t chunk_bytes, struct error *err) {
    if (codec->kind == CODEC_NONE) {
        return OK;
    }
    if (shards->format->no_codec != NULL) {
        return error_set(err, ERR_USAGE, "--codec: files of format '%s' are not compressed: %s; "
                                         "--format raw or --codec none is allowed",
                         shards->format->name, shards->format->no_codec);
    }
    uint64_t memory_bytes = shards->files * sizeof(uint64_t); /* the length of each */
    shards->codec = *codec;
    shards->chunk_bytes = chunk_bytes;
    shards->most_bytes = 0;
    if (add_windows(shards, &memory_bytes, err) != OK) {
        return err->status;
    }
    if (memory_bytes > SHARDS_MEMORY_BYTES) {
        char limit[UNITS_TEXT];
        return error_set(err, ERR_USAGE,
                         "--chunk: the seek tables of so many windows take more than %s of memory; "
                         "a larger --chunk has fewer", units_gib(SHARDS_MEMORY_BYTES, limit));
    }
    shards->memory_bytes += memory_bytes;
    return OK;
}

/* Telling. */

static bool ends_with(const char *text, const char *ending) {
    size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

/* In the place of what the layout calls it; a name without a known extension gets one. */
static void set_extension(struct shard_file *file, const char *extension) {
    size_t length = strlen(file->path);
    for (size_t i = 0; formats[i] != NULL; i++) {
        const char *known = formats[i]->extension;
        if (known[0] != '\0' && ends_with(file->path, known)) {
            length -= strlen(known);
            break;
        }
    }
    CHECK(length + strlen(extension) < sizeof file->path);
    strcpy(file->path + length, extension);
}

void shards_file(const struct shards *shards, uint32_t rank, uint64_t index, uint32_t checkpoint,
                 struct shard_file *file) {
    plan_file(shards->plan, rank, index, checkpoint, file);
    if (shards->format->extension[0] != '\0') {
        set_extension(file, shards->format->extension);
    }
    if (shards->codec.kind != CODEC_NONE) {
        CHECK(strlen(file->path) + strlen(CODEC_EXTENSION) < sizeof file->path);
        strcat(file->path, CODEC_EXTENSION);
    }
    if (shards->sizes != NULL) {
        file->bytes = shards->sizes[shards->first[rank] + index];
    }
}

const struct format_file *shards_content(const struct shards *shards, uint32_t rank,
                                         uint64_t index) {
    return shards->formats != NULL ? &shards->formats[shards->first[rank] + index] : NULL;
}

uint64_t shards_markers(const struct shards *shards) { return plan_markers(shards->plan); }

static bool is_real_metadata(const struct shards *shards, const struct shard_marker *marker) {
    return marker->role == MARKER_METADATA && shards->metadata.size_bytes > 0;
}

void shards_marker(const struct shards *shards, uint64_t index, uint32_t checkpoint,
                   struct shard_marker *marker) {
    plan_marker(shards->plan, index, checkpoint, marker);
    if (is_real_metadata(shards, marker)) {
        marker->file.bytes = shards->metadata.size_bytes;
    }
}

void shards_marker_text(const struct shards *shards, uint64_t index, uint32_t checkpoint,
                        struct text_sink *sink) {
    struct shard_marker marker;
    plan_marker(shards->plan, index, checkpoint, &marker);
    if (!is_real_metadata(shards, &marker)) {
        plan_marker_text(shards->plan, index, checkpoint, sink);
        return;
    }
    for (uint64_t i = 0; i < shards->metadata.segment_count; i++) {
        const struct format_segment *segment = &shards->metadata.segments[i];
        CHECK(segment->literal != NULL);
        sink->put(sink, (const char *)segment->literal, segment->length_bytes);
    }
}
