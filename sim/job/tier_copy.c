#include "sim/job/tier_copy.h"

#include "base/check.h"
#include "sim/job/commit.h"
#include "sim/job/copier.h"

#include <string.h>

struct tier_copy *tier_copy_new(struct job *job) {
    struct tier_copy *copy = arena_new(job->arena, 1, sizeof *copy);
    *copy = (struct tier_copy){.job = job, .copier_count = (uint32_t)job->config->drain_ranks};
    copy->tier = (struct tier){.number = 1, .rank = job->shards->ranks, .keep = job->config->drain_keep};
    copy->copiers = arena_new(job->arena, copy->copier_count, sizeof *copy->copiers);
    for (uint32_t i = 0; i < copy->copier_count; i++) {
        copier_init(&copy->copiers[i], copy, i);
    }
    for (uint32_t i = 0; i < TIER_COPY_QUEUE; i++) {
        struct checkpoint *checkpoint = &copy->tasks[i].checkpoint;
        checkpoint->sums = arena_new(job->arena, job->shards->files, sizeof *checkpoint->sums);
        if (job->shards->codec.kind != CODEC_NONE) {
            checkpoint->stored_bytes = arena_new(job->arena, job->shards->files,
                                                 sizeof *checkpoint->stored_bytes);
        }
        checkpoint->marker_crcs = arena_new(job->arena, shards_markers(job->shards),
                                            sizeof *checkpoint->marker_crcs);
    }
    return copy;
}

void tier_copy_fini(struct tier_copy *copy) { tier_fini(&copy->tier); }

/* The queue. */

static uint32_t at(const struct tier_copy *copy, uint32_t nth) {
    return (copy->first + nth) % TIER_COPY_QUEUE;
}

static struct copy_task *first_task(struct tier_copy *copy) { return &copy->tasks[copy->first]; }

void tier_copy_add(struct tier_copy *copy, const struct checkpoint *checkpoint, uint64_t record,
                   uint64_t commit_ns) {
    CHECK(copy->count < TIER_COPY_QUEUE);
    struct copy_task *task = &copy->tasks[at(copy, copy->count++)];
    task->record = record;
    task->commit_ns = commit_ns;
    task->checkpoint.slot = checkpoint->slot;
    task->checkpoint.serial = checkpoint->serial;
    uint64_t bytes = copy->job->shards->files * sizeof *checkpoint->sums;
    memcpy(task->checkpoint.sums, checkpoint->sums, bytes);
    if (checkpoint->stored_bytes != NULL) {
        memcpy(task->checkpoint.stored_bytes, checkpoint->stored_bytes, bytes);
    }
}

uint64_t tier_copy_first_serial(const struct tier_copy *copy) {
    return copy->count > 0 ? copy->tasks[copy->first].checkpoint.serial : UINT64_MAX;
}

bool tier_copy_holds(const struct tier_copy *copy, uint64_t slot) {
    for (uint32_t i = 0; i < copy->count; i++) {
        if (copy->tasks[at(copy, i)].checkpoint.slot == slot) {
            return true;
        }
    }
    return false;
}

static bool given_up(const struct tier_copy *copy) {
    return copy->tier.failure.error != 0 && !copy->running;
}

bool tier_copy_is_busy(const struct tier_copy *copy) { return copy->count > 0 && !given_up(copy); }

/* A checkpoint that retention would remove but for its being read. */
static bool is_kept_for_copying(const struct tier_copy *copy) {
    const struct tier *local = &copy->job->local;
    return retention_victim(&local->keep, local->serials, local->slot_count, UINT64_MAX) > 0;
}

bool tier_copy_must_wait(struct tier_copy *copy, uint64_t slot) {
    uint64_t first = tier_copy_first_serial(copy);
    /* A failure is noted in the local tier, as after a commit. */
    if (!tier_copy_is_busy(copy) || commit_retire(copy->job, &copy->job->local, first) != 0) {
        return false;
    }
    return copy->count == TIER_COPY_QUEUE || tier_copy_holds(copy, slot) || is_kept_for_copying(copy);
}

/* Copying. */

static void give_up(struct tier_copy *copy) {
    copy->failed_slot = first_task(copy)->checkpoint.slot;
    copy->count = 0;
}

static void begin(struct tier_copy *copy) {
    struct job *job = copy->job;
    copy->tier.failure = (struct failure){0};
    if (job_stopping(job) || commit_invalidate(job, &copy->tier, &first_task(copy)->checkpoint) != 0) {
        give_up(copy);
        return;
    }
    copy->running = true;
    copy->next_rank = 0;
    copy->next_index = 0;
    copy->begin_ns = copy->end_ns = engine_now(job->engine);
    copy->copiers_left = copy->copier_count;
    for (uint32_t i = 0; i < copy->copier_count; i++) {
        copy->copiers_left -= copier_start(&copy->copiers[i]);
    }
}

/* What broke goes; what was complete before stays as it was. */
static void remove_broken(struct tier_copy *copy) {
    struct failure first = copy->tier.failure;
    commit_remove_slot(copy->job, &copy->tier, first_task(copy)->checkpoint.slot);
    copy->tier.failure = first; /* what cannot be removed is reported at the end */
    give_up(copy);
}

static void record_copy(struct tier_copy *copy, const struct copy_task *task) {
    struct job *job = copy->job;
    struct checkpoint_record *record = &job->recorder->result->checkpoints[task->record];
    uint64_t now = engine_now(job->engine);
    record->copy_ns = copy->end_ns - copy->begin_ns;
    record->copy_lag_ns = task->commit_ns != RESULT_UNKNOWN ? now - task->commit_ns : RESULT_UNKNOWN;
    if (job->observer.copied != NULL && copy->observer.status == OK) {
        /* An error is noted there, and ends the run. */
        job->observer.copied(job->observer.context, record, task->record, &copy->observer);
    }
}

static void settle(struct tier_copy *copy) {
    struct job *job = copy->job;
    struct copy_task *task = first_task(copy);
    copy->running = false;
    if (copy->tier.failure.error != 0 || job_stopping(job) ||
        commit_complete(job, &copy->tier, &task->checkpoint) != 0) {
        remove_broken(copy);
        return;
    }
    record_copy(copy, task);
    if (commit_retire(job, &copy->tier, UINT64_MAX) != 0) {
        give_up(copy);
        return;
    }
    copy->first = (copy->first + 1) % TIER_COPY_QUEUE;
    copy->count--;
}

void tier_copy_take(struct tier_copy *copy, const struct io_request *request) {
    struct copier *copier = &copy->copiers[request->rank - copy->job->shards->ranks];
    copy->copiers_left -= copier_take(copier, request);
}

void tier_copy_attend(struct tier_copy *copy) {
    if (!tier_copy_is_busy(copy) || copy->copiers_left > 0) {
        return;
    }
    if (copy->running) {
        settle(copy);
    } else {
        begin(copy);
    }
}
