#ifndef CKPTSIM_TESTS_DRIVE_PLAY_H
#define CKPTSIM_TESTS_DRIVE_PLAY_H

/* A small simulated drive and ranks that write and read files on it through the engine contract, whose rules
 * are checked at every completion, and with them what the drive says of itself. Nothing of the job
 * is in it. */

#include "base/prng.h"
#include "sim/drive/drive_engine.h"
#include "tests/unit/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAY_DEPTH = 8, PLAY_PATH = 48, PLAY_BLOCK = 4096 };
#define PLAY_MB UINT64_C(1000000)
#define PLAY_GB UINT64_C(1000000000)
#define PLAY_MIB (UINT64_C(1) << 20)

/* What a rank does with one file. */
struct play_file {
    char path[PLAY_PATH];
    uint64_t bytes;
    enum io_mode mode;
    bool sync;
};

enum play_state { PLAY_OPENING, PLAY_WRITING, PLAY_SYNCING, PLAY_CLOSING, PLAY_DONE };

struct play_request {
    struct io_request io;
    uint64_t sequence; /* of this rank's submissions */
    bool under_way;
};

struct play_rank {
    const struct play_file *files;
    size_t count, index;
    enum play_state state;
    uint64_t offset, under_way, sequence;
    struct io_file file;
    struct play_request requests[PLAY_DEPTH];
    uint64_t last_sequence[IO_OP_COUNT]; /* of the latest submitted request that came back ... */
    uint64_t last_begin_ns[IO_OP_COUNT]; /* ... of each kind: kinds may overtake each other */
    uint64_t end_ns;                       /* of the last completion */
    int error;                             /* the first */
};

struct play {
    struct drive_engine_config config;
    struct engine *engine;
    struct play_rank *ranks;
    uint64_t chunk_bytes, depth, under_way;
    uint64_t submitted_bytes, completed_bytes, failed_bytes, dropped_bytes, in_flight_bytes;
    uint64_t read_bytes, copied_bytes;
    uint64_t events, log; /* completions, and a hash of all that was in them */
    struct error err;
};

/* One GB/s everywhere, a host without limits. Tables live as long as the program. */
static inline struct drive_engine_config play_config(uint64_t capacity_bytes, uint32_t ranks) {
    static uint64_t mixed[8192];
    for (size_t i = 0; i < COUNT_OF(mixed); i++) {
        mixed[i] = PLAY_GB;
    }
    uint64_t superblock = capacity_bytes / 64 / PLAY_BLOCK * PLAY_BLOCK;
    return (struct drive_engine_config){
        .capacity_bytes = capacity_bytes,
        .ftl = {.logical_bytes = capacity_bytes,
                .raw_bytes = capacity_bytes + 16 * superblock,
                .superblock_bytes = superblock,
                .unit_bytes = PLAY_BLOCK,
                .gc_low = 2,
                .handles = 1,
                .streams = ranks,
                .memory_limit_bytes = UINT64_C(1) << 30,
                .seed = 1},
        .rates = {.link_bytes_per_s = 10 * PLAY_GB,
                  .controller_bytes_per_s = PLAY_GB,
                  .program_bytes_per_s = PLAY_GB,
                  .mixed_program_bytes_per_s = mixed,
                  .read_bytes_per_s = PLAY_GB,
                  .nand_read_bytes_per_s = 8 * PLAY_GB,
                  .idle_mw = 5000,
                  .active_mw = 15000},
        .host = {.rank_new_bytes_per_s = UINT64_MAX,
                 .rank_reused_bytes_per_s = UINT64_MAX,
                 .total_bytes_per_s = UINT64_MAX,
                 .rank_read_bytes_per_s = UINT64_MAX,
                 .total_read_bytes_per_s = UINT64_MAX,
                 .rank_copy_bytes_per_s = UINT64_MAX,
                 .total_copy_bytes_per_s = UINT64_MAX,
                 .dirty_limit_bytes = 0,
                 .write_back_bytes = 4 * PLAY_MIB},
        .placement = PLACEMENT_EXT4,
        .ranks = ranks,
        .seed = 1,
    };
}

static inline void play_open(struct play *play, const struct drive_engine_config *config) {
    *play = (struct play){.config = *config, .chunk_bytes = 4 * PLAY_MIB, .depth = 2};
    if (drive_engine_open(config, &play->engine, &play->err) != OK) {
        fail_msg("%s", play->err.text);
    }
    play->ranks = calloc(config->ranks, sizeof *play->ranks);
    for (uint32_t i = 0; i < config->ranks; i++) {
        play->ranks[i].state = PLAY_DONE;
    }
}

static inline void play_close(struct play *play) {
    engine_close(play->engine);
    free(play->ranks);
}

static inline uint64_t play_blocks(uint64_t bytes) {
    return (bytes + PLAY_BLOCK - 1) / PLAY_BLOCK * PLAY_BLOCK;
}

static inline struct drive_stats play_stats(struct play *play) {
    struct drive_stats stats;
    drive_engine_stats(play->engine, &stats);
    return stats;
}

static inline uint64_t play_free(struct play *play) {
    uint64_t free_bytes, total_bytes;
    assert_int_equal(play->engine->ops->space(play->engine, &free_bytes, &total_bytes), 0);
    assert_true(total_bytes == play->config.capacity_bytes);
    assert_true(free_bytes <= total_bytes);
    return free_bytes;
}

/* What was submitted has completed, failed or is in flight; the drive has taken all that completed
 * past the page cache and nothing that was not sent. */
static inline void play_audit(struct play *play) {
    struct drive_stats stats = play_stats(play);
    uint64_t unit = play->config.ftl.unit_bytes;
    assert_true(play->submitted_bytes ==
                play->completed_bytes + play->failed_bytes + play->in_flight_bytes);
    assert_true(stats.host_bytes <= play->submitted_bytes);
    if (!play->config.buffered) {
        assert_true(stats.host_bytes + play->in_flight_bytes >=
                    play->submitted_bytes - play->failed_bytes);
    }
    assert_true(stats.read_bytes >= play->read_bytes);
    assert_true(stats.copy_bytes >= play->copied_bytes);
    assert_true(stats.now_ns == engine_now(play->engine));
    assert_true(stats.gc_bytes == stats.ftl.gc_units * unit);
    assert_true(stats.ftl.mapped_units * unit <= play->config.ftl.raw_bytes);
    assert_true(stats.ftl.free_superblocks >= play->config.ftl.gc_low || stats.ftl.gc_units == 0);
}

static inline void play_submit(struct play *play, uint32_t rank, struct io_request request) {
    struct play_rank *writer = &play->ranks[rank];
    struct play_request *slot = writer->requests;
    while (slot->under_way) {
        slot++;
    }
    assert_true(slot < writer->requests + PLAY_DEPTH);
    slot->io = request;
    slot->io.rank = rank;
    slot->io.error = -1; /* what the engine sets must be set by it */
    slot->io.short_write = true;
    slot->io.done_bytes = slot->io.end_ns = UINT64_MAX;
    slot->io.begin_ns = UINT64_MAX;
    slot->sequence = ++writer->sequence;
    slot->under_way = true;
    writer->under_way++;
    play->under_way++;
    if (request.op == IO_WRITE) {
        play->submitted_bytes += request.length_bytes;
        play->in_flight_bytes += request.length_bytes;
    }
    engine_submit(play->engine, &slot->io);
}

static inline void play_note(struct play *play, uint64_t value) {
    play->log = prng_mix(play->log ^ value);
}

static inline void play_check(struct play *play, struct play_request *request) {
    struct io_request *io = &request->io;
    struct play_rank *rank = &play->ranks[io->rank];
    assert_true(request->under_way); /* exactly once */
    request->under_way = false;
    rank->under_way--;
    play->under_way--;
    assert_false(io->short_write);
    assert_true(io->error >= 0);
    assert_true(io->begin_ns <= io->end_ns);
    assert_true(io->end_ns <= engine_now(play->engine));
    if (request->sequence > rank->last_sequence[io->op]) {
        assert_true(io->begin_ns >= rank->last_begin_ns[io->op]);
        rank->last_sequence[io->op] = request->sequence;
        rank->last_begin_ns[io->op] = io->begin_ns;
    } else {
        assert_true(io->begin_ns <= rank->last_begin_ns[io->op]);
    }
    if (io->op == IO_WRITE) {
        assert_true(io->done_bytes == (io->error == 0 ? io->length_bytes : 0));
        play->in_flight_bytes -= io->length_bytes;
        *(io->error == 0 ? &play->completed_bytes : &play->failed_bytes) += io->length_bytes;
    } else if (io->op == IO_READ || io->op == IO_COPY) {
        assert_true(io->done_bytes <= io->length_bytes);
        assert_true((io->error == 0) == (io->done_bytes == io->length_bytes));
        *(io->op == IO_READ ? &play->read_bytes : &play->copied_bytes) += io->done_bytes;
        play_note(play, io->done_bytes);
    } else if (io->op == IO_COLD) {
        assert_int_equal(io->done_bytes, 0);
    }
    play->events++;
    play_note(play, io->op);
    play_note(play, io->rank);
    play_note(play, (uint64_t)io->error);
    play_note(play, io->offset);
    play_note(play, io->begin_ns);
    play_note(play, io->end_ns);
    play_audit(play);
}

/* The next completion, checked. */
static inline struct play_request *play_take(struct play *play) {
    assert_true(play->under_way > 0);
    struct io_request *io = engine_wait(play->engine, 1);
    assert_non_null(io); /* virtual time does not let anyone wait for nothing */
    struct play_request *request = (struct play_request *)io;
    play_check(play, request);
    return request;
}

/* One request that stands alone; its errno. */
static inline int play_one(struct play *play, uint32_t rank, struct io_request request) {
    assert_int_equal(play->ranks[rank].under_way, 0);
    play_submit(play, rank, request);
    struct play_request *back;
    do {
        back = play_take(play);
    } while (back->io.rank != rank);
    return back->io.error;
}

static inline int play_remove(struct play *play, uint32_t rank, const char *path) {
    return play_one(play, rank, (struct io_request){.op = IO_REMOVE, .path = path});
}

static inline int play_rename(struct play *play, uint32_t rank, const char *path,
                              const char *new_path) {
    return play_one(play, rank,
                    (struct io_request){.op = IO_RENAME, .path = path, .new_path = new_path});
}

static inline void play_pause(struct play *play, uint64_t ns) {
    uint64_t before = engine_now(play->engine);
    assert_int_equal(play_one(play, 0, (struct io_request){.op = IO_PAUSE, .pause_ns = ns}), 0);
    assert_true(engine_now(play->engine) == before + ns);
}

static inline void play_open_next(struct play *play, uint32_t rank) {
    struct play_rank *writer = &play->ranks[rank];
    if (writer->index == writer->count) {
        writer->state = PLAY_DONE;
        return;
    }
    const struct play_file *file = &writer->files[writer->index];
    writer->file =
        (struct io_file){.path = file->path, .size_bytes = file->bytes, .mode = file->mode};
    writer->offset = 0;
    writer->state = PLAY_OPENING;
    play_submit(play, rank, (struct io_request){.op = IO_OPEN, .file = &writer->file});
}

static inline void play_end_file(struct play *play, uint32_t rank) {
    struct play_rank *writer = &play->ranks[rank];
    bool sync =
        writer->files[writer->index].sync && writer->error == 0 && writer->state != PLAY_SYNCING;
    writer->state = sync ? PLAY_SYNCING : PLAY_CLOSING;
    play_submit(play, rank,
                (struct io_request){.op = sync ? IO_SYNC : IO_CLOSE, .file = &writer->file});
}

static inline void play_write_on(struct play *play, uint32_t rank) {
    struct play_rank *writer = &play->ranks[rank];
    uint64_t size = writer->files[writer->index].bytes;
    writer->state = PLAY_WRITING;
    while (writer->under_way < play->depth && writer->offset < size && writer->error == 0) {
        uint64_t left = size - writer->offset;
        uint64_t length = left < play->chunk_bytes ? left : play->chunk_bytes;
        bool reading = writer->file.mode == IO_READING;
        struct io_request request = {.op = reading ? IO_READ : IO_WRITE,
                                     .file = &writer->file,
                                     .offset = writer->offset,
                                     .length_bytes = length};
        writer->offset += length;
        play_submit(play, rank, request);
    }
    if (writer->under_way == 0) {
        play_end_file(play, rank);
    }
}

/* A rank begins with its files; play_run carries it on. */
static inline void play_start(struct play *play, uint32_t rank, const struct play_file *files,
                              size_t count) {
    struct play_rank *writer = &play->ranks[rank];
    assert_int_equal(writer->state, PLAY_DONE);
    writer->files = files;
    writer->count = count;
    writer->index = 0;
    writer->error = 0;
    play_open_next(play, rank);
}

static inline void play_go_on(struct play *play, struct play_request *request) {
    struct play_rank *writer = &play->ranks[request->io.rank];
    writer->end_ns = request->io.end_ns;
    if (request->io.error != 0 && writer->error == 0) {
        writer->error = request->io.error;
    }
    switch (writer->state) {
    case PLAY_OPENING:
        if (writer->error != 0) {
            writer->state = PLAY_DONE;
            return;
        }
        play_write_on(play, request->io.rank);
        return;
    case PLAY_WRITING: play_write_on(play, request->io.rank); return;
    case PLAY_SYNCING: play_end_file(play, request->io.rank); return;
    case PLAY_CLOSING:
        writer->index = writer->error != 0 ? writer->count : writer->index + 1;
        play_open_next(play, request->io.rank);
        return;
    case PLAY_DONE: fail_msg("a completion for a rank that is done");
    }
}

/* Until all ranks are done. */
static inline void play_run(struct play *play) {
    while (play->under_way > 0) {
        play_go_on(play, play_take(play));
    }
    assert_null(engine_wait(play->engine, 1)); /* nothing comes back twice */
}

/* One rank, one file. */
static inline int play_write(struct play *play, uint32_t rank, const char *path, uint64_t bytes,
                             enum io_mode mode, bool sync) {
    struct play_file file = {.bytes = bytes, .mode = mode, .sync = sync};
    snprintf(file.path, sizeof file.path, "%s", path);
    play_start(play, rank, &file, 1);
    play_run(play);
    return play->ranks[rank].error;
}

/* Seconds that pass meanwhile in virtual time. */
static inline double play_seconds(struct play *play, uint64_t since_ns) {
    return (double)(engine_now(play->engine) - since_ns) / 1e9;
}

static inline void play_near(double value, double expected, double part) {
    double difference = value > expected ? value - expected : expected - value;
    if (difference > part * expected) {
        fail_msg("%.9f instead of %.9f", value, expected);
    }
}

#endif
