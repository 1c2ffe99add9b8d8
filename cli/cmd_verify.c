#include "base/units.h"
#include "cli/command.h"
#include "cli/manifest_shards.h"
#include "cli/slots.h"
#include "io/verify.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 8 * 1024 * 1024 };

struct tally {
    size_t complete, incomplete, damaged, unchecked;
};

static void say(uint32_t number, const struct verify_verdict *verdict, struct tally *tally) {
    char bytes[UNITS_TEXT], files[UNITS_TEXT];
    switch (verdict->state) {
    case VERIFY_COMPLETE:
        tally->complete++;
        printf("ckpt-%04u  complete    %s in %s files read and right\n", number,
               units_gb(verdict->bytes, bytes), units_grouped(verdict->files, files));
        break;
    case VERIFY_INCOMPLETE:
        tally->incomplete++;
        printf("ckpt-%04u  incomplete  no manifest: unfinished, or plain files (--commit none)\n",
               number);
        break;
    case VERIFY_UNCHECKED:
        tally->unchecked++;
        printf("ckpt-%04u  unchecked   %s\n", number, verdict->text);
        break;
    case VERIFY_DAMAGED:
        tally->damaged++;
        printf("ckpt-%04u  DAMAGED     %s\n", number, verdict->text);
        break;
    }
    fflush(stdout);
}

/* ckpt-latest has to name a checkpoint that is there; while the newest is written over there is none. */
static void say_latest(const struct folder *folder, struct tally *tally) {
    char name[MANIFEST_NAME];
    uint32_t number;
    if (!slots_latest(folder, name, &number)) {
        printf("latest     none\n");
    } else if (number > 0) {
        printf("latest     %s\n", name);
    } else {
        tally->damaged++;
        printf("latest     DAMAGED: '%s' names '%s', which is no complete checkpoint\n",
               MANIFEST_LATEST, name);
    }
}

/* What is in files follows from the manifest's settings. */
struct contents {
    struct verify_contents base;
    struct arena arena; /* of the manifest under way */
    struct manifest_job job;
    const struct manifest *manifest;
    bool formats;
    const struct folder *folder;
    const char *model;  /* in the manifest's place; NULL: none was given */
    const struct slots *slots;
};

/* The layout's own pointer names a checkpoint that is complete. It comes last, so that a process that was
 * killed may leave none, or the one before. */
struct pointer {
    struct text_sink sink;
    size_t length;
    char text[256];
};

static void keep_text(struct text_sink *sink, const char *text, uint64_t length) {
    struct pointer *pointer = (struct pointer *)sink;
    for (uint64_t i = 0; i < length && pointer->length < sizeof pointer->text; i++) {
        pointer->text[pointer->length++] = text[i];
    }
}

static bool names_checkpoint(const struct contents *contents, uint64_t index, const char *found,
                             size_t length) {
    for (size_t i = 0; i < contents->slots->count; i++) {
        struct pointer pointer = {.sink = {keep_text}};
        uint32_t number = contents->slots->numbers[i];
        shards_marker_text(&contents->job.shards, index, number, &pointer.sink);
        if (slots_complete(contents->folder, number) && length == pointer.length && memcmp(found, pointer.text, length) == 0) {
            return true;
        }
    }
    return false;
}

static enum status check_pointers(const struct contents *contents, struct error *err) {
    for (uint64_t i = 0; i < shards_markers(&contents->job.shards); i++) {
        struct shard_marker marker;
        char found[256];
        shards_marker(&contents->job.shards, i, 1, &marker);
        int fd = marker.role == MARKER_LATEST
                     ? folder_open_file(contents->folder, marker.file.path, O_RDONLY)
                     : -1;
        if (fd < 0) {
            continue;
        }
        ssize_t got = read(fd, found, sizeof found);
        close(fd);
        if (got < 0 || !names_checkpoint(contents, i, found, (size_t)got)) {
            return error_set(err, ERR_FAILED, "'%s' names no checkpoint that is complete here",
                             marker.file.path);
        }
    }
    return OK;
}

static enum status begin_contents(struct verify_contents *base, const struct manifest *manifest,
                                  struct error *err) {
    struct contents *contents = (struct contents *)base;
    arena_fini(&contents->arena);
    contents->arena = (struct arena){0};
    contents->manifest = manifest;
    contents->formats = !manifest_is_plain(&manifest->head);
    struct codec_choice codec;
    if (manifest_codec(&manifest->head, &codec, &base->chunk_bytes, err) != OK) {
        return err->status;
    }
    if (!contents->formats && manifest->head.markers == 0) {
        return OK;
    }
    struct manifest_setting model = {"model", contents->model};
    enum status status = manifest_job_build(&manifest->head, &model, contents->model != NULL,
                                            SHARDS_CONTENTS, &contents->arena, &contents->job, err);
    if (status != OK) {
        return contents->formats ? status : OK; /* plain bytes need no model, only pointers do */
    }
    status = manifest_job_check(manifest, &contents->job.shards, err);
    return status == OK ? check_pointers(contents, err) : status;
}

static const struct format_file *content_of(struct verify_contents *base, uint64_t nth) {
    const struct contents *contents = (const struct contents *)base;
    const struct manifest_entry *entry = &contents->manifest->entries[nth];
    return contents->formats ? shards_content(&contents->job.shards, entry->rank, entry->index)
                             : NULL;
}

static enum status verify_all(const struct folder *folder, const char *model, struct arena *arena,
                              struct error *err) {
    struct slots slots;
    enum status status = slots_find(folder, arena, &slots, err);
    if (status != OK) {
        return status;
    }
    if (slots.count == 0) {
        return error_set(err, ERR_USAGE, "'%s' holds no checkpoint", folder->path);
    }
    struct tally tally = {0};
    struct contents contents = {.base = {begin_contents, content_of}, .folder = folder,
                                .model = model, .slots = &slots};
    void *buffer = mem_new(1, READ_BYTES);
    for (size_t i = 0; i < slots.count; i++) {
        struct verify_verdict verdict;
        verify_checkpoint(folder, slots.numbers[i], &contents.base, buffer, READ_BYTES, &verdict);
        say(slots.numbers[i], &verdict, &tally);
    }
    mem_free(buffer);
    arena_fini(&contents.arena);
    say_latest(folder, &tally);
    printf("%zu complete, %zu incomplete, %zu damaged", tally.complete, tally.incomplete,
           tally.damaged);
    if (tally.unchecked > 0) {
        printf(", %zu unchecked", tally.unchecked);
    }
    putchar('\n');
    if (tally.damaged > 0) {
        return error_set(err, ERR_FAILED, "'%s' is damaged in %zu places", folder->path,
                         tally.damaged);
    }
    if (tally.unchecked > 0) {
        return error_set(err, ERR_FAILED, "what %zu checkpoints should hold is not known",
                         tally.unchecked);
    }
    if (tally.complete == 0) {
        return error_set(err, ERR_FAILED, "'%s' holds no complete checkpoint", folder->path);
    }
    return OK;
}

enum status cmd_verify(struct command_input *input, struct error *err) {
    const char *dir;
    if (command_dir(input, &dir, err) != OK) {
        return err->status;
    }
    if (dir == NULL) {
        return error_set(err, ERR_USAGE, "verify: which folder? ckptsim verify DIR");
    }
    struct folder folder;
    enum status status = folder_open(dir, input->arena, &folder, err);
    if (status == OK) {
        status = verify_all(&folder, input->spec.plan.model, input->arena, err);
        folder_close(&folder);
    }
    return status;
}
