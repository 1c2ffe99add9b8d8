/* The write buffer. It holds whole units: what a request touches. Every program's worth of them
 * becomes a drain:
 *
 *   host   rest of its units read ──> turn at the programming rate ──> die ──> room in the buffer
 *   copy   read from a die ──> turn at the programming rate ──> die
 *
 * Draining a byte makes a debt of bytes to copy, which is paid before the next byte is drained, so
 * that copying is spread evenly. Dies take turns, as a superblock spans them. */
#include "sim/drive/queue_private.h"

#include "base/check.h"
#include "base/memory.h"

enum { DRAINS_PER_DIE = 8, DRAINS_LEAST = 64, DRAINS_MOST = 8192 };

static uint64_t div_up(uint64_t value, uint64_t divisor) { return (value + divisor - 1) / divisor; }

/* In order, neighbours complete each other's units. */
static uint64_t charge_of(const struct queue_depth_config *config) {
    uint64_t unit = config->drive.unit_bytes;
    return config->sequential ? config->block_bytes : div_up(config->block_bytes, unit) * unit;
}

/* A request that does not end with a unit leaves one that is read first. */
static uint64_t partial_millionths(const struct queue_depth_config *config) {
    const struct queue_drive *drive = &config->drive;
    if (config->sequential || config->block_bytes % drive->unit_bytes == 0) {
        return 0;
    }
    uint64_t units = div_up(config->block_bytes, drive->unit_bytes);
    return QUEUE_MILLION * div_up(drive->unit_bytes, drive->page_bytes) / units;
}

static uint32_t drain_count(const struct queue_drive *drive) {
    uint64_t count = (uint64_t)DRAINS_PER_DIE * drive->dies;
    count = count < DRAINS_LEAST ? DRAINS_LEAST : count;
    return (uint32_t)(count > DRAINS_MOST ? DRAINS_MOST : count);
}

enum status queue_buffer_open(struct queue_sim *sim, struct error *err) {
    const struct queue_drive *drive = &sim->config.drive;
    struct queue_buffer *buffer = &sim->buffer;
    if (sim->config.write_permille == 0) {
        return OK;
    }
    if (drive->unit_bytes == 0 || drive->program_bytes < drive->unit_bytes ||
        drive->program_ps == 0) {
        return error_set(err, ERR_USAGE, "a program of %llu bytes in %llu ps is not possible",
                         (unsigned long long)drive->program_bytes,
                         (unsigned long long)drive->program_ps);
    }
    buffer->capacity = drive->buffer_bytes;
    buffer->charge = charge_of(&sim->config);
    if (buffer->capacity < buffer->charge) {
        return error_set(err, ERR_USAGE, "a write of %llu bytes does not fit into the write buffer",
                         (unsigned long long)buffer->charge);
    }
    buffer->partial_millionths = partial_millionths(&sim->config);
    buffer->drains_max = drain_count(drive);
    uint64_t units = drive->program_bytes / drive->unit_bytes;
    sim->drain_parts =
        (uint32_t)div_up(units * buffer->partial_millionths + QUEUE_MILLION - 1, QUEUE_MILLION);
    sim->drains = mem_new(buffer->drains_max, sizeof *sim->drains);
    buffer->line.first = buffer->free_drain = QUEUE_NONE;
    for (uint32_t i = buffer->drains_max; i > 0; i--) {
        sim->drains[i - 1].next = buffer->free_drain;
        buffer->free_drain = i - 1;
    }
    return OK;
}

void queue_buffer_close(struct queue_sim *sim) { mem_free(sim->drains); }

static void take_turn(struct queue_sim *sim, uint32_t drain) {
    uint64_t ps =
        queue_transfer_ps(sim->drains[drain].bytes, sim->config.drive.program_bytes_per_s);
    queue_plan(sim, queue_serve(sim, &sim->programming, ps), QUEUE_PROGRAMMABLE, drain);
}

/* Whole reads of what a debt in millionths amounts to. */
static uint64_t settle(uint64_t *debt, uint64_t added) {
    *debt += added;
    uint64_t whole = *debt / QUEUE_MILLION;
    *debt %= QUEUE_MILLION;
    return whole;
}

static void start_host(struct queue_sim *sim, uint32_t index, uint64_t bytes) {
    const struct queue_drive *drive = &sim->config.drive;
    struct queue_buffer *buffer = &sim->buffer;
    uint64_t reads =
        settle(&buffer->read_debt, bytes / drive->unit_bytes * buffer->partial_millionths);
    CHECK(reads <= sim->drain_parts);
    sim->drains[index] = (struct queue_drain){.bytes = bytes, .parts_left = (uint32_t)reads};
    buffer->pending -= bytes;
    buffer->copy_debt += bytes * drive->copied_millionths;
    if (reads == 0) {
        take_turn(sim, index);
    }
    uint32_t part = sim->request_count * sim->request_parts + index * sim->drain_parts;
    for (uint64_t i = 0; i < reads; i++, part++) {
        queue_dies_read(sim, part,
                        (uint32_t)queue_random(sim, (uint64_t)drive->dies * drive->planes));
    }
}

/* All planes read at once: the victim's pages lie side by side. */
static void start_copy(struct queue_sim *sim, uint32_t index) {
    const struct queue_drive *drive = &sim->config.drive;
    struct queue_buffer *buffer = &sim->buffer;
    uint64_t bytes = drive->program_bytes;
    buffer->copy_debt -= bytes * QUEUE_MILLION;
    uint64_t pages = drive->program_bytes / drive->unit_bytes * drive->copy_pages_millionths;
    uint64_t reads = settle(&buffer->page_debt, pages / drive->planes);
    sim->drains[index] =
        (struct queue_drain){.bytes = bytes, .copy = true, .copy_read_ps = reads * drive->read_ps};
    if (reads == 0) {
        take_turn(sim, index);
        return;
    }
    queue_dies_drain(sim, index, buffer->next_copy++ % drive->dies);
}

/* Less than a program goes out only when there is no other way to make room. */
static uint64_t drainable(const struct queue_sim *sim) {
    const struct queue_buffer *buffer = &sim->buffer;
    if (buffer->pending >= sim->config.drive.program_bytes) {
        return sim->config.drive.program_bytes;
    }
    bool stuck = buffer->line.first != QUEUE_NONE && buffer->pending == buffer->used;
    return stuck ? buffer->pending : 0;
}

static void drain(struct queue_sim *sim) {
    struct queue_buffer *buffer = &sim->buffer;
    uint64_t program = sim->config.drive.program_bytes;
    while (buffer->free_drain != QUEUE_NONE) {
        bool copy = buffer->copy_debt >= program * QUEUE_MILLION;
        uint64_t bytes = copy ? program : drainable(sim);
        if (bytes == 0) {
            return;
        }
        uint32_t index = buffer->free_drain;
        buffer->free_drain = sim->drains[index].next;
        if (copy) {
            start_copy(sim, index);
        } else {
            start_host(sim, index, bytes);
        }
    }
}

static void admit(struct queue_sim *sim, uint32_t request) {
    struct queue_buffer *buffer = &sim->buffer;
    buffer->used += buffer->charge;
    buffer->pending += buffer->charge;
    queue_level_set(sim, &buffer->level, buffer->used);
    queue_plan(sim, sim->now_ps, QUEUE_BUFFERED, request);
}

static bool has_room(const struct queue_buffer *buffer) {
    return buffer->used + buffer->charge <= buffer->capacity;
}

void queue_buffer_arrive(struct queue_sim *sim, uint32_t request) {
    struct queue_buffer *buffer = &sim->buffer;
    if (buffer->line.first == QUEUE_NONE && has_room(buffer)) {
        admit(sim, request);
    } else {
        QUEUE_LIST_ADD(&buffer->line, sim->requests, request);
    }
    drain(sim);
}

void queue_buffer_part_read(struct queue_sim *sim, uint32_t drain_index) {
    if (--sim->drains[drain_index].parts_left == 0) {
        take_turn(sim, drain_index);
    }
}

void queue_buffer_programmable(struct queue_sim *sim, uint32_t drain_index) {
    queue_dies_drain(sim, drain_index, sim->buffer.next_program++ % sim->config.drive.dies);
}

void queue_buffer_die_done(struct queue_sim *sim, uint32_t drain_index) {
    struct queue_buffer *buffer = &sim->buffer;
    struct queue_drain *done = &sim->drains[drain_index];
    if (done->copy_read_ps > 0) {
        done->copy_read_ps = 0;
        take_turn(sim, drain_index);
        return;
    }
    if (!done->copy) {
        buffer->used -= done->bytes;
        queue_level_set(sim, &buffer->level, buffer->used);
    }
    done->next = buffer->free_drain;
    buffer->free_drain = drain_index;
    while (buffer->line.first != QUEUE_NONE && has_room(buffer)) {
        admit(sim, QUEUE_LIST_TAKE(&buffer->line, sim->requests));
    }
    drain(sim);
}
