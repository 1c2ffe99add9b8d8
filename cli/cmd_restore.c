/* Reading checkpoints of a folder back: look, plan, restore, report. */
#include "base/units.h"
#include "cli/command.h"
#include "cli/manifest_shards.h"
#include "cli/outputs.h"
#include "cli/plan_result.h"
#include "cli/reading.h"
#include "cli/restore_set.h"
#include "cli/results_dir.h"
#include "cli/stop.h"
#include "io/device.h"
#include "io/machine.h"
#include "metrics/report_reads.h"
#include "metrics/report_text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BASE_MEMORY_BYTES (UINT64_C(64) << 20) /* everything but the engine's buffers */

struct run {
    struct command_input *input;
    struct spec *spec;
    struct arena *arena;
    struct folder folder;
    struct restore_set set;
    struct manifest manifest; /* of the first checkpoint that is read */
    const char *manifest_name;
    const char *given_model; /* NULL: the manifest's own is looked for */
    struct manifest_job job;
    bool has_job; /* the model is known; else files are what their manifest lists */
    struct reading reading;
    struct engine *engine;
    struct result result;
    struct progress progress;
    const char *results;
    char started[32], stamp[32]; /* "2026-08-05T10:15:02Z", "20260805-101502" */
};

static enum status check_spec(const struct spec *spec, struct error *err) {
    const struct engine_ops *ops = engine_find(spec->engine);
    if (spec->dir == NULL) {
        return error_set(err, ERR_USAGE, "--dir is missing: a folder that holds checkpoints");
    }
    if (ops == NULL) {
        return error_set(err, ERR_USAGE,
                         "--engine: unknown engine '%s'; `ckptsim list engines` "
                         "names all",
                         spec->engine);
    }
    if (!ops->needs_folder) {
        return error_set(err, ERR_USAGE, "--engine: '%s' reads nothing", spec->engine);
    }
    if (spec->io.chunk_bytes % PAYLOAD_BLOCK != 0) {
        return error_set(err, ERR_USAGE, "--chunk: %llu bytes is not a multiple of 4 KiB",
                         (unsigned long long)spec->io.chunk_bytes);
    }
    return reading_check(&spec->restore, err);
}

/* The settings that were given of those that a manifest keeps. */
static uint64_t given_settings(struct run *run, struct manifest_setting *given) {
    const struct settings *settings = &run->input->settings;
    uint64_t count = 0;
    for (size_t i = 0; i < settings->count; i++) {
        if (strcmp(settings->rows[i].group, SPEC_PLAN_GROUP) == 0 &&
            strcmp(settings->values[i].origin, "command line") == 0) {
            given[count++] =
                (struct manifest_setting){settings->rows[i].name, settings->values[i].text};
        }
    }
    return count;
}

/* "--tp 2: not the checkpoint in 'ckpt-0003.manifest', which was written with 4" */
static enum status not_that(const struct run *run, const struct manifest_setting *given,
                            uint64_t count, const char *why, struct error *err) {
    char text[sizeof err->text];
    size_t used = 0;
    snprintf(text, sizeof text, "%.300s", why); /* why may be of err */
    char all[512] = "";
    for (uint64_t i = 0; i < count && used < sizeof all - 1; i++) {
        const char *was = manifest_setting(&run->manifest.head, given[i].name);
        if (was == NULL || strcmp(was, given[i].value) != 0) {
            used +=
                (size_t)snprintf(all + used, sizeof all - used, "%s--%s %.60s (written with %.60s)",
                                 used > 0 ? ", " : "", given[i].name, given[i].value,
                                 was != NULL ? was : "its default");
        }
    }
    return error_set(err, ERR_USAGE, "'%s' is not of the job that was given: %s: %s",
                     run->manifest_name, all, text);
}

/* Whoever says by which model or parallelism the checkpoint was made must be right. */
static enum status hold_given(struct run *run, struct error *err) {
    struct manifest_setting given[MANIFEST_SETTINGS];
    struct manifest_job other;
    uint64_t count = given_settings(run, given);
    for (uint64_t i = 0; i < count; i++) {
        if (strcmp(given[i].name, "model") == 0) {
            run->given_model = given[i].value;
        }
    }
    if (count == 0) {
        return OK;
    }
    if (manifest_job_build(&run->manifest.head, given, count, SHARDS_CONTENTS, run->arena, &other,
                           err) != OK) {
        return err->status; /* no such model, or a value that is not allowed */
    }
    if (manifest_job_check(&run->manifest, &other.shards, err) != OK) {
        return not_that(run, given, count, err->text, err);
    }
    return OK;
}

/* From here on the settings say what the checkpoint was made by. */
static enum status take_settings(struct run *run, struct error *err) {
    const struct manifest_head *head = &run->manifest.head;
    for (uint64_t i = 0; i < head->setting_count; i++) {
        const struct manifest_setting *setting = &head->settings[i];
        bool own = strcmp(setting->name, "format") == 0 || strcmp(setting->name, "codec") == 0 ||
                   strcmp(setting->name, "chunk") == 0 ||
                   (strcmp(setting->name, "model") == 0 && run->given_model != NULL);
        if (!own && settings_set(&run->input->settings, setting->name, setting->value, "manifest",
                                 err) != OK) {
            return error_wrap(err, "'%s'", run->manifest_name);
        }
    }
    return OK;
}

static enum status build_job(struct run *run, struct error *err) {
    struct manifest_setting model = {"model", run->given_model};
    enum status status = manifest_job_build(&run->manifest.head, &model, run->given_model != NULL,
                                            SHARDS_CONTENTS, run->arena, &run->job, err);
    if (status != OK && manifest_is_plain(&run->manifest.head)) {
        return OK; /* its model may be gone; files of plain payload can be read all the same */
    }
    if (status != OK) {
        error_wrap(err, "'%s'", run->manifest_name);
        return error_status(err, ERR_FAILED); /* the checkpoint's fault, not the command line's */
    }
    run->has_job = true;
    status = manifest_job_check(&run->manifest, &run->job.shards, err);
    return status == OK ? OK : error_wrap(err, "'%s'", run->manifest_name);
}

/* Compressed files are read in the windows they were written in. */
static enum status take_codec(struct run *run, struct error *err) {
    struct engine_config *io = &run->spec->io;
    const struct setting_value *given = settings_value(&run->input->settings, "chunk");
    uint64_t chunk_bytes;
    if (manifest_codec(&run->manifest.head, &io->codec, &chunk_bytes, err) != OK) {
        return error_wrap(err, "'%s'", run->manifest_name);
    }
    if (chunk_bytes == 0) {
        return OK;
    }
    if (strcmp(given->origin, "default") != 0 && io->chunk_bytes != chunk_bytes) {
        return error_set(err, ERR_USAGE,
                         "--chunk: %s, but the files of '%s' are compressed in windows of %s, which "
                         "are read whole", given->text, run->manifest_name,
                         manifest_setting(&run->manifest.head, "chunk"));
    }
    io->chunk_bytes = chunk_bytes;
    return OK;
}

/* What is read, and by whom. */
static enum status look(struct run *run, struct error *err) {
    struct spec *spec = run->spec;
    char name[MANIFEST_NAME];
    if (restore_set_choose(&run->set, &run->folder, spec->restore.checkpoint, run->arena, err) !=
            OK ||
        restore_set_manifest(&run->folder, run->set.numbers[0], run->arena, &run->manifest, err) !=
            OK) {
        return err->status;
    }
    manifest_name(MANIFEST_COMPLETE, run->set.numbers[0], name);
    run->manifest_name = arena_text(run->arena, name);
    if (hold_given(run, err) != OK || build_job(run, err) != OK || take_settings(run, err) != OK ||
        take_codec(run, err) != OK) {
        return err->status;
    }
    const struct shards *shards = run->has_job ? &run->job.shards : NULL;
    enum status status = reading_plan(&spec->restore, &run->job.spec.plan, shards, &run->manifest,
                                      run->arena, &run->reading, err);
    run->reading.config.reads = spec->restore.reads > 0 ? spec->restore.reads : run->set.count;
    run->set.shards = shards;
    run->set.files = &run->reading.files;
    run->set.classes = run->manifest.head.classes;
    return status;
}

/* Reading needs the payload that was written, and room for every rank that reads. */
static void derive_spec(struct run *run) {
    struct engine_config *io = &run->spec->io;
    memcpy(io->classes, run->manifest.head.classes, sizeof io->classes);
    io->payload = io->classes[TENSOR_WEIGHT];
    io->seed = io->payload.seed;
    io->folder = &run->folder;
    io->ranks = run->reading.plan.ranks;
    io->preallocate = false;
    io->sync = false;
    io->quota_bytes = 0;
}

static void fill_plan(struct run *run) {
    struct result *result = &run->result;
    struct result_plan *plan = &result->plan;
    if (run->has_job) {
        plan_result_fill(plan, &run->job.shards, &run->job.spec, 0);
    } else {
        *plan = (struct result_plan){.model = run->spec->plan.model,
                                     .format = "raw",
                                     .layout = run->spec->plan.layout,
                                     .scale = 1,
                                     .checkpoint_bytes = run->manifest.head.bytes,
                                     .files = run->manifest.head.files,
                                     .ranks = run->reading.files.ranks};
    }
    plan_result_codec(plan, run->spec, run->arena);
    plan->passes = plan->run_bytes = 0;
    plan->memory_bytes = engine_buffer_bytes(run->spec->engine, &run->spec->io) +
                         BASE_MEMORY_BYTES + (run->has_job ? run->job.shards.memory_bytes : 0);
    reading_result(&run->spec->restore, &run->reading, &result->restore);
}

static void fill_facts(struct run *run) {
    struct result *result = &run->result;
    struct device *device = arena_new(run->arena, 1, sizeof *device);
    result->machine.arena = result->file_system.arena = run->arena;
    result->device.arena = result->engine.arena = run->arena;
    machine_facts("", &result->machine);
    machine_file_system_facts("", run->folder.path, &result->file_system);
    device_find(device, "", run->folder.path);
    device_facts(device, &result->device);
    facts_text(&result->engine, "name", run->spec->engine);
    run->engine->ops->facts(run->engine, &result->engine);
}

static void take_time(struct run *run) {
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(run->started, sizeof run->started, "%Y-%m-%dT%H:%M:%SZ", &utc);
    strftime(run->stamp, sizeof run->stamp, "%Y%m%d-%H%M%S", &utc);
}

static void begin_result(struct run *run) {
    struct result *result = &run->result;
    take_time(run);
    result->kind = RESULT_MEASURED;
    result->arena = run->arena;
    result->settings = &run->input->settings;
    result->version = CKPTSIM_VERSION;
    result->started = run->started;
    result->run_id = arena_printf(run->arena, "%s-%ld", run->stamp, (long)getpid());
    result->outcome = RESULT_COMPLETE;
    result->outcome_text = "all restores done";
}

static enum status read_all(struct run *run, struct error *err) {
    struct restore restore = {
        .config = &run->reading.config,
        .io = &run->spec->io,
        .plan = &run->reading.plan,
        .files = &run->reading.files,
        .shards = run->set.shards,
        .source = &run->set.base,
        .engine = run->engine,
        .result = &run->result,
        .arena = run->arena,
        .stop = &stop_flag,
    };
    struct reading_view view = {&run->result, &run->progress, !run->spec->quiet};
    run->progress.on = !run->spec->quiet && isatty(STDERR_FILENO);
    reading_show(&restore, &view);
    restore_init(&restore);
    report_plan(&run->result, stdout);
    if (view.rows) {
        report_read_head(stdout);
    }
    fflush(stdout);
    enum status status = restore_run(&restore, err);
    progress_clear(&run->progress);
    return status;
}

static enum status run_restores(struct run *run, struct error *err) {
    enum status status = read_all(run, err);
    struct error output_err;
    report_passes(&run->result, stdout);
    enum status output_status = outputs_write(&run->result, run->results, run->arena, &output_err);
    if (output_status == OK) {
        printf("\nresults: %s/ (result.json, reads.csv, summary.json)\n", run->results);
    } else if (status == OK) {
        status = error_set(err, output_status, "%s", output_err.text);
    }
    if (status == OK && run->result.outcome == RESULT_INTERRUPTED) {
        status = error_set(err, ERR_INTERRUPTED, "%s", run->result.outcome_text);
    }
    return status;
}

static enum status open_and_run(struct run *run, struct error *err) {
    enum status status = engine_open(run->spec->engine, &run->spec->io, &run->engine, err);
    if (status != OK) {
        return status;
    }
    begin_result(run);
    fill_plan(run);
    fill_facts(run);
    const char *model = run->spec->plan.model != NULL ? run->spec->plan.model : "restore";
    status =
        results_dir_make(run->spec->results, run->stamp, model, run->arena, &run->results, err);
    if (status == OK) {
        status = run_restores(run, err);
    }
    engine_close(run->engine);
    result_fini(&run->result);
    return status;
}

enum status cmd_restore(struct command_input *input, struct error *err) {
    struct run *run = arena_new(input->arena, 1, sizeof *run);
    *run = (struct run){.input = input, .spec = &input->spec, .arena = input->arena};
    const char *dir;
    enum status status = command_dir(input, &dir, err);
    status = status == OK ? check_spec(run->spec, err) : status;
    status = status == OK ? folder_open(run->spec->dir, run->arena, &run->folder, err) : status;
    if (status != OK) {
        return status;
    }
    stop_catch_signals();
    status = look(run, err);
    if (status == OK) {
        derive_spec(run);
        status = open_and_run(run, err);
    }
    restore_set_fini(&run->set);
    folder_close(&run->folder);
    return status;
}
