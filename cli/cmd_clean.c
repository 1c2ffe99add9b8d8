#include "cli/command.h"
#include "cli/slots.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum status ask(const struct folder *folder, const struct slots *slots, bool yes,
                       struct error *err) {
    if (yes) {
        return OK;
    }
    if (!isatty(STDIN_FILENO)) {
        return error_set(err, ERR_USAGE, "clean: nobody is there to ask; --yes removes without");
    }
    printf("remove %zu checkpoints of run %s in %s? [y/N] ", slots->count, folder->run_id,
           folder->path);
    fflush(stdout);
    char answer[16] = "";
    if (fgets(answer, sizeof answer, stdin) == NULL || (answer[0] != 'y' && answer[0] != 'Y')) {
        return error_set(err, ERR_FAILED, "clean: nothing was removed");
    }
    return OK;
}

static enum status remove_latest(const struct folder *folder, struct error *err) {
    int error = folder_remove(folder, MANIFEST_LATEST);
    if (error != 0 && error != ENOENT) {
        return error_set(err, ERR_FAILED, "cannot remove '%s/%s': %s", folder->path,
                         MANIFEST_LATEST, error_words(error));
    }
    return OK;
}

static enum status clean(struct folder *folder, struct command_input *input, struct error *err) {
    struct slots slots;
    enum status status = slots_find(folder, input->arena, &slots, err);
    status = status == OK ? ask(folder, &slots, input->spec.yes, err) : status;
    status = status == OK ? remove_latest(folder, err) : status;
    for (size_t i = slots.count; status == OK && i-- > 0;) {
        status = slots_remove(folder, slots.numbers[i], false, true, err);
    }
    if (status != OK) {
        folder_close(folder);
        return status;
    }
    slots_remove_torn(folder, input->arena);
    int error = folder_remove_self(folder);
    if (error != 0) {
        return error_set(err, ERR_FAILED, "'%s' stays: %s", folder->path,
                         error == ENOTEMPTY ? "it holds files that are not of ckptsim's making"
                                            : error_words(error));
    }
    printf("removed %zu checkpoints and %s\n", slots.count, folder->path);
    return OK;
}

enum status cmd_clean(struct command_input *input, struct error *err) {
    const char *dir;
    if (command_dir(input, &dir, err) != OK) {
        return err->status;
    }
    if (dir == NULL) {
        return error_set(err, ERR_USAGE, "clean: which folder? ckptsim clean DIR");
    }
    struct folder folder;
    enum status status = folder_open(dir, input->arena, &folder, err);
    return status == OK ? clean(&folder, input, err) : status;
}
