/* Windows of compressed files. A worker knows where a window goes once it has made the one before:
 * the contract has the bytes of a rank made one after the other. The frame is made behind the content
 * in the same buffer. Two times are taken of it: the worker's own on a processor, which is what it
 * costs, and how long it took, waiting for a processor included, which is what it holds up. */
#include "io/perform_codec.h"

#include "base/check.h"
#include "io/compressed_file.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <uv.h>

/* The engine's table of a file that is read. */
struct read_table {
    struct arena arena;
    struct seek_table table;
};

uint64_t perform_buffer_bytes(const struct engine_config *config) {
    uint64_t content_bytes = config->memory_given ? 0 : config->chunk_bytes;
    bool compresses = config->codec.kind != CODEC_NONE;
    return content_bytes + (compresses ? codec_bound(config->chunk_bytes) : 0);
}

struct codec *perform_codec_new(const struct engine_config *config) {
    return config->codec.kind != CODEC_NONE ? codec_open(config->codec.level, config->chunk_bytes)
                                            : NULL;
}

uint64_t perform_codec_bytes(const struct engine_config *config) {
    return config->codec.kind != CODEC_NONE
               ? codec_memory_bytes(config->codec.level, config->chunk_bytes)
               : 0;
}

static uint64_t thread_cpu_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

struct stopwatch {
    uint64_t cpu_ns, wall_ns;
};

static struct stopwatch watch_start(void) {
    return (struct stopwatch){.cpu_ns = thread_cpu_ns(), .wall_ns = uv_hrtime()};
}

static void watch_stop(const struct stopwatch *watch, struct io_request *request) {
    request->compress_wall_ns = uv_hrtime() - watch->wall_ns;
    request->compress_ns = thread_cpu_ns() - watch->cpu_ns;
}

static void *stored_buffer(const struct engine_config *config, const struct perform_tools *tools) {
    return (uint8_t *)tools->buffer + (config->memory_given ? 0 : config->chunk_bytes);
}

/* Files. */

static int open_table(const struct engine_config *config, struct io_file *file, int fd) {
    struct read_table *own = mem_new(1, sizeof *own);
    struct error err; /* an errno is all that a request carries */
    int error = compressed_file_table(fd, file->size_bytes, config->chunk_bytes, &own->arena,
                                      &own->table, &err);
    if (error != 0) {
        arena_fini(&own->arena);
        mem_free(own);
        return error;
    }
    file->engine_data = own;
    file->table = &own->table;
    return 0;
}

int perform_codec_open(const struct engine_config *config, struct io_file *file, int fd) {
    if (file->mode == IO_READING) {
        return open_table(config, file, fd);
    }
    if (file->mode != IO_EXISTING) {
        CHECK(file->table != NULL);
        CHECK(file->table->limit >= codec_windows(file->size_bytes, config->chunk_bytes));
        seek_table_clear(file->table);
    }
    return 0;
}

void perform_codec_close(struct io_file *file) {
    struct read_table *own = file->mode == IO_READING ? file->engine_data : NULL;
    if (own != NULL) {
        arena_fini(&own->arena);
        mem_free(own);
        file->engine_data = NULL;
        file->table = NULL;
    }
}

/* Writing. */

static void make_window(const struct engine_config *config, struct io_request *request,
                        const struct perform_tools *tools, struct perform_write *write) {
    struct seek_table *table = request->file->table;
    void *stored = stored_buffer(config, tools);
    struct stopwatch watch = watch_start();
    size_t length = codec_compress(tools->codec, write->bytes, request->length_bytes, stored,
                                   codec_bound(config->chunk_bytes));
    watch_stop(&watch, request);
    if (config->payload.kind == PAYLOAD_ZERO && request->file->format != NULL &&
        request->memory == NULL) {
        memset(tools->buffer, 0, request->length_bytes);
    }
    write->bytes = stored;
    write->length_bytes = length;
    write->offset = table->points[table->count].stored_offset;
    write->compressed = true;
    seek_table_add(table, length, request->length_bytes);
}

void perform_codec_write(const struct engine_config *config, struct io_request *request,
                         const struct perform_tools *tools, struct perform_write *write) {
    struct io_file *file = request->file;
    if (request->literal == NULL) {
        make_window(config, request, tools, write);
    }
    uint64_t end = write->offset + write->length_bytes;
    file->stored_bytes = end > file->stored_bytes ? end : file->stored_bytes;
}

/* Reading. */

struct perform_read perform_codec_read(const struct engine_config *config,
                                       const struct io_request *request,
                                       const struct perform_tools *tools) {
    const struct seek_table *table = request->file->table;
    uint64_t window = request->length_bytes > 0 ? seek_table_find(table, request->offset) : 0;
    if (window >= table->count || table->points[window].raw_offset != request->offset ||
        seek_table_raw_bytes(table, window) != request->length_bytes) {
        return (struct perform_read){.compressed = true, .error = EBADMSG};
    }
    size_t length = seek_table_stored_bytes(table, window);
    return (struct perform_read){
        .bytes = stored_buffer(config, tools),
        .length_bytes = length,
        .wanted_bytes = length,
        .offset = table->points[window].stored_offset,
        .compressed = true,
    };
}

int perform_codec_unpack(struct io_request *request, const struct perform_read *read,
                         const struct perform_tools *tools, void *content) {
    struct error err;
    struct stopwatch watch = watch_start();
    enum status status = codec_decompress(tools->codec, read->bytes, read->length_bytes, content,
                                          request->length_bytes, &err);
    watch_stop(&watch, request);
    return status == OK ? 0 : EBADMSG;
}
