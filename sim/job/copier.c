#include "sim/job/copier.h"

#include "base/check.h"
#include "io/buffer.h"

void copier_init(struct copier *copier, struct tier_copy *copy, uint32_t number) {
    struct job *job = copy->job;
    uint64_t depth = job->io->queue_depth;
    *copier = (struct copier){.copy = copy, .rank = job->shards->ranks + number, .state = COPIER_DONE};
    copier->requests = arena_new(job->arena, depth, sizeof *copier->requests);
    copier->memory = arena_new(job->arena, depth, sizeof *copier->memory);
    copier->free_requests = arena_new(job->arena, depth, sizeof *copier->free_requests);
    for (uint64_t i = 0; i < depth; i++) {
        copier->free_requests[copier->free_count++] = &copier->requests[i];
        if (job->drain_pool != NULL) {
            copier->memory[i] = buffer_at(job->drain_pool, number * depth + i);
        }
    }
}

static struct io_request *take_free(struct copier *copier, enum io_op op, struct io_file *file) {
    CHECK(copier->free_count > 0);
    struct io_request *request = copier->free_requests[--copier->free_count];
    *request = (struct io_request){.op = op, .rank = copier->rank, .file = file,
                                   .memory = copier->memory[request - copier->requests]};
    return request;
}

static void submit(struct copier *copier, struct io_request *request) {
    copier->under_way++;
    engine_submit(copier->copy->job->engine, request);
}

static void go_to(struct copier *copier, enum copier_state state, enum io_op op,
                  struct io_file *file) {
    copier->state = state;
    submit(copier, take_free(copier, op, file));
}

/* The next file that no other copier has; false: all are taken. */
static bool take_file(struct copier *copier) {
    struct tier_copy *copy = copier->copy;
    const struct shards *shards = copy->job->shards;
    while (copy->next_rank < shards->ranks &&
           copy->next_index == shards->shares[copy->next_rank].files) {
        copy->next_rank++;
        copy->next_index = 0;
    }
    if (copy->next_rank == shards->ranks) {
        return false;
    }
    copier->file_rank = copy->next_rank;
    copier->file_index = copy->next_index++;
    return true;
}

static const struct checkpoint *checkpoint_of(const struct copier *copier) {
    return &copier->copy->tasks[copier->copy->first].checkpoint;
}

/* Of its file among all of the checkpoint. */
static uint64_t number_of(const struct copier *copier) {
    return copier->copy->job->shards->first[copier->file_rank] + copier->file_index;
}

static bool next_file(struct copier *copier) {
    const struct job *job = copier->copy->job;
    if (!take_file(copier)) {
        copier->state = COPIER_DONE;
        return true;
    }
    const struct checkpoint *checkpoint = checkpoint_of(copier);
    shards_file(job->shards, copier->file_rank, copier->file_index, (uint32_t)checkpoint->slot,
                &copier->shard);
    copier->bytes = checkpoint->stored_bytes != NULL ? checkpoint->stored_bytes[number_of(copier)]
                                                     : copier->shard.bytes;
    copier->source = (struct io_file){.path = copier->shard.path, .size_bytes = copier->bytes,
                                      .mode = IO_READING, .summed = true, .as_stored = true};
    bool overwrite = job->config->reuse == JOB_OVERWRITE;
    copier->target = (struct io_file){.path = copier->shard.path, .size_bytes = copier->bytes,
                                      .mode = overwrite ? IO_OVERWRITE : IO_TRUNCATE,
                                      .tier = 1, .as_stored = true};
    copier->offset = 0;
    go_to(copier, COPIER_OPEN_SOURCE, IO_OPEN, &copier->source);
    return false;
}

bool copier_start(struct copier *copier) {
    CHECK(copier->state == COPIER_DONE && copier->under_way == 0);
    return next_file(copier);
}

/* Manifests have the checksums of content: of a compressed file the copy is as long as it was, and
 * carries the checksums of its frames. */
static bool is_right(const struct copier *copier) {
    const struct checkpoint *checkpoint = checkpoint_of(copier);
    return checkpoint->stored_bytes != NULL ||
           copier->source.sum == checkpoint->sums[number_of(copier)];
}

static void after_moving(struct copier *copier) {
    struct tier_copy *copy = copier->copy;
    if (!is_right(copier)) {
        failure_note_checksum(&copy->tier.failure, copier->shard.path);
        go_to(copier, COPIER_CLOSE_TARGET, IO_CLOSE, &copier->target);
    } else if (copy->job->config->fsync != JOB_FSYNC_NONE) {
        go_to(copier, COPIER_SYNCING, IO_SYNC, &copier->target);
    } else {
        go_to(copier, COPIER_CLOSE_TARGET, IO_CLOSE, &copier->target);
    }
}

/* Keeps all chunks of memory busy until the file's last byte is written. */
static void move_on(struct copier *copier) {
    uint64_t size = copier->bytes, chunk = copier->copy->job->io->chunk_bytes;
    copier->state = COPIER_MOVING;
    while (copier->free_count > 0 && copier->offset < size) {
        struct io_request *request = take_free(copier, IO_READ, &copier->source);
        uint64_t left = size - copier->offset;
        request->offset = copier->offset;
        request->length_bytes = left < chunk ? left : chunk;
        copier->offset += request->length_bytes;
        submit(copier, request);
    }
    if (copier->under_way == 0) {
        after_moving(copier);
    }
}

/* The chunk that was read goes out of the same memory. */
static void write_chunk(struct copier *copier, const struct io_request *read) {
    struct io_request *request = &copier->requests[read - copier->requests];
    *request = (struct io_request){.op = IO_WRITE, .rank = copier->rank, .file = &copier->target,
                                   .memory = read->memory, .offset = read->offset,
                                   .length_bytes = read->length_bytes};
    submit(copier, request);
}

/* Let what is under way come back, close what is open, and be done. */
static bool wind_down(struct copier *copier) {
    if (copier->under_way > 0) {
        return false;
    }
    if (copier->target_open) {
        go_to(copier, COPIER_CLOSE_TARGET, IO_CLOSE, &copier->target);
        return false;
    }
    if (copier->source_open) {
        go_to(copier, COPIER_CLOSE_SOURCE, IO_CLOSE, &copier->source);
        return false;
    }
    copier->state = COPIER_DONE;
    return true;
}

static void note_done(struct copier *copier, const struct io_request *request) {
    struct tier_copy *copy = copier->copy;
    bool *open = request->file == &copier->source ? &copier->source_open : &copier->target_open;
    if (request->op == IO_OPEN) {
        *open = request->error == 0;
    } else if (request->op == IO_CLOSE) {
        *open = false;
    }
    if (request->error != 0 || request->short_write) {
        failure_note(&copy->tier.failure, request);
    }
    copy->end_ns = request->end_ns > copy->end_ns ? request->end_ns : copy->end_ns;
}

bool copier_take(struct copier *copier, const struct io_request *request) {
    CHECK(copier->under_way > 0);
    copier->under_way--;
    note_done(copier, request);
    bool broken = copier->copy->tier.failure.error != 0 || job_stopping(copier->copy->job);
    if (request->op == IO_READ && !broken) {
        write_chunk(copier, request);
        return false;
    }
    copier->free_requests[copier->free_count++] = &copier->requests[request - copier->requests];
    if (broken) {
        return wind_down(copier);
    }
    switch (copier->state) {
    case COPIER_OPEN_SOURCE:
        go_to(copier, COPIER_OPEN_TARGET, IO_OPEN, &copier->target);
        return false;
    case COPIER_OPEN_TARGET:
    case COPIER_MOVING: move_on(copier); return false;
    case COPIER_SYNCING:
        go_to(copier, COPIER_CLOSE_TARGET, IO_CLOSE, &copier->target);
        return false;
    case COPIER_CLOSE_TARGET:
        go_to(copier, COPIER_CLOSE_SOURCE, IO_CLOSE, &copier->source);
        return false;
    case COPIER_CLOSE_SOURCE: return next_file(copier);
    case COPIER_DONE: break;
    }
    CHECK(!"a completion for a copier that is done");
    return false;
}
