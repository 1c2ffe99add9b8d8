/* Audit of the extent-mode FTL: every count is made again from the maps and held against the kept
 * one. */
#include "sim/drive/ftl_private.h"

static enum status wrong(struct error *err, const char *what, uint64_t kept, uint64_t counted) {
    return error_set(err, ERR_FAILED, "%s: kept %llu, counted %llu", what, (unsigned long long)kept,
                     (unsigned long long)counted);
}

/* Units that the forward map holds in each superblock. */
static void count_valid(const struct ftl *ftl, uint64_t *valid) {
    struct ftl_piece piece = {0};
    uint64_t first = 0;
    while (ftl_map_next(&ftl->map, first, ftl->logical_units, &piece)) {
        first = piece.first_unit + piece.units;
        valid[piece.superblock] += piece.units;
    }
}

/* Units of the log that the forward map still places here, each counted once: entries of one log
 * may name a unit again, so that those from the same place on are compared piece by piece. */
static bool log_covers(const struct ftl *ftl, uint32_t superblock, const struct ftl_piece *piece) {
    uint64_t covered = piece->first_unit;
    bool grew = true;
    while (grew && covered < piece->first_unit + piece->units) {
        grew = false;
        const struct ftl_chunk *chunk = ftl->superblocks[superblock].log.oldest;
        for (; chunk != NULL; chunk = chunk->next) {
            for (uint32_t i = 0; i < chunk->count; i++) {
                uint64_t first = ftl_entry_first(&chunk->entries[i]);
                uint64_t end = first + chunk->entries[i].units;
                if (first <= covered && end > covered) {
                    covered = end;
                    grew = true;
                }
            }
        }
    }
    return covered >= piece->first_unit + piece->units;
}

static enum status check_reverse(const struct ftl *ftl, struct error *err) {
    struct ftl_piece piece = {0};
    uint64_t first = 0;
    while (ftl_map_next(&ftl->map, first, ftl->logical_units, &piece)) {
        first = piece.first_unit + piece.units;
        if (!log_covers(ftl, piece.superblock, &piece)) {
            return error_set(err, ERR_FAILED, "unit %llu is not in the log of superblock %u",
                             (unsigned long long)piece.first_unit, piece.superblock);
        }
    }
    return OK;
}

static uint64_t log_units(const struct ftl_log *log) {
    uint64_t units = 0;
    for (const struct ftl_chunk *chunk = log->oldest; chunk != NULL; chunk = chunk->next) {
        for (uint32_t i = 0; i < chunk->count; i++) {
            units += chunk->entries[i].units;
        }
    }
    return units;
}

static enum status check_superblock(const struct ftl *ftl, uint32_t i, uint64_t valid,
                                    struct error *err) {
    const struct ftl_superblock *superblock = &ftl->superblocks[i];
    bool queued = ftl->queue.places[i] != FTL_QUEUE_OUT;
    if (superblock->valid_units != valid) {
        return wrong(err, "valid units of a superblock", superblock->valid_units, valid);
    }
    if (superblock->written_units < valid || superblock->written_units > ftl->superblock_units) {
        return wrong(err, "written units of a superblock", superblock->written_units, valid);
    }
    if (superblock->written_units != log_units(&superblock->log)) {
        return wrong(err, "logged units of a superblock", superblock->written_units,
                     log_units(&superblock->log));
    }
    if (queued != (superblock->state == FTL_CLOSED)) {
        return wrong(err, "superblocks in the queue", superblock->state == FTL_CLOSED, queued);
    }
    if (superblock->state == FTL_CLOSED &&
        (valid == 0 || superblock->written_units != ftl->superblock_units)) {
        return wrong(err, "units of a closed superblock", superblock->written_units, valid);
    }
    if (superblock->state == FTL_FREE && superblock->written_units != 0) {
        return wrong(err, "units of a free superblock", superblock->written_units, 0);
    }
    return OK;
}

static enum status check_free(const struct ftl *ftl, struct error *err) {
    uint64_t free = 0, erases = 0;
    for (uint32_t i = 0; i < ftl->superblock_count; i++) {
        free += ftl->superblocks[i].state == FTL_FREE;
        erases += ftl->superblocks[i].erases;
    }
    if (free != ftl->free_count) {
        return wrong(err, "free superblocks", ftl->free_count, free);
    }
    if (erases != ftl->stats.erases) {
        return wrong(err, "erases", ftl->stats.erases, erases);
    }
    uint64_t written = ftl->stats.host_units + ftl->stats.gc_units, held = 0;
    for (uint32_t i = 0; i < ftl->superblock_count; i++) {
        held += ftl->superblocks[i].written_units;
    }
    /* Every unit ever written is in a superblock, or went with an erase of a full one. */
    if (written != held + erases * ftl->superblock_units) {
        return wrong(err, "units written", written, held + erases * ftl->superblock_units);
    }
    return OK;
}

enum status ftl_check(const struct ftl *ftl, struct error *err) {
    uint64_t *valid = mem_new(ftl->superblock_count, sizeof *valid), sum = 0;
    enum status status = OK;
    if (!ftl_map_consistent(&ftl->map)) {
        status = error_set(err, ERR_FAILED, "runs of the forward map do not add up");
        goto done;
    }
    count_valid(ftl, valid);
    for (uint32_t i = 0; status == OK && i < ftl->superblock_count; i++) {
        status = check_superblock(ftl, i, valid[i], err);
        sum += valid[i];
    }
    if (status == OK && sum != ftl->map.mapped_units) {
        status = wrong(err, "mapped units", ftl->map.mapped_units, sum);
    }
    status = status == OK ? check_free(ftl, err) : status;
    status = status == OK ? check_reverse(ftl, err) : status;
done:
    mem_free(valid);
    return status;
}
