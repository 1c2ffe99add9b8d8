#include "cli/simulate.h"

#include "base/check.h"
#include "base/units.h"
#include "cli/plan_result.h"
#include "cli/strategy.h"
#include "cli/target.h"
#include "io/shim.h"
#include "metrics/recorder.h"
#include "metrics/report_reads.h"
#include "metrics/report_text.h"
#include "sim/drive/drive_build.h"
#include "sim/drive/two_drives.h"
#include "sim/job/job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sees the first file of a pass being opened. */
struct watch {
    struct shim shim;
    struct run *run;
    uint64_t pass; /* that was trimmed for */
};

struct run {
    struct command_input *input;
    struct simulation *simulation;
    struct drive_engine_config config;
    struct strategy strategy;
    struct engine *engine;      /* the drive under test */
    struct drive_engine_config second_config; /* of the drive that checkpoints are copied to */
    const char *second_name;                  /* NULL: there is none */
    struct engine *second, *target; /* target: both, or the one */
    struct recorder recorder;
    struct job job;
    struct watch watch;
    struct drive_stats pass_start, last; /* cumulative, at the start of the pass and now */
    uint32_t pass, pass_capacity;
    void (*each)(const struct result *result, const struct checkpoint_record *record);
    const struct reading *reading; /* NULL: no restores */
};

const char *const *simulate_drives(const char *drives, struct arena *arena, size_t *count) {
    const char **names = arena_new(arena, strlen(drives) + 1, sizeof *names);
    char *rest = arena_text(arena, drives);
    *count = 0;
    for (char *name; (name = strsep(&rest, ",")) != NULL;) {
        if (name[0] != '\0') {
            names[(*count)++] = name;
        }
    }
    return names;
}

static double share(uint64_t part, uint64_t whole) {
    return whole > 0 ? (double)part / (double)whole : 0;
}

static double per_byte(uint64_t bytes, uint64_t host_bytes) {
    return host_bytes > 0 ? (double)bytes / (double)host_bytes : 0;
}

/* How many of the streams that a superblock was written by were still alive when it was cleaned. */
static void victims_in_words(const struct ftl_stats *before, const struct ftl_stats *after,
                             char *text, size_t size) {
    uint64_t victims = after->victims - before->victims;
    text[0] = '\0';
    if (victims == 0) {
        return;
    }
    double written = (double)(after->victim_streams_written - before->victim_streams_written) /
                     (double)victims;
    double valid =
        (double)(after->victim_streams_valid - before->victim_streams_valid) / (double)victims;
    snprintf(text, size,
             ": a superblock that is cleaned held data of %.1f ranks on average, and that of %.1f "
             "is still live",
             written, valid);
}

/* Why this pass is as slow as it is against the one before, from what the stations did. */
static const char *explain(struct run *run, const struct drive_pass *pass,
                           const struct drive_pass *before) {
    struct arena *arena = run->input->arena;
    double gc = per_byte(pass->gc_bytes, pass->host_bytes);
    if (before == NULL) {
        return arena_printf(arena, "the %s sets the pace%s", pass->bottleneck,
                            gc < 0.005 ? "; nothing is copied" : "");
    }
    bool nand = strcmp(pass->bottleneck, "nand") == 0;
    if (!nand) {
        bool host = strcmp(pass->bottleneck, "host") == 0;
        return arena_printf(arena,
                            "the %s sets the pace%s; the drive copies %.2f bytes per byte written "
                            "and its NAND is busy %.0f %% of the time",
                            pass->bottleneck,
                            host ? ", writing into files that were there before" : "", gc,
                            100 * pass->busy[DRIVE_STATION_NAND]);
    }
    char victims[200], mixing[200] = "";
    victims_in_words(&run->pass_start.ftl, &run->last.ftl, victims, sizeof victims);
    const struct drive_sheet *sheet = &run->simulation->sheet;
    double one = drive_mixing(sheet, 1), all = drive_mixing(sheet, run->config.ranks);
    if (gc > 0 && all < 1) {
        snprintf(mixing, sizeof mixing,
                 "; and while it copies, this drive programs %.0f %% slower under one stream and "
                 "%.0f %% under %u",
                 100 * (1 - one), 100 * (1 - all), run->config.ranks);
    }
    return arena_printf(arena, "garbage collection copies %.2f bytes per byte written%s%s", gc,
                        victims, mixing);
}

/* The numbers of the pass that just ended. */
static void end_pass(struct run *run) {
    const struct drive_stats *now = &run->last, *start = &run->pass_start;
    struct drive_result *drive = &run->simulation->result.drive;
    struct drive_pass *pass = &drive->passes[drive->pass_count];
    const struct drive_sheet *sheet = &run->simulation->sheet;
    uint64_t media = now->unit_bytes + now->gc_bytes;
    uint64_t elapsed = now->now_ns - start->now_ns;
    *pass = (struct drive_pass){
        .pass = run->pass,
        .elapsed_ns = elapsed,
        .host_bytes = now->host_bytes - start->host_bytes,
        .unit_bytes = now->unit_bytes - start->unit_bytes,
        .gc_bytes = now->gc_bytes - start->gc_bytes,
        .free_superblocks = now->ftl.free_superblocks,
        .cycles = per_byte(media, sheet->raw_bytes.value),
        .endurance_used = (double)media / (double)sheet->rated_media_bytes.value,
        .energy_joules = (double)(now->energy_mj - start->energy_mj) / 1e3,
    };
    double rated = (double)sheet->rated_media_bytes.value;
    double years = (double)elapsed / 1e9 / 86400 / 365.25;
    pass->years_to_wear_out = rated / (double)(pass->unit_bytes + pass->gc_bytes) * years;
    int busiest = 0;
    for (int i = 0; i < DRIVE_STATIONS; i++) {
        pass->busy[i] = fmin(1, share(now->busy_ns[i] - start->busy_ns[i], elapsed));
        busiest = pass->busy[i] > pass->busy[busiest] ? i : busiest;
    }
    pass->bottleneck = drive_station_name((enum drive_station)busiest);
    pass->why = explain(run, pass, drive->pass_count > 0 ? pass - 1 : NULL);
    drive->pass_count++;
    run->pass_start = *now;
}

static enum status take_checkpoint(void *context, struct checkpoint_record *record, bool settled,
                                   struct error *err) {
    struct run *run = context;
    (void)settled;
    (void)err;
    if (record->pass != run->pass) {
        end_pass(run);
        run->pass = record->pass;
    }
    drive_engine_stats(run->engine, &run->last);
    if (run->each != NULL) {
        run->each(&run->simulation->result, record);
    }
    return OK;
}

/* One drive by its name in `option`, for the host of this run. */
static enum status read_one(struct run *run, const char *option, const char *name,
                            struct drive_sheet *sheet, struct drive_engine_config *config,
                            struct error *err) {
    struct spec *spec = &run->input->spec;
    struct arena *arena = run->input->arena;
    const char *config_dir = spec->plan.config_dir;
    struct drive_config *drive = arena_new(arena, 1, sizeof *drive);
    if (drive_config_read(name, config_dir, arena, drive, err) != OK ||
        drive_sheet_make(drive, DRIVE_AS_MEASURED, arena, sheet, err) != OK) {
        return error_wrap(err, "%s", option);
    }
    const struct figure *slc = &drive->slc_stage_bytes;
    if (slc->value > 0) {
        return error_set(err, ERR_USAGE, "%s: '%s' has a slc_stage, which is not simulated; a file "
                                         "without it is", option, drive->name);
    }
    struct host_config host;
    if (host_config_read(spec->host, config_dir, arena, &host, err) != OK) {
        return error_wrap(err, "--host");
    }
    struct drive_choices choices = {
        .placement = (enum placement_policy)spec->placement,
        .discard = (enum drive_discard)spec->discard,
        .buffered = spec->io.direct == IO_DIRECT_OFF,
        .used_before = spec->drive_state == DRIVE_STATE_USED,
        .ranks = spec->io.ranks,
        .memory_limit_bytes = spec->memory_limit_bytes,
        .seed = spec->io.payload.seed,
    };
    drive_build(sheet, &host, &choices, arena, config);
    config->readers = run->reading != NULL ? run->reading->plan.ranks : 0;
    return OK;
}

static enum status read_drive(struct run *run, struct error *err) {
    struct simulation *simulation = run->simulation;
    run->second_name = run->input->spec.drain_to;
    enum status status =
        read_one(run, "--drive", simulation->drive, &simulation->sheet, &run->config, err);
    if (status != OK || run->second_name == NULL) {
        return status;
    }
    struct drive_sheet *sheet = arena_new(run->input->arena, 1, sizeof *sheet);
    return read_one(run, "--drain-to", run->second_name, sheet, &run->second_config, err);
}

static enum status refuse_small(struct run *run, const struct shards *shards, struct error *err) {
    const struct spec *spec = &run->input->spec;
    char need[UNITS_TEXT], have[UNITS_TEXT], use[64] = "no --scale would fit";
    uint64_t capacity = run->config.capacity_bytes;
    uint64_t room = fill_room(&spec->job.fill, capacity, capacity, 0);
    double scale = target_scale(shards, room);
    if (scale > 0) {
        snprintf(use, sizeof use, "--scale %g would fit", scale);
    }
    return error_set(err, ERR_USAGE,
                     "--drive: '%s' is too small: a checkpoint takes %s and %s may be used; %s",
                     run->simulation->drive, units_gb(fill_checkpoint_bytes(shards), need),
                     units_gb(room, have), use);
}

/* The virtual clock counts nanoseconds in 64 bits: it would wrap after 584 years. */
static enum status check_interval(const struct spec *spec, uint64_t checkpoints, struct error *err) {
    unsigned __int128 ns = (unsigned __int128)spec->job.passes * checkpoints * spec->job.interval_ns;
    if (ns > UINT64_MAX / 2) {
        return error_set(err, ERR_USAGE, "--interval: so many pauses of that length would last "
                                         "longer than the 292 years that are simulated at most");
    }
    return OK;
}

/* Bytes that a simulated file takes: its entry, path, extents and its share of the drive's runs. */
enum { FILE_MEMORY_BYTES = 400 };

static enum status check_memory(struct run *run, const struct shards *shards, uint64_t checkpoints,
                                struct error *err) {
    uint64_t limit = run->input->spec.memory_limit_bytes, files, bytes;
    if (!__builtin_mul_overflow(checkpoints, shards->files, &files) &&
        !__builtin_mul_overflow(files, (uint64_t)FILE_MEMORY_BYTES, &bytes) && bytes <= limit) {
        return OK;
    }
    char text[UNITS_TEXT], count[UNITS_TEXT];
    return error_set(err, ERR_USAGE,
                     "--drive: '%s' would hold %s files of this job, too many for --memory-limit (%s); "
                     "--checkpoints-per-pass bounds them, or a larger --scale",
                     run->simulation->drive, units_grouped(checkpoints * shards->files, count),
                     units_gib(limit, text));
}

static enum status check_fit(struct run *run, const struct shards *shards, struct error *err) {
    struct spec *spec = &run->input->spec;
    if (strategy_plan(spec, shards, true, &run->strategy, err) != OK) {
        return err->status;
    }
    uint64_t capacity = run->config.capacity_bytes;
    uint64_t fit = job_checkpoints_that_fit(&spec->job, shards, capacity, capacity);
    if (fit == 0) {
        return refuse_small(run, shards, err);
    }
    uint64_t second = run->second_config.capacity_bytes;
    if (run->second_name != NULL && job_checkpoints_that_fit(&spec->job, shards, second, second) == 0) {
        return error_set(err, ERR_USAGE, "--drain-to: '%s' is too small: not one checkpoint fits",
                         run->second_name);
    }
    if (plan_result_check(spec, fit, err) != OK || check_memory(run, shards, fit, err) != OK ||
        (spec->read > 0 && reading_check_number(&spec->restore, fit, err) != OK)) {
        return err->status;
    }
    plan_result_fill(&run->simulation->result.plan, shards, spec, fit);
    run->simulation->result.plan.memory_bytes = spec->memory_limit_bytes;
    run->simulation->result.plan.drain_to = run->second_name;
    run->simulation->result.plan.drain_ranks = spec->job.drain_ranks;
    run->simulation->result.plan.snapshot_bytes = strategy_memory_bytes(&run->strategy);
    return check_interval(spec, fit, err);
}

/* What cannot be simulated within the memory limit is the user's to change, whenever it shows. */
static enum status refuse_memory(const char *drive, const struct error *why, struct error *err) {
    char text[sizeof why->text];
    snprintf(text, sizeof text, "%s", why->text); /* err may be why */
    return error_set(err, ERR_USAGE, "--memory-limit: drive '%s': %s", drive, text);
}

static enum status open_one(const struct drive_engine_config *config, const char *option,
                            const char *drive, struct engine **engine, struct error *err) {
    enum status status = drive_engine_open(config, engine, err);
    if (status == ERR_FAILED) {
        return refuse_memory(drive, err, err);
    }
    return status == OK ? OK : error_wrap(err, "%s: '%s'", option, drive);
}

static enum status open_drive(struct run *run, struct error *err) {
    if (open_one(&run->config, "--drive", run->simulation->drive, &run->engine, err) != OK) {
        return err->status;
    }
    run->target = run->engine;
    if (run->second_name == NULL) {
        return OK;
    }
    if (open_one(&run->second_config, "--drain-to", run->second_name, &run->second, err) != OK) {
        engine_close(run->engine);
        return err->status;
    }
    run->target = two_drives_open(run->engine, run->second);
    return OK;
}

static void describe(struct run *run) {
    struct result *result = &run->simulation->result;
    struct arena *arena = run->input->arena;
    const struct drive_config *drive = &run->simulation->sheet.drive;
    const struct spec *spec = &run->input->spec;
    result->kind = RESULT_SIMULATED;
    result->arena = arena;
    result->version = CKPTSIM_VERSION;
    result->settings = &run->input->settings;
    result->run_id = arena_printf(arena, "simulated-%s-seed-%llu", drive->name,
                                  (unsigned long long)spec->io.payload.seed);
    result->machine.arena = result->file_system.arena = arena;
    result->device.arena = result->engine.arena = arena;
    facts_text(&result->device, "drive", drive->name);
    facts_text(&result->device, "model", arena_printf(arena, "%s %s", drive->vendor, drive->model));
    facts_text(&result->device, "nand", drive_nand_text(drive->nand));
    facts_count(&result->device, "size_bytes", run->config.capacity_bytes);
    facts_text(&result->device, "state", spec->drive_state == DRIVE_STATE_USED ? "used" : "new");
    facts_text(&result->engine, "name", "simulated drive");
    facts_text(&result->engine, "host", spec->host);
    run->engine->ops->facts(run->engine, &result->engine);
    result->drive.name = drive->name;
    result->drive.capacity_bytes = run->config.capacity_bytes;
    result->drive.rated_media_bytes = (double)run->simulation->sheet.rated_media_bytes.value;
    result->drive.passes = arena_new(arena, spec->job.passes + 1, sizeof *result->drive.passes);
}

/* Between passes, when what an earlier one leaves behind is removed, fstrim tells the drive. */
static void watch_submit(struct engine *engine, struct io_request *request) {
    struct watch *watch = (struct watch *)engine;
    bool of_shard = request->op == IO_OPEN && !request->file->plain;
    if (of_shard && watch->run->job.pass != watch->pass) {
        watch->pass = watch->run->job.pass;
        drive_engine_trim_free(watch->run->engine);
    }
    engine_submit(watch->shim.inner, request);
}

static struct engine *watched(struct run *run) {
    if (run->config.discard != DRIVE_DISCARD_FSTRIM) {
        return run->target;
    }
    shim_init(&run->watch.shim, run->target);
    run->watch.shim.ops.submit = watch_submit;
    run->watch.run = run;
    run->watch.pass = 1;
    return &run->watch.shim.base;
}

/* Nothing need be found on a simulated drive: which checkpoints are complete is known. */
static uint32_t newest_complete(const struct result *result) {
    for (uint32_t i = result->checkpoint_count; i-- > 0;) {
        if (result->checkpoints[i].complete) {
            return result->checkpoints[i].checkpoint;
        }
    }
    return 0;
}

/* What the last pass left, the oldest first: those behind its last one are of the pass before. */
struct kept {
    struct restore_source base;
    uint32_t *numbers;
    size_t count;
};

static enum status take_kept(struct restore_source *source, uint64_t nth,
                             struct restore_checkpoint *checkpoint, struct error *err) {
    const struct kept *kept = (const struct kept *)source;
    (void)err;
    *checkpoint = (struct restore_checkpoint){.number = kept->numbers[nth % kept->count]};
    return OK;
}

static enum status choose_kept(const struct run *run, struct kept *kept, struct error *err) {
    const struct job *job = &run->job;
    const char *choice = run->input->spec.restore.checkpoint;
    uint64_t latest = newest_complete(&run->simulation->result), number = strtoull(choice, NULL, 10);
    *kept = (struct kept){.base = {take_kept}};
    kept->numbers = arena_new(run->input->arena, job->local.slot_count, sizeof *kept->numbers);
    for (uint64_t i = 1; i <= job->local.slot_count; i++) { /* the newest comes last */
        uint64_t slot = (latest + i) % job->local.slot_count;
        bool chosen = number > 0 ? slot == number : strcmp(choice, "all") == 0 || slot == latest;
        if (slot > 0 && tier_holds(&job->local, slot) && chosen) {
            kept->numbers[kept->count++] = (uint32_t)slot;
        }
    }
    if (kept->count == 0) {
        return error_set(err, ERR_FAILED, "--read: no checkpoint '%s' is there to be read", choice);
    }
    return OK;
}

static enum status read_back(struct run *run, const struct shards *shards,
                             const volatile sig_atomic_t *stop, struct error *err) {
    struct result *result = &run->simulation->result;
    struct kept kept;
    if (choose_kept(run, &kept, err) != OK) {
        result->outcome = RESULT_FAILED;
        result->outcome_text = arena_text(result->arena, err->text);
        return err->status;
    }
    struct restore restore = {
        .config = &run->reading->config,
        .io = &run->input->spec.io,
        .plan = &run->reading->plan,
        .files = &run->reading->files,
        .shards = shards,
        .source = &kept.base,
        .engine = run->engine,
        .result = result,
        .arena = run->input->arena,
        .stop = stop,
    };
    struct reading_view view = {.result = result, .rows = run->each != NULL};
    reading_show(&restore, &view);
    restore_init(&restore);
    if (view.rows) {
        putchar('\n');
        report_read_head(stdout);
    }
    enum status status = restore_run(&restore, err);
    if (result->outcome == RESULT_COMPLETE) {
        result->outcome_text = "all passes and restores done";
    }
    return status;
}

static enum status run_job(struct run *run, const struct shards *shards,
                           const volatile sig_atomic_t *stop, struct error *err) {
    struct spec *spec = &run->input->spec;
    run->job = (struct job){
        .config = &spec->job,
        .io = &spec->io,
        .shards = shards,
        .engine = watched(run),
        .recorder = &run->recorder,
        .arena = run->input->arena,
        .run_id = run->simulation->result.run_id,
        .snapshot_plan = &run->strategy.snapshot,
        .stop = stop,
        .observer = {run, NULL, take_checkpoint},
    };
    recorder_init(&run->recorder, &run->simulation->result, shards->ranks, run->input->arena);
    job_init(&run->job);
    drive_engine_stats(run->engine, &run->pass_start);
    run->last = run->pass_start;
    run->pass = 1;
    enum status status = job_run(&run->job, err);
    if (run->simulation->result.checkpoint_count > 0) {
        end_pass(run);
    }
    if (status == OK && run->reading != NULL && !result_partial(&run->simulation->result)) {
        status = read_back(run, shards, stop, err);
    }
    job_fini(&run->job);
    return status;
}

enum status simulate_check(struct command_input *input, const struct shards *shards, const char *drive,
                           const char **name, struct error *err) {
    struct run *run = arena_new(input->arena, 1, sizeof *run);
    run->input = input;
    run->simulation = arena_new(input->arena, 1, sizeof *run->simulation);
    run->simulation->drive = drive;
    enum status status = read_drive(run, err);
    status = status == OK ? check_fit(run, shards, err) : status;
    status = status == OK ? open_drive(run, err) : status;
    if (status == OK) {
        *name = run->simulation->sheet.drive.name;
        engine_close(run->target);
    }
    return status;
}

enum status simulate_run(struct command_input *input, const struct shards *shards, const char *drive,
                         const struct reading *reading, const volatile sig_atomic_t *stop,
                         void (*each)(const struct result *result,
                                      const struct checkpoint_record *record),
                         struct simulation *simulation, struct error *err) {
    struct run *run = arena_new(input->arena, 1, sizeof *run);
    *simulation = (struct simulation){.drive = drive};
    *run = (struct run){.input = input, .simulation = simulation, .each = each,
                         .reading = reading};
    enum status status = read_drive(run, err);
    status = status == OK ? check_fit(run, shards, err) : status;
    if (status != OK) {
        return status;
    }
    status = open_drive(run, err);
    if (status != OK) {
        return status;
    }
    describe(run);
    if (reading != NULL) {
        reading_result(&input->spec.restore, reading, &simulation->result.restore);
    }
    if (each != NULL) {
        report_plan(&simulation->result, stdout);
        report_checkpoint_head(&simulation->result, stdout);
        fflush(stdout);
    }
    status = run_job(run, shards, stop, err);
    struct error failure;
    if (drive_engine_failure(run->engine, &failure) != OK) {
        status = refuse_memory(drive, &failure, err);
    } else if (run->second != NULL && drive_engine_failure(run->second, &failure) != OK) {
        status = refuse_memory(run->second_name, &failure, err);
    }
    engine_close(run->target);
    return status;
}
