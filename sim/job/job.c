#include "sim/job/job.h"

#include "base/check.h"
#include "base/units.h"
#include "sim/job/commit.h"
#include "sim/job/rank_writer.h"
#include "sim/job/ranks.h"

#include <errno.h>
#include <string.h>

enum { WAIT_NS = 100 * 1000 * 1000, TICK_NS = 200 * 1000 * 1000 };

/* How a step of the run ended. */
enum step {
    STEP_DONE,
    STEP_FULL,  /* the target is full: the pass ends */
    STEP_STOP,  /* asked to stop */
    STEP_ERROR, /* an I/O error or a failing observer ends the run; job->error says which */
};

void job_init(struct job *job) {
    const struct shards *shards = job->shards;
    job->writers = arena_new(job->arena, shards->ranks, sizeof *job->writers);
    job->sums = arena_new(job->arena, shards->files, sizeof *job->sums);
    if (shards->codec.kind != CODEC_NONE) {
        job->stored_bytes = arena_new(job->arena, shards->files, sizeof *job->stored_bytes);
    }
    job->marker_crcs = arena_new(job->arena, shards_markers(shards), sizeof *job->marker_crcs);
    job->text = arena_new(job->arena, JOB_TEXT_BYTES, 1);
    if (job->config->mode == JOB_ASYNC) {
        job->snapshots = snapshots_new(job, job->snapshot_plan);
    }
    for (uint32_t rank = 0; rank < shards->ranks; rank++) {
        rank_writer_init(&job->writers[rank], job, rank, job->arena);
        job->writers[rank].snapshot = job->snapshots != NULL ? &job->snapshots[rank] : NULL;
    }
    job->local.keep = job->config->keep;
    job->pass = job->slot = job->serial = 1;
    job->doing = "starting";
}

void job_fini(struct job *job) {
    tier_fini(&job->local);
}

bool job_is_full(int error) {
    return error == ENOSPC || error == EDQUOT;
}

bool job_stopping(const struct job *job) {
    return job->stop != NULL && *job->stop != 0;
}

bool job_broken(const struct job *job) {
    return job->local.failure.error != 0 || job_stopping(job);
}

void job_begin_file(const struct job *job, uint32_t rank, uint64_t index, struct format_crc *crcs,
                    struct shard_file *shard, struct io_file *file) {
    shards_file(job->shards, rank, index, (uint32_t)job->slot, shard);
    *file = (struct io_file){
        .path = shard->path,
        .size_bytes = shard->bytes,
        .stream = payload_stream(&job->io->payload, job->serial, rank, index),
        .format = shards_content(job->shards, rank, index),
        .crcs = crcs,
        .mode = job->config->reuse == JOB_OVERWRITE ? IO_OVERWRITE : IO_TRUNCATE,
    };
    if (file->format != NULL) {
        format_begin(file->format, crcs);
    }
}

void job_tick(struct job *job) {
    uint64_t now = engine_now(job->engine);
    if (job->observer.tick == NULL || now - job->last_tick_ns < TICK_NS) {
        return;
    }
    job->last_tick_ns = now;
    struct job_progress progress = {
        .pass = job->pass,
        .passes = job->config->passes,
        .checkpoint = job->slot,
        .checkpoints_per_pass = job->slots,
        .bytes = recorder_bytes(job->recorder),
        .checkpoint_bytes = job->shards->checkpoint_bytes,
        .checkpoint_ns = now - job->checkpoint_start_ns,
        .run_ns = now,
        .used_bytes = job->used_bytes,
        .total_bytes = job->total_bytes,
        .behind_rank = ranks_furthest_behind(job),
        .doing = job->doing,
    };
    job->observer.tick(job->observer.context, &progress);
}

/* Waits for one completion and gives it to whoever submitted it: at any moment there may be the
 * requests of ranks, one of the job itself and a pause under way. */
static void take_one(struct job *job) {
    struct io_request *request = engine_wait(job->engine, WAIT_NS);
    if (request == &job->control) {
        job->controlling = false;
    } else if (request == &job->pause) {
        job->pausing = false;
    } else if (request != NULL) {
        ranks_take(job, request);
    }
    job_tick(job);
}

int job_control(struct job *job, struct tier *tier) {
    struct io_request *request = &job->control;
    request->rank = tier->rank;
    job->controlling = true;
    engine_submit(job->engine, request);
    while (job->controlling) {
        take_one(job);
    }
    if (request->error != 0 && !(request->op == IO_REMOVE && request->error == ENOENT)) {
        failure_note(&tier->failure, request);
    }
    return request->error;
}

static void look_at_space(struct job *job) {
    uint64_t free_bytes = 0;
    if (job->engine->ops->space(job->engine, &free_bytes, &job->total_bytes) == 0) {
        job->used_bytes = job->total_bytes - free_bytes;
    }
}

static uint64_t room_for_checkpoints(const struct job *job) {
    uint64_t each = fill_checkpoint_bytes(job->shards);
    return fill_room(&job->config->fill, job->total_bytes - job->used_bytes, job->total_bytes,
                     job->local.held_count * each);
}

uint64_t job_checkpoints_that_fit(const struct job_config *config, const struct shards *shards,
                                  uint64_t free_bytes, uint64_t total_bytes) {
    uint64_t room = fill_room(&config->fill, free_bytes, total_bytes, 0);
    uint64_t count = room / fill_checkpoint_bytes(shards);
    uint64_t limit = config->checkpoints_per_pass;
    if (config->keep.last > 0 && count >= retention_most(&config->keep, limit)) {
        return limit; /* older ones make room */
    }
    return limit > 0 && limit < count ? limit : count;
}

/* Whether the pass has one more checkpoint. Later passes write the slots of the first. */
static bool pass_goes_on(struct job *job) {
    uint64_t limit = job->config->checkpoints_per_pass;
    if (job->pass > 1) {
        return job->slot <= job->slots;
    }
    look_at_space(job);
    return (limit == 0 || job->slot <= limit) &&
           (tier_holds(&job->local, job->slot) ||
            room_for_checkpoints(job) >= fill_checkpoint_bytes(job->shards));
}

static void begin_computing(struct job *job) {
    uint64_t now = engine_now(job->engine);
    if (__builtin_add_overflow(now, job->config->interval_ns, &job->compute_end_ns)) {
        job->compute_end_ns = UINT64_MAX;
    }
    if (job->config->interval_ns > 0) {
        job->pause = (struct io_request){.op = IO_PAUSE, .pause_ns = job->config->interval_ns};
        job->pausing = true;
        engine_submit(job->engine, &job->pause);
    }
}

static enum step end_computing(struct job *job, bool at_once) {
    job->doing = "computing";
    while (job->pausing) {
        if (at_once || job_stopping(job)) {
            engine_cancel_pauses(job->engine);
        }
        take_one(job);
    }
    return job_stopping(job) ? STEP_STOP : STEP_DONE;
}

/* All ranks write their shares; returns when the last one is done. Once all have a snapshot they
 * compute while it is written. */
static void write_ranks(struct job *job) {
    job->doing = job->snapshots != NULL ? "copying" : "writing";
    ranks_start(job);
    while (job->snapshots_left > 0) {
        take_one(job);
    }
    if (job->snapshots != NULL && !job_broken(job)) {
        begin_computing(job);
    }
    job->doing = "writing";
    while (job->ranks_left > 0) {
        take_one(job);
    }
}

static enum step step_of_failure(const struct job *job) {
    if (job->local.failure.error == 0) {
        return job_stopping(job) ? STEP_STOP : STEP_DONE;
    }
    return job_is_full(job->local.failure.error) && !job->local.failure.short_write ? STEP_FULL : STEP_ERROR;
}

/* What a checkpoint cost the ranks. */
static void record_waiting(const struct job *job, enum step step,
                           struct checkpoint_record *record) {
    uint64_t now = engine_now(job->engine);
    if (job->snapshots != NULL && step == STEP_DONE) {
        record->stall_ns = job->snapshot_end_ns - job->checkpoint_start_ns;
        record->blocked_ns = now > job->compute_end_ns ? now - job->compute_end_ns : 0;
    }
}

/* Of a checkpoint, after its last rank's end. */
struct after_times {
    uint64_t commit_ns, removal_ns; /* RESULT_UNKNOWN: nothing is ever removed */
};

static enum status record_checkpoint(struct job *job, enum step step,
                                     const struct after_times *after, struct error *err) {
    char note[512];
    failure_text(&job->local.failure, note, sizeof note);
    const char *why = step == STEP_DONE ? NULL : step == STEP_STOP ? "interrupted" : note;
    struct checkpoint_record *record = recorder_end(job->recorder, step == STEP_DONE, why);
    look_at_space(job);
    record_waiting(job, step, record);
    record->start_ns += job->earlier_ns;
    record->commit_ns = after->commit_ns;
    record->removal_ns = after->removal_ns;
    record->used_bytes = job->used_bytes;
    record->total_bytes = job->total_bytes;
    record->device_bytes = RESULT_UNKNOWN;
    if (job->observer.checkpoint == NULL) {
        return OK;
    }
    bool settled = step == STEP_DONE || step == STEP_FULL;
    return job->observer.checkpoint(job->observer.context, record, settled, err);
}

/* Complete checkpoints that need not stay; ranks wait for it. */
static uint64_t retire(struct job *job) {
    if (job->local.keep.last == 0) {
        return RESULT_UNKNOWN;
    }
    uint64_t start_ns = engine_now(job->engine);
    job->doing = "removing";
    commit_retire(job, &job->local, UINT64_MAX);
    return engine_now(job->engine) - start_ns;
}

/* From the barrier to the commit, or to the removal of what broke; the times of what comes after the
 * last rank's end go into the record. */
static enum step write_checkpoint(struct job *job, struct after_times *after) {
    const struct checkpoint checkpoint = {job->slot, job->serial, job->sums, job->stored_bytes,
                                          job->marker_crcs};
    job->local.failure = (struct failure){0};
    job->doing = "preparing";
    int error = commit_invalidate(job, &job->local, &checkpoint);
    job->checkpoint_start_ns = engine_now(job->engine);
    recorder_begin(job->recorder, (uint32_t)job->pass, (uint32_t)job->slot,
                   job->checkpoint_start_ns);
    uint64_t end_ns = job->checkpoint_start_ns;
    if (error == 0) {
        write_ranks(job);
        end_ns = engine_now(job->engine);
    }
    enum step step = step_of_failure(job);
    if (step == STEP_DONE) {
        job->doing = "committing";
        error = commit_complete(job, &job->local, &checkpoint);
        step = error != 0 ? step_of_failure(job) : STEP_DONE;
    }
    after->commit_ns = engine_now(job->engine) - end_ns;
    after->removal_ns = step == STEP_DONE ? retire(job) : RESULT_UNKNOWN;
    if (step != STEP_DONE) {
        struct failure first = job->local.failure;
        job->doing = "removing";
        /* What cannot be removed is reported at the end. */
        commit_remove_slot(job, &job->local, job->slot);
        job->local.failure = first;
    }
    return step;
}

/* One checkpoint; a broken one is removed before it is recorded. */
static enum step run_checkpoint(struct job *job, struct error *err) {
    struct after_times after;
    enum step step = write_checkpoint(job, &after);
    if (record_checkpoint(job, step, &after, err) != OK) {
        return STEP_ERROR;
    }
    if (step == STEP_DONE && job->local.failure.error != 0) {
        step = STEP_ERROR; /* it is complete, but an older one could not be removed */
    }
    if (step == STEP_ERROR) {
        char text[512];
        failure_text(&job->local.failure, text, sizeof text);
        error_set(err, ERR_FAILED, "pass %llu, checkpoint %llu: %s",
                  (unsigned long long)job->pass, (unsigned long long)job->slot, text);
    }
    job->serial++;
    return step;
}

static int remove_all(struct job *job) {
    job->doing = "removing";
    return commit_remove_all(job, &job->local);
}

static bool run_has_more(struct job *job) {
    return job->pass < job->config->passes ||
           (job->pass == job->config->passes && pass_goes_on(job));
}

/* From a snapshot on ranks have been computing already. The last checkpoint is not waited after. */
static enum step pause_between(struct job *job) {
    bool more = run_has_more(job);
    if (more && job->snapshots == NULL && !job_stopping(job)) {
        begin_computing(job);
    }
    enum step step = end_computing(job, !more);
    return more ? step : STEP_DONE;
}

static enum step run_pass(struct job *job, struct error *err) {
    if (job->pass > 1 && job->slot == 1 && job->config->reuse == JOB_DELETE) {
        job->local.failure = (struct failure){0};
        if (remove_all(job) != 0) {
            char text[512];
            failure_text(&job->local.failure, text, sizeof text);
            error_set(err, ERR_FAILED, "before pass %llu: %s", (unsigned long long)job->pass, text);
            return STEP_ERROR;
        }
    }
    while (pass_goes_on(job)) {
        enum step step = run_checkpoint(job, err);
        if (step == STEP_FULL && job->pass == 1) {
            job->slots = job->slot - 1;
        }
        if (step != STEP_DONE) {
            end_computing(job, true);
            return step;
        }
        job->slot++;
        if (pause_between(job) == STEP_STOP) {
            return STEP_STOP;
        }
    }
    if (job->pass == 1) {
        job->slots = job->slot - 1;
        /* Somebody took the room between two checkpoints: as much a finding as within one. */
        job->drive_filled = job->drive_filled || job->slots < job->planned_slots;
    }
    return STEP_DONE;
}

static enum step run_passes(struct job *job, struct error *err) {
    while (job->pass <= job->config->passes) {
        enum step step = run_pass(job, err);
        if (step == STEP_FULL) {
            job->drive_filled = true;
        } else if (step != STEP_DONE) {
            return step;
        }
        if (job->pass == 1 && job->slots == 0) {
            return step; /* not one checkpoint fits; there is nothing to write again */
        }
        job->pass++;
        job->slot = 1;
    }
    return STEP_DONE;
}

static void set_outcome(struct job *job, enum step step, const struct error *err) {
    struct result *result = job->recorder->result;
    result->elapsed_ns = job->earlier_ns + engine_now(job->engine);
    if (step == STEP_ERROR) {
        result->outcome = RESULT_FAILED;
        result->outcome_text = arena_text(result->arena, err->text);
    } else if (step == STEP_STOP) {
        result->outcome = RESULT_INTERRUPTED;
        result->outcome_text = arena_printf(
            result->arena, "interrupted in pass %llu at checkpoint %llu; what was unfinished is removed",
            (unsigned long long)job->pass, (unsigned long long)job->slot);
    } else if (job->drive_filled || step == STEP_FULL) {
        result->outcome = RESULT_DRIVE_FULL;
        result->outcome_text = "a pass ended because the drive was full earlier than computed; an "
                               "unfinished checkpoint was removed";
    } else {
        result->outcome = RESULT_COMPLETE;
        result->outcome_text = "all passes done";
    }
}

enum status job_run(struct job *job, struct error *err) {
    struct error own = {0};
    enum step step = run_passes(job, &own);
    set_outcome(job, step, &own);
    enum status status = OK;
    if (step == STEP_ERROR) {
        status = error_set(err, ERR_FAILED, "%s", own.text);
    }
    return status;
}

enum status job_remove_files(struct job *job, struct error *err) {
    job->local.failure = (struct failure){0};
    if (remove_all(job) == 0) {
        return OK;
    }
    char text[512];
    failure_text(&job->local.failure, text, sizeof text);
    return error_set(err, ERR_FAILED, "removing the files at the end: %s", text);
}

void job_resume(struct job *job, const struct checkpoint_record *record, uint64_t first_pass,
                uint64_t count) {
    job->serial = count + 1;
    job->earlier_ns = record->start_ns + record->duration_ns + record->commit_ns;
    job->pass = record->pass;
    job->slot = record->checkpoint + 1;
    job->slots = record->pass > 1 ? first_pass : 0;
    if (!record->complete) { /* that pass ended there */
        job->slots = first_pass;
        job->pass++;
        job->slot = 1;
    } else if (job->pass > 1 && job->slot > job->slots) {
        job->pass++;
        job->slot = 1;
    }
}
