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
    size_t complete, incomplete, damaged;
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
    case VERIFY_DAMAGED:
        tally->damaged++;
        printf("ckpt-%04u  DAMAGED     %s\n", number, verdict->text);
        break;
    }
    fflush(stdout);
}

static void say_latest(const struct folder *folder) {
    char name[MANIFEST_NAME] = "";
    int fd = folder_open_file(folder, MANIFEST_LATEST, O_RDONLY);
    if (fd >= 0) {
        ssize_t got = read(fd, name, sizeof name - 1);
        name[got > 0 ? strcspn(name, "\n") : 0] = '\0';
        close(fd);
    }
    printf("latest     %s\n", name[0] != '\0' ? name : "none");
}

/* What is in files follows from the manifest's settings. */
struct contents {
    struct verify_contents base;
    struct arena arena; /* of the manifest under way */
    struct manifest_job job;
    const struct manifest *manifest;
    bool formats;
};

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
    if (!contents->formats) {
        return OK;
    }
    enum status status = manifest_job_build(&manifest->head, NULL, 0, SHARDS_CONTENTS,
                                            &contents->arena, &contents->job, err);
    return status == OK ? manifest_job_check(manifest, &contents->job.shards, err) : status;
}

static const struct format_file *content_of(struct verify_contents *base, uint64_t nth) {
    const struct contents *contents = (const struct contents *)base;
    const struct manifest_entry *entry = &contents->manifest->entries[nth];
    return contents->formats ? shards_content(&contents->job.shards, entry->rank, entry->index)
                             : NULL;
}

static enum status verify_all(const struct folder *folder, struct arena *arena, struct error *err) {
    struct slots slots;
    enum status status = slots_find(folder, arena, &slots, err);
    if (status != OK) {
        return status;
    }
    if (slots.count == 0) {
        return error_set(err, ERR_USAGE, "'%s' holds no checkpoint", folder->path);
    }
    struct tally tally = {0};
    struct contents contents = {.base = {begin_contents, content_of}};
    void *buffer = mem_new(1, READ_BYTES);
    for (size_t i = 0; i < slots.count; i++) {
        struct verify_verdict verdict;
        verify_checkpoint(folder, slots.numbers[i], &contents.base, buffer, READ_BYTES, &verdict);
        say(slots.numbers[i], &verdict, &tally);
    }
    mem_free(buffer);
    arena_fini(&contents.arena);
    say_latest(folder);
    printf("%zu complete, %zu incomplete, %zu damaged\n", tally.complete, tally.incomplete,
           tally.damaged);
    if (tally.damaged > 0) {
        return error_set(err, ERR_FAILED, "%zu of %zu checkpoints are damaged", tally.damaged,
                         slots.count);
    }
    if (tally.complete == 0) {
        return error_set(err, ERR_FAILED, "'%s' holds no complete checkpoint", folder->path);
    }
    return OK;
}

enum status cmd_verify(struct command_input *input, struct error *err) {
    const char *dir = input->positional_count > 0 ? input->positionals[0] : input->spec.dir;
    if (dir == NULL) {
        return error_set(err, ERR_USAGE, "verify: which folder? ckptsim verify DIR");
    }
    struct folder folder;
    enum status status = folder_open(dir, input->arena, &folder, err);
    if (status == OK) {
        status = verify_all(&folder, input->arena, err);
        folder_close(&folder);
    }
    return status;
}
