#include "cli/resume.h"

#include "cli/slots.h"
#include "sim/job/tier_copy.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Only these may be given beside --resume: they change what is shown, not what is measured. */
static bool may_be_given(const char *name) {
    return strcmp(name, "resume") == 0 || strcmp(name, "quiet") == 0;
}

static enum status refuse_changes(const struct command_input *input, struct error *err) {
    for (size_t i = 0; i < input->settings.count; i++) {
        const char *name = input->settings.rows[i].name;
        if (input->settings.values[i].given && !may_be_given(name)) {
            return error_set(err, ERR_USAGE,
                             "--resume: takes its settings from the run; --%s cannot be given", name);
        }
    }
    return OK;
}

static enum status take_settings(struct command_input *input, const struct journal_content *content,
                                 struct error *err) {
    for (uint32_t i = 0; i < content->setting_count; i++) {
        const struct journal_setting *setting = &content->settings[i];
        if (setting->value == NULL || may_be_given(setting->name) ||
            strcmp(setting->origin, "default") == 0) {
            continue;
        }
        enum status status = settings_set(&input->settings, setting->name, setting->value,
                                          arena_text(input->arena, setting->origin), err);
        if (status != OK) {
            return error_wrap(err, "--resume");
        }
    }
    return OK;
}

enum status resume_read(struct command_input *input, struct journal_content **content,
                        struct error *err) {
    const char *dir = input->spec.resume;
    const char *path = arena_printf(input->arena, "%s/journal.jsonl", dir);
    *content = arena_new(input->arena, 1, sizeof **content);
    if (refuse_changes(input, err) != OK) {
        return err->status;
    }
    if (journal_read(path, input->arena, *content, err) != OK) {
        error_wrap(err, "--resume");
        err->status = ERR_USAGE;
        return ERR_USAGE;
    }
    return take_settings(input, *content, err);
}

/* Slots that were under way when the process died: a list of names, no manifest. */
static enum status remove_unfinished(const struct spec *spec, const struct folder *folder,
                                     struct arena *arena, struct error *err) {
    slots_remove_torn(folder, arena);
    if (spec->commit == COMMIT_NONE) {
        /* Plain files tell nothing; what was under way will be written again in any case. */
        return OK;
    }
    struct slots slots;
    enum status status = slots_find(folder, arena, &slots, err);
    for (size_t i = 0; status == OK && i < slots.count; i++) {
        if (!slots_complete(folder, slots.numbers[i])) {
            status = slots_remove(folder, slots.numbers[i], true, false, err);
        }
    }
    return status;
}

enum status resume_folder(const struct spec *spec, const char *dir,
                          const struct journal_content *content, struct arena *arena,
                          struct folder *folder, struct error *err) {
    enum status status = folder_open(dir, arena, folder, err);
    if (status != OK) {
        return error_wrap(err, "--resume: the run's folder");
    }
    if (strcmp(folder->run_id, content->run_id) != 0) {
        status = error_set(err, ERR_USAGE, "--resume: '%s' is of run %s, not of %s", folder->path,
                           folder->run_id, content->run_id);
    }
    status = status == OK ? remove_unfinished(spec, folder, arena, err) : status;
    if (status != OK) {
        folder_close(folder);
    }
    return status;
}

/* What a folder holds, by its lists and manifests. */
static enum status restore_tier(struct tier *tier, const struct folder *folder, struct arena *arena,
                                struct error *err) {
    struct slots slots;
    if (slots_find(folder, arena, &slots, err) != OK) {
        return err->status;
    }
    uint64_t newest = 0;
    for (size_t i = 0; i < slots.count; i++) {
        char name[MANIFEST_NAME];
        struct arena scratch = {0};
        struct manifest manifest;
        tier_set_held(tier, slots.numbers[i], true);
        manifest_name(MANIFEST_COMPLETE, slots.numbers[i], name);
        if (manifest_read(folder, name, &scratch, &manifest, NULL) == OK) {
            tier_set_complete(tier, slots.numbers[i], manifest.head.serial);
        }
        uint64_t serial = tier_serial(tier, slots.numbers[i]);
        if (serial > newest) {
            newest = serial;
            tier->latest_slot = slots.numbers[i];
        }
        arena_fini(&scratch);
    }
    return OK;
}

/* The sums of a checkpoint of the local folder, and its place in the copies' queue. */
static enum status queue_again(struct job *job, const struct folder *folder, uint64_t slot,
                               uint64_t records, struct error *err) {
    char name[MANIFEST_NAME];
    struct arena scratch = {0};
    struct manifest manifest;
    manifest_name(MANIFEST_COMPLETE, (uint32_t)slot, name);
    enum status status = manifest_read(folder, name, &scratch, &manifest, err);
    uint64_t files = job->shards->files;
    if (status == OK && manifest.head.files == files && manifest.head.serial <= records) {
        uint64_t *sums = arena_new(&scratch, files, sizeof *sums);
        uint64_t *stored_bytes = arena_new(&scratch, files, sizeof *stored_bytes);
        for (uint64_t i = 0; i < files; i++) {
            sums[i] = manifest.entries[i].sum;
            stored_bytes[i] = manifest.entries[i].stored_bytes;
        }
        bool compressed = job->shards->codec.kind != CODEC_NONE;
        struct checkpoint checkpoint = {.slot = slot, .serial = manifest.head.serial, .sums = sums,
                                        .stored_bytes = compressed ? stored_bytes : NULL};
        tier_copy_add(job->copy, &checkpoint, checkpoint.serial - 1, RESULT_UNKNOWN);
    }
    arena_fini(&scratch);
    return status;
}

/* What was complete locally and newer than all that was copied is copied now, oldest first; no more can
 * have been queued than the queue holds. */
static enum status queue_uncopied(struct job *job, const struct folder *folder, uint64_t records,
                                  struct error *err) {
    const struct tier *local = &job->local, *second = &job->copy->tier;
    uint64_t newest = tier_serial(second, second->latest_slot), queued = 0;
    enum status status = OK;
    for (uint64_t serial = newest + 1; status == OK && serial <= records; serial++) {
        for (uint64_t slot = 1; slot < local->slot_count && queued < TIER_COPY_QUEUE; slot++) {
            if (local->serials[slot] == serial) {
                status = queue_again(job, folder, slot, records, err);
                queued++;
            }
        }
    }
    return status;
}

enum status resume_job(struct job *job, const struct folder *folder, const struct folder *second,
                       const struct journal_content *content, struct error *err) {
    const struct checkpoint_record *last = NULL;
    uint64_t first_pass = 0;
    for (uint32_t i = 0; i < content->checkpoint_count; i++) {
        const struct checkpoint_record *record = &content->checkpoints[i];
        first_pass += record->pass == 1 && record->complete;
        last = content->settled[i] ? record : last; /* an interrupted one is written again */
        job->drive_filled = job->drive_filled || (content->settled[i] && !record->complete);
    }
    if (last != NULL) {
        job_resume(job, last, first_pass, content->checkpoint_count);
    }
    if (restore_tier(&job->local, folder, job->arena, err) != OK) {
        return err->status;
    }
    if (job->copy == NULL) {
        return OK;
    }
    if (restore_tier(&job->copy->tier, second, job->arena, err) != OK) {
        return err->status;
    }
    return queue_uncopied(job, folder, content->checkpoint_count, err);
}
