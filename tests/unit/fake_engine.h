#ifndef CKPTSIM_TESTS_FAKE_ENGINE_H
#define CKPTSIM_TESTS_FAKE_ENGINE_H

/* An engine in memory for tests of the job: a table of files, a clock that each request moves by its
 * rank's own cost, a log of all requests, and an error to be given at the n-th write or copy. What is
 * copied or read into memory is a mark that says whose content it is; a write from memory looks for it.
 * Paths of the second folder are those of another drive. */

#include "io/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAKE_FILES = 4096, FAKE_LOG = 200000, FAKE_PENDING = 1024 };

struct fake_file {
    char path[200];
    uint8_t tier;
    uint64_t size, stream; /* stream: whose content it is; 0: text */
};

struct fake_event {
    enum io_op op;
    uint32_t rank;
    char path[200];
    uint64_t offset, length, begin_ns, end_ns;
    bool plain, check, literal;
    uint8_t tier;
    enum io_mode mode;
    int error;
};

struct fake_engine {
    struct engine base;
    struct fake_file files[FAKE_FILES];
    size_t file_count;
    struct fake_event *log;
    size_t log_count;
    struct io_request *pause; /* under way; it passes beside everything else */
    uint64_t pause_end_ns, pauses;
    struct io_request *pending[FAKE_PENDING];
    size_t pending_count, most_pending, writes_pending[64], most_writes;
    uint64_t clock_ns, capacity_bytes, hidden_limit_bytes;
    uint64_t writes, fail_write;   /* the fail_write-th payload write (from 1) fails with fail_errno */
    uint64_t copies, fail_copy;    /* the same of copies */
    uint64_t drain_writes, fail_drain_write; /* of the second folder */
    uint64_t drain_limit_bytes;
    uint64_t drain_cost_ns;        /* of a request of the second folder, beside the rank's own */
    const char *fail_remove;       /* and removals of paths that hold this word */
    int fail_errno;
    volatile sig_atomic_t *stop;   /* set when stop_write writes were done */
    uint64_t stop_write;
    uint64_t reads, fail_read, stop_read; /* the same of reads, with fail_errno */
    uint64_t right_bytes;          /* that the failing read counts before what is wrong */
    uint64_t resident_bytes;       /* what IO_COLD finds left of every file */
    bool drain_last;               /* ranks behind drain_rank get on when nothing else is there */
    uint32_t drain_rank;
    bool damage_reads;             /* sums of what is read are wrong */
    bool no_sums;                  /* else a file's checksum is the number of bytes that were read */
    bool pauses_cancelled;
    bool late_copies; /* a copy ends when nothing else is under way */
};

static struct fake_file *fake_find_in(struct fake_engine *fake, uint8_t tier, const char *path) {
    for (size_t i = 0; i < fake->file_count; i++) {
        if (fake->files[i].tier == tier && strcmp(fake->files[i].path, path) == 0) {
            return &fake->files[i];
        }
    }
    return NULL;
}

static inline struct fake_file *fake_find(struct fake_engine *fake, const char *path) {
    return fake_find_in(fake, 0, path);
}

static uint64_t fake_used_in(const struct fake_engine *fake, uint8_t tier) {
    uint64_t used = 0;
    for (size_t i = 0; i < fake->file_count; i++) {
        used += fake->files[i].tier == tier ? fake->files[i].size : 0;
    }
    return used;
}

static uint64_t fake_used(const struct fake_engine *fake) { return fake_used_in(fake, 0); }

struct fake_mark {
    uint64_t stream, offset, length;
};

/* As good as a checksum: it adds up to the same however a file is cut into chunks. */
static uint64_t fake_sum(const struct io_request *request, uint64_t stream) {
    return request->length_bytes * (2 * request->offset + request->length_bytes) * (stream | 1);
}

/* Of a file with a table every window takes half of what it holds, in whole blocks; the tail comes
 * behind them. As the contract says, windows get their places in the order of submission. */
static uint64_t fake_stored(const struct io_request *request) {
    uint64_t half = request->length_bytes / 2;
    return request->literal != NULL ? request->length_bytes
                                    : (half / CODEC_BLOCK + 1) * CODEC_BLOCK;
}

static void fake_place(const struct io_request *request) {
    struct io_file *file = request->file;
    struct seek_table *table = file->table;
    if (request->op == IO_OPEN) {
        seek_table_clear(table);
        file->stored_bytes = 0;
    } else if (request->op == IO_WRITE && request->literal == NULL) {
        seek_table_add(table, fake_stored(request), request->length_bytes);
        file->stored_bytes = table->points[table->count].stored_offset;
    } else if (request->op == IO_WRITE) {
        uint64_t end = request->offset + request->length_bytes;
        file->stored_bytes = end > file->stored_bytes ? end : file->stored_bytes;
    }
}

static bool fake_is_content(const struct io_request *request) {
    return request->op == IO_WRITE && (request->literal == NULL || request->file->table != NULL);
}

static void fake_submit(struct engine *engine, struct io_request *request) {
    struct fake_engine *fake = (struct fake_engine *)engine;
    CHECK(fake->pending_count < FAKE_PENDING);
    if (request->op == IO_PAUSE) {
        CHECK(fake->pause == NULL);
        fake->pause = request;
        fake->pauses++;
        request->begin_ns = fake->clock_ns;
        fake->pause_end_ns = fake->clock_ns + request->pause_ns;
        return;
    }
    fake->pending[fake->pending_count++] = request;
    if (request->file != NULL && request->file->table != NULL) {
        fake_place(request);
    }
    if (request->op == IO_READ || fake_is_content(request)) {
        size_t depth = ++fake->writes_pending[request->rank];
        fake->most_writes = depth > fake->most_writes ? depth : fake->most_writes;
    } else if (request->op != IO_COPY) {
        /* rule 2 of the contract: everything but these and copies stands alone in its rank */
        for (size_t i = 0; i + 1 < fake->pending_count; i++) {
            CHECK(fake->pending[i]->rank != request->rank || fake->pending[i]->op == IO_COPY);
        }
    }
    if (fake->pending_count > fake->most_pending) {
        fake->most_pending = fake->pending_count;
    }
}

static bool fake_write_fails(struct fake_engine *fake, const struct io_request *request) {
    if (request->literal != NULL) {
        return false;
    }
    if (request->file->tier != 0) {
        return ++fake->drain_writes == fake->fail_drain_write;
    }
    fake->writes++;
    if (fake->stop_write > 0 && fake->writes == fake->stop_write) {
        *fake->stop = 1;
    }
    return fake->fail_write > 0 && fake->writes == fake->fail_write;
}

/* What is written is content, or what lies in memory: then a copy of somebody's content. */
static void fake_take_content(struct fake_file *file, struct io_request *request) {
    const struct fake_mark *mark = request->memory;
    if (request->literal != NULL) {
        return;
    }
    if (mark == NULL) {
        request->file->sum += fake_sum(request, request->file->stream);
        file->stream = request->file->stream;
        return;
    }
    CHECK(request->file->stream == 0 || mark->stream == request->file->stream);
    CHECK(mark->offset == request->offset && mark->length == request->length_bytes);
    file->stream = mark->stream;
}

static int fake_write(struct fake_engine *fake, struct io_request *request) {
    uint8_t tier = request->file->tier;
    struct fake_file *file = fake_find_in(fake, tier, request->file->path);
    CHECK(file != NULL);
    if (fake_write_fails(fake, request)) {
        return fake->fail_errno;
    }
    bool compressed = request->file->table != NULL;
    uint64_t end = compressed ? request->file->stored_bytes : request->offset + request->length_bytes;
    uint64_t grown = end > file->size ? end - file->size : 0;
    uint64_t limit = tier == 0 ? fake->hidden_limit_bytes : fake->drain_limit_bytes;
    if (limit > 0 && fake_used_in(fake, tier) + grown > limit) {
        return ENOSPC;
    }
    file->size += grown;
    request->done_bytes = request->length_bytes;
    request->stored_bytes = compressed ? fake_stored(request) : request->length_bytes;
    request->compress_wall_ns = 300;
    request->compress_ns = compressed && request->literal == NULL ? 100 : 0;
    fake_take_content(file, request);
    return 0;
}

static int fake_copy(struct fake_engine *fake, struct io_request *request) {
    fake->copies++;
    if (fake->fail_copy > 0 && fake->copies == fake->fail_copy) {
        return fake->fail_errno;
    }
    request->done_bytes = request->length_bytes;
    request->file->sum += fake_sum(request, request->file->stream);
    if (request->memory != NULL) {
        struct fake_mark mark = {request->file->stream, request->offset, request->length_bytes};
        memcpy(request->memory, &mark, sizeof mark);
    }
    return 0;
}

static int fake_read(struct fake_engine *fake, struct io_request *request) {
    CHECK(request->file->mode == IO_READING);
    CHECK(request->offset % PAYLOAD_BLOCK == 0);
    fake->reads++;
    if (fake->stop_read > 0 && fake->reads == fake->stop_read) {
        *fake->stop = 1;
    }
    if (fake->fail_read > 0 && fake->reads == fake->fail_read) {
        request->done_bytes = fake->right_bytes;
        return fake->fail_errno;
    }
    request->done_bytes = request->length_bytes;
    request->payload_ns = 100;
    if (request->file->summed) {
        const struct fake_file *file = fake_find_in(fake, request->file->tier, request->file->path);
        struct fake_mark mark = {file->stream, request->offset, request->length_bytes};
        request->file->sum += fake_sum(request, file->stream) + fake->damage_reads;
        memcpy(request->memory, &mark, sizeof mark);
    } else {
        request->file->sum += fake->no_sums ? 0 : request->length_bytes;
    }
    return 0;
}

static int fake_perform(struct fake_engine *fake, struct io_request *request) {
    struct fake_file *file;
    uint8_t tier = io_request_tier(request);
    switch (request->op) {
    case IO_OPEN:
        file = fake_find_in(fake, tier, request->file->path);
        if (file == NULL &&
            (request->file->mode == IO_EXISTING || request->file->mode == IO_READING)) {
            return ENOENT;
        }
        request->file->sum = 0;
        if (file == NULL) {
            CHECK(fake->file_count < FAKE_FILES);
            file = &fake->files[fake->file_count++];
            snprintf(file->path, sizeof file->path, "%s", request->file->path);
            file->size = file->stream = 0;
            file->tier = tier;
        }
        if (request->file->mode == IO_TRUNCATE) {
            file->size = 0;
        }
        return 0;
    case IO_WRITE: return fake_write(fake, request);
    case IO_READ: return fake_read(fake, request);
    case IO_COLD: request->done_bytes = fake->resident_bytes; return 0;
    case IO_COPY: return fake_copy(fake, request);
    case IO_REMOVE:
        file = fake_find_in(fake, tier, request->path);
        if (file == NULL) {
            return ENOENT;
        }
        if (fake->fail_remove != NULL && strstr(request->path, fake->fail_remove) != NULL) {
            return fake->fail_errno;
        }
        *file = fake->files[--fake->file_count];
        return 0;
    case IO_RENAME: {
        file = fake_find_in(fake, tier, request->path);
        struct fake_file *old = fake_find_in(fake, tier, request->new_path);
        if (old != NULL) {
            old->size = file->size;
            old->stream = file->stream;
            *file = fake->files[--fake->file_count];
        } else {
            snprintf(file->path, sizeof file->path, "%s", request->new_path);
        }
        return 0;
    }
    default: return 0;
    }
}

/* A pause ends when its time has come, or when nothing else is there to pass it with. */
static struct io_request *fake_take_pause(struct fake_engine *fake) {
    struct io_request *request = fake->pause;
    if (request == NULL || (fake->pause_end_ns > fake->clock_ns && fake->pending_count > 0)) {
        return NULL;
    }
    fake->pause = NULL;
    fake->clock_ns = fake->pause_end_ns > fake->clock_ns ? fake->pause_end_ns : fake->clock_ns;
    return request;
}

/* The newest copy, since nothing holds one up, or with late_copies the newest of all else; else the
 * newest of all. */
static struct io_request *fake_take(struct fake_engine *fake) {
    size_t at = fake->pending_count - 1;
    for (size_t i = fake->pending_count; i-- > 0;) {
        if ((fake->pending[i]->op == IO_COPY) != fake->late_copies) {
            at = i;
            break;
        }
        bool last = fake->drain_last && fake->pending[at]->rank >= fake->drain_rank;
        at = last && fake->pending[i]->rank < fake->drain_rank ? i : at;
    }
    struct io_request *request = fake->pending[at];
    fake->pending_count--;
    memmove(&fake->pending[at], &fake->pending[at + 1],
            (fake->pending_count - at) * sizeof fake->pending[0]);
    return request;
}

/* Rank r's requests take 1000 + 10 r ns each, copies a tenth; the newest of the pending comes back
 * first, so that completions are out of order. */
static struct io_request *fake_wait(struct engine *engine, uint64_t timeout_ns) {
    struct fake_engine *fake = (struct fake_engine *)engine;
    (void)timeout_ns;
    struct io_request *request = fake_take_pause(fake);
    bool paused = request != NULL;
    if (!paused && fake->pending_count == 0) {
        return NULL;
    }
    if (!paused) {
        request = fake_take(fake);
        uint64_t cost_ns = 1000 + 10 * (uint64_t)request->rank;
        request->begin_ns = fake->clock_ns;
        fake->clock_ns += request->op == IO_COPY ? cost_ns / 10 : cost_ns;
        fake->clock_ns += io_request_tier(request) != 0 ? fake->drain_cost_ns : 0;
    }
    if (request->op == IO_READ || fake_is_content(request)) {
        fake->writes_pending[request->rank]--;
    }
    request->end_ns = fake->clock_ns;
    request->done_bytes = 0;
    request->error = fake_perform(fake, request);
    CHECK(fake->log_count < FAKE_LOG);
    struct fake_event *event = &fake->log[fake->log_count++];
    const char *path = request->file != NULL ? request->file->path : request->path;
    *event = (struct fake_event){.op = request->op, .rank = request->rank,
                                 .offset = request->offset, .length = request->length_bytes,
                                 .begin_ns = request->begin_ns, .end_ns = request->end_ns,
                                 .plain = request->file != NULL && request->file->plain,
                                 .literal = request->literal != NULL,
                                 .error = request->error,
                                 .tier = io_request_tier(request),
                                 .mode = request->file != NULL ? request->file->mode : IO_TRUNCATE,
                                 .check = request->file != NULL && request->file->check};
    snprintf(event->path, sizeof event->path, "%s", path != NULL ? path : "");
    return request;
}

static uint64_t fake_now(struct engine *engine) {
    return ((struct fake_engine *)engine)->clock_ns;
}

static int fake_space(struct engine *engine, uint64_t *free_bytes, uint64_t *total_bytes) {
    struct fake_engine *fake = (struct fake_engine *)engine;
    *total_bytes = fake->capacity_bytes;
    uint64_t used = fake_used(fake);
    *free_bytes = used < fake->capacity_bytes ? fake->capacity_bytes - used : 0;
    return 0;
}

static void fake_cancel(struct engine *engine) {
    struct fake_engine *fake = (struct fake_engine *)engine;
    fake->pauses_cancelled = true;
    if (fake->pause != NULL && fake->pause_end_ns > fake->clock_ns) {
        fake->pause_end_ns = fake->clock_ns;
    }
}

static const struct engine_ops fake_ops = {.name = "fake", .submit = fake_submit, .wait = fake_wait,
                                           .now = fake_now, .space = fake_space,
                                           .cancel_pauses = fake_cancel};

static struct fake_engine *fake_open(uint64_t capacity_bytes) {
    struct fake_engine *fake = calloc(1, sizeof *fake);
    fake->base.ops = &fake_ops;
    fake->log = calloc(FAKE_LOG, sizeof *fake->log);
    fake->capacity_bytes = capacity_bytes;
    return fake;
}

static void fake_close(struct fake_engine *fake) {
    free(fake->log);
    free(fake);
}

#endif
