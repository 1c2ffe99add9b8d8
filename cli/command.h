#ifndef CKPTSIM_CLI_COMMAND_H
#define CKPTSIM_CLI_COMMAND_H

#include "base/error.h"
#include "base/memory.h"
#include "cli/spec.h"

#include <signal.h>
#include <stddef.h>

/* A subcommand is one row in command.c and one function in cmd_NAME.c. */

struct command_input {
    struct spec spec;             /* filled from defaults, --as and the command line */
    struct settings settings;     /* the rows and where each value came from */
    const char **positionals;
    size_t positional_count;
    struct arena *arena;          /* lives as long as the program */
};

struct command {
    const char *name;
    uint32_t bit;               /* the rows' `commands` bit */
    const char *about;          /* one line */
    const char *positionals;    /* "DIR", "models|layouts|engines|settings"; NULL: takes none */
    size_t least, most;         /* positionals */
    const char *example;
    enum status (*run)(struct command_input *input, struct error *err);
};

/* Ends with a row of NULLs; the first is the default. */
extern const struct command commands[];

const struct command *command_find(const char *name);

/* The folder of a command that takes DIR or --dir; NULL: neither was given. ERR_USAGE where both are and
 * they differ. */
enum status command_dir(struct command_input *input, const char **dir, struct error *err);

enum status cmd_checkpoint(struct command_input *input, struct error *err);
/* The same on simulated drives (--drive); stop is the flag of the first Ctrl-C. */
enum status cmd_simulated(struct command_input *input, const volatile sig_atomic_t *stop,
                          struct error *err);
enum status cmd_restore(struct command_input *input, struct error *err);
enum status cmd_shards(struct command_input *input, struct error *err);
enum status cmd_verify(struct command_input *input, struct error *err);
enum status cmd_clean(struct command_input *input, struct error *err);
enum status cmd_list(struct command_input *input, struct error *err);
enum status cmd_show(struct command_input *input, struct error *err);
enum status cmd_validate(struct command_input *input, struct error *err);
enum status cmd_help(struct command_input *input, struct error *err);

#endif
