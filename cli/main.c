/* ckptsim: command line in, exit code out. 0 good, 1 failed, 2 usage, 3 out of memory. */
#include "base/configs.h"
#include "base/names.h"
#include "cli/command.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum status read_workload(struct command_input *input, struct error *err) {
    const struct spec *spec = &input->spec;
    const char *workload = spec->workload;
    if (workload == NULL && spec->drives != NULL) {
        workload = "review"; /* a simulated drive is given the job that drives are known by */
    }
    if (workload == NULL) {
        return OK;
    }
    struct yaml_node *root;
    enum status status =
        config_read("workloads", workload, spec->plan.config_dir, input->arena, &root, err);
    if (status != OK) {
        return error_wrap(err, "--as");
    }
    return settings_read_yaml(&input->settings, root, err);
}

/* A folder named wrongly would silently give the built-in configs. */
static enum status check_config_dir(const struct spec *spec, struct error *err) {
    const char *dir = spec->plan.config_dir;
    struct stat info;
    if (dir == NULL || (stat(dir, &info) == 0 && S_ISDIR(info.st_mode))) {
        return OK;
    }
    return error_set(err, ERR_USAGE, "--config-dir: '%s' is not a folder; one with models/ or "
                                     "workloads/ in it is needed", dir);
}

static enum status check_positionals(const struct command *command,
                                     const struct command_input *input, struct error *err) {
    size_t count = input->positional_count;
    if (count > command->most) {
        return error_set(err, ERR_USAGE, "unexpected argument '%s'; ckptsim %s takes %s",
                         input->positionals[command->most], command->name,
                         command->positionals != NULL ? command->positionals : "options only");
    }
    if (count < command->least) {
        return error_set(err, ERR_USAGE, "an argument is missing; ckptsim %s takes %s",
                         command->name, command->positionals);
    }
    return OK;
}

static enum status run_command(const struct command *command, int argc, char **argv,
                               struct arena *arena, struct error *err) {
    struct command_input *input = arena_new(arena, 1, sizeof *input);
    input->arena = arena;
    input->positionals = arena_new(arena, (size_t)argc + 1, sizeof *input->positionals);
    input->spec.plan.zero_stage = PLAN_ZERO_DEFAULT;
    settings_init(&input->settings, spec_rows, spec_row_count, command->bit, &input->spec, arena);
    enum status status = settings_parse(&input->settings, argc, argv, input->positionals,
                                        &input->positional_count, err);
    status = status == OK ? check_positionals(command, input, err) : status;
    status = status == OK ? check_config_dir(&input->spec, err) : status;
    status = status == OK ? read_workload(input, err) : status;
    return status == OK ? command->run(input, err) : status;
}

/* The command is the first argument, unless that is an option. */
static const struct command *choose_command(int *argc, char ***argv, struct error *err) {
    if (*argc == 0 || strncmp((*argv)[0], "--", 2) == 0) {
        return &commands[0];
    }
    const char *name = (*argv)[0];
    const struct command *command = command_find(name);
    if (command == NULL) {
        const char *names[16];
        size_t count = 0;
        for (const struct command *c = commands; c->name != NULL && count < 16; c++) {
            names[count++] = c->name;
        }
        char nearest[256];
        names_nearest(name, names, count, nearest, sizeof nearest);
        error_set(err, ERR_USAGE, "unknown command '%.100s'; nearest: %s", name, nearest);
        return NULL;
    }
    (*argc)--;
    (*argv)++;
    return command;
}

/* --help and --version work anywhere. */
static bool asks_for(int argc, char **argv, const char *option) {
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], option) == 0) {
            return true;
        }
    }
    return false;
}

/* One line, whatever a name or a file brought into the text. */
static void complain(const char *text) {
    fputs("ckptsim: ", stderr);
    for (const char *at = text; *at != '\0'; at++) {
        putc(iscntrl((unsigned char)*at) ? '?' : *at, stderr);
    }
    putc('\n', stderr);
}

/* A standard descriptor that is closed would be given to a file of the run, and what is printed would
 * go into that file. If this fails, so will every other open. */
static void fill_standard_descriptors(void) {
    int fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO) {
        fd = open("/dev/null", O_RDWR);
    }
    if (fd >= 0) {
        close(fd);
    }
}

int main(int argc, char **argv) {
    struct arena arena = {0};
    struct error err = {0};
    enum status status = OK;
    fill_standard_descriptors();
    argc--;
    argv++;
    const struct command *command = NULL;
    bool named = argc > 0 && argv[0][0] != '-';
    if (argc > 0 && (strcmp(argv[0], "--version") == 0 || strcmp(argv[0], "-V") == 0)) {
        puts("ckptsim " CKPTSIM_VERSION);
        goto done;
    }
    if (argc == 0 || (argc == 1 && strcmp(argv[0], "-h") == 0)) {
        command = command_find("help");
        argc = 0;
    } else {
        command = choose_command(&argc, &argv, &err);
    }
    if (command == NULL) {
        status = ERR_USAGE;
    } else if (asks_for(argc, argv, "--help") || asks_for(argc, argv, "-h")) {
        char *topic[] = {(char *)command->name};
        bool default_only = !named && argc == 1;
        status = run_command(command_find("help"), default_only ? 0 : 1, topic, &arena, &err);
    } else {
        status = run_command(command, argc, argv, &arena, &err);
    }
    if (status != OK) {
        fflush(stdout);
        complain(err.text);
    }
done:
    if (status == OK && (fflush(stdout) != 0 || ferror(stdout))) {
        complain("cannot write to standard output");
        status = ERR_FAILED;
    }
    arena_fini(&arena);
    return (int)status;
}
