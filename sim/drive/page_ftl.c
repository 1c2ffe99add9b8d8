/* Page-exact FTL. The forward map holds superblocks, not places: where in a superblock a unit lies
 * changes nothing, and so a write need not reach back to mark its old place stale. A place holds a
 * valid unit if the map finds the unit in this superblock; one written twice there counts at its
 * first place, as in ftl_gc.c. */
#include "sim/drive/page_ftl_private.h"

#include "base/check.h"
#include "base/memory.h"
#include "base/prng.h"

#include <string.h>

enum { UNITS_MAX = 1 << 30 };

static enum status check_config(const struct page_ftl_config *config, struct error *err) {
    uint64_t raw = (uint64_t)config->superblocks * config->superblock_units;
    uint64_t frontiers = config->gc_mixed ? 1 : 2;
    if (config->logical_units == 0 || config->superblock_units == 0 || config->gc_low == 0) {
        return error_set(err, ERR_USAGE, "drive of no units, or no superblock in reserve");
    }
    if (raw > UNITS_MAX) {
        return error_set(err, ERR_USAGE, "%llu units are too many to keep one by one: scale down",
                         (unsigned long long)raw);
    }
    uint64_t kept = frontiers + config->gc_low;
    if (config->logical_units / config->superblock_units + 1 + kept > config->superblocks) {
        return error_set(err, ERR_USAGE, "over-provisioning is too small: %u superblocks",
                         config->superblocks);
    }
    if (config->victims == PAGE_VICTIMS_D_CHOICES && config->choices == 0) {
        return error_set(err, ERR_USAGE, "victims are chosen among 0 superblocks");
    }
    return OK;
}

static uint32_t *new_filled(size_t count) {
    uint32_t *values = mem_new(count, sizeof *values);
    memset(values, 0xff, count * sizeof *values);
    return values;
}

enum status page_ftl_open(const struct page_ftl_config *config, struct page_ftl **result,
                          struct error *err) {
    enum status status = check_config(config, err);
    if (status != OK) {
        return status;
    }
    struct page_ftl *ftl = mem_new(1, sizeof *ftl);
    ftl->config = *config;
    ftl->superblock_of = new_filled(config->logical_units);
    ftl->units = new_filled((size_t)config->superblocks * config->superblock_units);
    ftl->superblocks = mem_new(config->superblocks, sizeof *ftl->superblocks);
    ftl->lists = mem_new((size_t)config->superblock_units + 1, sizeof *ftl->lists);
    memset(ftl->lists, 0xff, ((size_t)config->superblock_units + 1) * sizeof *ftl->lists);
    ftl->lowest = config->superblock_units;
    ftl->free = mem_new(config->superblocks, sizeof *ftl->free);
    for (uint32_t i = 0; i < config->superblocks; i++) {
        ftl->free[i] = i;
    }
    ftl->stats.free_superblocks = config->superblocks;
    ftl->host = ftl->gc = PAGE_NONE;
    ftl->random = config->seed;
    *result = ftl;
    return OK;
}

void page_ftl_close(struct page_ftl *ftl) {
    if (ftl == NULL) {
        return;
    }
    mem_free(ftl->free);
    mem_free(ftl->lists);
    mem_free(ftl->superblocks);
    mem_free(ftl->units);
    mem_free(ftl->superblock_of);
    mem_free(ftl);
}

uint32_t page_random(struct page_ftl *ftl, uint32_t limit) {
    return (uint32_t)((unsigned __int128)prng_next(&ftl->random) * limit >> 64);
}

/* FIFO keeps all in one list, in the order of closing. */
static struct page_list *list_of(struct page_ftl *ftl, uint32_t superblock) {
    bool fifo = ftl->config.victims == PAGE_VICTIMS_FIFO;
    return &ftl->lists[fifo ? 0 : ftl->superblocks[superblock].valid];
}

static void list_add(struct page_ftl *ftl, uint32_t superblock) {
    struct page_superblock *added = &ftl->superblocks[superblock];
    struct page_list *list = list_of(ftl, superblock);
    added->newer = PAGE_NONE;
    added->older = list->newest;
    if (list->newest != PAGE_NONE) {
        ftl->superblocks[list->newest].newer = superblock;
    } else {
        list->oldest = superblock;
    }
    list->newest = superblock;
    uint32_t place = (uint32_t)(list - ftl->lists);
    ftl->lowest = place < ftl->lowest ? place : ftl->lowest;
}

static void list_remove(struct page_ftl *ftl, uint32_t superblock) {
    const struct page_superblock *removed = &ftl->superblocks[superblock];
    struct page_list *list = list_of(ftl, superblock);
    if (removed->older != PAGE_NONE) {
        ftl->superblocks[removed->older].newer = removed->newer;
    } else {
        list->oldest = removed->newer;
    }
    if (removed->newer != PAGE_NONE) {
        ftl->superblocks[removed->newer].older = removed->older;
    } else {
        list->newest = removed->older;
    }
}

static void erase(struct page_ftl *ftl, uint32_t superblock) {
    ftl->superblocks[superblock].written = 0;
    ftl->superblocks[superblock].closed = false;
    uint32_t at = (ftl->free_first + ftl->stats.free_superblocks) % ftl->config.superblocks;
    ftl->free[at] = superblock;
    ftl->stats.free_superblocks++;
    ftl->stats.erases++;
}

uint32_t page_take_free(struct page_ftl *ftl) {
    CHECK(ftl->stats.free_superblocks > 0);
    uint32_t superblock = ftl->free[ftl->free_first];
    ftl->free_first = (ftl->free_first + 1) % ftl->config.superblocks;
    ftl->stats.free_superblocks--;
    return superblock;
}

void page_close(struct page_ftl *ftl, uint32_t superblock) {
    ftl->superblocks[superblock].closed = true;
    list_add(ftl, superblock);
}

static void invalidate(struct page_ftl *ftl, uint32_t superblock) {
    struct page_superblock *holder = &ftl->superblocks[superblock];
    if (!holder->closed) {
        holder->valid--;
        return;
    }
    if (ftl->config.victims == PAGE_VICTIMS_FIFO) {
        if (--holder->valid > 0) {
            return;
        }
        list_remove(ftl, superblock);
        erase(ftl, superblock);
        return;
    }
    list_remove(ftl, superblock);
    if (--holder->valid > 0) {
        list_add(ftl, superblock);
    } else {
        erase(ftl, superblock);
    }
}

/* Puts the unit into the frontier's open superblock, which is closed when that fills it. */
static void append(struct page_ftl *ftl, uint32_t *frontier, uint32_t unit) {
    uint32_t superblock = *frontier;
    struct page_superblock *open = &ftl->superblocks[superblock];
    ftl->units[(size_t)superblock * ftl->config.superblock_units + open->written++] = unit;
    ftl->superblock_of[unit] = superblock;
    open->valid++;
    if (open->written == ftl->config.superblock_units) {
        *frontier = PAGE_NONE;
        page_close(ftl, superblock);
    }
}

static uint32_t cheapest(struct page_ftl *ftl) {
    while (ftl->lists[ftl->lowest].oldest == PAGE_NONE) {
        ftl->lowest++;
        CHECK(ftl->lowest <= ftl->config.superblock_units);
    }
    return ftl->lists[ftl->lowest].oldest;
}

/* Free and open superblocks are a small share, so that drawing again costs little. */
static uint32_t best_drawn(struct page_ftl *ftl) {
    uint32_t best = PAGE_NONE;
    for (uint32_t i = 0; i < ftl->config.choices;) {
        uint32_t drawn = page_random(ftl, ftl->config.superblocks);
        const struct page_superblock *superblock = &ftl->superblocks[drawn];
        if (!superblock->closed) {
            continue;
        }
        if (best == PAGE_NONE || superblock->valid < ftl->superblocks[best].valid) {
            best = drawn;
        }
        i++;
    }
    return ftl->superblocks[best].valid < ftl->config.superblock_units ? best : cheapest(ftl);
}

static void collect_one(struct page_ftl *ftl) {
    bool drawn = ftl->config.victims == PAGE_VICTIMS_D_CHOICES;
    uint32_t victim = drawn ? best_drawn(ftl) : cheapest(ftl);
    uint32_t *frontier = ftl->config.gc_mixed ? &ftl->host : &ftl->gc;
    struct page_superblock *superblock = &ftl->superblocks[victim];
    const uint32_t *units = ftl->units + (size_t)victim * ftl->config.superblock_units;
    list_remove(ftl, victim);
    ftl->stats.victims++;
    ftl->stats.gc_units += superblock->valid;
    for (uint32_t i = 0; superblock->valid > 0; i++) {
        CHECK(i < ftl->config.superblock_units);
        if (ftl->superblock_of[units[i]] != victim) {
            continue;
        }
        if (*frontier == PAGE_NONE) {
            *frontier = page_take_free(ftl);
        }
        superblock->valid--;
        append(ftl, frontier, units[i]);
    }
    erase(ftl, victim);
}

void page_ftl_write(struct page_ftl *ftl, uint32_t unit) {
    CHECK(unit < ftl->config.logical_units);
    if (ftl->host == PAGE_NONE) {
        while (ftl->stats.free_superblocks <= ftl->config.gc_low) {
            collect_one(ftl);
        }
        if (ftl->host == PAGE_NONE) {
            ftl->host = page_take_free(ftl);
        }
    }
    uint32_t old = ftl->superblock_of[unit];
    if (old != PAGE_NONE) {
        invalidate(ftl, old);
    } else {
        ftl->stats.mapped_units++;
    }
    append(ftl, &ftl->host, unit);
    ftl->stats.host_units++;
}

void page_ftl_trim(struct page_ftl *ftl, uint32_t unit) {
    CHECK(unit < ftl->config.logical_units);
    uint32_t old = ftl->superblock_of[unit];
    if (old == PAGE_NONE) {
        return;
    }
    ftl->superblock_of[unit] = PAGE_NONE;
    ftl->stats.mapped_units--;
    ftl->stats.trimmed_units++;
    invalidate(ftl, old);
}

uint32_t page_ftl_superblock_of(const struct page_ftl *ftl, uint32_t unit) {
    CHECK(unit < ftl->config.logical_units);
    return ftl->superblock_of[unit];
}

uint32_t page_ftl_valid_units(const struct page_ftl *ftl, uint32_t superblock) {
    CHECK(superblock < ftl->config.superblocks);
    return ftl->superblocks[superblock].valid;
}

struct page_ftl_stats page_ftl_stats(const struct page_ftl *ftl) {
    return ftl->stats;
}

/* Units that the map finds in each superblock, and that are not written there. */
static enum status count_units(const struct page_ftl *ftl, uint32_t *valid, struct error *err) {
    for (uint32_t unit = 0; unit < ftl->config.logical_units; unit++) {
        uint32_t superblock = ftl->superblock_of[unit];
        if (superblock == PAGE_NONE) {
            continue;
        }
        valid[superblock]++;
        const uint32_t *units = ftl->units + (size_t)superblock * ftl->config.superblock_units;
        uint32_t i = 0;
        while (i < ftl->superblocks[superblock].written && units[i] != unit) {
            i++;
        }
        if (i == ftl->superblocks[superblock].written) {
            return error_set(err, ERR_FAILED, "unit %u is not in superblock %u", unit, superblock);
        }
    }
    return OK;
}

enum status page_ftl_check(const struct page_ftl *ftl, struct error *err) {
    uint32_t *valid = mem_new(ftl->config.superblocks, sizeof *valid);
    uint64_t sum = 0;
    enum status status = count_units(ftl, valid, err);
    for (uint32_t i = 0; status == OK && i < ftl->config.superblocks; i++) {
        sum += valid[i];
        if (valid[i] != ftl->superblocks[i].valid) {
            status = error_set(err, ERR_FAILED, "superblock %u: %u units valid, kept %u", i,
                               valid[i], ftl->superblocks[i].valid);
        }
    }
    if (status == OK && sum != ftl->stats.mapped_units) {
        status = error_set(err, ERR_FAILED, "%llu units mapped, kept %u", (unsigned long long)sum,
                           ftl->stats.mapped_units);
    }
    mem_free(valid);
    return status;
}
