#include "sim/job/commit.h"

#include "io/crc32.h"
#include "io/manifest.h"
#include "models/digest.h"

#include <errno.h>
#include <string.h>

/* A text file put in place as a whole: NAME.tmp, written in pieces, synced, renamed to NAME. */
struct text_file {
    struct text_sink sink; /* takes text of any length */
    struct job *job;
    char tmp[SHARD_PATH + 8];
    uint64_t offset;  /* bytes written */
    size_t used;      /* bytes waiting in job->text */
    uint32_t crc;     /* of the bytes that went through the sink */
    int error;        /* the first one of the sink */
};

static int file_request(struct job *job, enum io_op op) {
    job->control = (struct io_request){.op = op, .file = &job->control_file};
    return job_control(job, op, NULL, NULL);
}

static bool syncing(const struct job *job) {
    return job->config->fsync != JOB_FSYNC_NONE;
}

static int text_flush(struct text_file *text) {
    struct job *job = text->job;
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
    return job_control(job, IO_WRITE, NULL, NULL);
}

static void put_text(struct text_sink *sink, const char *bytes, uint64_t length) {
    struct text_file *text = (struct text_file *)sink;
    text->crc = crc32_more(text->crc, bytes, length);
    while (length > 0 && text->error == 0) {
        size_t room = JOB_TEXT_BYTES - text->used, part = length < room ? length : room;
        memcpy(text->job->text + text->used, bytes, part);
        text->used += part;
        bytes += part;
        length -= part;
        text->error = text->used == JOB_TEXT_BYTES ? text_flush(text) : 0;
    }
}

static int text_open(struct text_file *text, struct job *job, const char *name) {
    *text = (struct text_file){.sink = {put_text}, .job = job};
    snprintf(text->tmp, sizeof text->tmp, "%s" MANIFEST_TORN, name);
    job->control_file = (struct io_file){.path = text->tmp, .mode = IO_TRUNCATE, .plain = true};
    return file_request(job, IO_OPEN);
}

/* Room for one more piece of a manifest at the end of what waits. */
static char *text_room(struct text_file *text) {
    if (text->used + (size_t)MANIFEST_PIECE > JOB_TEXT_BYTES && text->error == 0) {
        text->error = text_flush(text);
    }
    return text->job->text + (text->error == 0 ? text->used : 0);
}

/* Ends the file well (error 0) or throws it away. */
static int text_close(struct text_file *text, const char *name, int error) {
    struct job *job = text->job;
    error = error == 0 ? text->error : error;
    error = error == 0 ? text_flush(text) : error;
    if (error == 0 && syncing(job)) {
        error = file_request(job, IO_SYNC);
    }
    int close_error = file_request(job, IO_CLOSE);
    error = error == 0 ? close_error : error;
    if (error == 0) {
        error = job_control(job, IO_RENAME, text->tmp, name);
    }
    if (error != 0) {
        job_control(job, IO_REMOVE, text->tmp, NULL); /* best effort: the first error is reported */
    }
    return error;
}

static void put_entries(struct text_file *text, enum manifest_kind kind) {
    const struct job *job = text->job;
    const struct shards *shards = job->shards;
    for (uint32_t rank = 0; rank < shards->ranks; rank++) {
        for (uint64_t i = 0; i < shards->shares[rank].files; i++) {
            struct shard_file shard;
            shards_file(shards, rank, i, (uint32_t)job->slot, &shard);
            uint64_t nth = shards->first[rank] + i;
            struct manifest_entry entry = {.rank = rank, .index = i, .bytes = shard.bytes,
                                           .stored_bytes = job->stored_bytes != NULL
                                                               ? job->stored_bytes[nth]
                                                               : shard.bytes,
                                           .sum = job->sums[nth],
                                           .path = shard.path,
                                           .has_sum = kind == MANIFEST_COMPLETE};
            text->used += manifest_write_entry(&entry, text_room(text));
        }
    }
    for (uint64_t i = 0; i < shards_markers(shards); i++) {
        struct shard_marker marker;
        shards_marker(shards, i, (uint32_t)job->slot, &marker);
        struct manifest_marker entry = {.bytes = marker.file.bytes, .crc = job->marker_crcs[i],
                                        .has_crc = kind == MANIFEST_COMPLETE,
                                        .newest = marker.role == MARKER_LATEST,
                                        .path = marker.file.path};
        text->used += manifest_write_marker(&entry, text_room(text));
    }
}

static int put_manifest(struct job *job, enum manifest_kind kind) {
    char name[MANIFEST_NAME];
    manifest_name(kind, (uint32_t)job->slot, name);
    struct manifest_head head = {.checkpoint = (uint32_t)job->slot,
                                 .serial = job->serial,
                                 .settings = job->settings,
                                 .setting_count = job->setting_count,
                                 .files = job->shards->files,
                                 .markers = shards_markers(job->shards),
                                 .bytes = job->shards->checkpoint_bytes};
    memcpy(head.classes, job->io->classes, sizeof head.classes);
    digest_model(&job->shards->plan->model, head.model);
    snprintf(head.run_id, sizeof head.run_id, "%s", job->run_id);
    struct text_file text;
    int error = text_open(&text, job, name);
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
static int put_markers(struct job *job, bool newest) {
    int error = 0;
    for (uint64_t i = 0; i < shards_markers(job->shards) && error == 0; i++) {
        struct shard_marker marker;
        shards_marker(job->shards, i, (uint32_t)job->slot, &marker);
        if ((marker.role == MARKER_LATEST) != newest) {
            continue;
        }
        struct text_file text;
        error = text_open(&text, job, marker.file.path);
        if (error == 0) {
            shards_marker_text(job->shards, i, (uint32_t)job->slot, &text.sink);
            job->marker_crcs[i] = text.crc;
            error = text_close(&text, marker.file.path, 0);
        }
    }
    return error;
}

static int put_latest(struct job *job) {
    char name[MANIFEST_NAME];
    manifest_name(MANIFEST_COMPLETE, (uint32_t)job->slot, name);
    struct text_file text;
    int error = text_open(&text, job, MANIFEST_LATEST);
    if (error != 0) {
        return error;
    }
    text.used = (size_t)snprintf(job->text, JOB_TEXT_BYTES, "%s\n", name);
    return text_close(&text, MANIFEST_LATEST, error);
}

static int sync_folder(struct job *job, const char *path) {
    return syncing(job) ? job_control(job, IO_SYNC_DIR, path, NULL) : 0;
}

/* Removing what is not there is what was wanted. */
static int remove_if_there(struct job *job, const char *path) {
    int error = job_control(job, IO_REMOVE, path, NULL);
    return error == ENOENT ? 0 : error;
}

/* Markers of a slot, or those that all slots share. */
static int remove_markers(struct job *job, uint64_t slot, bool newest) {
    int first_error = 0;
    for (uint64_t i = 0; i < shards_markers(job->shards); i++) {
        struct shard_marker marker;
        shards_marker(job->shards, i, (uint32_t)slot, &marker);
        if ((marker.role == MARKER_LATEST) == newest) {
            int error = remove_if_there(job, marker.file.path);
            first_error = first_error == 0 ? error : first_error;
        }
    }
    return first_error;
}

int commit_remove_latest(struct job *job) {
    uint64_t slot = job->latest_slot > 0 ? job->latest_slot : 1;
    job->latest_slot = 0;
    int error = remove_markers(job, slot, true);
    return error == 0 ? remove_if_there(job, MANIFEST_LATEST) : error;
}

/* Whatever the job remembers of the slot: no shard may be touched under a manifest. */
static int remove_manifest(struct job *job, uint64_t slot) {
    char name[MANIFEST_NAME];
    manifest_name(MANIFEST_COMPLETE, (uint32_t)slot, name);
    int error = job->latest_slot == slot ? commit_remove_latest(job) : 0;
    if (error != 0) {
        return error;
    }
    error = job_control(job, IO_REMOVE, name, NULL);
    if (error == ENOENT) {
        return 0;
    }
    return error == 0 ? sync_folder(job, "") : error;
}

int commit_invalidate(struct job *job) {
    int error = job->config->commit ? remove_manifest(job, job->slot) : 0;
    if (error != 0 || job_holds(job, job->slot)) {
        return error;
    }
    job->new_files = true;
    job_set_held(job, job->slot, true); /* even if this fails there may be something to remove */
    error = put_manifest(job, MANIFEST_FILES);
    return error == 0 ? sync_folder(job, "") : error;
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
static int sync_shard_folders(struct job *job, int up, bool *any) {
    char synced[SHARD_PATH] = "";
    *any = false;
    for (uint32_t rank = 0; rank < job->shards->ranks; rank++) {
        for (uint64_t i = 0; i < job->shards->shares[rank].files; i++) {
            struct shard_file shard;
            shards_file(job->shards, rank, i, (uint32_t)job->slot, &shard);
            size_t length = folder_length(shard.path, up);
            if (length == 0 || (strlen(synced) == length && memcmp(synced, shard.path, length) == 0)) {
                continue;
            }
            *any = true;
            memcpy(synced, shard.path, length);
            synced[length] = '\0';
            int error = sync_folder(job, synced);
            if (error != 0) {
                return error;
            }
        }
    }
    return 0;
}

/* From the innermost folders outwards, so that each name is there before what it leads to counts. */
static int sync_new_folders(struct job *job) {
    bool any = true;
    int error = 0;
    for (int up = 0; any && error == 0; up++) {
        error = sync_shard_folders(job, up, &any);
    }
    return error == 0 ? sync_folder(job, "") : error;
}

int commit_complete(struct job *job) {
    if (!job->config->commit) {
        return 0;
    }
    int error = put_markers(job, false);
    if (error == 0 && syncing(job) && (job->new_files || shards_markers(job->shards) > 0)) {
        error = sync_new_folders(job);
    }
    error = error == 0 ? put_manifest(job, MANIFEST_COMPLETE) : error;
    error = error == 0 ? sync_folder(job, "") : error;
    error = error == 0 ? put_latest(job) : error;
    error = error == 0 ? put_markers(job, true) : error;
    error = error == 0 ? sync_folder(job, "") : error;
    if (error == 0) {
        job->latest_slot = job->slot;
        job->new_files = false;
    }
    return error;
}

static int remove_shards(struct job *job, uint64_t slot) {
    int first_error = 0;
    for (uint32_t rank = 0; rank < job->shards->ranks; rank++) {
        for (uint64_t i = 0; i < job->shards->shares[rank].files; i++) {
            struct shard_file shard;
            shards_file(job->shards, rank, i, (uint32_t)slot, &shard);
            int error = remove_if_there(job, shard.path);
            first_error = first_error == 0 ? error : first_error;
            job_tick(job);
        }
    }
    return first_error;
}

int commit_remove_slot(struct job *job, uint64_t slot) {
    char name[MANIFEST_NAME];
    int error = remove_manifest(job, slot);
    if (error == 0) { /* under a manifest that stays no shard may go */
        error = remove_markers(job, slot, false);
        int shard_error = remove_shards(job, slot);
        error = error == 0 ? shard_error : error;
    }
    manifest_name(MANIFEST_FILES, (uint32_t)slot, name);
    if (error == 0) { /* while a shard may be left, its name must stay known */
        error = remove_if_there(job, name);
    }
    if (error == 0) {
        job_set_held(job, slot, false);
    }
    return error;
}
