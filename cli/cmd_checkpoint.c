/* The main job on a real directory: look, plan, write passes, report. */
#include "base/units.h"
#include "cli/command.h"
#include "cli/drain.h"
#include "cli/manifest_shards.h"
#include "cli/outputs.h"
#include "cli/plan_result.h"
#include "cli/progress.h"
#include "cli/results_dir.h"
#include "cli/resume.h"
#include "cli/reading.h"
#include "cli/restore_set.h"
#include "cli/spec_shards.h"
#include "cli/stop.h"
#include "cli/strategy.h"
#include "cli/target.h"
#include "io/device.h"
#include "io/machine.h"
#include "metrics/journal.h"
#include "metrics/report_reads.h"
#include "metrics/report_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BASE_MEMORY_BYTES (UINT64_C(64) << 20) /* everything but the engine's buffers */
#define HEADROOM_BYTES (UINT64_C(8) << 20)     /* the most that measuring the payload takes of it */

struct run {
    struct command_input *input;
    struct spec *spec;
    struct arena *arena;
    struct plan plan;
    struct shards shards;
    const struct manifest_setting *settings; /* that the manifests keep */
    uint64_t setting_count;
    struct target target;
    struct strategy strategy;
    struct drain drain;
    struct folder folder;
    struct engine *engine;
    struct recorder recorder;
    struct result result;
    struct journal journal;
    struct journal_content *earlier; /* of a resumed run; NULL otherwise */
    struct device device;
    uint64_t device_bytes;           /* at the last look */
    struct nvme_health health;       /* before the first byte */
    struct progress progress;
    struct job job;
    struct reading reading;          /* --read */
    const char *results;
    char started[32], stamp[32];     /* "2026-08-05T10:15:02Z", "20260805-101502" */
};

static void take_time(struct run *run) {
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(run->started, sizeof run->started, "%Y-%m-%dT%H:%M:%SZ", &utc);
    strftime(run->stamp, sizeof run->stamp, "%Y%m%d-%H%M%S", &utc);
}

static enum status check_spec(const struct spec *spec, const struct settings *settings,
                              struct error *err) {
    const struct engine_ops *ops = engine_find(spec->engine);
    if (spec->plan.model == NULL) {
        return error_set(err, ERR_USAGE, "--model is missing; `ckptsim list models` names the "
                                         "built-in ones");
    }
    if (ops == NULL) {
        return error_set(err, ERR_USAGE, "--engine: unknown engine '%s'; `ckptsim list engines` "
                                         "names all", spec->engine);
    }
    if (spec->dir == NULL && ops->needs_folder) {
        return error_set(err, ERR_USAGE, "--dir is missing: an existing folder on the drive");
    }
    if (spec->read == 0 && reading_refuse_idle(settings, err) != OK) {
        return err->status;
    }
    if (spec->read > 0 && !ops->needs_folder) {
        return error_set(err, ERR_USAGE, "--read: engine '%s' keeps nothing that could be read",
                         spec->engine);
    }
    if (spec->read > 0 && spec->commit == COMMIT_NONE) {
        return error_set(err, ERR_USAGE, "--read: without manifests (--commit none) nothing says which "
                                         "checkpoint is complete and what is in it");
    }
    if (spec->read > 0 && reading_check(&spec->restore, err) != OK) {
        return err->status;
    }
    if (spec->io.chunk_bytes % PAYLOAD_BLOCK != 0) {
        return error_set(err, ERR_USAGE, "--chunk: %llu bytes is not a multiple of 4 KiB",
                         (unsigned long long)spec->io.chunk_bytes);
    }
    if (!ops->needs_folder && spec->job.checkpoints_per_pass == 0 && spec->io.quota_bytes == 0) {
        return error_set(err, ERR_USAGE, "--engine: '%s' never fills; --checkpoints-per-pass or "
                                         "--quota is needed", spec->engine);
    }
    return OK;
}

/* Fills in what follows from the settings. */
static void derive_spec(struct run *run) {
    struct spec *spec = run->spec;
    spec->job.commit = spec->commit == COMMIT_MANIFEST;
    spec->io.ranks = run->plan.ranks;
    if (spec->read > 0 && run->reading.plan.ranks > spec->io.ranks) {
        spec->io.ranks = run->reading.plan.ranks; /* a new parallelism may have more */
    }
    spec->io.sync = spec->job.fsync != JOB_FSYNC_NONE;
    spec->io.seed = spec->io.payload.seed;
    if (!engine_find(spec->engine)->needs_folder) {
        spec->dir = NULL;
    }
}

static enum status open_folder(struct run *run, const char *run_id, struct error *err) {
    struct spec *spec = run->spec;
    run->folder.fd = run->folder.marker_fd = -1;
    if (spec->dir == NULL) {
        return OK;
    }
    enum status status = run->earlier != NULL
                             ? resume_folder(spec, spec->dir, run->earlier, run->arena,
                                             &run->folder, err)
                             : folder_create(spec->dir, run_id, run->arena, &run->folder, err);
    spec->io.folder = &run->folder;
    return status;
}

/* A drive under test that also takes the results is disturbed by them. */
static void note_results_place(struct run *run) {
    struct stat results, folder;
    if (run->spec->dir != NULL && stat(run->results, &results) == 0 &&
        fstat(run->folder.fd, &folder) == 0) {
        facts_text(&run->result.file_system, "results",
                   results.st_dev == folder.st_dev ? "on this file system" : "on another file system");
    }
}

/* The journal stands before the first byte is written, and with it the results folder. */
static enum status open_results(struct run *run, struct error *err) {
    struct result *result = &run->result;
    enum status status = OK;
    if (run->earlier != NULL) {
        run->results = run->spec->resume;
    } else {
        status = results_dir_make(run->spec->results, run->stamp, run->spec->plan.model, run->arena,
                                  &run->results, err);
    }
    if (status != OK) {
        return status;
    }
    note_results_place(run);
    const char *path = arena_printf(run->arena, "%s/journal.jsonl", run->results);
    if (run->earlier != NULL) {
        journal_restore(run->earlier, result);
        return journal_resume(&run->journal, path, run->earlier, err);
    }
    status = journal_create(&run->journal, path, result, err);
    if (status != OK) {
        results_dir_drop(run->results);
    }
    return status;
}

/* The measurement has a buffer of its own beside the engine's, within the base memory. */
static size_t headroom_buffer(uint64_t chunk_bytes) {
    return (size_t)(chunk_bytes < HEADROOM_BYTES ? chunk_bytes : HEADROOM_BYTES);
}

static void fill_plan_result(struct run *run) {
    const struct spec *spec = run->spec;
    struct result_plan *out = &run->result.plan;
    plan_result_fill(out, &run->shards, spec, run->target.checkpoints);
    out->memory_bytes = engine_buffer_bytes(spec->engine, &spec->io) + BASE_MEMORY_BYTES +
                        run->shards.memory_bytes + strategy_memory_bytes(&run->strategy) +
                        drain_memory_bytes(spec);
    out->drain_to = spec->drain_to;
    out->drain_ranks = spec->job.drain_ranks;
    out->snapshot_bytes = strategy_memory_bytes(&run->strategy);
    plan_result_codec(out, spec, run->arena);
    out->payload_bytes_per_second =
        payload_headroom(&spec->io.payload, headroom_buffer(spec->io.chunk_bytes));
    if (spec->read > 0) {
        reading_result(&spec->restore, &run->reading, &run->result.restore);
    }
}

static void fill_facts(struct run *run) {
    struct result *result = &run->result;
    result->machine.arena = result->file_system.arena = run->arena;
    result->device.arena = result->engine.arena = run->arena;
    machine_facts("", &result->machine);
    if (run->spec->dir != NULL) {
        machine_file_system_facts("", run->folder.path, &result->file_system);
        device_find(&run->device, "", run->folder.path);
        device_facts(&run->device, &result->device);
        device_read_health(&run->device, &run->health);
        run->device_bytes = device_written_bytes(&run->device);
    }
    facts_text(&result->engine, "name", run->spec->engine);
    run->engine->ops->facts(run->engine, &result->engine);
}

static void take_tick(void *context, const struct job_progress *progress) {
    struct run *run = context;
    progress_draw(&run->progress, progress);
}

static enum status take_checkpoint(void *context, struct checkpoint_record *record, bool settled,
                                   struct error *err) {
    struct run *run = context;
    if (run->spec->dir != NULL) {
        uint64_t now = device_written_bytes(&run->device);
        bool known = now != DEVICE_UNKNOWN && run->device_bytes != DEVICE_UNKNOWN;
        record->device_bytes = known ? now - run->device_bytes : RESULT_UNKNOWN;
        run->device_bytes = now;
    }
    progress_clear(&run->progress);
    progress_checkpoint(&run->progress, record);
    if (!run->spec->quiet) {
        report_checkpoint_row(&run->result, record, stdout);
        fflush(stdout);
    }
    return journal_add(&run->journal, &run->result, record, settled, &run->recorder.write_latency,
                       &run->recorder.sync_latency, err);
}

static enum status take_copied(void *context, const struct checkpoint_record *record, uint64_t index,
                               struct error *err) {
    struct run *run = context;
    return journal_add_copied(&run->journal, record, index, err);
}

static enum status start_job(struct run *run, struct error *err) {
    run->job = (struct job){
        .config = &run->spec->job,
        .io = &run->spec->io,
        .shards = &run->shards,
        .settings = run->settings,
        .setting_count = run->setting_count,
        .engine = run->engine,
        .recorder = &run->recorder,
        .arena = run->arena,
        .run_id = run->result.run_id,
        .snapshot_plan = &run->strategy.snapshot,
        .snapshot_pool = run->strategy.pool.memory != NULL ? &run->strategy.pool : NULL,
        .planned_slots = run->earlier == NULL ? run->target.checkpoints : 0,
        .stop = &stop_flag,
        .drain_pool = &run->drain.pool,
        .observer = {run, take_tick, take_checkpoint, take_copied},
    };
    recorder_init(&run->recorder, &run->result, run->plan.ranks, run->arena);
    job_init(&run->job);
    run->progress.on = !run->spec->quiet && isatty(STDERR_FILENO);
    run->progress.checkpoints_per_pass = run->target.checkpoints;
    if (run->earlier == NULL) {
        return OK;
    }
    run->progress.done = run->earlier->checkpoint_count;
    return resume_job(&run->job, &run->folder, &run->drain.folder, run->earlier, err);
}

/* The files go after the report, unless they are to be kept. */
static enum status tidy_up(struct run *run, struct error *err) {
    struct spec *spec = run->spec;
    if (spec->dir == NULL) {
        return OK;
    }
    if (spec->keep) {
        printf("kept: %s; ", run->folder.path);
        if (spec->commit == COMMIT_MANIFEST) { /* plain files tell nothing */
            printf("`ckptsim verify %s` checks it, ", spec->dir);
        }
        printf("`ckptsim clean %s` removes it\n", spec->dir);
        if (spec->drain_to != NULL) {
            printf("kept: %s; the same for %s\n", run->drain.folder.path, spec->drain_to);
        }
        folder_close(&run->folder);
        drain_close(&run->drain);
        return OK;
    }
    fflush(stdout);
    enum status status = job_remove_files(&run->job, err);
    progress_clear(&run->progress);
    const char *path = run->folder.path;
    int error = folder_remove_self(&run->folder);
    if (error != 0) {
        printf("%s stays: %s\n", path, error == ENOTEMPTY ? "it holds files that this run did not "
                                                            "write, or could not remove"
                                                          : error_words(error));
    }
    drain_remove(&run->drain);
    return status;
}

static void add_device_facts(struct run *run) {
    if (run->spec->dir != NULL) {
        struct nvme_health after;
        device_read_health(&run->device, &after);
        device_run_facts(&run->health, &after, &run->result.device);
    }
}

/* The restores, of what the passes left. */
static enum status read_back(struct run *run, struct error *err) {
    struct restore_set set;
    enum status status = restore_set_choose(&set, &run->folder, run->spec->restore.checkpoint,
                                            run->arena, err);
    if (status != OK) {
        error_wrap(err, "--read");
        error_status(err, ERR_FAILED); /* by now something was written */
        run->result.outcome = RESULT_FAILED;
        run->result.outcome_text = arena_text(run->arena, err->text);
        return err->status;
    }
    set.shards = &run->shards;
    set.files = &run->reading.files;
    set.classes = run->spec->io.classes;
    struct restore restore = {
        .config = &run->reading.config,
        .io = &run->spec->io,
        .plan = &run->reading.plan,
        .files = &run->reading.files,
        .shards = &run->shards,
        .source = &set.base,
        .engine = run->engine,
        .result = &run->result,
        .arena = run->arena,
        .earlier_ns = run->job.earlier_ns,
        .stop = &stop_flag,
    };
    struct reading_view view = {&run->result, &run->progress, !run->spec->quiet};
    reading_show(&restore, &view);
    restore_init(&restore);
    if (view.rows) {
        putchar('\n');
        report_read_head(stdout);
        fflush(stdout);
    }
    status = restore_run(&restore, err);
    if (run->result.outcome == RESULT_COMPLETE) {
        run->result.outcome_text = "all passes and restores done";
    }
    restore_set_fini(&set);
    return status;
}

static bool may_read(const struct run *run) {
    return run->spec->read > 0 && !result_partial(&run->result);
}

static enum status run_job(struct run *run, struct error *err) {
    report_plan(&run->result, stdout);
    if (!run->spec->quiet) {
        report_checkpoint_head(&run->result, stdout);
        for (uint32_t i = 0; run->earlier != NULL && i < run->result.checkpoint_count; i++) {
            report_checkpoint_row(&run->result, &run->result.checkpoints[i], stdout);
        }
    }
    fflush(stdout);
    enum status status = start_job(run, err);
    if (status != OK) {
        return status;
    }
    status = job_run(&run->job, err);
    if (status == OK && may_read(run)) {
        status = read_back(run, err);
    }
    progress_clear(&run->progress);
    add_device_facts(run);
    struct error output_err;
    report_passes(&run->result, stdout);
    enum status output_status = outputs_write(&run->result, run->results, run->arena, &output_err);
    if (output_status == OK) {
        printf("\nresults: %s/ (result.json, checkpoints.csv, passes.csv, %ssummary.json)\n",
               run->results, run->spec->read > 0 ? "reads.csv, " : "");
    } else if (status == OK) {
        status = error_set(err, output_status, "%s", output_err.text);
    }
    return status;
}

/* Everything that must be right before the first byte; undone in reverse where it is not. */
static enum status prepare(struct run *run, struct error *err) {
    struct result *result = &run->result;
    take_time(run);
    result->kind = RESULT_MEASURED;
    result->arena = run->arena;
    result->settings = &run->input->settings;
    result->version = CKPTSIM_VERSION;
    result->started = run->earlier != NULL ? run->earlier->started : run->started;
    result->run_id = run->earlier != NULL
                         ? run->earlier->run_id
                         : arena_printf(run->arena, "%s-%ld", run->stamp, (long)getpid());
    enum status status = strategy_open(&run->strategy, err);
    if (status != OK) {
        return status;
    }
    status = open_folder(run, result->run_id, err);
    if (status != OK) {
        goto fail_folder;
    }
    status = drain_open(&run->drain, run->spec, result->run_id, run->earlier, run->arena, err);
    if (status != OK) {
        goto fail_drain;
    }
    status = engine_open(run->spec->engine, &run->spec->io, &run->engine, err);
    if (status != OK) {
        goto fail_engine;
    }
    fill_plan_result(run);
    fill_facts(run);
    status = open_results(run, err);
    if (status != OK) {
        goto fail_results;
    }
    return OK;

fail_results:
    engine_close(run->engine);
fail_engine:
    if (run->earlier == NULL) {
        drain_remove(&run->drain);
    } else {
        drain_close(&run->drain);
    }
fail_drain:
    if (run->spec->dir != NULL && run->earlier == NULL) {
        folder_remove_self(&run->folder);
    } else if (run->spec->dir != NULL) {
        folder_close(&run->folder);
    }
fail_folder:
    strategy_close(&run->strategy);
    return status;
}

static enum status build_shards(struct run *run, struct error *err) {
    struct spec *spec = run->spec;
    if (spec_set_codec(spec, err) != OK || spec_set_classes(spec, err) != OK ||
        spec_shards(spec, spec->io.classes, SHARDS_CONTENTS, run->arena, &run->plan, &run->shards,
                    err) != OK) {
        return err->status;
    }
    if (spec->read > 0 && reading_plan(&spec->restore, &spec->plan, &run->shards, NULL, run->arena,
                                       &run->reading, err) != OK) {
        return err->status;
    }
    run->reading.config.reads = spec->read;
    return manifest_settings(&run->input->settings, run->arena, &run->settings,
                             &run->setting_count, err);
}

enum status cmd_checkpoint(struct command_input *input, struct error *err) {
    if (input->spec.drives != NULL) {
        stop_catch_signals();
        return cmd_simulated(input, &stop_flag, err);
    }
    struct run *run = arena_new(input->arena, 1, sizeof *run);
    *run = (struct run){.input = input, .spec = &input->spec, .arena = input->arena,
                        .journal = {.fd = -1}};
    enum status status = OK;
    if (run->spec->resume != NULL) {
        status = resume_read(input, &run->earlier, err);
    }
    status = status == OK ? check_spec(run->spec, &input->settings, err) : status;
    status = status == OK ? build_shards(run, err) : status;
    if (status != OK) {
        return status;
    }
    derive_spec(run);
    status = strategy_plan(run->spec, &run->shards, false, &run->strategy, err);
    if (status != OK) {
        return status;
    }
    if (run->spec->dir != NULL) {
        status = target_check(run->spec, &run->shards, run->earlier != NULL, &run->target, err);
    } else {
        uint64_t quota = run->spec->io.quota_bytes; /* without one nothing ever fills */
        uint64_t room = quota > 0 ? quota : UINT64_MAX;
        run->target.checkpoints =
            job_checkpoints_that_fit(&run->spec->job, &run->shards, room, room);
    }
    status = status == OK ? drain_check(run->spec, &run->shards, run->target.checkpoints,
                                        run->earlier != NULL, err)
                          : status;
    status = status == OK ? plan_result_check(run->spec, run->target.checkpoints, err) : status;
    if (status == OK && run->spec->read > 0) {
        status = reading_check_number(&run->spec->restore, run->target.checkpoints, err);
    }
    stop_catch_signals();
    status = status == OK ? prepare(run, err) : status;
    if (status != OK) {
        return status;
    }
    status = run_job(run, err);
    journal_close(&run->journal);
    struct error tidy_err;
    enum status tidy_status = tidy_up(run, &tidy_err);
    if (status == OK && tidy_status != OK) {
        status = error_set(err, tidy_status, "%s", tidy_err.text);
    }
    if (status == OK && run->result.outcome == RESULT_INTERRUPTED) {
        status = error_set(err, ERR_INTERRUPTED, "%s", run->result.outcome_text);
    }
    job_fini(&run->job);
    engine_close(run->engine);
    strategy_close(&run->strategy);
    result_fini(&run->result);
    return status;
}
