/* Events in virtual time. There are four kinds, and the earliest comes next; equal times go in this
 * order: a transfer from a rank ends (flows), the drive has finished a piece (server), a pause ends,
 * and completions that are ready are handed out before anything else happens. */
#include "sim/drive/drive_engine.h"

#include "base/check.h"
#include "base/units.h"
#include "sim/drive/drive_files.h"
#include "sim/drive/flow.h"
#include "sim/drive/ftl_span.h"

#include <errno.h>
#include <string.h>

enum { FS_BLOCK = 4096 };

/* Bytes of one write on their way to the drive, or a mark that a sync waits for. */
struct segment {
    struct segment *next;
    struct drive_file *file;
    struct io_request *request; /* completes with the segment; NULL: completed before */
    uint64_t bytes;
};

struct drive_rank {
    struct io_request *head, *tail; /* writes not yet arrived; the head flows */
    struct flow flow;
    bool flowing;
    struct segment *first, *last;   /* arrived, in order */
    struct drive_file *file;        /* open */
    bool ready;                     /* in the server's ring */
    uint32_t next_ready;
};

struct drive_engine {
    struct engine base;
    struct drive_engine_config config;
    struct drive_files files;
    struct placement *placement;
    struct ftl *ftl;
    struct flow_set flows;
    struct drive_rank *ranks;
    struct arena arena;
    struct segment *free_segments;
    struct io_request *done_first, *done_last; /* completions to hand out */
    struct io_request *pause;                  /* under way; one at a time */
    uint64_t pause_end_ns;
    uint64_t now_ns;
    uint64_t waiting_bytes;     /* arrived and not taken by the drive */
    uint64_t unplaced_bytes;    /* promised to writers, not placed yet */
    uint64_t submitted;         /* requests the engine holds */
    uint32_t ready_first, ready_last, ready_count; /* ring of ranks with segments */
    /* The server: */
    bool busy;
    uint32_t piece_rank;
    uint64_t piece_bytes, piece_end_ns, piece_rate; /* bytes/s of the piece in service */
    uint64_t largest_piece;
    uint64_t nand_free_ns;      /* when the NAND has caught up with what it was given */
    uint64_t nand_lag_ns;       /* it may be behind by the reserve of free superblocks */
    uint64_t copied_until_bytes; /* host bytes up to which the last copying counts as going on */
    struct error space_error;   /* the FTL could not go on (memory limit) */
    struct drive_stats stats;
};

static struct drive_engine *self(struct engine *engine) {
    return (struct drive_engine *)engine;
}

static void complete(struct drive_engine *drive, struct io_request *request, int error) {
    request->error = error;
    request->done_bytes = error == 0 ? request->length_bytes : 0;
    request->end_ns = drive->now_ns;
    request->next = NULL;
    if (drive->done_last != NULL) {
        drive->done_last->next = request;
    } else {
        drive->done_first = request;
    }
    drive->done_last = request;
}

static struct segment *new_segment(struct drive_engine *drive) {
    struct segment *segment = drive->free_segments;
    if (segment != NULL) {
        drive->free_segments = segment->next;
    } else {
        segment = arena_new(&drive->arena, 1, sizeof *segment);
    }
    *segment = (struct segment){0};
    return segment;
}

static void free_segment(struct drive_engine *drive, struct segment *segment) {
    segment->next = drive->free_segments;
    drive->free_segments = segment;
}

/* The ring holds every rank with segments but the one being served. */
static void make_ready(struct drive_engine *drive, uint32_t index) {
    struct drive_rank *rank = &drive->ranks[index];
    if (rank->ready || rank->first == NULL || (drive->busy && drive->piece_rank == index)) {
        return;
    }
    rank->ready = true;
    rank->next_ready = UINT32_MAX;
    if (drive->ready_count++ == 0) {
        drive->ready_first = index;
    } else {
        drive->ranks[drive->ready_last].next_ready = index;
    }
    drive->ready_last = index;
}

static uint32_t take_ready(struct drive_engine *drive) {
    uint32_t index = drive->ready_first;
    drive->ready_first = drive->ranks[index].next_ready;
    drive->ready_count--;
    drive->ranks[index].ready = false;
    return index;
}

static void append_segment(struct drive_engine *drive, uint32_t index, struct segment *segment) {
    struct drive_rank *rank = &drive->ranks[index];
    if (rank->last != NULL) {
        rank->last->next = segment;
    } else {
        rank->first = segment;
    }
    rank->last = segment;
    make_ready(drive, index);
}

/* Pops segments that are done at the front of a rank: empty ones complete what waits for them. */
static void settle_front(struct drive_engine *drive, struct drive_rank *rank) {
    while (rank->first != NULL && rank->first->bytes == 0) {
        struct segment *segment = rank->first;
        rank->first = segment->next;
        if (rank->first == NULL) {
            rank->last = NULL;
        }
        if (segment->request != NULL) {
            complete(drive, segment->request, 0);
        }
        free_segment(drive, segment);
    }
}

/* Ranks flow at their own rates; where the page cache is full, together at the drive's. */
static void share_rates(struct drive_engine *drive) {
    uint64_t limit = drive->config.host.total_bytes_per_s;
    if (drive->config.buffered && drive->busy &&
        drive->waiting_bytes >= drive->config.host.dirty_limit_bytes) {
        limit = drive->piece_rate < limit ? drive->piece_rate : limit;
    }
    flow_share(&drive->flows, limit);
}

static void start_flow(struct drive_engine *drive, uint32_t index) {
    struct drive_rank *rank = &drive->ranks[index];
    if (rank->flowing || rank->head == NULL) {
        return;
    }
    rank->flowing = true;
    rank->flow.owner = rank;
    rank->head->begin_ns = drive->now_ns;
    enum flow_class class = rank->file->reused ? FLOW_REUSED : FLOW_NEW;
    flow_add(&drive->flows, &rank->flow, class, rank->head->length_bytes);
}

static void flow_ended(struct drive_engine *drive, struct drive_rank *rank) {
    uint32_t index = (uint32_t)(rank - drive->ranks);
    struct io_request *request = rank->head;
    rank->head = request->next;
    if (rank->head == NULL) {
        rank->tail = NULL;
    }
    rank->flowing = false;
    struct segment *segment = new_segment(drive);
    segment->file = rank->file;
    segment->bytes = request->length_bytes;
    segment->request = drive->config.buffered ? NULL : request;
    drive->waiting_bytes += segment->bytes;
    append_segment(drive, index, segment);
    if (drive->config.buffered) {
        complete(drive, request, 0);
    }
    start_flow(drive, index);
}

/* The drive takes [start, start+length) of its address space. */
static bool write_extent(struct drive_engine *drive, struct drive_file *file, uint32_t stream,
                         uint64_t start, uint64_t length) {
    uint32_t unit_bytes = drive->config.ftl.unit_bytes;
    struct ftl_span span = ftl_span(start, length, unit_bytes);
    if (span.units > 0 && span.first_unit == file->last_unit) {
        span.first_unit++; /* the write buffer still holds it: the neighbour fills it up */
        span.units--;
    }
    if (span.units == 0) {
        return true;
    }
    struct ftl_write write = {span.first_unit, span.units, 0, stream};
    file->last_unit = span.first_unit + span.units - 1;
    return ftl_write(drive->ftl, &write, &drive->space_error) == OK;
}

/* Bytes that lie on blocks the file has already: written in place. Returns how many it took. */
static bool write_in_place(struct drive_engine *drive, struct drive_file *file, uint32_t stream,
                           uint64_t bytes, uint64_t *taken) {
    struct placement_file *placed = &file->placed;
    *taken = 0;
    while (bytes > 0 && file->cursor_bytes < placed->length_bytes) {
        struct placement_extent *extent = &placed->extents[file->cursor_extent];
        if (file->cursor_offset == extent->length_bytes) { /* not before: an append may grow it */
            file->cursor_extent++;
            file->cursor_offset = 0;
            continue;
        }
        uint64_t room = extent->length_bytes - file->cursor_offset;
        uint64_t length = room < bytes ? room : bytes;
        if (!write_extent(drive, file, stream, extent->start_bytes + file->cursor_offset, length)) {
            return false;
        }
        file->cursor_offset += length;
        file->cursor_bytes += length;
        *taken += length;
        bytes -= length;
    }
    return true;
}

/* Places the next bytes of a file and writes them; placed blocks are whole. */
static bool take_bytes(struct drive_engine *drive, struct drive_file *file, uint32_t stream,
                       uint64_t bytes) {
    uint64_t taken;
    if (!write_in_place(drive, file, stream, bytes, &taken)) {
        return false;
    }
    bytes -= taken;
    if (bytes == 0) {
        return true;
    }
    struct placement_file *placed = &file->placed;
    uint64_t whole = (bytes + FS_BLOCK - 1) / FS_BLOCK * FS_BLOCK;
    uint64_t before = placed->length_bytes;
    placement_commit(drive->placement, drive->now_ns);
    if (!placement_append(drive->placement, placed, whole)) {
        error_set(&drive->space_error, ERR_FAILED, "the simulated file system has no room left");
        return false;
    }
    uint64_t promised = drive->unplaced_bytes < whole ? drive->unplaced_bytes : whole;
    drive->unplaced_bytes -= promised;
    if (before == 0) {
        file->cursor_extent = 0;
        file->cursor_offset = 0;
    }
    return write_in_place(drive, file, stream, whole, &taken);
}

static uint64_t time_ns(uint64_t bytes, uint64_t bytes_per_s) {
    unsigned __int128 ns = (unsigned __int128)bytes * NS_PER_SECOND / bytes_per_s;
    return (uint64_t)ns;
}

/* What garbage collection copies for one superblock counts as going on until the next one is full:
 * a drive spreads it over that time. */
static uint64_t program_rate_now(struct drive_engine *drive, uint64_t gc_bytes) {
    if (gc_bytes > 0) {
        drive->copied_until_bytes =
            drive->stats.host_bytes + 2 * drive->config.ftl.superblock_bytes;
    }
    if (drive->stats.host_bytes >= drive->copied_until_bytes) {
        return drive->config.rates.program_bytes_per_s;
    }
    return drive->config.rates.mixed_program_bytes_per_s[drive->ready_count + 1];
}

/* What a piece costs at each station; the slowest one sets the pace. Garbage collection comes in
 * lumps of a superblock, but a drive spreads it: the NAND may lag behind by its reserve. */
static uint64_t service_ns(struct drive_engine *drive, uint64_t bytes, uint64_t unit_bytes,
                           uint64_t gc_bytes) {
    uint64_t program_rate = program_rate_now(drive, gc_bytes);
    const struct drive_rates *rates = &drive->config.rates;
    struct drive_stats *stats = &drive->stats;
    uint64_t link_ns = time_ns(bytes, rates->link_bytes_per_s);
    uint64_t controller_ns = time_ns(bytes, rates->controller_bytes_per_s);
    uint64_t gc_ns = time_ns(gc_bytes, program_rate);
    uint64_t nand_ns = time_ns(unit_bytes, program_rate) + gc_ns;
    stats->busy_ns[DRIVE_STATION_LINK] += link_ns;
    stats->busy_ns[DRIVE_STATION_CONTROLLER] += controller_ns;
    stats->busy_ns[DRIVE_STATION_NAND] += nand_ns;
    stats->nand_ns_for_gc += gc_ns;
    uint64_t ns = link_ns > controller_ns ? link_ns : controller_ns;
    uint64_t begin_ns = drive->nand_free_ns > drive->now_ns ? drive->nand_free_ns : drive->now_ns;
    drive->nand_free_ns = begin_ns + nand_ns;
    uint64_t caught_up_ns =
        drive->nand_free_ns > drive->nand_lag_ns ? drive->nand_free_ns - drive->nand_lag_ns : 0;
    uint64_t wait_ns = caught_up_ns > drive->now_ns ? caught_up_ns - drive->now_ns : 0;
    return ns > wait_ns ? ns : wait_ns;
}

/* Starts the next piece if the drive is idle and something has arrived. */
static void serve(struct drive_engine *drive) {
    uint32_t index = 0;
    struct segment *segment = NULL;
    while (!drive->busy && segment == NULL && drive->ready_count > 0) {
        index = take_ready(drive);
        settle_front(drive, &drive->ranks[index]); /* a file cut in the page cache leaves nothing */
        segment = drive->ranks[index].first;
    }
    if (segment == NULL) {
        return;
    }
    uint64_t bytes = segment->bytes < drive->largest_piece ? segment->bytes : drive->largest_piece;
    struct ftl_stats before = ftl_stats(drive->ftl);
    if (!take_bytes(drive, segment->file, index, bytes)) {
        return; /* space_error says why; the next wait reports it */
    }
    struct ftl_stats after = ftl_stats(drive->ftl);
    uint64_t unit = drive->config.ftl.unit_bytes;
    uint64_t unit_bytes = (after.host_units - before.host_units) * unit;
    uint64_t gc_bytes = (after.gc_units - before.gc_units) * unit;
    uint64_t ns = service_ns(drive, bytes, unit_bytes, gc_bytes);
    drive->stats.host_bytes += bytes;
    drive->stats.unit_bytes += unit_bytes;
    drive->stats.gc_bytes += gc_bytes;
    drive->busy = true;
    drive->piece_rank = index;
    drive->piece_bytes = bytes;
    drive->piece_end_ns = drive->now_ns + ns;
    drive->piece_rate = ns > 0 ? (uint64_t)((unsigned __int128)bytes * NS_PER_SECOND / ns)
                               : drive->config.rates.link_bytes_per_s;
}

static void piece_ended(struct drive_engine *drive) {
    struct drive_rank *rank = &drive->ranks[drive->piece_rank];
    struct segment *segment = rank->first;
    uint64_t bytes = drive->piece_bytes < segment->bytes ? drive->piece_bytes : segment->bytes;
    segment->bytes -= bytes;
    drive->waiting_bytes -= bytes;
    drive->busy = false;
    settle_front(drive, rank);
    make_ready(drive, drive->piece_rank);
}

/* Moves time on to the next event. False where nothing will ever happen. */
static bool step(struct drive_engine *drive) {
    serve(drive);
    share_rates(drive);
    uint64_t flow_ns = flow_next_ns(&drive->flows);
    uint64_t next = flow_ns == UINT64_MAX ? UINT64_MAX : drive->now_ns + flow_ns;
    if (drive->busy && drive->piece_end_ns < next) {
        next = drive->piece_end_ns;
    }
    if (drive->pause != NULL && drive->pause_end_ns < next) {
        next = drive->pause_end_ns;
    }
    if (next == UINT64_MAX) {
        return false;
    }
    uint64_t ns = next - drive->now_ns;
    bool host_sets_pace = flow_count(&drive->flows) > 0 &&
                          flow_total_rate(&drive->flows) >= flow_wanted_rate(&drive->flows);
    drive->stats.busy_ns[DRIVE_STATION_HOST] += host_sets_pace ? ns : 0;
    flow_advance(&drive->flows, ns);
    drive->now_ns = next;
    for (struct flow *flow; (flow = flow_take_ended(&drive->flows)) != NULL;) {
        flow_ended(drive, flow->owner);
    }
    if (drive->busy && drive->piece_end_ns <= next) {
        piece_ended(drive);
    }
    if (drive->pause != NULL && drive->pause_end_ns <= next) {
        struct io_request *pause = drive->pause;
        drive->pause = NULL;
        complete(drive, pause, 0);
    }
    return true;
}

/* What is left of an old file in the page cache goes unwritten; what is in service stays. */
static void drop_dirty(struct drive_engine *drive, struct drive_file *file) {
    for (uint32_t i = 0; i < drive->config.ranks; i++) {
        struct drive_rank *rank = &drive->ranks[i];
        bool in_service = drive->busy && drive->piece_rank == i;
        for (struct segment *segment = rank->first; segment != NULL; segment = segment->next) {
            uint64_t keep = in_service && segment == rank->first ? drive->piece_bytes : 0;
            if (segment->file == file && segment->bytes > keep) {
                uint64_t dropped = segment->bytes - keep;
                segment->bytes = keep;
                drive->waiting_bytes -= dropped;
                uint64_t promised =
                    drive->unplaced_bytes < dropped ? drive->unplaced_bytes : dropped;
                drive->unplaced_bytes -= promised;
            }
        }
    }
}

static void discard(struct drive_engine *drive, const struct placement_file *placed) {
    if (drive->config.discard != DRIVE_DISCARD_DELETE) {
        return;
    }
    uint64_t unit = drive->config.ftl.unit_bytes;
    for (uint32_t i = 0; placed->length_bytes > 0 && i < placed->count; i++) {
        uint64_t start = (placed->extents[i].start_bytes + unit - 1) / unit;
        uint64_t end = (placed->extents[i].start_bytes + placed->extents[i].length_bytes) / unit;
        if (end > start) {
            ftl_trim(drive->ftl, start, end - start);
        }
    }
}

static void empty_file(struct drive_engine *drive, struct drive_file *file) {
    if (file->size_bytes > file->cursor_bytes) {
        drop_dirty(drive, file);
    }
    discard(drive, &file->placed);
    placement_truncate(drive->placement, &file->placed, drive->now_ns);
    file->size_bytes = 0;
    file->cursor_bytes = file->cursor_offset = 0;
    file->cursor_extent = 0;
    file->last_unit = UINT64_MAX;
}

static int open_file(struct drive_engine *drive, struct io_request *request) {
    struct io_file *io = request->file;
    struct drive_file *file = drive_files_find(&drive->files, io->path, io->mode != IO_EXISTING);
    if (file == NULL || (io->mode == IO_EXISTING && !file->exists)) {
        return ENOENT;
    }
    if (io->mode != IO_EXISTING) {
        file->reused = file->exists && file->size_bytes > 0;
        if (io->mode == IO_TRUNCATE && file->exists) {
            empty_file(drive, file);
        }
        file->exists = true;
        file->cursor_bytes = file->cursor_offset = 0;
        file->cursor_extent = 0;
        file->last_unit = UINT64_MAX;
    }
    drive->ranks[request->rank].file = file;
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

/* A write is promised its room when it is submitted, as delayed allocation does. */
static void submit_write(struct drive_engine *drive, struct io_request *request) {
    struct drive_rank *rank = &drive->ranks[request->rank];
    struct drive_file *file = rank->file;
    uint64_t end = request->offset + request->length_bytes;
    uint64_t grown = end > file->size_bytes ? end - file->size_bytes : 0;
    if (grown + drive->unplaced_bytes > placement_free_bytes(drive->placement)) {
        request->begin_ns = drive->now_ns;
        complete(drive, request, ENOSPC);
        return;
    }
    drive->unplaced_bytes += grown;
    file->size_bytes += grown;
    request->next = NULL;
    if (rank->tail != NULL) {
        rank->tail->next = request;
    } else {
        rank->head = request;
    }
    rank->tail = request;
    start_flow(drive, request->rank);
}

/* Done when everything the rank wrote before has reached the drive. */
static void submit_sync(struct drive_engine *drive, struct io_request *request) {
    if (drive->ranks[request->rank].first == NULL) {
        complete(drive, request, 0);
        return;
    }
    struct segment *mark = new_segment(drive);
    mark->request = request;
    append_segment(drive, request->rank, mark);
}

static void drive_submit(struct engine *engine, struct io_request *request) {
    struct drive_engine *drive = self(engine);
    drive->submitted++;
    request->begin_ns = drive->now_ns;
    request->payload_ns = 0;
    request->short_write = false;
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
    case IO_OP_COUNT: CHECK(!"not an operation");
    }
}

/* The simulation cannot go on: everything under way comes back as failed. */
static void fail_everything(struct drive_engine *drive) {
    for (uint32_t i = 0; i < drive->config.ranks; i++) {
        struct drive_rank *rank = &drive->ranks[i];
        while (rank->head != NULL) {
            struct io_request *request = rank->head;
            rank->head = request->next;
            complete(drive, request, ENOMEM);
        }
        for (struct segment *segment = rank->first; segment != NULL; segment = segment->next) {
            if (segment->request != NULL) {
                complete(drive, segment->request, ENOMEM);
            }
        }
        rank->first = rank->last = NULL;
        rank->tail = NULL;
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
        if (drive->space_error.status != OK) {
            fail_everything(drive);
            drive->space_error.status = OK;
        }
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
    uint64_t free_now = placement_free_bytes(drive->placement);
    *free_bytes = free_now > drive->unplaced_bytes ? free_now - drive->unplaced_bytes : 0;
    *total_bytes = placement_total_bytes(drive->placement);
    return 0;
}

static void drive_facts(struct engine *engine, struct facts *facts) {
    struct drive_engine *drive = self(engine);
    facts_text(facts, "writes", drive->config.buffered ? "buffered" : "direct");
    facts_text(facts, "file_system", placement_policy_name(drive->config.placement));
    facts_text(facts, "discard", drive_discard_name(drive->config.discard));
    facts_count(facts, "superblocks", ftl_stats(drive->ftl).superblocks);
    facts_count(facts, "superblock_bytes", drive->config.ftl.superblock_bytes);
    facts_count(facts, "indirection_unit_bytes", drive->config.ftl.unit_bytes);
    facts_count(facts, "program_bytes_per_second", drive->config.rates.program_bytes_per_s);
}

static void drive_close(struct engine *engine) {
    struct drive_engine *drive = self(engine);
    flow_set_fini(&drive->flows);
    drive_files_fini(&drive->files);
    placement_close(drive->placement);
    ftl_close(drive->ftl);
    arena_fini(&drive->arena);
    mem_free(drive->ranks);
    mem_free(drive);
}

const char *drive_discard_name(enum drive_discard discard_kind) {
    static const char *const names[] = {"none", "delete", "fstrim"};
    return names[discard_kind];
}

const char *drive_station_name(enum drive_station station) {
    static const char *const names[DRIVE_STATIONS] = {"host", "link", "controller", "nand"};
    return names[station];
}

void drive_engine_stats(struct engine *engine, struct drive_stats *stats) {
    struct drive_engine *drive = self(engine);
    *stats = drive->stats;
    stats->now_ns = drive->now_ns;
    stats->ftl = ftl_stats(drive->ftl);
    stats->wear = ftl_wear(drive->ftl);
    const struct drive_rates *rates = &drive->config.rates;
    uint64_t active = stats->busy_ns[DRIVE_STATION_NAND];
    uint64_t more_mw = rates->active_mw > rates->idle_mw ? rates->active_mw - rates->idle_mw : 0;
    stats->energy_mj =
        (uint64_t)(((unsigned __int128)rates->idle_mw * stats->now_ns +
                    (unsigned __int128)more_mw * active) / NS_PER_SECOND);
}

struct trimmer {
    struct ftl *ftl;
    uint64_t unit;
};

static void trim_extent(void *context, struct placement_extent extent) {
    const struct trimmer *trimmer = context;
    uint64_t start = (extent.start_bytes + trimmer->unit - 1) / trimmer->unit;
    uint64_t end = (extent.start_bytes + extent.length_bytes) / trimmer->unit;
    if (end > start) {
        ftl_trim(trimmer->ftl, start, end - start);
    }
}

void drive_engine_trim_free(struct engine *engine) {
    struct drive_engine *drive = self(engine);
    struct trimmer trimmer = {drive->ftl, drive->config.ftl.unit_bytes};
    placement_each_free(drive->placement, trim_extent, &trimmer);
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

/* So large that a run of 370 TB is some hundred thousand pieces, so small that every superblock holds
 * a share of each rank that writes at the time. */
static uint64_t piece_limit(const struct drive_engine_config *config) {
    uint64_t share = config->ftl.superblock_bytes / (2 * (uint64_t)config->ranks);
    uint64_t piece = config->buffered ? config->host.write_back_bytes : share;
    return piece > FS_BLOCK ? piece / FS_BLOCK * FS_BLOCK : FS_BLOCK;
}

/* As a drive is after tests that filled it: every address holds data that nobody will read. */
static enum status fill_once(struct drive_engine *drive, struct error *err) {
    uint64_t all = ftl_logical_units(drive->ftl), step_units = ftl_superblock_units(drive->ftl);
    for (uint64_t at = 0; at < all; at += step_units) {
        uint64_t units = all - at < step_units ? all - at : step_units;
        enum status status = ftl_write(drive->ftl, &(struct ftl_write){at, units, 0, 0}, err);
        if (status != OK) {
            return status;
        }
    }
    return OK;
}

enum status drive_engine_open(const struct drive_engine_config *config, struct engine **engine,
                              struct error *err) {
    struct ftl *ftl;
    enum status status = ftl_open(&config->ftl, &ftl, err);
    if (status != OK) {
        return status;
    }
    struct drive_engine *drive = mem_new(1, sizeof *drive);
    drive->base.ops = &drive_ops;
    drive->config = *config;
    drive->ftl = ftl;
    drive->placement = placement_open(config->placement, config->capacity_bytes, config->commit_ns,
                                      config->seed);
    drive->ranks = mem_new(config->ranks, sizeof *drive->ranks);
    drive->largest_piece = piece_limit(config);
    drive_files_init(&drive->files);
    uint64_t limits[FLOW_CLASSES] = {config->host.rank_new_bytes_per_s,
                                     config->host.rank_reused_bytes_per_s};
    flow_set_init(&drive->flows, limits, config->ranks);
    drive->nand_lag_ns = time_ns(config->ftl.superblock_bytes * config->ftl.gc_low,
                                 config->rates.program_bytes_per_s);
    if (config->used_before && fill_once(drive, err) != OK) {
        drive_close(&drive->base);
        return err->status;
    }
    *engine = &drive->base;
    return OK;
}
