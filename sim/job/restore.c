#include "sim/job/restore.h"

#include "base/check.h"
#include "sim/job/rank_reader.h"

#include <string.h>

enum { WAIT_NS = 100 * 1000 * 1000, TICK_NS = 200 * 1000 * 1000 };

void restore_init(struct restore *restore) {
    uint32_t ranks = restore->plan->ranks;
    restore->readers = arena_new(restore->arena, ranks, sizeof *restore->readers);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        rank_reader_init(&restore->readers[rank], restore, rank, restore->arena);
    }
    read_recorder_init(&restore->recorder, restore->result, ranks, restore->arena);
    restore->doing = "preparing";
}

static bool stopping(const struct restore *restore) {
    return restore->stop != NULL && *restore->stop != 0;
}

bool restore_is_over(const struct restore *restore) {
    return restore->failure.error != 0 || stopping(restore);
}

/* The rank that wrote a file: the last one that begins at it or before and has any. */
static uint32_t writer_of(const struct read_files *files, uint64_t number) {
    uint32_t low = 0, high = files->ranks;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        low = files->first[middle] <= number ? middle : low;
        high = files->first[middle] <= number ? high : middle;
    }
    return low;
}

void restore_file_at(const struct restore *restore, uint64_t number, struct restore_file *file) {
    const struct manifest *manifest = restore->checkpoint.manifest;
    file->number = number;
    if (manifest != NULL) {
        const struct manifest_entry *entry = &manifest->entries[number];
        file->rank = entry->rank;
        file->index = entry->index;
        file->bytes = entry->bytes;
        file->sum = entry->sum;
        file->has_sum = entry->has_sum;
        file->path = entry->path;
        return;
    }
    file->rank = writer_of(restore->files, number);
    file->index = number - restore->files->first[file->rank];
    shards_file(restore->shards, file->rank, file->index, restore->checkpoint.number, &file->shard);
    file->bytes = file->shard.bytes;
    file->has_sum = false;
    file->path = file->shard.path;
}

struct io_file restore_io_file(const struct restore *restore, const struct restore_file *file) {
    const struct payload *payload = &restore->io->payload;
    return (struct io_file){
        .path = file->path,
        .size_bytes = file->bytes,
        .stream = payload_stream(payload, restore->checkpoint.serial, file->rank, file->index),
        .format = restore->shards != NULL ? shards_content(restore->shards, file->rank, file->index)
                                          : NULL,
        .mode = IO_READING,
        .check = restore->config->verify,
    };
}

/* By bytes to go, since shares are unequal. */
static uint32_t rank_furthest_behind(const struct restore *restore) {
    uint32_t behind = UINT32_MAX;
    uint64_t most = 0;
    for (uint32_t rank = 0; rank < restore->plan->ranks; rank++) {
        const struct rank_reader *reader = &restore->readers[rank];
        uint64_t left = restore->plan->rank_bytes[rank] - reader->bytes;
        if (reader->state != READER_DONE && left > most) {
            most = left;
            behind = rank;
        }
    }
    return behind;
}

static void tick(struct restore *restore) {
    uint64_t now = engine_now(restore->engine);
    if (restore->observer.tick == NULL || now - restore->last_tick_ns < TICK_NS) {
        return;
    }
    restore->last_tick_ns = now;
    struct job_progress progress = {
        .read = restore->nth + 1,
        .reads = restore->config->reads,
        .checkpoint = restore->checkpoint.number,
        .bytes = read_recorder_bytes(&restore->recorder),
        .checkpoint_bytes = restore->plan->bytes,
        .checkpoint_ns = now - restore->start_ns,
        .run_ns = now,
        .behind_rank = rank_furthest_behind(restore),
        .doing = restore->doing,
    };
    restore->observer.tick(restore->observer.context, &progress);
}

/* Submits one request that stands alone and waits for it. */
static int control(struct restore *restore, enum io_op op) {
    struct io_request *request = &restore->control, *back;
    *request = (struct io_request){.op = op, .file = &restore->control_file};
    engine_submit(restore->engine, request);
    while ((back = engine_wait(restore->engine, WAIT_NS)) == NULL) {
        tick(restore);
    }
    CHECK(back == request);
    if (request->error != 0) {
        failure_note(&restore->failure, request);
    }
    return request->error;
}

/* Takes one file out of the page cache and counts what is left of it there; once that is unknown of
 * one file, it is of all. */
static void cool_file(struct restore *restore, uint64_t number, uint64_t *cached_bytes) {
    struct restore_file file;
    restore_file_at(restore, number, &file);
    restore->control_file = restore_io_file(restore, &file);
    if (control(restore, IO_OPEN) != 0) {
        return;
    }
    if (control(restore, IO_COLD) == 0) {
        uint64_t left = restore->control.done_bytes;
        bool known = left != UINT64_MAX && *cached_bytes != RESULT_UNKNOWN;
        *cached_bytes = known ? *cached_bytes + left : RESULT_UNKNOWN;
    }
    control(restore, IO_CLOSE);
}

/* Before the barrier: the proof that what follows comes from the drive. A file that cannot be
 * opened ends the restore here already. */
static void cool_all(struct restore *restore, struct read_record *record) {
    const struct read_plan *plan = restore->plan;
    uint64_t cached_bytes = 0;
    restore->doing = "dropping from the page cache";
    for (uint64_t i = 0; i < plan->file_count && !restore_is_over(restore); i++) {
        cool_file(restore, plan->files[i], &cached_bytes);
        tick(restore);
    }
    uint64_t of = plan->bytes < plan->file_bytes ? plan->bytes : plan->file_bytes;
    record->cached_bytes = cached_bytes;
    record->cached = cached_bytes > of / RESTORE_CACHED_PART;
}

/* All ranks read their ranges; returns when the last one is done. */
static void read_ranks(struct restore *restore) {
    uint32_t ranks_left = restore->plan->ranks;
    restore->doing = "reading";
    for (uint32_t rank = 0; rank < restore->plan->ranks; rank++) {
        ranks_left -= rank_reader_start(&restore->readers[rank]);
    }
    while (ranks_left > 0) {
        struct io_request *request = engine_wait(restore->engine, WAIT_NS);
        if (request != NULL) {
            ranks_left -= rank_reader_take(&restore->readers[request->rank], request);
        }
        tick(restore);
    }
}

static void run_one(struct restore *restore) {
    struct read_record record = {.read = (uint32_t)restore->nth + 1,
                                 .checkpoint = restore->checkpoint.number,
                                 .cached_bytes = RESULT_UNKNOWN,
                                 .verified = restore->config->verify};
    char text[512];
    restore->failure = (struct failure){0};
    if (restore->config->cold) {
        cool_all(restore, &record);
    }
    restore->start_ns = engine_now(restore->engine);
    record.start_ns = restore->start_ns;
    read_recorder_begin(&restore->recorder, &record);
    if (!restore_is_over(restore)) {
        read_ranks(restore);
    }
    bool complete = !restore_is_over(restore);
    const char *note = complete ? NULL
                       : restore->failure.error == 0
                           ? "interrupted"
                           : failure_text(&restore->failure, text, sizeof text);
    struct read_record *added = read_recorder_end(&restore->recorder, complete, note);
    added->start_ns += restore->earlier_ns;
    if (restore->each != NULL) {
        restore->each(restore->observer.context, added);
    }
}

static enum status fail(struct restore *restore, const char *what, struct error *err) {
    struct result *result = restore->result;
    error_set(err, ERR_FAILED, "restore %llu of checkpoint %u: %s",
              (unsigned long long)restore->nth + 1, restore->checkpoint.number, what);
    result->outcome = RESULT_FAILED;
    result->outcome_text = arena_text(result->arena, err->text);
    return ERR_FAILED;
}

static enum status run_all(struct restore *restore, struct error *err) {
    for (restore->nth = 0; restore->nth < restore->config->reads; restore->nth++) {
        struct error why;
        if (restore->source->take(restore->source, restore->nth, &restore->checkpoint, &why) !=
            OK) {
            return fail(restore, why.text, err);
        }
        run_one(restore);
        if (restore->failure.error != 0) {
            char text[512];
            return fail(restore, failure_text(&restore->failure, text, sizeof text), err);
        }
        if (stopping(restore)) { /* it counts as interrupted, though this one may just have ended */
            break;
        }
    }
    return OK;
}

enum status restore_run(struct restore *restore, struct error *err) {
    struct result *result = restore->result;
    struct error own;
    enum status status = run_all(restore, &own);
    if (status != OK) {
        status = error_set(err, ERR_FAILED, "%s", own.text);
    } else if (restore->nth < restore->config->reads) {
        result->outcome = RESULT_INTERRUPTED;
        result->outcome_text = arena_printf(result->arena, "interrupted in restore %llu of %llu",
                                            (unsigned long long)restore->nth + 1,
                                            (unsigned long long)restore->config->reads);
    }
    result->elapsed_ns = restore->earlier_ns + engine_now(restore->engine);
    return status;
}
