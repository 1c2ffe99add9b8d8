#include "cli/docs.h"

#include "base/check.h"
#include "cli/command.h"

#include <string.h>

static bool has_rows(const struct command *command) {
    for (size_t i = 0; i < spec_row_count; i++) {
        if ((spec_rows[i].commands & command->bit) != 0) {
            return true;
        }
    }
    return false;
}

static const char *row_value(const struct setting_row *row) {
    if (row->type == SETTING_FLAG) {
        return "";
    }
    return row->type == SETTING_CHOICE ? row->choices : row->placeholder;
}

static bool is_on(const struct setting_row *row) {
    return row->type == SETTING_FLAG && row->fallback != NULL && strcmp(row->fallback, "true") == 0;
}

static const char *row_default(const struct setting_row *row) {
    if (row->type == SETTING_FLAG) {
        return is_on(row) ? "on" : "off";
    }
    return row->fallback != NULL ? row->fallback : "";
}

/* A '|' would end a table's cell. */
static void put_escaped(const char *text, FILE *stream) {
    for (; *text != '\0'; text++) {
        if (*text == '|') {
            putc('\\', stream);
        }
        putc(*text, stream);
    }
}

void docs_write_options(FILE *stream) {
    fputs("# Options\n\nMade by `make docs` from the setting rows in cli/spec.c. On the command line "
          "`--name value` or `--name=value`, flags also `--no-name`; in a workload YAML (`--as`) "
          "`name: value`. Sizes take kB, MB, GB, TB (powers of 1000) and KiB, MiB, GiB, TiB (powers "
          "of 1024); durations ms, s, m, h.\n", stream);
    for (const struct command *command = commands; command->name != NULL; command++) {
        fprintf(stream, "\n## ckptsim %s%s%s\n\n%s. Example: `%s`\n", command->name,
                command->positionals != NULL ? " " : "",
                command->positionals != NULL ? command->positionals : "", command->about,
                command->example);
        if (!has_rows(command)) {
            continue;
        }
        fputs("\n| option | value | default | meaning |\n| --- | --- | --- | --- |\n", stream);
        for (size_t i = 0; i < spec_row_count; i++) {
            const struct setting_row *row = &spec_rows[i];
            if ((row->commands & command->bit) == 0) {
                continue;
            }
            fprintf(stream, "| `--%s%s` | ", is_on(row) ? "no-" : "", row->name);
            put_escaped(row_value(row), stream);
            fprintf(stream, " | %s | ", row_default(row));
            fputs(is_on(row) ? "do not " : "", stream);
            put_escaped(row->help, stream);
            fputs(" |\n", stream);
        }
    }
}

/* troff reads a leading '.' or '\'' as a command, '\\' as an escape and '-' as a hyphen. */
static void put_troff(const char *text, FILE *stream) {
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '-' || *at == '\\') {
            putc('\\', stream);
        } else if (at == text && (*at == '.' || *at == '\'')) {
            fputs("\\&", stream);
        }
        putc(*at, stream);
    }
}

static void write_man_row(const struct setting_row *row, FILE *stream) {
    fputs(".TP\n.B ", stream);
    put_troff(is_on(row) ? "--no-" : "--", stream);
    put_troff(row->name, stream);
    if (row->type != SETTING_FLAG) {
        fprintf(stream, " \\fI");
        put_troff(row_value(row), stream);
        fputs("\\fR", stream);
    }
    putc('\n', stream);
    fputs(is_on(row) ? "do not " : "", stream);
    put_troff(row->help, stream);
    if (row->fallback != NULL && row->type != SETTING_FLAG) {
        fputs(" (default ", stream);
        put_troff(row->fallback, stream);
        putc(')', stream);
    }
    putc('\n', stream);
}

void docs_write_man(FILE *stream) {
    fputs(".TH CKPTSIM 1 \"\" \"ckptsim " CKPTSIM_VERSION "\" \"User Commands\"\n.SH NAME\n"
          "ckptsim \\- play AI training's checkpoint traffic against a drive and measure it\n"
          ".SH SYNOPSIS\n.B ckptsim\n[\\fICOMMAND\\fR] [\\fIOPTIONS\\fR]\n.SH COMMANDS\n", stream);
    for (const struct command *command = commands; command->name != NULL; command++) {
        fprintf(stream, ".TP\n.B %s", command->name);
        if (command->positionals != NULL) {
            fputs(" \\fI", stream);
            put_troff(command->positionals, stream);
            fputs("\\fR", stream);
        }
        putc('\n', stream);
        put_troff(command->about, stream);
        fputs("\n.br\n", stream);
        put_troff(command->example, stream);
        putc('\n', stream);
    }
    const char *group = "";
    fputs(".SH OPTIONS\n", stream);
    for (size_t i = 0; i < spec_row_count; i++) {
        if (strcmp(group, spec_rows[i].group) != 0) {
            group = spec_rows[i].group;
            fprintf(stream, ".SS %s\n", group);
        }
        write_man_row(&spec_rows[i], stream);
    }
    fputs(".SH EXIT STATUS\n0 good, 1 the run failed, 2 usage, 3 out of memory, 130 interrupted.\n", stream);
}

static void write_words(const char *choices, FILE *stream) {
    for (; *choices != '\0'; choices++) {
        putc(*choices == '|' ? ' ' : *choices, stream);
    }
}

void docs_write_completion(FILE *stream) {
    fputs("# bash completion for ckptsim, made from its setting rows\n_ckptsim() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} equals=\n"
          "    # bash makes --name=value three words\n"
          "    if [ \"$cur\" = = ]; then\n        cur= equals==\n"
          "    elif [ \"$prev\" = = ]; then\n"
          "        prev=${COMP_WORDS[COMP_CWORD-2]} equals==\n    fi\n"
          "    case $prev$equals in\n", stream);
    for (size_t i = 0; i < spec_row_count; i++) {
        const struct setting_row *row = &spec_rows[i];
        if (row->type == SETTING_CHOICE) {
            /* What may stand bare takes its value after '=' alone. */
            fprintf(stream, row->when_bare == NULL ? "    --%s|" : "    ", row->name);
            fprintf(stream, "--%s=) COMPREPLY=($(compgen -W '", row->name);
            write_words(row->choices, stream);
            fputs("' -- \"$cur\")); return ;;\n", stream);
        }
    }
    fputs("    esac\n    case $prev in\n"
          "    --dir|--config-dir|--results|--resume) COMPREPLY=($(compgen -d -- \"$cur\")); "
          "return ;;\n"
          "    --model) COMPREPLY=($(compgen -f -W \"$(ckptsim list models --names 2>/dev/null)\" "
          "-- \"$cur\")); return ;;\n"
          "    --engine) COMPREPLY=($(compgen -W \"$(ckptsim list engines --names 2>/dev/null)\" "
          "-- \"$cur\")); return ;;\n"
          "    --layout) COMPREPLY=($(compgen -W \"$(ckptsim list layouts --names 2>/dev/null)\" "
          "-- \"$cur\")); return ;;\n"
          "    --as) COMPREPLY=($(compgen -f -W \"$(ckptsim list workloads --names 2>/dev/null)\" "
          "-- \"$cur\")); return ;;\n"
          "    esac\n"
          "    local command=checkpoint\n    case ${COMP_WORDS[1]} in\n    ", stream);
    for (const struct command *command = commands; command->name != NULL; command++) {
        fprintf(stream, "%s%s", command != commands ? "|" : "", command->name);
    }
    fputs(") command=${COMP_WORDS[1]} ;;\n    esac\n    case $command in\n", stream);
    for (const struct command *command = commands; command->name != NULL; command++) {
        fprintf(stream, "    %s) COMPREPLY=($(compgen -W '", command->name);
        for (size_t i = 0; i < spec_row_count; i++) {
            if ((spec_rows[i].commands & command->bit) != 0) {
                fprintf(stream, "--%s%s ", is_on(&spec_rows[i]) ? "no-" : "", spec_rows[i].name);
            }
        }
        fputs("--help", stream);
        if (command->positionals != NULL && strchr(command->positionals, '|') != NULL) {
            putc(' ', stream);
            write_words(command->positionals, stream);
        }
        fputs("' -- \"$cur\")) ;;\n", stream);
    }
    fputs("    esac\n    if [ \"$COMP_CWORD\" = 1 ]; then\n        COMPREPLY+=($(compgen -W '", stream);
    for (const struct command *command = commands; command->name != NULL; command++) {
        fprintf(stream, "%s ", command->name);
    }
    fputs("' -- \"$cur\"))\n    fi\n    case $command in verify|clean) COMPREPLY+=($(compgen -d -- "
          "\"$cur\")) ;; esac\n}\ncomplete -F _ckptsim ckptsim\n", stream);
}
