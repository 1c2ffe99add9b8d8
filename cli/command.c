#include "cli/command.h"

#include <string.h>

const struct command commands[] = {
    {.name = "checkpoint", .bit = CMD_CHECKPOINT, .run = cmd_checkpoint,
     .about = "write checkpoints, pass after pass, until the drive is full (the default)",
     .example = "ckptsim --model llama405b --tp 4 --pp 2 --dir /mnt/x200p"},
    {.name = "restore", .bit = CMD_RESTORE, .run = cmd_restore, .positionals = "DIR", .most = 1,
     .about = "read checkpoints back as ranks do after a failure: cold, timed and verified",
     .example = "ckptsim restore --dir /mnt/x200p --reads 10"},
    {.name = "shards", .bit = CMD_SHARDS, .run = cmd_shards,
     .about = "say which rank writes which files of how many bytes; nothing is written",
     .example = "ckptsim shards --model llama405b --tp 4 --pp 2 --json"},
    {.name = "verify", .bit = CMD_VERIFY, .run = cmd_verify, .positionals = "DIR", .most = 1,
     .about = "read checkpoints back and say which are complete and right",
     .example = "ckptsim verify /mnt/x200p"},
    {.name = "clean", .bit = CMD_CLEAN, .run = cmd_clean, .positionals = "DIR", .most = 1,
     .about = "remove what a killed or kept run left in its folder",
     .example = "ckptsim clean /mnt/x200p"},
    {.name = "show", .bit = CMD_SHOW, .run = cmd_show, .positionals = "drive NAME", .least = 2,
     .most = 2, .about = "print a drive's sheet, what was derived from it and how",
     .example = "ckptsim show drive x200p-7.68tb"},
    {.name = "validate", .bit = CMD_VALIDATE, .run = cmd_validate,
     .about = "hold the simulated drives against what reviews measured",
     .example = "ckptsim validate"},
    {.name = "list", .bit = CMD_LIST, .run = cmd_list, .least = 0, .most = 1,
     .positionals = "models|layouts|formats|engines|workloads|drives|hosts",
     .about = "list what is built in",
     .example = "ckptsim list models"},
    {.name = "help", .bit = CMD_HELP, .run = cmd_help, .positionals = "COMMAND", .most = 1,
     .about = "explain a command and its options",
     .example = "ckptsim help shards"},
    {0},
};

const struct command *command_find(const char *name) {
    for (const struct command *command = commands; command->name != NULL; command++) {
        if (strcmp(command->name, name) == 0) {
            return command;
        }
    }
    return NULL;
}

enum status command_dir(struct command_input *input, const char **dir, struct error *err) {
    const char *given = input->spec.dir;
    *dir = input->positional_count > 0 ? input->positionals[0] : given;
    if (given != NULL && strcmp(given, *dir) != 0) {
        return error_set(err, ERR_USAGE, "--dir: '%s' and '%s' are both given; one folder is needed",
                         given, *dir);
    }
    input->spec.dir = *dir;
    return OK;
}
