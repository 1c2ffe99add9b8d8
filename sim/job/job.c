#include "sim/job/job.h"

#include "base/check.h"
#include "base/units.h"
#include "sim/job/commit.h"
#include "sim/job/rank_writer.h"
#include "sim/job/one_checkpoint.h"
#include "sim/job/ranks.h"
#include "sim/job/tier_copy.h"

#include <errno.h>
#include <string.h>

enum { WAIT_NS = 100 * 1000 * 1000, TICK_NS = 200 * 1000 * 1000 };

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
    if (job->config->drain_ranks > 0) {
        job->copy = tier_copy_new(job);
    }
    job->pass = job->slot = job->serial = 1;
    job->doing = "starting";
}

void job_fini(struct job *job) {
    tier_fini(&job->local);
    if (job->copy != NULL) {
        tier_copy_fini(job->copy);
    }
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

void job_take(struct job *job) {
    struct io_request *request = engine_wait(job->engine, WAIT_NS);
    if (request == &job->control) {
        job->controlling = false;
    } else if (request == &job->pause) {
        job->pausing = false;
    } else if (request != NULL && request->rank >= job->shards->ranks) {
        tier_copy_take(job->copy, request);
    } else if (request != NULL) {
        ranks_take(job, request);
    }
    job_tick(job);
}

void job_attend(struct job *job) {
    if (job->copy != NULL) {
        tier_copy_attend(job->copy);
    }
}

void job_wait(struct job *job) {
    job_take(job);
    job_attend(job);
}

int job_control(struct job *job, struct tier *tier) {
    struct io_request *request = &job->control;
    request->rank = tier->rank;
    request->tier = tier->number;
    if (request->file != NULL) {
        request->file->tier = tier->number;
    }
    CHECK(!job->controlling);
    job->controlling = true;
    engine_submit(job->engine, request);
    while (job->controlling) {
        job_take(job);
    }
    if (request->error != 0 && !(request->op == IO_REMOVE && request->error == ENOENT)) {
        failure_note(&tier->failure, request);
    }
    return request->error;
}

void job_look_at_space(struct job *job) {
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
    job_look_at_space(job);
    return (limit == 0 || job->slot <= limit) &&
           (tier_holds(&job->local, job->slot) ||
            room_for_checkpoints(job) >= fill_checkpoint_bytes(job->shards));
}

/* How copying to the second folder stands: something that failed there ends the run, no room the pass. */
static enum step step_of_copy(struct job *job, struct error *err) {
    struct tier_copy *copy = job->copy;
    struct failure *failure = &copy->tier.failure;
    if (copy->observer.status != OK) {
        *err = copy->observer;
        return STEP_ERROR;
    }
    if (failure->error == 0 || copy->running) {
        return job_stopping(job) ? STEP_STOP : STEP_DONE;
    }
    if (job_is_full(failure->error) && !failure->short_write) {
        job->slot = job->drain_filled = copy->failed_slot; /* as if this pass had ended there */
        copy->count = 0;
        *failure = (struct failure){0};
        return STEP_FULL;
    }
    char text[512];
    error_set(err, ERR_FAILED, "copying checkpoint %llu to the folder of --drain-to: %s",
              (unsigned long long)copy->failed_slot, failure_text(failure, text, sizeof text));
    return STEP_ERROR;
}

/* Removing what need not stay failed, apart from any checkpoint. */
static enum step local_error(struct job *job, struct error *err) {
    char text[512];
    error_set(err, ERR_FAILED, "removing what is not kept: %s",
              failure_text(&job->local.failure, text, sizeof text));
    return STEP_ERROR;
}

/* Before a checkpoint: until nothing that is still to be copied is in its way. */
static enum step wait_for_copies(struct job *job, struct error *err) {
    job->copy_wait_ns = RESULT_UNKNOWN;
    if (job->copy == NULL) {
        return STEP_DONE;
    }
    uint64_t start_ns = engine_now(job->engine);
    job->doing = "waiting for copies";
    job->local.failure = (struct failure){0};
    while (!job_stopping(job) && tier_copy_must_wait(job->copy, job->slot)) {
        job_wait(job);
    }
    job->copy_wait_ns = engine_now(job->engine) - start_ns + job->pass_wait_ns;
    job->pass_wait_ns = 0;
    return job->local.failure.error != 0 ? local_error(job, err) : step_of_copy(job, err);
}

/* Until all that is complete locally is in the second folder too, or cannot be. */
static enum step finish_copies(struct job *job, struct error *err) {
    if (job->copy == NULL) {
        return STEP_DONE;
    }
    job->doing = "copying to the second folder";
    job->local.failure = (struct failure){0};
    job_attend(job);
    while (tier_copy_is_busy(job->copy)) {
        job_wait(job);
    }
    enum step step = step_of_copy(job, err);
    /* What had to stay for its copy may go now. */
    return step == STEP_DONE && commit_retire(job, &job->local, UINT64_MAX) != 0
               ? local_error(job, err)
               : step;
}

/* Of both folders; the failure that is noted is in one of the tiers. */
static const struct failure *remove_all(struct job *job) {
    job->doing = "removing";
    job->local.failure = (struct failure){0};
    if (commit_remove_all(job, &job->local) != 0) {
        return &job->local.failure;
    }
    if (job->copy == NULL) {
        return NULL;
    }
    job->copy->tier.failure = (struct failure){0};
    return commit_remove_all(job, &job->copy->tier) != 0 ? &job->copy->tier.failure : NULL;
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

static enum step prepare_pass(struct job *job, struct error *err) {
    if (job->pass == 1 || job->slot > 1 || job->config->reuse != JOB_DELETE) {
        return STEP_DONE;
    }
    enum step step = finish_copies(job, err);
    const struct failure *failure = step == STEP_DONE ? remove_all(job) : NULL;
    if (failure != NULL) {
        char text[512];
        error_set(err, ERR_FAILED, "before pass %llu: %s", (unsigned long long)job->pass,
                  failure_text(failure, text, sizeof text));
        return STEP_ERROR;
    }
    return step;
}

static enum step run_pass(struct job *job, struct error *err) {
    enum step prepared = prepare_pass(job, err);
    if (prepared != STEP_DONE) {
        return prepared;
    }
    while (pass_goes_on(job)) {
        enum step step = wait_for_copies(job, err);
        step = step == STEP_DONE ? run_checkpoint(job, err) : step;
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
        /* What fits into the second folder, too, says how many checkpoints later passes have. */
        uint64_t start_ns = engine_now(job->engine);
        enum step step = job->config->passes > 1 ? finish_copies(job, err) : STEP_DONE;
        job->pass_wait_ns = engine_now(job->engine) - start_ns;
        job->slots = job->slot - 1;
        if (step != STEP_DONE) {
            return step;
        }
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
    } else if (job->drain_filled > 0) {
        result->outcome = RESULT_DRIVE_FULL;
        result->outcome_text = arena_printf(
            result->arena, "a pass ended because the target of --drain-to was full: checkpoint %llu, "
            "which is complete in --dir, could not be copied there and was removed from it",
            (unsigned long long)job->drain_filled);
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
    struct error drain = {0};
    enum step step = run_passes(job, &own), copied = finish_copies(job, &drain);
    if (copied != STEP_DONE && (step == STEP_DONE || step == STEP_FULL)) {
        step = copied;
        own = drain;
    }
    set_outcome(job, step, &own);
    enum status status = OK;
    if (step == STEP_ERROR) {
        status = error_set(err, ERR_FAILED, "%s", own.text);
    }
    return status;
}

enum status job_remove_files(struct job *job, struct error *err) {
    const struct failure *failure = remove_all(job);
    if (failure == NULL) {
        return OK;
    }
    char text[512];
    return error_set(err, ERR_FAILED, "removing the files at the end: %s",
                     failure_text(failure, text, sizeof text));
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
