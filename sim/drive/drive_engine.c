/* Events in virtual time. The earliest comes next; equal times go in this order: a transfer from a
 * rank ends (writes), the drive has finished a piece (server), a read comes back, a copy ends, a pause
 * ends; and completions that are ready are handed out before anything else happens. Beside reads the
 * clock of writing, on which the drive finishes its pieces, is the slower one (station_share.h). */
#include "sim/drive/drive_engine.h"

#include "base/check.h"
#include "base/units.h"
#include "sim/drive/drive_media.h"
#include "sim/drive/drive_reads.h"
#include "sim/drive/rank_transfers.h"
#include "sim/drive/write_back.h"

#include <errno.h>
#include <string.h>

enum { PIECE_STEP = 4096, LEAST_PIECE = 4 << 20 };

struct drive_engine {
    struct engine base;
    struct drive_engine_config config;
    struct drive_files files;
    struct drive_media media;
    struct rank_transfers writes; /* that have not arrived yet */
    struct write_back back;
    struct drive_reads reads;
    struct rank_transfers copies;
    struct io_request *done_first, *done_last; /* completions to hand out */
    struct io_request *pause;                  /* under way; one at a time */
    uint64_t pause_end_ns;
    uint64_t now_ns;
    uint64_t submitted; /* requests the engine holds */
    uint64_t piece_end_ns; /* of the piece that is served, on the clock of writing */
    uint64_t piece_rate;   /* of the same, bytes/s on that clock */
    uint64_t writing_speed; /* of that clock now, in parts of STATION_WHOLE */
    uint64_t largest_piece;
    uint64_t mean_rate; /* bytes/s that the drive took of late, as write-back estimates it */
    uint64_t host_busy_ns; /* while ranks ran at their own rates */
    uint64_t copy_bytes;
};

static struct drive_engine *self(struct engine *engine) {
    return (struct drive_engine *)engine;
}

/* Its error and done_bytes are set. */
static void hand_out(struct drive_engine *drive, struct io_request *request) {
    request->stored_bytes = request->op == IO_COPY ? 0 : request->done_bytes;
    request->end_ns = drive->now_ns;
    request->next = NULL;
    if (drive->done_last != NULL) {
        drive->done_last->next = request;
    } else {
        drive->done_first = request;
    }
    drive->done_last = request;
}

static void complete(struct drive_engine *drive, struct io_request *request, int error) {
    request->error = error;
    request->done_bytes = error == 0 ? request->length_bytes : 0;
    hand_out(drive, request);
}

/* Empty segments at the front of a rank complete what waits for them. */
static void settle_front(struct drive_engine *drive, uint32_t rank) {
    struct io_request *request;
    while ((request = write_back_settle(&drive->back, rank)) != NULL) {
        complete(drive, request, 0);
    }
}

/* Ranks flow at their own rates; where the page cache is full, together at the drive's. */
static void share_rates(struct drive_engine *drive) {
    struct station_use use =
        drive_media_use(&drive->media, drive->back.serving, drive->now_ns);
    drive->writing_speed = drive_reads_share(&drive->reads, &use);
    uint64_t limit = drive->config.host.total_bytes_per_s;
    if (drive->config.buffered && drive->back.serving &&
        drive->back.waiting_bytes >= drive->config.host.dirty_limit_bytes) {
        uint64_t rate = station_done_ns(drive->piece_rate, drive->writing_speed);
        limit = rate < limit ? rate : limit;
    }
    flow_share(&drive->writes.flows, limit);
    flow_share(&drive->copies.flows, drive->config.host.total_copy_bytes_per_s);
}

/* In the page cache bytes know of no write: those behind the last ones of the same file join them, up
 * to what the largest write brings at once, so that small writes cost no memory each. A sync's mark
 * belongs to no file. */
static void arrive(struct drive_engine *drive, struct io_request *request) {
    struct drive_file *file = request->file->engine_data;
    uint64_t bytes = request->length_bytes;
    bool buffered = drive->config.buffered;
    if (!buffered || !write_back_join(&drive->back, request->rank, file, bytes)) {
        write_back_add(&drive->back, request->rank, file, bytes, buffered ? NULL : request);
    }
    if (buffered) {
        complete(drive, request, 0);
    }
}

/* Linux writes back one file for half a second of the device's own bandwidth in a row, as estimated of
 * late (fs/fs-writeback.c, writeback_chunk_size); at least 4 MiB. */
static uint64_t piece_limit(const struct drive_engine *drive) {
    uint64_t limit = drive->largest_piece;
    if (limit == 0 && drive->config.buffered) {
        limit = drive->mean_rate / 2 / PIECE_STEP * PIECE_STEP;
    }
    return limit > LEAST_PIECE ? limit : LEAST_PIECE;
}

static void fail_all(struct drive_engine *drive, struct io_request *first) {
    struct io_request *next;
    for (struct io_request *request = first; request != NULL; request = next) {
        next = request->next;
        complete(drive, request, ENOMEM);
    }
}

/* The simulation cannot go on, media.error says why: writes and syncs under way come back as failed. */
static void fail_everything(struct drive_engine *drive) {
    for (uint32_t i = 0; i < drive->config.ranks; i++) {
        struct io_request *writes = rank_transfers_drop(&drive->writes, i);
        for (struct io_request *write = writes; write != NULL; write = write->next) {
            write->begin_ns = drive->now_ns; /* most of them did not begin */
        }
        fail_all(drive, writes);
        fail_all(drive, write_back_drop_rank(&drive->back, i));
    }
}

/* The clock of writing. */
static uint64_t writing_now(const struct drive_engine *drive) {
    return drive->now_ns - drive->media.given_way_ns;
}

/* Starts the next piece if the drive is idle and something has arrived. */
static void serve(struct drive_engine *drive) {
    struct write_back *back = &drive->back;
    uint32_t rank = 0;
    struct segment *segment = NULL;
    while (!back->serving && segment == NULL && back->ready_count > 0) {
        rank = write_back_take(back);
        settle_front(drive, rank); /* a file cut in the page cache leaves nothing */
        segment = back->ranks[rank].first;
    }
    if (segment == NULL) {
        return;
    }
    uint64_t limit = piece_limit(drive);
    uint64_t bytes = segment->bytes < limit ? segment->bytes : limit;
    uint64_t ns;
    if (!drive_media_take(&drive->media, segment->file, rank, back->ready_count + 1, bytes,
                          drive->now_ns, &ns)) {
        fail_everything(drive);
        return;
    }
    write_back_serve(back, rank, bytes);
    drive->piece_end_ns = writing_now(drive) + ns;
    drive->piece_rate = ns > 0 ? (uint64_t)((unsigned __int128)bytes * NS_PER_SECOND / ns)
                               : drive->config.rates.link_bytes_per_s;
    drive->mean_rate = drive->mean_rate / 8 * 7 + drive->piece_rate / 8;
}

static void piece_ended(struct drive_engine *drive) {
    uint32_t rank = drive->back.serving_rank;
    write_back_served(&drive->back);
    settle_front(drive, rank);
    write_back_make_ready(&drive->back, rank);
}

/* Time until writing needs the stations otherwise: a piece ends, or the NAND has caught up. */
static uint64_t writing_next_ns(const struct drive_engine *drive) {
    if (drive->back.serving) {
        return station_slowed_ns(drive->piece_end_ns - writing_now(drive), drive->writing_speed);
    }
    uint64_t behind_ns = drive_media_backlog_ns(&drive->media, drive->now_ns);
    bool matters = behind_ns > 0 && flow_count(&drive->reads.transfers.flows) > 0;
    return matters ? station_slowed_ns(behind_ns, drive->writing_speed) : UINT64_MAX;
}

static uint64_t next_ns(const struct drive_engine *drive) {
    const uint64_t times[] = {
        flow_next_ns(&drive->writes.flows),
        writing_next_ns(drive),
        drive_reads_next_ns(&drive->reads, drive->now_ns),
        flow_next_ns(&drive->copies.flows),
        drive->pause != NULL ? drive->pause_end_ns - drive->now_ns : UINT64_MAX,
    };
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < COUNT_OF(times); i++) {
        next = times[i] < next ? times[i] : next;
    }
    return next;
}

static void pass_time(struct drive_engine *drive, uint64_t ns) {
    const struct flow_set *writes = &drive->writes.flows;
    bool host_sets_pace =
        flow_count(writes) > 0 && flow_total_rate(writes) >= flow_wanted_rate(writes);
    drive->host_busy_ns += host_sets_pace ? ns : 0;
    flow_advance(&drive->writes.flows, ns);
    drive_reads_advance(&drive->reads, ns);
    flow_advance(&drive->copies.flows, ns);
    drive->media.given_way_ns += ns - station_done_ns(ns, drive->writing_speed);
    drive->now_ns += ns;
}

static void end_writing(struct drive_engine *drive) {
    struct io_request *write;
    while ((write = rank_transfers_take_ended(&drive->writes, drive->now_ns)) != NULL) {
        if (write->error == 0) {
            arrive(drive, write);
        } else {
            complete(drive, write, write->error);
        }
    }
    if (drive->back.serving && drive->piece_end_ns <= writing_now(drive)) {
        piece_ended(drive);
    }
}

static void end_others(struct drive_engine *drive) {
    struct io_request *request;
    while ((request = drive_reads_take_done(&drive->reads, drive->now_ns)) != NULL) {
        hand_out(drive, request);
    }
    while ((request = rank_transfers_take_ended(&drive->copies, drive->now_ns)) != NULL) {
        drive->copy_bytes += request->done_bytes;
        hand_out(drive, request);
    }
    if (drive->pause != NULL && drive->pause_end_ns <= drive->now_ns) {
        request = drive->pause;
        drive->pause = NULL;
        complete(drive, request, 0);
    }
}

uint64_t drive_engine_next_ns(struct engine *engine) {
    struct drive_engine *drive = self(engine);
    serve(drive);
    if (drive->done_first != NULL) {
        return 0;
    }
    share_rates(drive);
    return next_ns(drive);
}

void drive_engine_pass(struct engine *engine, uint64_t ns) {
    struct drive_engine *drive = self(engine);
    pass_time(drive, ns);
    end_writing(drive);
    end_others(drive);
}

/* Moves time on to the next event. False where nothing will ever happen. */
static bool step(struct drive_engine *drive) {
    uint64_t ns = drive_engine_next_ns(&drive->base);
    if (ns == UINT64_MAX) {
        return false;
    }
    if (drive->done_first == NULL) {
        drive_engine_pass(&drive->base, ns);
    }
    return true;
}

/* What is left of an old file in the page cache goes unwritten; what is in service stays. */
static void drop_dirty(struct drive_engine *drive, struct drive_file *file) {
    if (file->size_bytes <= file->cursor_bytes) {
        return; /* all of it was taken */
    }
    write_back_drop_file(&drive->back, file, drive->config.ranks);
}

static void empty_file(struct drive_engine *drive, struct drive_file *file) {
    drop_dirty(drive, file);
    drive_media_empty(&drive->media, file, drive->now_ns);
}

static int open_file(struct drive_engine *drive, struct io_request *request) {
    struct io_file *io = request->file;
    bool as_it_is = io->mode == IO_EXISTING || io->mode == IO_READING;
    struct drive_file *file = drive_files_find(&drive->files, io->path, !as_it_is);
    if (file == NULL || (as_it_is && !file->exists)) {
        return ENOENT;
    }
    if (!as_it_is) {
        file->reused = file->exists && file->size_bytes > 0;
        if (io->mode == IO_TRUNCATE && file->exists) {
            empty_file(drive, file);
        } else {
            drop_dirty(drive, file); /* its pages are about to be written again */
        }
        file->exists = true;
        file->cursor_bytes = file->cursor_offset = 0;
        file->cursor_extent = 0;
        file->last_unit = UINT64_MAX;
    }
    io->engine_data = file;
    return 0;
}

static int remove_file(struct drive_engine *drive, struct io_request *request) {
    struct drive_file *file = drive_files_find(&drive->files, request->path, false);
    if (file == NULL || !file->exists) {
        return ENOENT;
    }
    empty_file(drive, file);
    file->exists = false;
    return 0;
}

static int rename_file(struct drive_engine *drive, struct io_request *request) {
    struct drive_file *file = drive_files_find(&drive->files, request->path, false);
    if (file == NULL || !file->exists) {
        return ENOENT;
    }
    struct drive_file *old = drive_files_rename(&drive->files, file, request->new_path);
    if (old != NULL) {
        empty_file(drive, old);
    }
    return 0;
}

/* A write is promised its room when it is submitted, as delayed allocation does. One that finds none
 * comes back when its turn comes: writes of a rank begin in order. */
static void submit_write(struct drive_engine *drive, struct io_request *request) {
    uint64_t end = request->offset + request->length_bytes;
    bool has_room = drive_media_promise(&drive->media, request->file->engine_data, end);
    request->error = has_room ? 0 : ENOSPC;
    request->done_bytes = has_room ? request->length_bytes : 0;
    rank_transfers_add(&drive->writes, request, drive->now_ns);
}

static void submit_read(struct drive_engine *drive, struct io_request *request) {
    const struct drive_file *file = request->file->engine_data;
    CHECK(file != NULL); /* it was opened */
    uint64_t size = file->size_bytes;
    uint64_t there = size > request->offset ? size - request->offset : 0;
    bool ends_early = there < request->length_bytes;
    request->error = ends_early ? ENODATA : 0;
    request->done_bytes = ends_early ? there : request->length_bytes;
    if (request->file->mode != IO_READING) {
        complete(drive, request, EBADF);
    } else if (request->done_bytes == 0) {
        hand_out(drive, request); /* the file system knows without asking the drive */
    } else {
        drive_reads_add(&drive->reads, request, drive->now_ns);
    }
}

static void submit_copy(struct drive_engine *drive, struct io_request *request) {
    request->error = 0;
    request->done_bytes = request->length_bytes;
    rank_transfers_add(&drive->copies, request, drive->now_ns);
}

/* No read is served from the page cache, so no page of the file is there to be dropped. */
static void submit_cold(struct drive_engine *drive, struct io_request *request) {
    request->error = 0;
    request->done_bytes = 0;
    hand_out(drive, request);
}

/* Done when everything the rank wrote before has reached the drive. */
static void submit_sync(struct drive_engine *drive, struct io_request *request) {
    if (drive->back.ranks[request->rank].first == NULL) {
        complete(drive, request, 0);
        return;
    }
    write_back_add(&drive->back, request->rank, NULL, 0, request);
}

static bool has_failed(const struct drive_engine *drive) {
    return drive->media.error.status != OK;
}

static void drive_submit(struct engine *engine, struct io_request *request) {
    struct drive_engine *drive = self(engine);
    drive->submitted++;
    request->begin_ns = drive->now_ns;
    request->payload_ns = request->compress_ns = request->compress_wall_ns = 0;
    request->short_write = false;
    bool needs_data =
        request->op == IO_WRITE || request->op == IO_SYNC || request->op == IO_READ;
    if (has_failed(drive) && needs_data) {
        complete(drive, request, ENOMEM);
        return;
    }
    switch (request->op) {
    case IO_OPEN: complete(drive, request, open_file(drive, request)); break;
    case IO_WRITE: submit_write(drive, request); break;
    case IO_SYNC: submit_sync(drive, request); break;
    case IO_CLOSE:
    case IO_SYNC_DIR: complete(drive, request, 0); break;
    case IO_REMOVE: complete(drive, request, remove_file(drive, request)); break;
    case IO_RENAME: complete(drive, request, rename_file(drive, request)); break;
    case IO_PAUSE:
        CHECK(drive->pause == NULL);
        drive->pause = request;
        drive->pause_end_ns = drive->now_ns + request->pause_ns;
        break;
    case IO_READ: submit_read(drive, request); break;
    case IO_COPY: submit_copy(drive, request); break;
    case IO_COLD: submit_cold(drive, request); break;
    case IO_OP_COUNT: CHECK(!"not an operation");
    }
}

static struct io_request *drive_wait(struct engine *engine, uint64_t timeout_ns) {
    struct drive_engine *drive = self(engine);
    (void)timeout_ns; /* virtual time passes as fast as it can */
    while (drive->done_first == NULL) {
        if (drive->submitted == 0) {
            return NULL;
        }
        bool more = step(drive);
        CHECK(more || drive->done_first != NULL); /* what is under way must come back */
    }
    struct io_request *request = drive->done_first;
    drive->done_first = request->next;
    if (drive->done_first == NULL) {
        drive->done_last = NULL;
    }
    drive->submitted--;
    return request;
}

static uint64_t drive_now(struct engine *engine) {
    return self(engine)->now_ns;
}

static void drive_cancel_pauses(struct engine *engine) {
    struct drive_engine *drive = self(engine);
    if (drive->pause != NULL) {
        drive->pause_end_ns = drive->now_ns;
    }
}

static int drive_space(struct engine *engine, uint64_t *free_bytes, uint64_t *total_bytes) {
    struct drive_engine *drive = self(engine);
    *free_bytes = drive_media_free_bytes(&drive->media);
    *total_bytes = placement_total_bytes(drive->media.placement);
    return 0;
}

static void drive_facts(struct engine *engine, struct facts *facts) {
    struct drive_engine *drive = self(engine);
    facts_text(facts, "writes", drive->config.buffered ? "buffered" : "direct");
    facts_text(facts, "file_system", placement_policy_name(drive->config.placement));
    facts_text(facts, "discard", drive_discard_name(drive->config.discard));
    facts_count(facts, "superblocks", ftl_stats(drive->media.ftl).superblocks);
    facts_count(facts, "superblock_bytes", drive->config.ftl.superblock_bytes);
    facts_count(facts, "indirection_unit_bytes", drive->config.ftl.unit_bytes);
    facts_count(facts, "program_bytes_per_second", drive->config.rates.program_bytes_per_s);
}

static void drive_close(struct engine *engine) {
    struct drive_engine *drive = self(engine);
    rank_transfers_fini(&drive->writes);
    drive_reads_fini(&drive->reads);
    rank_transfers_fini(&drive->copies);
    drive_files_fini(&drive->files);
    drive_media_close(&drive->media);
    write_back_fini(&drive->back);
    mem_free(drive);
}

void drive_engine_stats(struct engine *engine, struct drive_stats *stats) {
    struct drive_engine *drive = self(engine);
    drive_media_stats(&drive->media, drive->now_ns, stats);
    drive_reads_stats(&drive->reads, stats);
    stats->busy_ns[DRIVE_STATION_HOST] = drive->host_busy_ns;
    stats->copy_bytes = drive->copy_bytes;
    stats->energy_mj = drive_media_energy_mj(&drive->media, stats);
}

enum status drive_engine_failure(struct engine *engine, struct error *err) {
    const struct error *failure = &self(engine)->media.error;
    return failure->status == OK ? OK : error_set(err, ERR_USAGE, "%s", failure->text);
}

void drive_engine_trim_free(struct engine *engine) {
    drive_media_trim_free(&self(engine)->media);
}

const char *drive_discard_name(enum drive_discard discard_kind) {
    static const char *const names[] = {"none", "delete", "fstrim"};
    return names[discard_kind];
}

const char *drive_station_name(enum drive_station station) {
    static const char *const names[DRIVE_STATIONS] = {"host", "link", "controller", "nand"};
    return names[station];
}

static const struct engine_ops drive_ops = {
    .name = "drive",
    .about = "a simulated drive in virtual time",
    .submit = drive_submit,
    .wait = drive_wait,
    .now = drive_now,
    .cancel_pauses = drive_cancel_pauses,
    .space = drive_space,
    .facts = drive_facts,
    .close = drive_close,
};

/* Unbuffered pieces: so large that a run of 370 TB is some hundred thousand of them, so small that
 * every superblock holds a share of each rank that writes at the time. */
static uint64_t fixed_piece(const struct drive_engine_config *config) {
    uint64_t share = config->ftl.superblock_bytes / (2 * (uint64_t)config->ranks);
    uint64_t piece = config->buffered ? config->host.write_back_bytes : share;
    return piece / PIECE_STEP * PIECE_STEP;
}

enum status drive_engine_open(const struct drive_engine_config *config, struct engine **engine,
                              struct error *err) {
    struct drive_engine *drive = mem_new(1, sizeof *drive);
    drive->base.ops = &drive_ops;
    drive->config = *config;
    enum status status = drive_media_open(&drive->config, &drive->media, err);
    if (status != OK) {
        mem_free(drive);
        return status;
    }
    write_back_init(&drive->back, config->ranks);
    drive->largest_piece = fixed_piece(config);
    drive->mean_rate = config->rates.controller_bytes_per_s;
    drive_files_init(&drive->files);
    uint64_t limits[FLOW_CLASSES] = {config->host.rank_new_bytes_per_s,
                                     config->host.rank_reused_bytes_per_s};
    rank_transfers_init(&drive->writes, limits, config->ranks);
    drive_reads_init(&drive->reads, &drive->config);
    uint64_t copy_limits[FLOW_CLASSES] = {[FLOW_NEW] = config->host.rank_copy_bytes_per_s};
    rank_transfers_init(&drive->copies, copy_limits, config->ranks);
    *engine = &drive->base;
    return OK;
}
