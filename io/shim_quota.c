/* Counts what each path holds: on opening where files are preallocated, else as writes reach
 * further. Counting is done as requests go in, so that writes under way at once cannot pass the
 * limit together; what a failed write was counted for stays counted, as its blocks stay taken. What a
 * compressed window takes is not known by then, so it counts as much as it may take, and the file as
 * long as it is once it is closed. */
#include "io/shim_quota.h"

#include "base/memory.h"
#include "io/held.h"
#include "io/shim.h"

#include <errno.h>

struct shim_quota {
    struct shim shim;
    struct held held;
    uint64_t quota_bytes;
    struct engine_config config;
};

/* Sets what a path holds; false where the drive is too small for that. */
static bool hold(struct shim_quota *quota, const char *path, uint64_t bytes) {
    uint64_t others = quota->held.total_bytes - held_bytes(&quota->held, path);
    if (others > quota->quota_bytes || bytes > quota->quota_bytes - others) {
        return false;
    }
    held_set(&quota->held, path, bytes);
    return true;
}

static bool admit_open(struct shim_quota *quota, const struct io_file *file) {
    uint64_t before = held_bytes(&quota->held, file->path), bytes = before;
    if (file->mode == IO_EXISTING || file->mode == IO_READING) {
        return true;
    }
    if (file->mode == IO_TRUNCATE) {
        bytes = 0;
    }
    bool compressed = engine_compresses(&quota->config, file);
    if (!compressed &&
        (bytes > file->size_bytes || (quota->config.preallocate && !file->plain))) {
        bytes = file->size_bytes;
    }
    return hold(quota, file->path, bytes);
}

static bool admit_write(struct shim_quota *quota, const struct io_request *request) {
    uint64_t end = request->offset + request->length_bytes;
    if (request->literal == NULL && engine_compresses(&quota->config, request->file)) {
        uint64_t chunk_bytes = quota->config.chunk_bytes;
        end = request->offset / chunk_bytes * codec_bound(chunk_bytes) +
              codec_bound(request->length_bytes);
    }
    uint64_t before = held_bytes(&quota->held, request->file->path);
    return hold(quota, request->file->path, end > before ? end : before);
}

static void quota_submit(struct engine *engine, struct io_request *request) {
    struct shim_quota *quota = (struct shim_quota *)engine;
    bool other = io_request_tier(request) != 0;
    bool fits = other                  ? true
                : request->op == IO_OPEN    ? admit_open(quota, request->file)
                : request->op == IO_WRITE ? admit_write(quota, request)
                                          : true;
    if (fits) {
        engine_submit(quota->shim.inner, request);
    } else {
        shim_answer(&quota->shim, request, ENOSPC);
    }
}

/* A compressed file that was written ends where its last write did. */
static void settle_close(struct shim_quota *quota, const struct io_file *file) {
    bool written = file->mode == IO_TRUNCATE || file->mode == IO_OVERWRITE;
    if (written && engine_compresses(&quota->config, file)) {
        held_set(&quota->held, file->path, file->stored_bytes);
    }
}

static struct io_request *quota_wait(struct engine *engine, uint64_t timeout_ns) {
    struct shim_quota *quota = (struct shim_quota *)engine;
    struct io_request *request = shim_wait(engine, timeout_ns);
    if (request == NULL || request->error != 0 || io_request_tier(request) != 0) {
        return request;
    }
    if (request->op == IO_REMOVE) {
        held_remove(&quota->held, request->path);
    } else if (request->op == IO_RENAME) {
        held_rename(&quota->held, request->path, request->new_path);
    } else if (request->op == IO_CLOSE) {
        settle_close(quota, request->file);
    }
    return request;
}

static int quota_space(struct engine *engine, uint64_t *free_bytes, uint64_t *total_bytes) {
    struct shim_quota *quota = (struct shim_quota *)engine;
    struct engine *inner = quota->shim.inner;
    int error = inner->ops->space(inner, free_bytes, total_bytes);
    if (error != 0) {
        return error;
    }
    uint64_t left = quota->quota_bytes - quota->held.total_bytes;
    *free_bytes = left < *free_bytes ? left : *free_bytes;
    *total_bytes = quota->quota_bytes;
    return 0;
}

static void quota_close(struct engine *engine) {
    struct shim_quota *quota = (struct shim_quota *)engine;
    engine_close(quota->shim.inner);
    held_fini(&quota->held);
    mem_free(quota);
}

struct engine *shim_quota_open(const struct engine_config *config, struct engine *inner) {
    struct shim_quota *quota = mem_new(1, sizeof *quota);
    quota->quota_bytes = config->quota_bytes;
    quota->config = *config;
    shim_init(&quota->shim, inner);
    quota->shim.ops.submit = quota_submit;
    quota->shim.ops.wait = quota_wait;
    quota->shim.ops.space = quota_space;
    quota->shim.ops.close = quota_close;
    return &quota->shim.base;
}
