#include "sim/job/one_checkpoint.h"

#include "sim/job/commit.h"
#include "sim/job/ranks.h"
#include "sim/job/tier_copy.h"

void begin_computing(struct job *job) {
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

enum step end_computing(struct job *job, bool at_once) {
    job->doing = "computing";
    job_attend(job);
    while (job->pausing) {
        if (at_once || job_stopping(job)) {
            engine_cancel_pauses(job->engine);
        }
        job_wait(job);
    }
    return job_stopping(job) ? STEP_STOP : STEP_DONE;
}

/* All ranks write their shares; returns when the last one is done. Once all have a snapshot they
 * compute while it is written. */
static void write_ranks(struct job *job) {
    job->doing = job->snapshots != NULL ? "copying" : "writing";
    ranks_start(job);
    while (job->snapshots_left > 0) {
        job_wait(job);
    }
    if (job->snapshots != NULL && !job_broken(job)) {
        begin_computing(job);
    }
    job->doing = "writing";
    while (job->ranks_left > 0) {
        job_wait(job);
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
    record->copy_wait_ns = job->copy_wait_ns;
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
    job_look_at_space(job);
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
    commit_retire(job, &job->local,
                  job->copy != NULL ? tier_copy_first_serial(job->copy) : UINT64_MAX);
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
    if (step == STEP_DONE && job->copy != NULL) {
        tier_copy_add(job->copy, &checkpoint, job->recorder->result->checkpoint_count,
                      engine_now(job->engine));
    }
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

enum step run_checkpoint(struct job *job, struct error *err) {
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
