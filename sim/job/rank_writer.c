#include "sim/job/rank_writer.h"

#include "base/check.h"

#include <errno.h>

void rank_writer_init(struct rank_writer *writer, struct job *job, uint32_t rank,
                      struct arena *arena) {
    uint64_t depth = job->io->queue_depth;
    *writer = (struct rank_writer){.job = job, .rank = rank, .state = RANK_DONE};
    writer->crcs = arena_new(arena, job->shards->most_crcs, sizeof *writer->crcs);
    uint64_t windows = shards_windows(job->shards, rank);
    if (windows > 0) {
        seek_table_init(&writer->table, windows, arena);
        writer->tail = arena_new(arena, 1, seek_table_tail_bytes(windows));
    }
    writer->requests = arena_new(arena, depth, sizeof *writer->requests);
    writer->free_requests = arena_new(arena, depth, sizeof *writer->free_requests);
    for (uint64_t i = 0; i < depth; i++) {
        writer->free_requests[writer->free_count++] = &writer->requests[i];
    }
}

static struct io_request *take_free(struct rank_writer *writer, enum io_op op) {
    CHECK(writer->free_count > 0);
    struct io_request *request = writer->free_requests[--writer->free_count];
    *request = (struct io_request){.op = op, .rank = writer->rank, .file = &writer->file};
    return request;
}

static void submit(struct rank_writer *writer, struct io_request *request) {
    writer->under_way++;
    engine_submit(writer->job->engine, request);
}

static bool compresses(const struct rank_writer *writer) {
    return writer->job->shards->codec.kind != CODEC_NONE;
}

static void submit_open(struct rank_writer *writer) {
    job_begin_file(writer->job, writer->rank, writer->index, writer->crcs, &writer->shard,
                   &writer->file);
    writer->file.table = compresses(writer) ? &writer->table : NULL;
    if (writer->second_round) {
        writer->file.mode = IO_EXISTING;
    }
    writer->offset = 0;
    writer->state = RANK_OPENING;
    submit(writer, take_free(writer, IO_OPEN));
}

static void submit_close(struct rank_writer *writer) {
    writer->state = RANK_CLOSING;
    submit(writer, take_free(writer, IO_CLOSE));
}

static void submit_sync_or_close(struct rank_writer *writer) {
    int fsync = writer->job->config->fsync;
    if (fsync == JOB_FSYNC_FILE || writer->second_round) {
        writer->state = RANK_SYNCING;
        submit(writer, take_free(writer, IO_SYNC));
    } else {
        submit_close(writer);
    }
}

/* Number of a chunk of the open file among all of the rank. */
static uint64_t chunk_at(const struct rank_writer *writer, uint64_t offset) {
    return writer->file_chunk + offset / writer->job->io->chunk_bytes;
}

/* Whether the next chunk can be written: of a snapshot, whether it is copied. */
static bool has_chunk(const struct rank_writer *writer, void **memory) {
    return writer->snapshot == NULL ||
           snapshot_take_chunk(writer->snapshot, chunk_at(writer, writer->offset), memory);
}

/* Keeps queue depth writes of [offset, size) under way, of the tail's bytes where there are some. */
static void submit_writes(struct rank_writer *writer, uint64_t size, const uint8_t *tail) {
    uint64_t chunk = writer->job->io->chunk_bytes;
    void *memory = NULL;
    while (writer->free_count > 0 && writer->offset < size &&
           (tail != NULL || has_chunk(writer, &memory))) {
        struct io_request *request = take_free(writer, IO_WRITE);
        uint64_t left = size - writer->offset;
        request->memory = memory;
        request->offset = writer->offset;
        request->length_bytes = left < chunk ? left : chunk;
        if (tail != NULL) {
            request->literal = tail + writer->offset;
            request->offset += writer->table.points[writer->table.count].stored_offset;
        }
        writer->offset += request->length_bytes;
        submit(writer, request);
    }
}

static void end_on(struct rank_writer *writer) {
    submit_writes(writer, writer->tail_bytes, writer->tail);
    if (writer->under_way == 0) {
        submit_sync_or_close(writer);
    }
}

/* All windows are written. */
static void begin_end(struct rank_writer *writer) {
    const struct seek_table *table = &writer->table;
    CHECK(table->points[table->count].raw_offset == writer->shard.bytes);
    writer->tail_bytes = seek_table_tail_bytes(table->count);
    seek_table_write(table, writer->tail);
    writer->offset = 0;
    writer->state = RANK_ENDING;
    end_on(writer);
}

/* A file of no bytes has a window all the same. */
static bool lacks_window(const struct rank_writer *writer) {
    return compresses(writer) && writer->shard.bytes == 0 && writer->under_way == 0 &&
           writer->table.count == 0;
}

static void write_on(struct rank_writer *writer) {
    writer->state = RANK_WRITING;
    submit_writes(writer, writer->shard.bytes, NULL);
    if (lacks_window(writer)) {
        submit(writer, take_free(writer, IO_WRITE));
    }
    bool written = writer->under_way == 0 && writer->offset == writer->shard.bytes;
    if (written && compresses(writer)) {
        begin_end(writer);
    } else if (written) {
        submit_sync_or_close(writer);
    }
}

/* After the last file: a second round where every checkpoint is synced as a whole, or done. */
static bool next_file(struct rank_writer *writer) {
    uint64_t files = writer->job->shards->shares[writer->rank].files;
    uint64_t chunk = writer->job->io->chunk_bytes;
    writer->file_chunk += writer->shard.bytes / chunk + (writer->shard.bytes % chunk > 0);
    if (++writer->index == files && !writer->second_round &&
        writer->job->config->fsync == JOB_FSYNC_CHECKPOINT) {
        writer->second_round = true;
        writer->index = 0;
    }
    if (writer->index < files) {
        submit_open(writer);
        return false;
    }
    writer->state = RANK_DONE;
    return true;
}

bool rank_writer_start(struct rank_writer *writer, uint64_t start_ns) {
    CHECK(writer->state == RANK_DONE);
    CHECK(writer->under_way == 0);
    writer->second_round = false;
    writer->index = writer->file_chunk = 0;
    writer->bytes = 0;
    writer->end_ns = start_ns;
    if (writer->job->shards->shares[writer->rank].files == 0) {
        return true;
    }
    if (writer->snapshot != NULL) {
        writer->state = RANK_COPYING;
    } else {
        submit_open(writer);
    }
    return false;
}

/* Broken or stopping: let what is under way come back, close, and be done. */
static bool wind_down(struct rank_writer *writer) {
    if (writer->under_way > 0) {
        return false;
    }
    if (writer->opened) {
        submit_close(writer);
        return false;
    }
    writer->state = RANK_DONE;
    return true;
}

bool rank_writer_go_on(struct rank_writer *writer) {
    if (writer->state == RANK_DONE) {
        return false;
    }
    if (job_broken(writer->job)) {
        return writer->under_way == 0 && wind_down(writer);
    }
    if (writer->state == RANK_COPYING && snapshot_wants_writing(writer->snapshot)) {
        submit_open(writer);
    } else if (writer->state == RANK_WRITING) {
        write_on(writer);
    }
    return false;
}

static void note_done(struct rank_writer *writer, const struct io_request *request) {
    struct job *job = writer->job;
    if (request->end_ns > writer->end_ns) {
        writer->end_ns = request->end_ns;
    }
    if (request->op == IO_WRITE) {
        uint64_t bytes = request->literal == NULL ? request->done_bytes : 0;
        writer->bytes += bytes;
        recorder_request(job->recorder, writer->rank, RECORDER_WRITE, request->begin_ns,
                         request->end_ns, request->payload_ns, bytes);
        if (compresses(writer)) {
            recorder_compressed(job->recorder, request->stored_bytes, request->compress_ns,
                                request->compress_wall_ns);
        }
        if (writer->snapshot != NULL && request->literal == NULL && request->length_bytes > 0) {
            snapshot_release(writer->snapshot, chunk_at(writer, request->offset));
        }
    } else if (request->op == IO_SYNC) {
        recorder_request(job->recorder, writer->rank, RECORDER_SYNC, request->begin_ns,
                         request->end_ns, 0, 0);
    } else if (request->op == IO_OPEN) {
        writer->opened = request->error == 0;
    } else if (request->op == IO_CLOSE) {
        writer->opened = false;
        uint64_t nth = job->shards->first[writer->rank] + writer->index;
        if (!writer->second_round && writer->snapshot == NULL) {
            job->sums[nth] = writer->file.sum;
        }
        if (!writer->second_round && compresses(writer)) {
            job->stored_bytes[nth] = writer->file.stored_bytes;
        }
    }
}

bool rank_writer_take(struct rank_writer *writer, struct io_request *request) {
    CHECK(writer->under_way > 0);
    writer->under_way--;
    writer->free_requests[writer->free_count++] = request;
    note_done(writer, request);
    if (request->error != 0 || request->short_write) {
        failure_note(&writer->job->local.failure, request);
    }
    if (job_broken(writer->job)) {
        return wind_down(writer);
    }
    switch (writer->state) {
    case RANK_OPENING:
        if (writer->second_round) {
            submit_sync_or_close(writer);
            return false;
        }
        write_on(writer);
        return false;
    case RANK_WRITING: write_on(writer); return false;
    case RANK_ENDING: end_on(writer); return false;
    case RANK_SYNCING: submit_close(writer); return false;
    case RANK_CLOSING: return next_file(writer);
    case RANK_COPYING:
    case RANK_DONE: break;
    }
    CHECK(!"a completion for a rank that is done");
    return false;
}
