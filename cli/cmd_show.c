#include "cli/command.h"
#include "sim/drive/drive_rows.h"

#include <stdio.h>
#include <string.h>

/* The sheet of a drive: what its file says, what stands in, what was derived and how. */
static enum status show_drive(struct command_input *input, const char *name, struct error *err) {
    struct arena *arena = input->arena;
    struct drive_config *config = arena_new(arena, 1, sizeof *config);
    struct drive_sheet *sheet = arena_new(arena, 1, sizeof *sheet);
    if (drive_config_read(name, input->spec.plan.config_dir, arena, config, err) != OK ||
        drive_sheet_make(config, DRIVE_AS_MEASURED, arena, sheet, err) != OK) {
        return err->status;
    }
    size_t count;
    const struct drive_row *rows = drive_sheet_rows(sheet, arena, &count);
    const char *group = "";
    for (size_t i = 0; i < count; i++) {
        if (strcmp(group, rows[i].group) != 0) {
            group = rows[i].group;
            printf("%s%s\n", i > 0 ? "\n" : "", group);
        }
        printf("  %-26s %-24s %-15s %s\n", rows[i].name, rows[i].text, rows[i].origin,
               rows[i].source);
    }
    return OK;
}

enum status cmd_show(struct command_input *input, struct error *err) {
    if (strcmp(input->positionals[0], "drive") != 0) {
        return error_set(err, ERR_USAGE, "show: '%s' is not allowed; drive NAME is",
                         input->positionals[0]);
    }
    return show_drive(input, input->positionals[1], err);
}
