#include "models/marker.h"

#include "models/plan.h"
#include "models/shard_name.h"

void marker_begin(struct shard_marker *marker, enum marker_role role, const char *folder,
                  const char *name) {
    struct shard_name path = {.file = &marker->file};
    marker->role = role;
    marker->file.kind = SHARD_MARKER;
    marker->file.path[0] = '\0';
    shard_name_text(&path, folder);
    marker->file.name = marker->file.path + path.used;
    shard_name_text(&path, name);
}

void sink_text(struct text_sink *sink, const char *text) { sink->put(sink, text, strlen(text)); }

void sink_number(struct text_sink *sink, uint64_t number) {
    struct shard_file digits;
    struct shard_name name = {.file = &digits};
    shard_name_number(&name, number);
    sink->put(sink, digits.path, name.used);
}

void marker_folder(const char *prefix, uint32_t checkpoint, unsigned width, char *folder) {
    struct shard_file file;
    struct shard_name name = {.file = &file};
    shard_name_text(&name, prefix);
    shard_name_padded(&name, checkpoint, width);
    shard_name_text(&name, "/");
    memcpy(folder, file.path, name.used + 1);
}

void sink_metadata(const struct plan *plan, struct text_sink *sink) {
    sink_text(sink, "the tensors lie raw in the .distcp files, end to end, in the order of "
                    "`ckptsim shards --tensors`: layout ");
    sink_text(sink, plan->layout->name);
    sink_text(sink, ", ");
    sink_number(sink, plan->files);
    sink_text(sink, " files\n");
}
