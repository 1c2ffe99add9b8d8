#ifndef CKPTSIM_TESTS_CONTRACT_ENGINE_PLAY_H
#define CKPTSIM_TESTS_CONTRACT_ENGINE_PLAY_H

/* What tests of engines share: a folder of their own, and a small job that writes files through the
 * contract while checking its rules at every completion. */

#include "base/check.h"
#include "io/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    PLAY_RANKS = 3,
    PLAY_DEPTH = 2,
    PLAY_FILES = 8,
    PLAY_CHUNK = 64 * 1024,
    PLAY_LARGE_CHUNK = 3 * 1024 * 1024
};
#define PLAY_TIMEOUT_NS UINT64_C(20000000000)
#define MS UINT64_C(1000000)

struct play {
    struct arena arena;
    char dir[256];
    struct folder folder;
    struct engine *engine;
    struct engine_config config;
    uint64_t last_begin_ns[PLAY_RANKS]; /* rule 2: begins in the order of submission */
    uint32_t under_way;
};

static inline struct engine_config play_config(const struct folder *folder) {
    return (struct engine_config){
        .ranks = PLAY_RANKS,
        .chunk_bytes = PLAY_CHUNK,
        .queue_depth = PLAY_DEPTH,
        .preallocate = true,
        .sync = true,
        .payload = {.seed = 7, .compressible = 1, .dedupe = 1},
        .folder = folder,
        .seed = 11,
    };
}

/* Makes a folder below `where`; false where that place cannot be used. */
static inline bool play_make_folder(struct play *play, const char *where) {
    snprintf(play->dir, sizeof play->dir, "%s/ckptsim-test-XXXXXX", where);
    if (mkdtemp(play->dir) == NULL) {
        return false;
    }
    struct error err;
    if (folder_create(play->dir, "test", &play->arena, &play->folder, &err) != OK) {
        fail_msg("%s", err.text);
    }
    play->config = play_config(&play->folder);
    return true;
}

static inline void play_remove_folder(struct play *play) {
    char command[300];
    folder_close(&play->folder);
    snprintf(command, sizeof command, "rm -rf '%s'", play->dir);
    assert_int_equal(system(command), 0);
    arena_fini(&play->arena);
}

static inline void play_open_engine(struct play *play, const char *name) {
    struct error err;
    if (engine_open(name, &play->config, &play->engine, &err) != OK) {
        fail_msg("engine %s: %s", name, err.text);
    }
    memset(play->last_begin_ns, 0, sizeof play->last_begin_ns);
}

static inline void play_submit(struct play *play, struct io_request *request) {
    /* What the engine sets must be set by it: no remains of the request's last use. */
    request->error = -1;
    request->done_bytes = request->stored_bytes = request->compress_ns = UINT64_MAX;
    request->compress_wall_ns = UINT64_MAX;
    request->short_write = true;
    request->begin_ns = UINT64_MAX;
    request->end_ns = 0;
    play->under_way++;
    engine_submit(play->engine, request);
}

/* What went to the drive, and who compressed it. */
static inline void play_check_stored(const struct play *play, const struct io_request *request) {
    bool compresses = request->op != IO_COPY && request->literal == NULL &&
                      engine_compresses(&play->config, request->file);
    if (request->error == 0 && !compresses) {
        assert_int_equal(request->stored_bytes, request->op == IO_COPY ? 0 : request->done_bytes);
        assert_true(request->compress_ns == 0 && request->compress_wall_ns == 0);
    } else if (request->error == 0) {
        assert_true(request->stored_bytes >= CODEC_BLOCK);
        assert_true(request->stored_bytes <= codec_bound(request->length_bytes));
        assert_true(request->compress_ns > 0 && request->compress_ns < PLAY_TIMEOUT_NS);
        assert_true(request->compress_wall_ns > 0 && request->compress_wall_ns < PLAY_TIMEOUT_NS);
    }
}

static inline struct io_request *play_wait(struct play *play) {
    struct io_request *request = engine_wait(play->engine, PLAY_TIMEOUT_NS);
    assert_non_null(request);
    assert_true(play->under_way > 0);
    play->under_way--;
    assert_true(request->error >= 0);
    assert_true(request->begin_ns <= request->end_ns);
    assert_true(request->end_ns <= engine_now(play->engine));
    assert_true(!request->short_write || (request->op == IO_WRITE && request->error == EIO));
    if (request->op == IO_WRITE || request->op == IO_READ || request->op == IO_COPY) {
        assert_true(request->done_bytes <= request->length_bytes);
        assert_true(request->error != 0 || request->done_bytes == request->length_bytes);
        play_check_stored(play, request);
    } else {
        assert_true(request->done_bytes == 0 || request->op == IO_COLD);
        assert_true(play->last_begin_ns[request->rank] <= request->begin_ns);
        play->last_begin_ns[request->rank] = request->begin_ns;
    }
    return request;
}

/* One request alone; returns its errno. */
static inline int play_run(struct play *play, struct io_request request) {
    play_submit(play, &request);
    assert_ptr_equal(play_wait(play), &request);
    assert_int_equal(play->under_way, 0);
    return request.error;
}

static inline int play_file_op(struct play *play, enum io_op op, struct io_file *file) {
    return play_run(play, (struct io_request){.op = op, .file = file});
}

static inline int play_path_op(struct play *play, enum io_op op, const char *path,
                               const char *new_path) {
    return play_run(play, (struct io_request){.op = op, .path = path, .new_path = new_path});
}

/* Performs one operation on the files of all ranks at once; returns the first errno. */
static inline int play_all(struct play *play, enum io_op op, struct io_file *files) {
    struct io_request requests[PLAY_RANKS];
    int error = 0;
    for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
        requests[rank] = (struct io_request){.op = op, .rank = rank, .file = &files[rank]};
        play_submit(play, &requests[rank]);
    }
    for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
        struct io_request *request = play_wait(play);
        error = error != 0 ? error : request->error;
    }
    return error;
}

struct play_writer {
    enum io_op op; /* IO_WRITE or IO_READ */
    struct io_file *file;
    uint64_t next_offset, begun_ns;
    struct io_request slots[PLAY_DEPTH];
};

static inline bool play_next_write(struct play *play, struct play_writer *writer, uint32_t rank,
                                   struct io_request *slot) {
    uint64_t left = writer->file->size_bytes - writer->next_offset;
    if (left == 0) {
        return false;
    }
    *slot = (struct io_request){.op = writer->op, .rank = rank, .file = writer->file};
    slot->offset = writer->next_offset;
    slot->length_bytes = left < play->config.chunk_bytes ? left : play->config.chunk_bytes;
    writer->next_offset += slot->length_bytes;
    play_submit(play, slot);
    return true;
}

/* Writes or reads the open files of all ranks, each with its queue depth; returns the first errno. A
 * rank stops at its first failure. */
static inline int play_move_all(struct play *play, enum io_op op, struct io_file *files) {
    struct play_writer writers[PLAY_RANKS] = {0};
    int error = 0;
    for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
        writers[rank].op = op;
        writers[rank].file = &files[rank];
        for (int i = 0; i < PLAY_DEPTH; i++) {
            play_next_write(play, &writers[rank], rank, &writers[rank].slots[i]);
        }
    }
    while (play->under_way > 0) {
        struct io_request *request = play_wait(play);
        error = error != 0 ? error : request->error;
        struct play_writer *writer = &writers[request->rank];
        assert_true(request >= writer->slots && request < writer->slots + PLAY_DEPTH);
        if (request->error == 0) {
            play_next_write(play, writer, request->rank, request);
        }
    }
    return error;
}

/* Opens, writes, syncs and closes the files of all ranks; returns the first errno. */
static inline int play_checkpoint(struct play *play, struct io_file *files) {
    int error = play_all(play, IO_OPEN, files);
    if (error != 0) {
        return error;
    }
    error = play_move_all(play, IO_WRITE, files);
    if (error == 0 && play->config.sync) {
        error = play_all(play, IO_SYNC, files);
    }
    int close_error = play_all(play, IO_CLOSE, files);
    return error != 0 ? error : close_error;
}

static inline uint64_t play_file_size(const struct play *play, const char *path) {
    struct stat info;
    int fd = folder_open_file(&play->folder, path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &info), 0);
    close(fd);
    return (uint64_t)info.st_size;
}

/* The file on the drive holds exactly the payload of its stream, and its sum is the one reported.
 */
static inline void play_check_file(const struct play *play, const struct io_file *file) {
    assert_int_equal(play_file_size(play, file->path), file->size_bytes);
    uint8_t *bytes = malloc(file->size_bytes + 1);
    int fd = folder_open_file(&play->folder, file->path, O_RDONLY);
    assert_int_equal(pread(fd, bytes, file->size_bytes + 1, 0), file->size_bytes);
    close(fd);
    assert_int_equal(
        payload_compare(&play->config.payload, file->stream, 0, bytes, file->size_bytes),
        file->size_bytes);
    assert_int_equal(payload_sum(0, bytes, file->size_bytes), file->sum);
    free(bytes);
}

#endif
