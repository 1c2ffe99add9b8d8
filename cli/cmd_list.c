#include "base/configs.h"
#include "base/units.h"
#include "cli/command.h"
#include "sim/drive/drive_config.h"

#include <stdio.h>
#include <string.h>

static void list_row(const struct command_input *input, const char *name, const char *about) {
    if (input->spec.names) {
        puts(name);
    } else {
        printf("  %-20s %s\n", name, about);
    }
}

static void list_engines(struct command_input *input) {
    for (size_t i = 0; engines[i] != NULL; i++) {
        list_row(input, engines[i]->name, engines[i]->about);
    }
}

static void list_formats(struct command_input *input) {
    for (size_t i = 0; formats[i] != NULL; i++) {
        list_row(input, formats[i]->name, formats[i]->about);
    }
}

static void list_layouts(struct command_input *input) {
    for (size_t i = 0; layouts[i] != NULL; i++) {
        list_row(input, layouts[i]->name, layouts[i]->about);
    }
}

/* The key `about` of a config says in a line what it is. */
static const char *config_about(struct command_input *input, const char *kind, const char *name) {
    struct yaml_node *root;
    struct error ignored; /* an unreadable config is still worth its name */
    if (config_read(kind, name, input->spec.plan.config_dir, input->arena, &root, &ignored) != OK) {
        return "";
    }
    const struct yaml_node *about = yaml_get(root, "about");
    return about != NULL && about->kind == YAML_TEXT ? about->text : "";
}

static void list_configs(struct command_input *input, const char *kind) {
    size_t count;
    const char *const *names =
        config_names(kind, input->spec.plan.config_dir, input->arena, &count);
    for (size_t i = 0; i < count; i++) {
        list_row(input, names[i], config_about(input, kind, names[i]));
    }
}

static void list_workloads(struct command_input *input) {
    list_configs(input, "workloads");
}

static void list_hosts(struct command_input *input) {
    list_configs(input, "hosts");
}

static void list_drives(struct command_input *input) {
    size_t count;
    const char *const *names =
        drive_config_names(input->spec.plan.config_dir, input->arena, &count);
    for (size_t i = 0; i < count; i++) {
        struct drive_config drive;
        struct error err;
        char text[160] = "";
        if (drive_config_read(names[i], input->spec.plan.config_dir, input->arena, &drive, &err) ==
            OK) {
            char rate[UNITS_TEXT];
            const struct figure *measured = &drive.measured.sequential_write_rate;
            const struct figure *writes =
                measured->origin != FIGURE_UNKNOWN ? measured : &drive.sequential_write_rate;
            snprintf(text, sizeof text, "%s  writes %9s  %s %s", drive_nand_text(drive.nand),
                     writes->value > 0 ? units_rate((double)writes->value, rate) : "unknown",
                     drive.vendor, drive.model);
        }
        list_row(input, names[i], text);
    }
}

static void list_models(struct command_input *input) {
    size_t count;
    const char *const *names =
        config_names("models", input->spec.plan.config_dir, input->arena, &count);
    for (size_t i = 0; i < count; i++) {
        struct plan plan;
        struct plan_request request = {.model = names[i], .layout = "dlio", .scale = 1,
                                       .config_dir = input->spec.plan.config_dir,
                                       .zero_stage = PLAN_ZERO_DEFAULT};
        struct error err;
        char text[160] = "";
        if (plan_build(&request, input->arena, &plan, &err) == OK) {
            char grouped[UNITS_TEXT];
            snprintf(text, sizeof text, "%19s parameters (computed)",
                     units_grouped(plan.parameters, grouped));
        } else {
            snprintf(text, sizeof text, "%.150s", err.text);
        }
        list_row(input, names[i], text);
    }
}

enum status cmd_list(struct command_input *input, struct error *err) {
    static const struct {
        const char *name;
        void (*list)(struct command_input *input);
    } kinds[] = {{"models", list_models}, {"layouts", list_layouts},
                 {"formats", list_formats}, {"engines", list_engines},
                 {"workloads", list_workloads}, {"drives", list_drives},
                 {"hosts", list_hosts}};
    const char *wanted = input->positional_count > 0 ? input->positionals[0] : NULL;
    bool found = false;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (wanted == NULL || strcmp(wanted, kinds[i].name) == 0) {
            if (!input->spec.names) {
                printf("%s:\n", kinds[i].name);
            }
            kinds[i].list(input);
            found = true;
        }
    }
    if (!found) {
        return error_set(err, ERR_USAGE,
                         "list: '%s' is not allowed; models|layouts|formats|engines|workloads|drives|hosts is", wanted);
    }
    return OK;
}
