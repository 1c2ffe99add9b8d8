#include "cli/command.h"
#include "cli/docs.h"
#include "metrics/metric_rows.h"

#include <stdio.h>
#include <string.h>

static void write_overview(void) {
    puts("ckptsim plays AI training's checkpoint traffic against a drive and says what it does to it.\n"
         "\nusage: ckptsim [COMMAND] [OPTIONS]\n\ncommands:");
    for (const struct command *command = commands; command->name != NULL; command++) {
        printf("  %-12s %s\n", command->name, command->about);
    }
    puts("\nthe main job, for a drive mounted at /mnt/x200p (an existing folder of yours on the drive):");
    printf("  %s\n", commands[0].example);
    puts("\n`ckptsim help COMMAND` explains a command and its options; `ckptsim --version` prints the "
         "version.");
}

static enum status write_document(const char *name, struct error *err) {
    static const struct {
        const char *name;
        void (*write)(FILE *stream);
    } documents[] = {{"options", docs_write_options},
                     {"metrics", metrics_write_docs},
                     {"man", docs_write_man},
                     {"completion", docs_write_completion}};
    for (size_t i = 0; i < sizeof documents / sizeof documents[0]; i++) {
        if (strcmp(documents[i].name, name) == 0) {
            documents[i].write(stdout);
            return OK;
        }
    }
    return error_set(err, ERR_USAGE,
                     "--docs: '%s' is not allowed; options|metrics|man|completion is", name);
}

enum status cmd_help(struct command_input *input, struct error *err) {
    if (input->spec.docs != NULL) {
        return write_document(input->spec.docs, err);
    }
    if (input->positional_count == 0) {
        write_overview();
        return OK;
    }
    const struct command *command = command_find(input->positionals[0]);
    if (command == NULL) {
        return error_set(err, ERR_USAGE, "unknown command '%s'; `ckptsim help` names all",
                         input->positionals[0]);
    }
    printf("ckptsim %s: %s\n\nusage: ckptsim %s%s%s [OPTIONS]\nexample: %s\n", command->name,
           command->about, command->name, command->positionals != NULL ? " " : "",
           command->positionals != NULL ? command->positionals : "", command->example);
    settings_write_help(spec_rows, spec_row_count, command->bit, stdout);
    return OK;
}
