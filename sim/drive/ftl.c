/* Extent-mode FTL: the open superblocks, the writes into them and what they make stale. Collecting
 * is in ftl_gc.c, the audit in ftl_check.c. */
#include "sim/drive/ftl_private.h"

#include "base/check.h"

static struct ftl_frontier *new_frontiers(uint32_t count) {
    struct ftl_frontier *frontiers = mem_new(count, sizeof *frontiers);
    for (uint32_t i = 0; i < count; i++) {
        frontiers[i].superblock = FTL_NONE;
    }
    return frontiers;
}

enum status ftl_open(const struct ftl_config *config, struct ftl **result, struct error *err) {
    enum status status = ftl_config_check(config, err);
    if (status != OK) {
        return status;
    }
    struct ftl *ftl = mem_new(1, sizeof *ftl);
    ftl->config = *config;
    ftl->logical_units = config->logical_bytes / config->unit_bytes +
                         (config->logical_bytes % config->unit_bytes != 0);
    ftl->superblock_units = config->superblock_bytes / config->unit_bytes;
    ftl->superblock_count = (uint32_t)(config->raw_bytes / config->superblock_bytes);
    ftl->superblocks = mem_new(ftl->superblock_count, sizeof *ftl->superblocks);
    ftl->free = mem_new(ftl->superblock_count, sizeof *ftl->free);
    for (uint32_t i = 0; i < ftl->superblock_count; i++) {
        ftl->free[i] = i;
    }
    ftl->free_count = ftl->superblock_count;
    ftl->host = new_frontiers(config->handles);
    ftl->gc = new_frontiers(config->handles);
    ftl->streams = mem_new(config->streams, sizeof *ftl->streams);
    ftl_map_init(&ftl->map, ftl->logical_units, &ftl->pool);
    ftl_queue_init(&ftl->queue, ftl->superblock_count);
    ftl->fixed_bytes = ftl_fixed_bytes(config);
    ftl->random = config->seed;
    *result = ftl;
    return OK;
}

void ftl_close(struct ftl *ftl) {
    if (ftl == NULL) {
        return;
    }
    ftl_queue_fini(&ftl->queue);
    ftl_map_fini(&ftl->map);
    mem_free(ftl->streams);
    mem_free(ftl->gc);
    mem_free(ftl->host);
    mem_free(ftl->free);
    mem_free(ftl->superblocks);
    ftl_pool_fini(&ftl->pool);
    mem_free(ftl);
}

static uint64_t memory_bytes(const struct ftl *ftl) {
    return ftl->fixed_bytes + ftl_pool_used_bytes(&ftl->pool);
}

enum status ftl_within_memory(const struct ftl *ftl, struct error *err) {
    if (memory_bytes(ftl) <= ftl->config.memory_limit_bytes) {
        return OK;
    }
    return error_set(err, ERR_FAILED,
                     "state of the drive outgrew the allowed %llu bytes: writes are too small and "
                     "scattered for a drive of this size",
                     (unsigned long long)ftl->config.memory_limit_bytes);
}

void ftl_erase(struct ftl *ftl, uint32_t superblock) {
    struct ftl_superblock *erased = &ftl->superblocks[superblock];
    CHECK(erased->valid_units == 0);
    ftl_log_clear(&erased->log, &ftl->pool);
    erased->written_units = 0;
    erased->state = FTL_FREE;
    erased->erases++;
    ftl->stats.erases++;
    uint32_t at = (ftl->free_first + ftl->free_count) % ftl->superblock_count;
    ftl->free[at] = superblock;
    ftl->free_count++;
}

void ftl_open_superblock(struct ftl *ftl, struct ftl_frontier *frontier, uint32_t handle) {
    CHECK(ftl->free_count > 0);
    uint32_t superblock = ftl->free[ftl->free_first];
    ftl->free_first = (ftl->free_first + 1) % ftl->superblock_count;
    ftl->free_count--;
    ftl->superblocks[superblock].state = FTL_OPEN;
    ftl->superblocks[superblock].handle = handle;
    frontier->superblock = superblock;
}

/* In order of closing, cost plays no part. */
static void queue_put(struct ftl *ftl, uint32_t superblock) {
    bool fifo = ftl->config.victims == FTL_VICTIMS_FIFO;
    struct ftl_queue_node node = {.cost = fifo ? 0 : ftl->superblocks[superblock].valid_units,
                                  .age = ++ftl->age,
                                  .superblock = superblock};
    ftl_queue_put(&ftl->queue, &node);
}

static void close_superblock(struct ftl *ftl, uint32_t superblock) {
    /* It is not empty: what filled it is valid. */
    ftl->superblocks[superblock].state = FTL_CLOSED;
    queue_put(ftl, superblock);
}

void ftl_invalidate(struct ftl *ftl, uint32_t superblock, uint64_t units) {
    struct ftl_superblock *holder = &ftl->superblocks[superblock];
    CHECK(holder->valid_units >= units);
    holder->valid_units -= units;
    if (holder->state != FTL_CLOSED) {
        return;
    }
    if (holder->valid_units == 0) {
        ftl_queue_remove(&ftl->queue, superblock);
        ftl_erase(ftl, superblock);
    } else if (ftl->config.victims != FTL_VICTIMS_FIFO) {
        queue_put(ftl, superblock);
    }
}

uint64_t ftl_append(struct ftl *ftl, struct ftl_frontier *frontier, const struct ftl_piece *piece,
                    uint32_t stream) {
    uint32_t superblock = frontier->superblock;
    struct ftl_superblock *open = &ftl->superblocks[superblock];
    uint64_t room = ftl->superblock_units - open->written_units;
    struct ftl_piece part = {.first_unit = piece->first_unit,
                             .units = piece->units < room ? piece->units : room,
                             .superblock = superblock};
    ftl_map_set(&ftl->map, &part);
    ftl_log_append(&open->log, &ftl->pool, part.first_unit, (uint32_t)part.units, (uint16_t)stream);
    open->written_units += part.units;
    open->valid_units += part.units;
    if (open->written_units == ftl->superblock_units) {
        frontier->superblock = FTL_NONE;
        close_superblock(ftl, superblock);
    }
    return part.units;
}

enum status ftl_room(struct ftl *ftl, uint32_t handle, uint64_t *units, struct error *err) {
    CHECK(handle < ftl->config.handles);
    struct ftl_frontier *frontier = &ftl->host[handle];
    if (frontier->superblock == FTL_NONE) {
        enum status status = ftl_collect(ftl, err);
        if (status != OK) {
            return status;
        }
    }
    /* A mixed frontier may have been opened by the collection. */
    if (frontier->superblock == FTL_NONE) {
        ftl_open_superblock(ftl, frontier, handle);
    }
    *units = ftl->superblock_units - ftl->superblocks[frontier->superblock].written_units;
    return OK;
}

/* Everything mapped in [first, end) becomes stale where it lies. Returns how much that was. */
static uint64_t make_stale(struct ftl *ftl, uint64_t first, uint64_t end) {
    uint64_t stale = 0;
    struct ftl_piece piece;
    while (ftl_map_next(&ftl->map, first, end, &piece)) {
        first = piece.first_unit + piece.units;
        stale += piece.units;
        ftl_invalidate(ftl, piece.superblock, piece.units);
    }
    return stale;
}

static void check_range(const struct ftl *ftl, uint64_t first, uint64_t units) {
    CHECK(first <= ftl->logical_units);
    CHECK(units <= ftl->logical_units - first);
}

enum status ftl_write(struct ftl *ftl, const struct ftl_write *write, struct error *err) {
    check_range(ftl, write->first_unit, write->units);
    CHECK(write->stream < ftl->config.streams);
    struct ftl_piece rest = {.first_unit = write->first_unit, .units = write->units};
    while (rest.units > 0) {
        uint64_t room;
        enum status status = ftl_within_memory(ftl, err);
        status = status == OK ? ftl_room(ftl, write->handle, &room, err) : status;
        if (status != OK) {
            return status;
        }
        uint64_t units = rest.units < room ? rest.units : room;
        make_stale(ftl, rest.first_unit, rest.first_unit + units);
        struct ftl_piece part = {.first_unit = rest.first_unit, .units = units};
        ftl_append(ftl, &ftl->host[write->handle], &part, write->stream);
        ftl->stats.host_units += units;
        rest.first_unit += units;
        rest.units -= units;
    }
    return OK;
}

void ftl_trim(struct ftl *ftl, uint64_t first_unit, uint64_t units) {
    check_range(ftl, first_unit, units);
    ftl->stats.trimmed_units += make_stale(ftl, first_unit, first_unit + units);
    struct ftl_piece nowhere = {
        .first_unit = first_unit, .units = units, .superblock = FTL_UNMAPPED};
    ftl_map_set(&ftl->map, &nowhere);
}

uint64_t ftl_logical_units(const struct ftl *ftl) { return ftl->logical_units; }

uint64_t ftl_superblock_units(const struct ftl *ftl) { return ftl->superblock_units; }

uint32_t ftl_superblock_of(const struct ftl *ftl, uint64_t unit) {
    check_range(ftl, unit, 1);
    struct ftl_piece piece;
    return ftl_map_next(&ftl->map, unit, unit + 1, &piece) ? piece.superblock : FTL_UNMAPPED;
}

uint64_t ftl_mapped_units(const struct ftl *ftl, uint64_t first_unit, uint64_t units) {
    check_range(ftl, first_unit, units);
    uint64_t sum = 0, end = first_unit + units;
    struct ftl_piece piece;
    while (ftl_map_next(&ftl->map, first_unit, end, &piece)) {
        first_unit = piece.first_unit + piece.units;
        sum += piece.units;
    }
    return sum;
}

struct ftl_superblock_view ftl_superblock(const struct ftl *ftl, uint32_t superblock) {
    CHECK(superblock < ftl->superblock_count);
    const struct ftl_superblock *from = &ftl->superblocks[superblock];
    return (struct ftl_superblock_view){.state = from->state,
                                        .written_units = from->written_units,
                                        .valid_units = from->valid_units,
                                        .erases = from->erases};
}

struct ftl_stats ftl_stats(const struct ftl *ftl) {
    struct ftl_stats stats = ftl->stats;
    stats.mapped_units = ftl->map.mapped_units;
    stats.runs = ftl->map.runs;
    stats.dense_buckets = ftl->map.dense_buckets;
    stats.memory_bytes = memory_bytes(ftl);
    stats.superblocks = ftl->superblock_count;
    stats.free_superblocks = ftl->free_count;
    return stats;
}

struct ftl_wear ftl_wear(const struct ftl *ftl) {
    struct ftl_wear wear = {.erases_min = UINT64_MAX};
    for (uint32_t i = 0; i < ftl->superblock_count; i++) {
        uint64_t erases = ftl->superblocks[i].erases;
        wear.erases_min = erases < wear.erases_min ? erases : wear.erases_min;
        wear.erases_max = erases > wear.erases_max ? erases : wear.erases_max;
        wear.erases += erases;
    }
    return wear;
}

uint64_t ftl_gc_units_of(const struct ftl *ftl, uint32_t stream) {
    CHECK(stream < ftl->config.streams);
    return ftl->streams[stream].gc_units;
}
