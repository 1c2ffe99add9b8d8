/* The main job on one or several simulated drives: results, comparison. */
#include "base/units.h"
#include "cli/command.h"
#include "cli/drain.h"
#include "cli/outputs.h"
#include "cli/results_dir.h"
#include "cli/simulate.h"
#include "cli/spec_shards.h"
#include "metrics/report_drive.h"
#include "metrics/report_text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void print_row(const struct result *result, const struct checkpoint_record *record) {
    report_checkpoint_row(result, record, stdout);
}

/* What a simulated run does if nothing else is asked for: the reviews' job, in requests of a GiB. */
static enum status set_defaults(struct command_input *input, struct error *err) {
    const struct setting_value *chunk = settings_value(&input->settings, "chunk");
    const struct setting_value *commit = settings_value(&input->settings, "commit");
    if (strcmp(chunk->origin, "default") == 0 &&
        settings_set(&input->settings, "chunk", "1GiB", "simulated drive", err) != OK) {
        return err->status;
    }
    /* The reviews' job has no manifests; what is copied needs them. */
    if (input->spec.drain_to != NULL && strcmp(commit->origin, "command line") != 0) {
        return settings_set(&input->settings, "commit", "manifest", "--drain-to", err);
    }
    return OK;
}

/* What means something only where bytes are really written. */
static enum status refuse_idle(const struct settings *settings, struct error *err) {
    static const char *const idle[] = {"engine", "keep", "fill-system-disk", "compressible",
                                       "dedupe", "preallocate", "dontcache",
                                       "verify"};
    for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++) {
        if (strcmp(settings_value(settings, idle[i])->origin, "command line") == 0) {
            return error_set(err, ERR_USAGE, "--drive: --%s has no effect on a simulated drive",
                             idle[i]);
        }
    }
    return OK;
}

static enum status check_spec(const struct spec *spec, struct error *err) {
    if (spec->dir != NULL) {
        return error_set(err, ERR_USAGE, "--drive: cannot be given together with --dir");
    }
    if (drain_check_settings(spec, err) != OK) {
        return err->status;
    }
    if (spec->io.quota_bytes > 0 || spec->io.faults != NULL) {
        return error_set(err, ERR_USAGE, "--drive: --quota and --faults are for --dir");
    }
    if (strcmp(spec->codec, "none") != 0) {
        return error_set(err, ERR_USAGE, "--codec: '%s' on a simulated drive is not simulated yet; "
                                         "none is allowed there", spec->codec);
    }
    if (spec->resume != NULL) {
        return error_set(err, ERR_USAGE, "--drive: a simulated run is not resumed but run again");
    }
    if (spec->io.chunk_bytes % PAYLOAD_BLOCK != 0) {
        return error_set(err, ERR_USAGE, "--chunk: %llu bytes is not a multiple of 4 KiB",
                         (unsigned long long)spec->io.chunk_bytes);
    }
    if (spec->plan.model == NULL) {
        return error_set(err, ERR_USAGE, "--model is missing; `ckptsim list models` names the "
                                         "built-in ones");
    }
    return OK;
}

static enum status check_reading(const struct command_input *input, struct error *err) {
    const struct spec *spec = &input->spec;
    if (spec->read == 0) {
        return reading_refuse_idle(&input->settings, err);
    }
    return reading_check(&spec->restore, err);
}

/* Virtual bytes hold nothing that could be verified, and no page cache serves them. */
static enum status make_reading(struct command_input *input, const struct shards *shards,
                                struct reading **reading, struct error *err) {
    const struct spec *spec = &input->spec;
    if (spec->read == 0) {
        return OK;
    }
    *reading = arena_new(input->arena, 1, sizeof **reading);
    enum status status = reading_plan(&spec->restore, &spec->plan, shards, NULL, input->arena,
                                      *reading, err);
    (*reading)->config = (struct restore_config){.reads = spec->read};
    return status;
}

static enum status open_results(struct command_input *input, const char **path,
                                struct error *err) {
    char stamp[32];
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &utc);
    return results_dir_make(input->spec.results, stamp, input->spec.plan.model, input->arena, path,
                            err);
}

static void print_one(const struct simulation *simulation) {
    report_passes(&simulation->result, stdout);
    report_drive_passes(&simulation->result, stdout);
}

/* Of several drives each has a folder of its own, however many of them were run. */
static enum status write_results(struct command_input *input, const char *path, bool several,
                                 struct simulation *simulations, size_t count, struct error *err) {
    const struct result **results = arena_new(input->arena, count, sizeof *results);
    enum status status = OK;
    for (size_t i = 0; i < count && status == OK; i++) {
        results[i] = &simulations[i].result;
        const char *folder = path;
        if (several) {
            folder = arena_printf(input->arena, "%s/%s", path, results[i]->drive.name);
            status = results_dir_make(folder, "", "", input->arena, &folder, err);
        }
        status = status == OK ? outputs_write(results[i], folder, input->arena, err) : status;
    }
    if (status == OK && count > 1) {
        status = outputs_write_comparison(results, count, path, input->arena, err);
    }
    return status;
}

/* All must be possible, and be told apart by their names, before one runs. */
static enum status check_drives(struct command_input *input, const struct shards *shards,
                                const char *const *drives, size_t count, struct error *err) {
    const char **names = arena_new(input->arena, count, sizeof *names);
    for (size_t i = 0; i < count; i++) {
        if (simulate_check(input, shards, drives[i], &names[i], err) != OK) {
            return err->status;
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(names[k], names[i]) == 0) {
                return error_set(err, ERR_USAGE, "--drive: '%s' and '%s' are both called %s",
                                 drives[k], drives[i], names[i]);
            }
        }
    }
    return OK;
}

/* Runs them one after another; an interrupted one is the last. `count` becomes the number run. */
static enum status run_each(struct command_input *input, const struct shards *shards,
                            const char *const *drives, const struct reading *reading,
                            struct simulation *simulations, size_t *count,
                            const volatile sig_atomic_t *stop, struct error *err) {
    bool rows = *count == 1 && !input->spec.quiet;
    for (size_t i = 0; i < *count; i++) {
        printf("%s%s (simulated)\n", i > 0 ? "\n" : "", drives[i]);
        fflush(stdout);
        enum status status = simulate_run(input, shards, drives[i], reading, stop,
                                          rows ? print_row : NULL, &simulations[i], err);
        if (status != OK) {
            return status;
        }
        print_one(&simulations[i]);
        if (*stop != 0) {
            *count = i + 1;
        }
    }
    return OK;
}

static void compare(struct command_input *input, const struct simulation *simulations,
                    size_t count) {
    const struct result **results = arena_new(input->arena, count, sizeof *results);
    for (size_t i = 0; i < count; i++) {
        results[i] = &simulations[i].result;
    }
    if (count > 1) {
        report_compare(results, count, stdout);
    }
}

static enum status run_drives(struct command_input *input, const struct shards *shards,
                              const char *const *drives, size_t count,
                              const struct reading *reading, const volatile sig_atomic_t *stop,
                              struct error *err) {
    struct simulation *simulations = arena_new(input->arena, count, sizeof *simulations);
    const char *path;
    if (check_drives(input, shards, drives, count, err) != OK ||
        open_results(input, &path, err) != OK) {
        return err->status;
    }
    size_t run = count;
    enum status status = run_each(input, shards, drives, reading, simulations, &run, stop, err);
    if (status == OK) {
        compare(input, simulations, run);
        status = write_results(input, path, count > 1, simulations, run, err);
    }
    if (status == OK) {
        printf("\nresults: %s/\n", path);
    } else {
        results_dir_drop(path);
    }
    for (size_t i = 0; i < count && status == OK; i++) {
        if (simulations[i].result.outcome == RESULT_INTERRUPTED) {
            status = error_set(err, ERR_INTERRUPTED, "%s", simulations[i].result.outcome_text);
        }
    }
    for (size_t i = 0; i < count; i++) {
        result_fini(&simulations[i].result);
    }
    return status;
}

enum status cmd_simulated(struct command_input *input, const volatile sig_atomic_t *stop,
                          struct error *err) {
    struct spec *spec = &input->spec;
    struct plan *plan = arena_new(input->arena, 1, sizeof *plan);
    struct shards *shards = arena_new(input->arena, 1, sizeof *shards);
    struct reading *reading = NULL;
    /* Where a tensor lies in a file is asked for by another parallelism alone. */
    enum shards_depth depth = spec->restore.reshard != NULL ? SHARDS_CONTENTS : SHARDS_SIZES;
    if (set_defaults(input, err) != OK || check_spec(spec, err) != OK ||
        check_reading(input, err) != OK || refuse_idle(&input->settings, err) != OK ||
        spec_set_classes(spec, err) != OK ||
        spec_shards(spec, spec->io.classes, depth, input->arena, plan, shards, err) != OK ||
        make_reading(input, shards, &reading, err) != OK) {
        return err->status;
    }
    spec->job.commit = spec->commit == COMMIT_MANIFEST;
    spec->io.ranks = plan->ranks;
    if (spec->drain_to != NULL) {
        drain_choose_ranks(spec, shards);
    }
    size_t count;
    const char *const *drives = simulate_drives(spec->drives, input->arena, &count);
    if (count == 0) {
        return error_set(err, ERR_USAGE, "--drive: a name is missing; `ckptsim list drives`");
    }
    return run_drives(input, shards, drives, count, reading, stop, err);
}
