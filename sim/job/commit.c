#include "sim/job/commit.h"

#include "io/crc32.h"
#include "io/manifest.h"
#include "models/digest.h"

#include <errno.h>
#include <string.h>

/* Whom the functions below work for. */
struct commit {
    struct job *job;
    struct tier *tier;
    const struct checkpoint *checkpoint; /* NULL where something is removed */
};

/* A text file put in place as a whole: NAME.tmp, written in pieces, synced, renamed to NAME. */
struct text_file {
    struct text_sink sink; /* takes text of any length */
    const struct commit *commit;
    char tmp[SHARD_PATH + 8];
    uint64_t offset;  /* bytes written */
    size_t used;      /* bytes waiting in job->text */
    uint32_t crc;     /* of the bytes that went through the sink */
    int error;        /* the first one of the sink */
};

static int file_request(const struct commit *commit, enum io_op op) {
    struct job *job = commit->job;
    job->control = (struct io_request){.op = op, .file = &job->control_file};
    return job_control(job, commit->tier);
}

static int path_request(const struct commit *commit, enum io_op op, const char *path,
                        const char *new_path) {
    struct job *job = commit->job;
    job->control = (struct io_request){.op = op, .path = path, .new_path = new_path};
    return job_control(job, commit->tier);
}

static bool syncing(const struct commit *commit) {
    return commit->job->config->fsync != JOB_FSYNC_NONE;
}

static int text_flush(struct text_file *text) {
    struct job *job = text->commit->job;
    if (text->used == 0) {
        return 0;
    }
    job->control = (struct io_request){.op = IO_WRITE,
                                       .file = &job->control_file,
                                       .literal = job->text,
                                       .offset = text->offset,
                                       .length_bytes = text->used};
    text->offset += text->used;
    text->used = 0;
    return job_control(job, text->commit->tier);
}

static void put_text(struct text_sink *sink, const char *bytes, uint64_t length) {
    struct text_file *text = (struct text_file *)sink;
    char *waiting = text->commit->job->text;
    text->crc = crc32_more(text->crc, bytes, length);
    while (length > 0 && text->error == 0) {
        size_t room = JOB_TEXT_BYTES - text->used, part = length < room ? length : room;
        memcpy(waiting + text->used, bytes, part);
        text->used += part;
        bytes += part;
        length -= part;
        text->error = text->used == JOB_TEXT_BYTES ? text_flush(text) : 0;
    }
}

static int text_open(struct text_file *text, const struct commit *commit, const char *name) {
    struct job *job = commit->job;
    *text = (struct text_file){.sink = {put_text}, .commit = commit};
    snprintf(text->tmp, sizeof text->tmp, "%s" MANIFEST_TORN, name);
    job->control_file = (struct io_file){.path = text->tmp, .mode = IO_TRUNCATE, .plain = true};
    return file_request(commit, IO_OPEN);
}

/* Room for one more piece of a manifest at the end of what waits. */
static char *text_room(struct text_file *text) {
    if (text->used + (size_t)MANIFEST_PIECE > JOB_TEXT_BYTES && text->error == 0) {
        text->error = text_flush(text);
    }
    return text->commit->job->text + (text->error == 0 ? text->used : 0);
}

/* Ends the file well (error 0) or throws it away. */
static int text_close(struct text_file *text, const char *name, int error) {
    const struct commit *commit = text->commit;
    error = error == 0 ? text->error : error;
    error = error == 0 ? text_flush(text) : error;
    if (error == 0 && syncing(commit)) {
        error = file_request(commit, IO_SYNC);
    }
    int close_error = file_request(commit, IO_CLOSE);
    error = error == 0 ? close_error : error;
    if (error == 0) {
        error = path_request(commit, IO_RENAME, text->tmp, name);
    }
    if (error != 0) {
        path_request(commit, IO_REMOVE, text->tmp, NULL); /* best effort: the first error is reported */
    }
    return error;
}

static void put_entries(struct text_file *text, enum manifest_kind kind) {
    const struct shards *shards = text->commit->job->shards;
    const struct checkpoint *checkpoint = text->commit->checkpoint;
    for (uint32_t rank = 0; rank < shards->ranks; rank++) {
        for (uint64_t i = 0; i < shards->shares[rank].files; i++) {
            struct shard_file shard;
            shards_file(shards, rank, i, (uint32_t)checkpoint->slot, &shard);
            uint64_t nth = shards->first[rank] + i;
            struct manifest_entry entry = {.rank = rank, .index = i, .bytes = shard.bytes,
                                           .stored_bytes = checkpoint->stored_bytes != NULL
                                                               ? checkpoint->stored_bytes[nth]
                                                               : shard.bytes,
                                           .sum = checkpoint->sums[nth],
                                           .path = shard.path,
                                           .has_sum = kind == MANIFEST_COMPLETE};
            text->used += manifest_write_entry(&entry, text_room(text));
        }
    }
    for (uint64_t i = 0; i < shards_markers(shards); i++) {
        struct shard_marker marker;
        shards_marker(shards, i, (uint32_t)checkpoint->slot, &marker);
        struct manifest_marker entry = {.bytes = marker.file.bytes, .crc = checkpoint->marker_crcs[i],
                                        .has_crc = kind == MANIFEST_COMPLETE,
                                        .newest = marker.role == MARKER_LATEST,
                                        .path = marker.file.path};
        text->used += manifest_write_marker(&entry, text_room(text));
    }
}

static int put_manifest(const struct commit *commit, enum manifest_kind kind) {
    const struct job *job = commit->job;
    const struct checkpoint *checkpoint = commit->checkpoint;
    char name[MANIFEST_NAME];
    manifest_name(kind, (uint32_t)checkpoint->slot, name);
    struct manifest_head head = {.checkpoint = (uint32_t)checkpoint->slot,
                                 .serial = checkpoint->serial,
                                 .settings = job->settings,
                                 .setting_count = job->setting_count,
                                 .files = job->shards->files,
                                 .markers = shards_markers(job->shards),
                                 .bytes = job->shards->checkpoint_bytes};
    memcpy(head.classes, job->io->classes, sizeof head.classes);
    digest_model(&job->shards->plan->model, head.model);
    snprintf(head.run_id, sizeof head.run_id, "%s", job->run_id);
    struct text_file text;
    int error = text_open(&text, commit, name);
    if (error != 0) {
        return error;
    }
    text.used = manifest_write_head(&head, job->text);
    for (uint64_t i = 0; i < job->setting_count; i++) {
        text.used += manifest_write_setting(&job->settings[i], text_room(&text));
    }
    text.used += manifest_write_counts(&head, text_room(&text));
    put_entries(&text, kind);
    text.used += manifest_write_end(&head, text_room(&text));
    return text_close(&text, name, 0);
}

/* The layout's own: what makes its files a checkpoint, or, `newest`, which is the newest. */
static int put_markers(const struct commit *commit, bool newest) {
    const struct job *job = commit->job;
    const struct checkpoint *checkpoint = commit->checkpoint;
    int error = 0;
    for (uint64_t i = 0; i < shards_markers(job->shards) && error == 0; i++) {
        struct shard_marker marker;
        shards_marker(job->shards, i, (uint32_t)checkpoint->slot, &marker);
        if ((marker.role == MARKER_LATEST) != newest) {
            continue;
        }
        struct text_file text;
        error = text_open(&text, commit, marker.file.path);
        if (error == 0) {
            shards_marker_text(job->shards, i, (uint32_t)checkpoint->slot, &text.sink);
            checkpoint->marker_crcs[i] = text.crc;
            error = text_close(&text, marker.file.path, 0);
        }
    }
    return error;
}

static int put_latest(const struct commit *commit) {
    char name[MANIFEST_NAME];
    manifest_name(MANIFEST_COMPLETE, (uint32_t)commit->checkpoint->slot, name);
    struct text_file text;
    int error = text_open(&text, commit, MANIFEST_LATEST);
    if (error != 0) {
        return error;
    }
    text.used = (size_t)snprintf(commit->job->text, JOB_TEXT_BYTES, "%s\n", name);
    return text_close(&text, MANIFEST_LATEST, error);
}

static int sync_folder(const struct commit *commit, const char *path) {
    return syncing(commit) ? path_request(commit, IO_SYNC_DIR, path, NULL) : 0;
}

/* Removing what is not there is what was wanted. */
static int remove_if_there(const struct commit *commit, const char *path) {
    int error = path_request(commit, IO_REMOVE, path, NULL);
    return error == ENOENT ? 0 : error;
}

/* Markers of a slot, or those that all slots share. */
static int remove_markers(const struct commit *commit, uint64_t slot, bool newest) {
    const struct job *job = commit->job;
    int first_error = 0;
    for (uint64_t i = 0; i < shards_markers(job->shards); i++) {
        struct shard_marker marker;
        shards_marker(job->shards, i, (uint32_t)slot, &marker);
        if ((marker.role == MARKER_LATEST) == newest) {
            int error = remove_if_there(commit, marker.file.path);
            first_error = first_error == 0 ? error : first_error;
        }
    }
    return first_error;
}

static int remove_latest(const struct commit *commit) {
    struct tier *tier = commit->tier;
    uint64_t slot = tier->latest_slot > 0 ? tier->latest_slot : 1;
    tier->latest_slot = 0;
    int error = remove_markers(commit, slot, true);
    return error == 0 ? remove_if_there(commit, MANIFEST_LATEST) : error;
}

/* Whatever the job remembers of the slot: no shard may be touched under a manifest. */
static int remove_manifest(const struct commit *commit, uint64_t slot) {
    char name[MANIFEST_NAME];
    manifest_name(MANIFEST_COMPLETE, (uint32_t)slot, name);
    int error = commit->tier->latest_slot == slot ? remove_latest(commit) : 0;
    if (error != 0) {
        return error;
    }
    tier_set_complete(commit->tier, slot, 0);
    error = path_request(commit, IO_REMOVE, name, NULL);
    if (error == ENOENT) {
        return 0;
    }
    return error == 0 ? sync_folder(commit, "") : error;
}

int commit_invalidate(struct job *job, struct tier *tier, const struct checkpoint *checkpoint) {
    const struct commit commit = {job, tier, checkpoint};
    int error = job->config->commit ? remove_manifest(&commit, checkpoint->slot) : 0;
    if (error != 0 || tier_holds(tier, checkpoint->slot)) {
        return error;
    }
    tier->new_files = true;
    /* Even if this fails there may be something to remove. */
    tier_set_held(tier, checkpoint->slot, true);
    error = put_manifest(&commit, MANIFEST_FILES);
    return error == 0 ? sync_folder(&commit, "") : error;
}

/* The folder of a path and `up` folders above it: its length without the slash at its end. */
static size_t folder_length(const char *path, int up) {
    size_t length = strlen(path);
    for (int i = 0; i <= up; i++) {
        while (length > 0 && path[length - 1] != '/') {
            length--;
        }
        length -= length > 0;
    }
    return length;
}

/* Syncs the folders of new shards, or those `up` above them, once for every change of folder along
 * the shards; `any` says whether there was one. */
static int sync_shard_folders(const struct commit *commit, int up, bool *any) {
    const struct shards *shards = commit->job->shards;
    char synced[SHARD_PATH] = "";
    *any = false;
    for (uint32_t rank = 0; rank < shards->ranks; rank++) {
        for (uint64_t i = 0; i < shards->shares[rank].files; i++) {
            struct shard_file shard;
            shards_file(shards, rank, i, (uint32_t)commit->checkpoint->slot, &shard);
            size_t length = folder_length(shard.path, up);
            if (length == 0 || (strlen(synced) == length && memcmp(synced, shard.path, length) == 0)) {
                continue;
            }
            *any = true;
            memcpy(synced, shard.path, length);
            synced[length] = '\0';
            int error = sync_folder(commit, synced);
            if (error != 0) {
                return error;
            }
        }
    }
    return 0;
}

/* From the innermost folders outwards, so that each name is there before what it leads to counts. */
static int sync_new_folders(const struct commit *commit) {
    bool any = true;
    int error = 0;
    for (int up = 0; any && error == 0; up++) {
        error = sync_shard_folders(commit, up, &any);
    }
    return error == 0 ? sync_folder(commit, "") : error;
}

int commit_complete(struct job *job, struct tier *tier, const struct checkpoint *checkpoint) {
    const struct commit commit = {job, tier, checkpoint};
    if (!job->config->commit) {
        tier_set_complete(tier, checkpoint->slot, checkpoint->serial);
        return 0;
    }
    int error = put_markers(&commit, false);
    if (error == 0 && syncing(&commit) && (tier->new_files || shards_markers(job->shards) > 0)) {
        error = sync_new_folders(&commit);
    }
    error = error == 0 ? put_manifest(&commit, MANIFEST_COMPLETE) : error;
    error = error == 0 ? sync_folder(&commit, "") : error;
    error = error == 0 ? put_latest(&commit) : error;
    error = error == 0 ? put_markers(&commit, true) : error;
    error = error == 0 ? sync_folder(&commit, "") : error;
    if (error == 0) {
        tier_set_complete(tier, checkpoint->slot, checkpoint->serial);
        tier->latest_slot = checkpoint->slot;
        tier->new_files = false;
    }
    return error;
}

static int remove_shards(const struct commit *commit, uint64_t slot) {
    struct job *job = commit->job;
    int first_error = 0;
    for (uint32_t rank = 0; rank < job->shards->ranks; rank++) {
        for (uint64_t i = 0; i < job->shards->shares[rank].files; i++) {
            struct shard_file shard;
            shards_file(job->shards, rank, i, (uint32_t)slot, &shard);
            int error = remove_if_there(commit, shard.path);
            first_error = first_error == 0 ? error : first_error;
            job_tick(job);
        }
    }
    return first_error;
}

static int remove_slot(const struct commit *commit, uint64_t slot) {
    char name[MANIFEST_NAME];
    int error = remove_manifest(commit, slot);
    if (error == 0) { /* under a manifest that stays no shard may go */
        error = remove_markers(commit, slot, false);
        int shard_error = remove_shards(commit, slot);
        error = error == 0 ? shard_error : error;
    }
    manifest_name(MANIFEST_FILES, (uint32_t)slot, name);
    if (error == 0) { /* while a shard may be left, its name must stay known */
        error = remove_if_there(commit, name);
    }
    if (error == 0) {
        tier_set_held(commit->tier, slot, false);
    }
    return error;
}

int commit_remove_slot(struct job *job, struct tier *tier, uint64_t slot) {
    const struct commit commit = {job, tier, NULL};
    return remove_slot(&commit, slot);
}

int commit_remove_all(struct job *job, struct tier *tier) {
    const struct commit commit = {job, tier, NULL};
    int first_error = remove_latest(&commit);
    for (uint64_t slot = tier->slot_count; slot-- > 1;) {
        if (tier_holds(tier, slot)) {
            int error = remove_slot(&commit, slot);
            first_error = first_error == 0 ? error : first_error;
        }
    }
    return first_error;
}

int commit_retire(struct job *job, struct tier *tier, uint64_t first_needed) {
    int error = 0;
    uint64_t slot;
    while (error == 0 && (slot = retention_victim(&tier->keep, tier->serials, tier->slot_count,
                                                  first_needed)) > 0) {
        error = commit_remove_slot(job, tier, slot);
    }
    return error;
}
