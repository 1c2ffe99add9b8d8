#include "sim/job/rank_reader.h"

#include "base/check.h"

void rank_reader_init(struct rank_reader *reader, struct restore *restore, uint32_t rank,
                      struct arena *arena) {
    uint64_t depth = restore->io->queue_depth;
    *reader = (struct rank_reader){.restore = restore, .rank = rank, .state = READER_DONE};
    reader->requests = arena_new(arena, depth, sizeof *reader->requests);
    reader->free_requests = arena_new(arena, depth, sizeof *reader->free_requests);
    for (uint64_t i = 0; i < depth; i++) {
        reader->free_requests[reader->free_count++] = &reader->requests[i];
    }
}

static const struct read_range *range_at(const struct rank_reader *reader) {
    return &reader->restore->plan->ranges[reader->range];
}

static struct io_request *take_free(struct rank_reader *reader, enum io_op op) {
    CHECK(reader->free_count > 0);
    struct io_request *request = reader->free_requests[--reader->free_count];
    *request = (struct io_request){.op = op, .rank = reader->rank, .file = &reader->file};
    return request;
}

static void submit(struct rank_reader *reader, struct io_request *request) {
    reader->under_way++;
    engine_submit(reader->restore->engine, request);
}

static void submit_open(struct rank_reader *reader) {
    struct restore *restore = reader->restore;
    restore_file_at(restore, range_at(reader)->file, &reader->shard);
    reader->file = restore_io_file(restore, &reader->shard);
    reader->file_bytes = 0;
    reader->offset = range_at(reader)->offset;
    reader->state = READER_OPENING;
    submit(reader, take_free(reader, IO_OPEN));
}

static void submit_close(struct rank_reader *reader) {
    reader->state = READER_CLOSING;
    submit(reader, take_free(reader, IO_CLOSE));
}

static bool in_open_file(const struct rank_reader *reader) {
    return reader->range < reader->last && range_at(reader)->file == reader->shard.number;
}

/* Keeps queue depth reads under way until the last byte of the file's last range is there. */
static void read_on(struct rank_reader *reader) {
    uint64_t chunk = reader->restore->io->chunk_bytes;
    reader->state = READER_READING;
    while (in_open_file(reader)) {
        const struct read_range *range = range_at(reader);
        uint64_t left = range->offset + range->length_bytes - reader->offset;
        if (left == 0) {
            reader->range++;
            reader->offset = in_open_file(reader) ? range_at(reader)->offset : 0;
            continue;
        }
        if (reader->free_count == 0) {
            return;
        }
        struct io_request *request = take_free(reader, IO_READ);
        request->offset = reader->offset;
        request->length_bytes = left < chunk ? left : chunk;
        reader->offset += request->length_bytes;
        submit(reader, request);
    }
    if (reader->under_way == 0) {
        submit_close(reader);
    }
}

static bool next_file(struct rank_reader *reader) {
    if (reader->range < reader->last) {
        submit_open(reader);
        return false;
    }
    reader->state = READER_DONE;
    return true;
}

bool rank_reader_start(struct rank_reader *reader) {
    const struct read_plan *plan = reader->restore->plan;
    CHECK(reader->state == READER_DONE);
    CHECK(reader->under_way == 0);
    reader->range = plan->first[reader->rank];
    reader->last = plan->first[reader->rank + 1];
    reader->bytes = 0;
    return next_file(reader);
}

/* Broken or stopping: let what is under way come back, close, and be done. */
static bool wind_down(struct rank_reader *reader) {
    if (reader->under_way > 0) {
        return false;
    }
    if (reader->opened) {
        submit_close(reader);
        return false;
    }
    reader->state = READER_DONE;
    return true;
}

/* The last byte ends a rank's time, not the close behind it. */
static void note_done(struct rank_reader *reader, const struct io_request *request) {
    struct restore *restore = reader->restore;
    if (request->op == IO_READ) {
        reader->bytes += request->done_bytes;
        reader->file_bytes += request->done_bytes;
        read_recorder_request(&restore->recorder, reader->rank, request->begin_ns, request->end_ns,
                              request->payload_ns, request->done_bytes);
    } else if (request->op == IO_OPEN) {
        reader->opened = request->error == 0;
        read_recorder_reached(&restore->recorder, reader->rank, request->end_ns);
    } else if (request->op == IO_CLOSE) {
        reader->opened = false;
    }
}

/* Content was compared block by block; the checksum also covers what is not payload of a format. */
static void check_sum(struct rank_reader *reader) {
    const struct restore_file *shard = &reader->shard;
    if (reader->file.check && shard->has_sum && reader->file_bytes == shard->bytes &&
        reader->file.sum != shard->sum) {
        failure_note_checksum(&reader->restore->failure, shard->path);
    }
}

bool rank_reader_take(struct rank_reader *reader, struct io_request *request) {
    CHECK(reader->under_way > 0);
    reader->under_way--;
    reader->free_requests[reader->free_count++] = request;
    note_done(reader, request);
    if (request->error != 0) {
        failure_note(&reader->restore->failure, request);
    } else if (request->op == IO_CLOSE) {
        check_sum(reader);
    }
    if (restore_is_over(reader->restore)) {
        return wind_down(reader);
    }
    switch (reader->state) {
    case READER_OPENING:
    case READER_READING: read_on(reader); return false;
    case READER_CLOSING: return next_file(reader);
    case READER_DONE: break;
    }
    CHECK(!"a completion for a rank that is done");
    return false;
}
