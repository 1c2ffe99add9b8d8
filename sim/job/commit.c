#include "sim/job/commit.h"

#include "io/manifest.h"

#include <errno.h>
#include <string.h>

/* A text file put in place as a whole: NAME.tmp, written in pieces, synced, renamed to NAME. */
struct text_file {
    struct job *job;
    char tmp[MANIFEST_NAME + 8];
    uint64_t offset;  /* bytes written */
    size_t used;      /* bytes waiting in job->text */
};

static int file_request(struct job *job, enum io_op op) {
    job->control = (struct io_request){.op = op, .file = &job->control_file};
    return job_control(job, op, NULL, NULL);
}

static bool syncing(const struct job *job) {
    return job->config->fsync != JOB_FSYNC_NONE;
}

static int text_open(struct text_file *text, struct job *job, const char *name) {
    *text = (struct text_file){.job = job};
    snprintf(text->tmp, sizeof text->tmp, "%s.tmp", name);
    job->control_file = (struct io_file){.path = text->tmp, .mode = IO_TRUNCATE, .plain = true};
    return file_request(job, IO_OPEN);
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

/* Room for one more piece of a manifest at the end of what waits. */
static int text_room(struct text_file *text) {
    return text->used + (size_t)MANIFEST_LINE * 2 > JOB_TEXT_BYTES ? text_flush(text) : 0;
}

/* Ends the file well (error 0) or throws it away. */
static int text_close(struct text_file *text, const char *name, int error) {
    struct job *job = text->job;
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

static int put_manifest(struct job *job, enum manifest_kind kind) {
    char name[MANIFEST_NAME];
    manifest_name(kind, (uint32_t)job->slot, name);
    struct manifest_head head = {.checkpoint = (uint32_t)job->slot,
                                 .serial = job->serial,
                                 .payload = job->io->payload,
                                 .files = job->plan->files,
                                 .bytes = job->plan->checkpoint_bytes};
    snprintf(head.run_id, sizeof head.run_id, "%s", job->run_id);
    struct text_file text;
    int error = text_open(&text, job, name);
    if (error != 0) {
        return error;
    }
    text.used = manifest_write_head(&head, job->text);
    uint64_t nth = 0;
    for (uint32_t rank = 0; rank < job->plan->ranks && error == 0; rank++) {
        for (uint64_t i = 0; i < job->plan->shares[rank].files && error == 0; i++, nth++) {
            struct shard_file shard;
            plan_file(job->plan, rank, i, (uint32_t)job->slot, &shard);
            struct manifest_entry entry = {.rank = rank, .index = i, .bytes = shard.bytes,
                                           .sum = job->sums[nth], .path = shard.path,
                                           .has_sum = kind == MANIFEST_COMPLETE};
            error = text_room(&text);
            text.used += error == 0 ? manifest_write_entry(&entry, job->text + text.used) : 0;
        }
    }
    error = error == 0 ? text_room(&text) : error;
    if (error == 0) {
        text.used += manifest_write_end(&head, job->text + text.used);
    }
    return text_close(&text, name, error);
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

int commit_remove_latest(struct job *job) {
    job->latest_slot = 0;
    return remove_if_there(job, MANIFEST_LATEST);
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

/* Syncs each folder that holds new shards, once for every change of folder along the plan. */
static int sync_shard_folders(struct job *job) {
    char synced[SHARD_PATH] = "";
    for (uint32_t rank = 0; rank < job->plan->ranks; rank++) {
        for (uint64_t i = 0; i < job->plan->shares[rank].files; i++) {
            struct shard_file shard;
            plan_file(job->plan, rank, i, (uint32_t)job->slot, &shard);
            size_t length = (size_t)(shard.name - shard.path);
            length -= length > 0; /* without its slash */
            if (strlen(synced) == length && memcmp(synced, shard.path, length) == 0) {
                continue;
            }
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

int commit_complete(struct job *job) {
    if (!job->config->commit) {
        return 0;
    }
    int error = 0;
    if (job->new_files && syncing(job)) {
        error = sync_shard_folders(job);
        error = error == 0 ? sync_folder(job, "") : error;
    }
    error = error == 0 ? put_manifest(job, MANIFEST_COMPLETE) : error;
    error = error == 0 ? sync_folder(job, "") : error;
    error = error == 0 ? put_latest(job) : error;
    error = error == 0 ? sync_folder(job, "") : error;
    if (error == 0) {
        job->latest_slot = job->slot;
        job->new_files = false;
    }
    return error;
}

static int remove_shards(struct job *job, uint64_t slot) {
    int first_error = 0;
    for (uint32_t rank = 0; rank < job->plan->ranks; rank++) {
        for (uint64_t i = 0; i < job->plan->shares[rank].files; i++) {
            struct shard_file shard;
            plan_file(job->plan, rank, i, (uint32_t)slot, &shard);
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
        error = remove_shards(job, slot);
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
