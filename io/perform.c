/* The system calls of a request. Only they lie between begin_ns and end_ns; payload is made before,
 * and what only spares the page cache comes after. */
#include "io/perform.h"

#include "base/check.h"
#include "io/content.h"
#include "io/file_io.h"
#include "io/perform_codec.h"
#include "io/residency.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

enum { FULL_PART = 8 }; /* less than an eighth free: all but full */

enum { PIECE_BYTES = 1024 * 1024 };
_Static_assert(PIECE_BYTES % PAYLOAD_BLOCK == 0, "pieces are whole blocks");

uint64_t perform_now(const struct perform *perform) { return uv_hrtime() - perform->start_ns; }

static size_t whole_blocks(size_t length) {
    return (length + PAYLOAD_BLOCK - 1) / PAYLOAD_BLOCK * PAYLOAD_BLOCK;
}

static struct perform_tier *tier_of(struct perform *perform, const struct io_file *file) {
    return &perform->tiers[file->tier];
}

/* Opening. */

static int preallocate(struct perform_tier *tier, const struct io_file *file, int fd) {
    int error;
    do {
        error = fallocate(fd, 0, 0, (off_t)file->size_bytes) == 0 ? 0 : errno;
    } while (error == EINTR);
    if (error == EOPNOTSUPP || error == ENOSYS) {
        tier->preallocate = false; /* this file system cannot; remembered, so asked but once */
        return 0;
    }
    return error;
}

/* Brings a file just opened to its size; on failure to the size it had, so that no blocks stay
 * taken that nobody sees. */
static int shape(struct perform *perform, struct io_file *file, int fd) {
    struct perform_tier *tier = tier_of(perform, file);
    struct stat info;
    if (fstat(fd, &info) != 0) {
        return errno;
    }
    if (engine_compresses(&perform->config, file)) {
        file->cut = info.st_size > 0; /* how long it becomes shows at its end */
        return 0;
    }
    if ((uint64_t)info.st_size > file->size_bytes && ftruncate(fd, (off_t)file->size_bytes) != 0) {
        return errno;
    }
    if (!tier->preallocate || file->plain || file->size_bytes == 0) {
        return 0;
    }
    int error = preallocate(tier, file, fd);
    if (error != 0 && ftruncate(fd, info.st_size) != 0) {
        return error; /* the first failure tells more than the second */
    }
    return error;
}

static int open_flags(enum io_mode mode) {
    switch (mode) {
    case IO_TRUNCATE: return O_WRONLY | O_CREAT | O_TRUNC;
    case IO_OVERWRITE: return O_WRONLY | O_CREAT;
    case IO_EXISTING: return O_WRONLY;
    case IO_READING: break;
    }
    return O_RDONLY;
}

static int open_file(struct perform *perform, struct io_file *file) {
    int flags = open_flags(file->mode);
    struct perform_tier *tier = tier_of(perform, file);
    file->direct = tier->direct && !file->plain && file->mode != IO_EXISTING;
    file->cut = false;
    file->sum = file->stored_bytes = 0;
    file->fd = -1;
    file->engine_data = NULL;
    int fd =
        folder_open_file(tier->folder, file->path, flags | (file->direct ? O_DIRECT : 0));
    if (fd < 0) {
        return -fd;
    }
    bool writes = file->mode == IO_TRUNCATE || file->mode == IO_OVERWRITE;
    int error = writes ? shape(perform, file, fd) : 0;
    if (error == 0 && engine_compresses(&perform->config, file)) {
        error = perform_codec_open(&perform->config, file, fd);
    }
    if (error != 0) {
        close(fd);
        return error;
    }
    file->fd = fd;
    return 0;
}

/* Content. */

static void do_copy(const struct perform *perform, struct io_request *request) {
    uint64_t begin_ns = uv_hrtime();
    request->sum = content_make(&perform->config, request, request->memory);
    request->payload_ns = uv_hrtime() - begin_ns;
    request->done_bytes = request->length_bytes;
    request->stored_bytes = request->compress_ns = request->compress_wall_ns = 0;
    request->error = 0;
}

/* Writing. */

static const void *literal_bytes(const struct io_request *request, void *buffer) {
    if (!request->file->direct) {
        return request->literal;
    }
    memcpy(buffer, request->literal, request->length_bytes);
    return buffer;
}

static const void *content_bytes(const struct perform *perform, struct io_request *request,
                                 void *buffer) {
    if (request->memory != NULL) {
        return request->memory;
    }
    if (perform->config.payload.kind == PAYLOAD_ZERO && request->file->format == NULL) {
        /* The buffer is all zeros already. */
        request->sum = payload_zeros_sum(request->offset, request->length_bytes);
    } else {
        request->sum = content_make(&perform->config, request, buffer);
    }
    return buffer;
}

/* O_DIRECT takes whole blocks: what is written too much is cut off at the end. */
static void fill_block(struct io_file *file, struct perform_write *write) {
    CHECK(write->offset % PAYLOAD_BLOCK == 0);
    size_t padded = whole_blocks(write->length_bytes);
    memset((uint8_t *)(uintptr_t)write->bytes + write->length_bytes, 0,
           padded - write->length_bytes);
    write->length_bytes = padded;
    if (write->offset + padded > file->size_bytes) {
        file->cut = true;
    }
}

struct perform_write perform_prepare_write(struct perform *perform, struct io_request *request,
                                           const struct perform_tools *tools) {
    struct io_file *file = request->file;
    /* What passes through no buffer may be longer: a manifest, say. */
    CHECK(request->length_bytes <= perform->config.chunk_bytes ||
          (request->literal != NULL && !file->direct));
    uint64_t begin_ns = uv_hrtime();
    bool compresses = engine_compresses(&perform->config, file);
    struct perform_write write = {.offset = request->offset, .length_bytes = request->length_bytes};
    write.bytes = request->literal != NULL ? literal_bytes(request, tools->buffer)
                                           : content_bytes(perform, request, tools->buffer);
    if (file->direct && !compresses) {
        fill_block(file, &write);
    }
    if (!file->direct && tier_of(perform, file)->dontcache) {
        write.flags = RWF_DONTCACHE;
    }
    request->payload_ns = uv_hrtime() - begin_ns;
    request->compress_ns = request->compress_wall_ns = 0;
    if (compresses) {
        perform_codec_write(&perform->config, request, tools, &write);
    }
    return write;
}

/* The kernel took less than asked. A second try shows whether it had a reason, like a full drive;
 * if it then takes the rest, the short write was one that should not have happened. */
static void settle_short(struct perform *perform, struct io_request *request,
                         const struct perform_write *write, size_t taken) {
    request->done_bytes = taken < request->length_bytes ? taken : request->length_bytes;
    request->stored_bytes = write->compressed ? taken : request->done_bytes;
    if (write->compressed) {
        request->done_bytes = 0; /* a part of a frame holds nothing */
    }
    size_t from = request->file->direct ? taken / PAYLOAD_BLOCK * PAYLOAD_BLOCK : taken;
    ssize_t result = file_write(request->file->fd, (const uint8_t *)write->bytes + from,
                              write->length_bytes - from, write->offset + from, write->flags);
    request->short_write = result >= 0;
    request->error = result < 0 ? (int)-result : EIO;
    /* A file system that is all but full takes a part and, having freed something in the background,
     * the rest at the second try: it is full, and no drive is to blame. */
    uint64_t free_bytes, total_bytes;
    const struct folder *folder = tier_of(perform, request->file)->folder;
    if (request->short_write && folder_space(folder, &free_bytes, &total_bytes) == 0 &&
        (free_bytes < perform->config.chunk_bytes || free_bytes < total_bytes / FULL_PART)) {
        request->short_write = false;
        request->error = ENOSPC;
    }
}

void perform_settle_write(struct perform *perform, struct io_request *request,
                          const struct perform_write *write, ssize_t result) {
    struct perform_write used = *write;
    bool refused = result == -EOPNOTSUPP && used.flags != 0;
    if (refused) {
        tier_of(perform, request->file)->dontcache = false;
        used.flags = 0;
    }
    if (refused || result == -EAGAIN || result == -EINTR) {
        request->begin_ns = perform_now(perform);
        result =
            file_write(request->file->fd, used.bytes, used.length_bytes, used.offset, used.flags);
        request->end_ns = perform_now(perform);
    }
    request->error = 0;
    request->short_write = false;
    request->done_bytes = request->stored_bytes = 0;
    if (result < 0) {
        request->error = (int)-result;
    } else if ((size_t)result == used.length_bytes) {
        request->done_bytes = request->length_bytes;
        request->stored_bytes = used.compressed ? used.length_bytes : request->length_bytes;
    } else {
        settle_short(perform, request, &used, (size_t)result);
    }
    if (!request->file->direct && used.flags == 0 && perform->config.sync && request->error == 0) {
        /* Pages begin to leave at once, so that little is left for the sync at the end. A failure
         * here is one that the sync will report. */
        sync_file_range(request->file->fd, (off_t)used.offset, (off_t)used.length_bytes,
                        SYNC_FILE_RANGE_WRITE);
    }
    bool own_buffer =
        used.bytes != request->literal && used.bytes != request->memory && !used.compressed;
    if (perform->config.payload.kind == PAYLOAD_ZERO && own_buffer &&
        (request->literal != NULL || request->file->format != NULL)) {
        memset((void *)(uintptr_t)used.bytes, 0, request->length_bytes);
    }
}

static void write_once(struct perform *perform, struct io_request *request,
                       const struct perform_tools *tools) {
    struct perform_write write = perform_prepare_write(perform, request, tools);
    request->begin_ns = perform_now(perform);
    ssize_t result =
        file_write(request->file->fd, write.bytes, write.length_bytes, write.offset, write.flags);
    request->end_ns = perform_now(perform);
    perform_settle_write(perform, request, &write, result);
}

/* Through the page cache a large write goes piece by piece: each is still in the processor's cache
 * when the kernel copies it, and the drive gets the first ones while the last are made. Making them
 * does not count as writing: begin_ns is set so that the system calls alone fill the time. */
static void write_in_pieces(struct perform *perform, struct io_request *request,
                            const struct perform_tools *tools) {
    struct io_request piece = *request;
    uint64_t spent_ns = 0;
    request->done_bytes = request->sum = request->payload_ns = 0;
    do {
        uint64_t left = request->length_bytes - request->done_bytes;
        piece.offset = request->offset + request->done_bytes;
        piece.length_bytes = left < PIECE_BYTES ? left : PIECE_BYTES;
        write_once(perform, &piece, tools);
        spent_ns += piece.end_ns - piece.begin_ns;
        request->done_bytes += piece.done_bytes;
        request->sum += piece.sum;
        request->payload_ns += piece.payload_ns;
    } while (piece.error == 0 && request->done_bytes < request->length_bytes);
    request->stored_bytes = request->done_bytes;
    request->compress_ns = request->compress_wall_ns = 0;
    request->error = piece.error;
    request->short_write = piece.short_write;
    request->end_ns = piece.end_ns;
    request->begin_ns = piece.end_ns - spent_ns;
}

static void do_write(struct perform *perform, struct io_request *request,
                     const struct perform_tools *tools) {
    bool large = request->length_bytes > PIECE_BYTES;
    bool own = request->literal == NULL && request->memory == NULL &&
               !engine_compresses(&perform->config, request->file);
    if (large && own && !request->file->direct) {
        write_in_pieces(perform, request, tools);
    } else {
        write_once(perform, request, tools);
    }
}

/* Reading. */

static void *content_buffer(const struct io_request *request, const struct perform_tools *tools) {
    return request->memory != NULL ? request->memory : tools->buffer;
}

struct perform_read perform_prepare_read(const struct perform *perform, struct io_request *request,
                                         const struct perform_tools *tools) {
    request->sum = request->compress_ns = request->compress_wall_ns = 0;
    if (engine_compresses(&perform->config, request->file)) {
        return perform_codec_read(&perform->config, request, tools);
    }
    size_t length = request->length_bytes;
    return (struct perform_read){
        .bytes = content_buffer(request, tools),
        .offset = request->offset,
        .wanted_bytes = length,
        .length_bytes = request->file->direct ? whole_blocks(length) : length,
    };
}

/* A ring may return early: the rest then. */
static ssize_t read_rest(struct perform *perform, struct io_request *request,
                         const struct perform_read *read, size_t there) {
    size_t from = there / PAYLOAD_BLOCK * PAYLOAD_BLOCK;
    ssize_t more = file_read(request->file->fd, (uint8_t *)read->bytes + from,
                           read->length_bytes - from, read->offset + from);
    request->end_ns = perform_now(perform);
    return more < 0 ? more : (ssize_t)from + more;
}

void perform_settle_read(struct perform *perform, struct io_request *request,
                         const struct perform_read *read, const struct perform_tools *tools,
                         ssize_t result) {
    size_t wanted = read->wanted_bytes;
    if (result >= 0 && (size_t)result < wanted) {
        result = read_rest(perform, request, read, (size_t)result);
    }
    size_t there = result < 0 ? 0 : (size_t)result < wanted ? (size_t)result : wanted;
    int error = result < 0 ? (int)-result : there < wanted ? ENODATA : 0;
    void *content = content_buffer(request, tools);
    request->stored_bytes = there;
    if (read->compressed) {
        error = error == 0 ? perform_codec_unpack(request, read, tools, content) : error;
        there = error == 0 ? request->length_bytes : 0;
    }
    uint64_t begin_ns = uv_hrtime();
    size_t right = there;
    if (request->file->check && there > 0) {
        right = content_right(&perform->config, request, content, there);
    }
    if ((request->file->check || request->file->summed) && there > 0) {
        request->sum = payload_sum(request->offset, content, there);
    }
    request->done_bytes = right;
    request->error = right < there ? EBADMSG : error;
    if (perform->config.payload.kind == PAYLOAD_ZERO && content != request->memory) {
        memset(content, 0, whole_blocks(request->length_bytes));
    }
    request->payload_ns = uv_hrtime() - begin_ns;
}

static void do_read(struct perform *perform, struct io_request *request,
                    const struct perform_tools *tools) {
    struct perform_read read = perform_prepare_read(perform, request, tools);
    request->begin_ns = perform_now(perform);
    ssize_t result = read.error != 0 ? -read.error
                                     : file_read(request->file->fd, read.bytes, read.length_bytes,
                                               read.offset);
    request->end_ns = perform_now(perform);
    perform_settle_read(perform, request, &read, tools, result);
}

/* Syncing and closing. */

int perform_before_sync(struct io_file *file) {
    if (file->cut) {
        uint64_t length = file->table != NULL ? file->stored_bytes : file->size_bytes;
        if (ftruncate(file->fd, (off_t)length) != 0) {
            return errno;
        }
        file->cut = false;
    }
    return 0;
}

void perform_after_sync(struct io_file *file) {
    if (!file->direct) {
        /* Only advice: what stays cached is found by whoever reads cold later. */
        posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
    }
}

static int sync_file(struct io_file *file) {
    int error = perform_before_sync(file);
    if (error == 0 && fsync(file->fd) != 0) {
        error = errno;
    }
    return error;
}

/* What is dirty cannot be dropped; it is synced before, whoever left it so. */
static int cool_file(struct io_request *request) {
    const struct io_file *file = request->file;
    if (fsync(file->fd) != 0) {
        return errno;
    }
    posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
    int error = residency_bytes(file->fd, &request->done_bytes);
    if (error == EPERM) {
        request->done_bytes = UINT64_MAX;
        return 0;
    }
    return error;
}

static int close_file(struct io_file *file) {
    int error = perform_before_sync(file);
    if (close(file->fd) != 0 && error == 0) {
        error = errno;
    }
    file->fd = -1;
    perform_codec_close(file);
    return error;
}

static int do_other(struct perform *perform, struct io_request *request) {
    const struct folder *folder = perform->tiers[request->tier].folder;
    switch (request->op) {
    case IO_OPEN: return open_file(perform, request->file);
    case IO_SYNC: return sync_file(request->file);
    case IO_COLD: return cool_file(request);
    case IO_CLOSE: return close_file(request->file);
    case IO_REMOVE: return folder_remove(folder, request->path);
    case IO_RENAME: return folder_rename(folder, request->path, request->new_path);
    case IO_SYNC_DIR: return folder_sync_dir(folder, request->path);
    case IO_WRITE:
    case IO_READ:
    case IO_COPY:
    case IO_PAUSE:
    case IO_OP_COUNT: break;
    }
    return EINVAL;
}

void perform_request(struct perform *perform, struct io_request *request,
                     const struct perform_tools *tools) {
    if (request->op == IO_WRITE) {
        do_write(perform, request, tools);
        return;
    }
    if (request->op == IO_READ) {
        do_read(perform, request, tools);
        return;
    }
    request->begin_ns = perform_now(perform);
    if (request->op == IO_COPY) {
        do_copy(perform, request);
    } else {
        request->error = do_other(perform, request);
    }
    request->end_ns = perform_now(perform);
    if (request->op == IO_SYNC) {
        perform_after_sync(request->file);
    }
}

void perform_finish(struct io_request *request) {
    request->next = NULL;
    bool content = request->op == IO_WRITE || request->op == IO_READ || request->op == IO_COPY;
    bool given = request->op == IO_WRITE && (request->literal != NULL || request->memory != NULL);
    if (content && !given && request->error == 0) {
        request->file->sum += request->sum;
    }
    if (!content) {
        request->payload_ns = request->compress_ns = request->compress_wall_ns = request->stored_bytes = 0;
        request->done_bytes = request->op == IO_COLD ? request->done_bytes : 0;
    }
    request->short_write = request->short_write && request->op == IO_WRITE;
}
