#include "sim/job/snapshot.h"

#include "base/check.h"
#include "base/units.h"
#include "sim/job/job.h"

/* Dividing the pool. */

static uint64_t chunks_of(uint64_t bytes, uint64_t chunk_bytes) {
    return bytes / chunk_bytes + (bytes % chunk_bytes > 0);
}

static uint64_t rank_chunks(const struct shards *shards, uint32_t rank, uint64_t chunk_bytes) {
    uint64_t chunks = 0;
    for (uint64_t i = 0; i < shards->shares[rank].files; i++) {
        struct shard_file file;
        shards_file(shards, rank, i, 1, &file);
        chunks += chunks_of(file.bytes, chunk_bytes);
    }
    return chunks;
}

/* Counts the chunks of a checkpoint and the ranks that have any. */
static struct snapshot_plan whole(const struct shards *shards, uint64_t chunk_bytes) {
    struct snapshot_plan plan = {.chunk_bytes = chunk_bytes};
    for (uint32_t rank = 0; rank < shards->ranks; rank++) {
        uint64_t chunks = rank_chunks(shards, rank, chunk_bytes);
        plan.chunks += chunks;
        plan.ranks += chunks > 0;
    }
    plan.buffers = plan.chunks;
    return plan;
}

uint64_t snapshot_whole_bytes(const struct shards *shards, uint64_t chunk_bytes) {
    return whole(shards, chunk_bytes).chunks * chunk_bytes;
}

enum status snapshot_plan(const struct shards *shards, uint64_t chunk_bytes, uint64_t limit_bytes,
                          struct snapshot_plan *plan, struct error *err) {
    *plan = whole(shards, chunk_bytes);
    uint64_t fit = limit_bytes / chunk_bytes;
    plan->buffers = fit < plan->chunks ? fit : plan->chunks;
    if (plan->buffers >= plan->ranks) {
        return OK;
    }
    char given[UNITS_TEXT], chunk[UNITS_TEXT], need[UNITS_TEXT];
    return error_set(err, ERR_USAGE,
                     "--snapshot-memory: %s is less than one chunk (%s) for each of the %u ranks; at "
                     "least %s is needed, less with a smaller --chunk",
                     units_gib(limit_bytes, given), units_gib(chunk_bytes, chunk), plan->ranks,
                     units_gib(plan->ranks * chunk_bytes, need));
}

/* Of the buffers beyond one for each rank, as many as its chunks are of all chunks beyond. */
static uint64_t rank_buffers(const struct snapshot_plan *plan, uint64_t chunks) {
    if (chunks == 0 || plan->chunks == plan->ranks) {
        return chunks;
    }
    unsigned __int128 extra = plan->buffers - plan->ranks;
    return 1 + (uint64_t)(extra * (chunks - 1) / (plan->chunks - plan->ranks));
}

struct snapshot *snapshots_new(struct job *job, const struct snapshot_plan *plan) {
    const struct shards *shards = job->shards;
    uint64_t depth = job->io->queue_depth, next_buffer = 0;
    struct snapshot *snapshots = arena_new(job->arena, shards->ranks, sizeof *snapshots);
    for (uint32_t rank = 0; rank < shards->ranks; rank++) {
        struct snapshot *snapshot = &snapshots[rank];
        uint64_t chunks = rank_chunks(shards, rank, plan->chunk_bytes);
        *snapshot = (struct snapshot){.job = job, .rank = rank, .first_buffer = next_buffer,
                                      .buffers = rank_buffers(plan, chunks), .done = true};
        next_buffer += snapshot->buffers;
        snapshot->states = arena_new(job->arena, snapshot->buffers, 1);
        snapshot->crcs = arena_new(job->arena, shards->most_crcs, sizeof *snapshot->crcs);
        snapshot->requests = arena_new(job->arena, depth, sizeof *snapshot->requests);
        snapshot->free_requests = arena_new(job->arena, depth, sizeof *snapshot->free_requests);
        for (uint64_t i = 0; i < depth; i++) {
            snapshot->free_requests[snapshot->free_count++] = &snapshot->requests[i];
        }
    }
    CHECK(next_buffer <= plan->buffers);
    return snapshots;
}

/* Copying. */

static uint64_t chunk_at(const struct snapshot *snapshot, uint64_t offset) {
    return snapshot->file_chunk + offset / snapshot->job->io->chunk_bytes;
}

static uint8_t *state_of(const struct snapshot *snapshot, uint64_t chunk) {
    return &snapshot->states[chunk % snapshot->buffers];
}

static void *memory_of(const struct snapshot *snapshot, uint64_t chunk) {
    const struct buffer_pool *pool = snapshot->job->snapshot_pool;
    uint64_t buffer = snapshot->first_buffer + chunk % snapshot->buffers;
    return pool != NULL ? buffer_at(pool, buffer) : NULL;
}

static bool in_a_file(const struct snapshot *snapshot) {
    return snapshot->index < snapshot->job->shards->shares[snapshot->rank].files;
}

static void begin_file(struct snapshot *snapshot) {
    struct job *job = snapshot->job;
    snapshot->offset = 0;
    if (in_a_file(snapshot)) {
        job_begin_file(job, snapshot->rank, snapshot->index, snapshot->crcs, &snapshot->shard,
                       &snapshot->file);
    }
}

void snapshot_start(struct snapshot *snapshot) {
    CHECK(snapshot->done && snapshot->under_way == 0);
    snapshot->done = false;
    snapshot->index = snapshot->file_chunk = 0;
    snapshot->end_ns = snapshot->job->checkpoint_start_ns;
    for (uint64_t i = 0; i < snapshot->buffers; i++) {
        snapshot->states[i] = SNAPSHOT_FREE;
    }
    begin_file(snapshot);
}

void snapshot_take(struct snapshot *snapshot, const struct io_request *request) {
    struct job *job = snapshot->job;
    snapshot->under_way--;
    snapshot->free_requests[snapshot->free_count++] = &snapshot->requests[request - snapshot->requests];
    uint8_t *state = state_of(snapshot, chunk_at(snapshot, request->offset));
    CHECK(*state == SNAPSHOT_COPYING);
    *state = SNAPSHOT_FULL;
    snapshot->end_ns = request->end_ns > snapshot->end_ns ? request->end_ns : snapshot->end_ns;
    recorder_request(job->recorder, snapshot->rank, RECORDER_COPY, request->begin_ns,
                     request->end_ns, request->payload_ns, 0);
    if (request->error != 0) {
        failure_note(&job->local.failure, request);
    }
}

static void submit_copy(struct snapshot *snapshot) {
    uint64_t chunk = chunk_at(snapshot, snapshot->offset), size = snapshot->job->io->chunk_bytes;
    uint64_t left = snapshot->shard.bytes - snapshot->offset;
    struct io_request *request = snapshot->free_requests[--snapshot->free_count];
    *request = (struct io_request){.op = IO_COPY,
                                   .rank = snapshot->rank,
                                   .file = &snapshot->file,
                                   .memory = memory_of(snapshot, chunk),
                                   .offset = snapshot->offset,
                                   .length_bytes = left < size ? left : size};
    *state_of(snapshot, chunk) = SNAPSHOT_COPYING;
    snapshot->offset += request->length_bytes;
    snapshot->under_way++;
    engine_submit(snapshot->job->engine, request);
}

static bool has_room(const struct snapshot *snapshot) {
    return *state_of(snapshot, chunk_at(snapshot, snapshot->offset)) == SNAPSHOT_FREE;
}

/* A format's checksums go from front to back of one file: the next begins when all is copied. */
static void end_file(struct snapshot *snapshot) {
    struct job *job = snapshot->job;
    job->sums[job->shards->first[snapshot->rank] + snapshot->index] = snapshot->file.sum;
    snapshot->file_chunk += chunks_of(snapshot->shard.bytes, job->io->chunk_bytes);
    snapshot->index++;
    begin_file(snapshot);
}

bool snapshot_go_on(struct snapshot *snapshot) {
    if (snapshot->done) {
        return false;
    }
    bool broken = job_broken(snapshot->job);
    while (!broken && in_a_file(snapshot)) {
        bool copied = snapshot->offset == snapshot->shard.bytes;
        if (copied && snapshot->under_way == 0) {
            end_file(snapshot);
        } else if (!copied && snapshot->free_count > 0 && has_room(snapshot)) {
            submit_copy(snapshot);
        } else {
            return false;
        }
    }
    snapshot->done = snapshot->under_way == 0;
    return snapshot->done;
}

/* For the writer. */

bool snapshot_wants_writing(const struct snapshot *snapshot) {
    return snapshot->done || (snapshot->under_way == 0 && !has_room(snapshot));
}

bool snapshot_take_chunk(struct snapshot *snapshot, uint64_t chunk, void **memory) {
    uint8_t *state = state_of(snapshot, chunk);
    if (*state != SNAPSHOT_FULL) {
        return false;
    }
    *state = SNAPSHOT_WRITING;
    *memory = memory_of(snapshot, chunk);
    return true;
}

void snapshot_release(struct snapshot *snapshot, uint64_t chunk) {
    uint8_t *state = state_of(snapshot, chunk);
    CHECK(*state == SNAPSHOT_WRITING);
    *state = SNAPSHOT_FREE;
}
