/* Dies. A host's read takes one plane; programming, and the reading of what is copied, take all
 * planes of a die. Reads go first, but not for ever: what has waited, or was suspended, for as long
 * as a program takes comes next.
 *
 *            read arrives, suspends left              READY: reads run
 *   PROGRAM ────────────────────────────> SUSPENDING ─────────────────> SUSPENDED
 *      ^                                                                    │
 *      └────────────────────────── no plane reads ──────────────────────────┘ */
#include "sim/drive/queue_private.h"

#include "base/check.h"
#include "base/memory.h"

void queue_dies_open(struct queue_sim *sim) {
    const struct queue_drive *drive = &sim->config.drive;
    uint32_t planes = drive->dies * drive->planes;
    sim->dies = mem_new(drive->dies, sizeof *sim->dies);
    sim->planes = mem_new(planes, sizeof *sim->planes);
    for (uint32_t i = 0; i < drive->dies; i++) {
        sim->dies[i].drains.first = sim->dies[i].running = QUEUE_NONE;
        /* Blocks are erased ahead of their use, one die after another. */
        sim->dies[i].programs = (uint32_t)((uint64_t)drive->programs_per_erase * i / drive->dies);
    }
    for (uint32_t i = 0; i < planes; i++) {
        sim->planes[i].parts.first = sim->planes[i].running = QUEUE_NONE;
    }
}

void queue_dies_close(struct queue_sim *sim) {
    mem_free(sim->dies);
    mem_free(sim->planes);
}

static struct queue_die *die_of(struct queue_sim *sim, uint32_t plane) {
    return &sim->dies[plane / sim->config.drive.planes];
}

static void occupy(struct queue_sim *sim, int planes) {
    uint64_t value = sim->busy_planes.value + (uint64_t)(int64_t)planes;
    queue_level_set(sim, &sim->busy_planes, value);
}

/* What wants all planes has waited long enough. */
static bool overdue(const struct queue_sim *sim, const struct queue_die *die) {
    return die->drains.first != QUEUE_NONE &&
           sim->now_ps - sim->drains[die->drains.first].since_ps > sim->config.drive.program_ps;
}

static bool reads_may_begin(const struct queue_sim *sim, const struct queue_die *die) {
    if (die->running == QUEUE_NONE) {
        return !overdue(sim, die);
    }
    return die->suspended && die->ready &&
           sim->now_ps - die->suspended_ps < sim->config.drive.program_ps;
}

static void read_next(struct queue_sim *sim, uint32_t plane) {
    struct queue_die *die = die_of(sim, plane);
    struct queue_plane *reader = &sim->planes[plane];
    reader->running = QUEUE_LIST_TAKE(&reader->parts, sim->parts);
    die->waiting--;
    die->reading++;
    occupy(sim, 1);
    queue_plan(sim, sim->now_ps + queue_service(sim, sim->config.drive.read_ps), QUEUE_PLANE_READ,
               plane);
}

static void read_all(struct queue_sim *sim, struct queue_die *die) {
    uint32_t first = (uint32_t)(die - sim->dies) * sim->config.drive.planes;
    for (uint32_t i = first; i < first + sim->config.drive.planes && die->waiting > 0; i++) {
        if (sim->planes[i].parts.first != QUEUE_NONE && sim->planes[i].running == QUEUE_NONE) {
            read_next(sim, i);
        }
    }
}

static void run_until(struct queue_sim *sim, struct queue_die *die, uint64_t end_ps) {
    die->end_ps = end_ps;
    if (!die->event) {
        die->event = true;
        queue_plan(sim, end_ps, QUEUE_DIE_DONE, (uint32_t)(die - sim->dies));
    }
}

static uint64_t program_ps(struct queue_sim *sim, struct queue_die *die) {
    const struct queue_drive *drive = &sim->config.drive;
    bool erase = drive->programs_per_erase > 0 && ++die->programs % drive->programs_per_erase == 0;
    return queue_service(sim, drive->program_ps) + (erase ? drive->erase_ps : 0);
}

static void run_next(struct queue_sim *sim, struct queue_die *die) {
    die->running = QUEUE_LIST_TAKE(&die->drains, sim->drains);
    die->suspends = 0;
    occupy(sim, (int)sim->config.drive.planes);
    uint64_t copy_ps = sim->drains[die->running].copy_read_ps;
    run_until(sim, die, sim->now_ps + (copy_ps > 0 ? copy_ps : program_ps(sim, die)));
}

/* Only a host's read is worth it. */
static bool may_suspend(const struct queue_sim *sim, const struct queue_die *die, uint32_t part) {
    const struct queue_drive *drive = &sim->config.drive;
    return drive->suspend_ps > 0 && die->running != QUEUE_NONE && !die->suspended &&
           die->suspends < drive->suspends_max && sim->drains[die->running].copy_read_ps == 0 &&
           sim->parts[part].owner < sim->request_count;
}

static void suspend(struct queue_sim *sim, struct queue_die *die) {
    die->suspended = true;
    die->ready = false;
    die->suspends++;
    die->suspended_ps = sim->now_ps;
    die->left_ps = die->end_ps - sim->now_ps;
    queue_plan(sim, sim->now_ps + sim->config.drive.suspend_ps, QUEUE_DIE_READY,
               (uint32_t)(die - sim->dies));
}

void queue_dies_ready(struct queue_sim *sim, uint32_t index) {
    struct queue_die *die = &sim->dies[index];
    die->ready = true;
    occupy(sim, -(int)sim->config.drive.planes);
    read_all(sim, die);
}

static void resume(struct queue_sim *sim, struct queue_die *die) {
    CHECK(die->ready);
    die->suspended = false;
    occupy(sim, (int)sim->config.drive.planes);
    run_until(sim, die, sim->now_ps + die->left_ps);
}

void queue_dies_read(struct queue_sim *sim, uint32_t part, uint32_t plane) {
    struct queue_die *die = die_of(sim, plane);
    sim->parts[part].plane = plane;
    QUEUE_LIST_ADD(&sim->planes[plane].parts, sim->parts, part);
    die->waiting++;
    if (reads_may_begin(sim, die)) {
        if (sim->planes[plane].running == QUEUE_NONE) {
            read_next(sim, plane);
        }
    } else if (may_suspend(sim, die, part)) {
        suspend(sim, die);
    }
}

void queue_dies_drain(struct queue_sim *sim, uint32_t drain, uint32_t index) {
    struct queue_die *die = &sim->dies[index];
    sim->drains[drain].since_ps = sim->now_ps;
    QUEUE_LIST_ADD(&die->drains, sim->drains, drain);
    if (die->running == QUEUE_NONE && die->reading == 0) {
        run_next(sim, die);
    }
}

uint32_t queue_dies_plane_read(struct queue_sim *sim, uint32_t plane) {
    struct queue_die *die = die_of(sim, plane);
    struct queue_plane *reader = &sim->planes[plane];
    uint32_t part = reader->running;
    reader->running = QUEUE_NONE;
    die->reading--;
    occupy(sim, -1);
    if (reader->parts.first != QUEUE_NONE && reads_may_begin(sim, die)) {
        read_next(sim, plane);
    }
    if (die->reading > 0) {
        return part;
    }
    if (die->running != QUEUE_NONE) {
        resume(sim, die);
    } else if (die->drains.first != QUEUE_NONE) {
        run_next(sim, die);
    }
    return part;
}

uint32_t queue_dies_done(struct queue_sim *sim, uint32_t index) {
    struct queue_die *die = &sim->dies[index];
    die->event = false;
    if (die->suspended) {
        return QUEUE_NONE;
    }
    if (sim->now_ps < die->end_ps) {
        run_until(sim, die, die->end_ps);
        return QUEUE_NONE;
    }
    uint32_t drain = die->running;
    die->running = QUEUE_NONE;
    occupy(sim, -(int)sim->config.drive.planes);
    if (!overdue(sim, die)) {
        read_all(sim, die);
    }
    if (die->reading == 0 && die->drains.first != QUEUE_NONE) {
        run_next(sim, die);
    }
    return drain;
}
