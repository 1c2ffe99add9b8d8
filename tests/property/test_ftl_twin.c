/* The extent-mode FTL against a twin that keeps every unit by itself and looks for victims from end
 * to end. Tiny drives of every shape, random writes and trims of any size, the whole state compared
 * after each. The seed is printed; SEED=n in the environment repeats it. */
#include "base/memory.h"
#include "base/prng.h"
#include "sim/drive/ftl.h"
#include "tests/unit/support.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __SANITIZE_ADDRESS__
enum { DRIVES = 300 };
#else
enum { DRIVES = 3000 };
#endif

enum { STEPS = 60, UNITS_MAX = 2000, SUPERBLOCKS_MAX = 80, STREAMS = 5, NOWHERE = -1 };

struct twin_superblock {
    enum ftl_state state;
    int handle, written, valid, erases;
    long age;
    int units[UNITS_MAX], streams[UNITS_MAX];
};

struct twin {
    struct ftl_config config;
    int units, superblock_units, superblocks;
    int where[UNITS_MAX];
    struct twin_superblock *all;
    int free[SUPERBLOCKS_MAX], free_count;
    int host[4], gc[4];
    long age, host_units, gc_units, trimmed, victims, seen, alive, of_stream[STREAMS];
};

static void twin_erase(struct twin *twin, int superblock) {
    twin->all[superblock].state = FTL_FREE;
    twin->all[superblock].written = 0;
    twin->all[superblock].erases++;
    twin->free[twin->free_count++] = superblock;
}

static int twin_take(struct twin *twin, int handle) {
    int superblock = twin->free[0];
    assert_true(twin->free_count > 0);
    memmove(twin->free, twin->free + 1, (size_t)--twin->free_count * sizeof twin->free[0]);
    twin->all[superblock].state = FTL_OPEN;
    twin->all[superblock].handle = handle;
    return superblock;
}

static void twin_put(struct twin *twin, int *frontier, int unit, int stream) {
    int at = *frontier;
    struct twin_superblock *open = &twin->all[at];
    open->units[open->written] = unit;
    open->streams[open->written++] = stream;
    open->valid++;
    twin->where[unit] = at;
    if (open->written == twin->superblock_units) {
        open->state = FTL_CLOSED;
        open->age = ++twin->age;
        *frontier = NOWHERE;
    }
}

static void twin_kill(struct twin *twin, int unit) {
    int at = twin->where[unit];
    if (at == NOWHERE) {
        return;
    }
    twin->where[unit] = NOWHERE;
    twin->all[at].valid--;
    if (twin->all[at].state == FTL_CLOSED) {
        if (twin->all[at].valid == 0) {
            twin_erase(twin, at);
        } else if (twin->config.victims == FTL_VICTIMS_GREEDY) {
            twin->all[at].age = ++twin->age;
        }
    }
}

static int twin_victim(const struct twin *twin) {
    int best = NOWHERE;
    bool greedy = twin->config.victims == FTL_VICTIMS_GREEDY;
    for (int i = 0; i < twin->superblocks; i++) {
        const struct twin_superblock *one = &twin->all[i], *other = &twin->all[best < 0 ? 0 : best];
        if (one->state != FTL_CLOSED) {
            continue;
        }
        bool cheaper = greedy && one->valid < other->valid;
        bool older = (!greedy || one->valid == other->valid) && one->age < other->age;
        if (best == NOWHERE || cheaper || older) {
            best = i;
        }
    }
    return best;
}

static int *twin_gc_frontier(struct twin *twin, int handle) {
    return twin->config.gc_frontier == FTL_GC_MIXED    ? &twin->host[handle]
           : twin->config.gc_frontier == FTL_GC_SHARED ? &twin->gc[0]
                                                       : &twin->gc[handle];
}

static void twin_collect(struct twin *twin) {
    int at = twin_victim(twin);
    struct twin_superblock *victim = &twin->all[at];
    bool seen[STREAMS] = {false}, alive[STREAMS] = {false};
    victim->state = FTL_OPEN; /* no longer a victim */
    for (int i = 0; i < twin->superblock_units; i++) {
        seen[victim->streams[i]] = true;
        if (twin->where[victim->units[i]] != at) {
            continue;
        }
        int *frontier = twin_gc_frontier(twin, victim->handle);
        if (*frontier == NOWHERE) {
            *frontier = twin_take(twin, victim->handle);
        }
        alive[victim->streams[i]] = true;
        victim->valid--;
        twin->gc_units++;
        twin->of_stream[victim->streams[i]]++;
        twin_put(twin, frontier, victim->units[i], victim->streams[i]);
    }
    twin->victims++;
    for (int i = 0; i < STREAMS; i++) {
        twin->seen += seen[i];
        twin->alive += alive[i];
    }
    twin_erase(twin, at);
}

static void twin_make_room(struct twin *twin, int handle) {
    if (twin->host[handle] != NOWHERE) {
        return;
    }
    while (twin->free_count <= (int)twin->config.gc_low) {
        twin_collect(twin);
    }
    if (twin->host[handle] == NOWHERE) {
        twin->host[handle] = twin_take(twin, handle);
    }
}

static void twin_write(struct twin *twin, const struct ftl_write *write) {
    for (uint64_t i = 0; i < write->units; i++) {
        int unit = (int)(write->first_unit + i);
        twin_make_room(twin, (int)write->handle);
        twin_kill(twin, unit);
        twin_put(twin, &twin->host[write->handle], unit, (int)write->stream);
        twin->host_units++;
    }
}

static void twin_trim(struct twin *twin, int first, int units) {
    for (int unit = first; unit < first + units; unit++) {
        twin->trimmed += twin->where[unit] != NOWHERE;
        twin_kill(twin, unit);
    }
}

static void twin_init(struct twin *twin, const struct ftl_config *config) {
    *twin = (struct twin){.config = *config};
    twin->units = (int)((config->logical_bytes + config->unit_bytes - 1) / config->unit_bytes);
    twin->superblock_units = (int)(config->superblock_bytes / config->unit_bytes);
    twin->superblocks = (int)(config->raw_bytes / config->superblock_bytes);
    twin->all = mem_new((size_t)twin->superblocks, sizeof *twin->all);
    memset(twin->where, 0xff, sizeof twin->where);
    memset(twin->host, 0xff, sizeof twin->host);
    memset(twin->gc, 0xff, sizeof twin->gc);
    for (int i = 0; i < twin->superblocks; i++) {
        twin->free[twin->free_count++] = i;
    }
}

static void compare_superblocks(const struct twin *twin, const struct ftl *ftl) {
    long erases = 0;
    for (int i = 0; i < twin->superblocks; i++) {
        const struct twin_superblock *expected = &twin->all[i];
        struct ftl_superblock_view view = ftl_superblock(ftl, (uint32_t)i);
        assert_int_equal(view.state, expected->state);
        assert_int_equal(view.written_units, expected->written);
        assert_int_equal(view.valid_units, expected->valid);
        assert_int_equal(view.erases, expected->erases);
        erases += expected->erases;
    }
    assert_int_equal(ftl_wear(ftl).erases, erases);
}

static void compare(const struct twin *twin, const struct ftl *ftl) {
    int mapped = 0;
    for (int unit = 0; unit < twin->units; unit++) {
        uint32_t expected = twin->where[unit] == NOWHERE ? UINT32_MAX : (uint32_t)twin->where[unit];
        assert_int_equal(ftl_superblock_of(ftl, (uint64_t)unit), expected);
        mapped += twin->where[unit] != NOWHERE;
    }
    struct ftl_stats stats = ftl_stats(ftl);
    assert_int_equal(stats.host_units, twin->host_units);
    assert_int_equal(stats.gc_units, twin->gc_units);
    assert_int_equal(stats.trimmed_units, twin->trimmed);
    assert_int_equal(stats.mapped_units, mapped);
    assert_int_equal(ftl_mapped_units(ftl, 0, (uint64_t)twin->units), mapped);
    assert_int_equal(stats.victims, twin->victims);
    assert_int_equal(stats.victim_streams_written, twin->seen);
    assert_int_equal(stats.victim_streams_valid, twin->alive);
    assert_int_equal(stats.free_superblocks, twin->free_count);
    for (uint32_t stream = 0; stream < STREAMS; stream++) {
        assert_int_equal(ftl_gc_units_of(ftl, stream), twin->of_stream[stream]);
    }
    compare_superblocks(twin, ftl);
    struct error err = {0};
    if (ftl_check(ftl, &err) != OK) {
        fail_msg("%s", err.text);
    }
}

static uint64_t pick(uint64_t *random, uint64_t low, uint64_t high) {
    return low + prng_next(random) % (high - low + 1);
}

/* As full as it may be, or up to a third empty. */
static struct ftl_config draw_config(uint64_t *random) {
    uint64_t units = pick(random, 1, 40), data = pick(random, 1, UNITS_MAX / units / 2);
    struct ftl_config config = {.unit_bytes = 4096,
                                .superblock_bytes = units * 4096,
                                .gc_low = (uint32_t)pick(random, 1, 3),
                                .handles = (uint32_t)pick(random, 1, 4),
                                .streams = STREAMS,
                                .gc_frontier = (enum ftl_gc_frontier)pick(random, 0, 2),
                                .victims = (enum ftl_victims)pick(random, 0, 1),
                                .memory_limit_bytes = 1 << 28};
    uint64_t kept = config.handles + config.gc_low + 1;
    kept += config.gc_frontier == FTL_GC_OWN      ? config.handles
            : config.gc_frontier == FTL_GC_SHARED ? 1
                                                  : 0;
    data = data + kept > SUPERBLOCKS_MAX / 2 ? SUPERBLOCKS_MAX / 2 - kept : data;
    config.logical_bytes = data * units * 4096 - pick(random, 0, units * 4096 - 1);
    uint64_t spare = pick(random, 0, 1) == 0 ? 0 : pick(random, 0, data / 3);
    config.raw_bytes = (data + kept + spare) * units * 4096 + pick(random, 0, 4095);
    return config;
}

static void step(uint64_t *random, struct twin *twin, struct ftl *ftl) {
    uint64_t units = ftl_logical_units(ftl), first = pick(random, 0, units - 1);
    uint64_t longest = pick(random, 0, 2) == 0 ? units : 1 + units / 8;
    uint64_t count = pick(random, 0, units - first < longest ? units - first : longest);
    uint64_t what = pick(random, 0, 9);
    struct error err = {0};
    if (what == 0) {
        ftl_trim(ftl, first, count);
        twin_trim(twin, (int)first, (int)count);
        return;
    }
    struct ftl_write write = {.first_unit = first,
                              .units = count,
                              .handle = (uint32_t)pick(random, 0, twin->config.handles - 1),
                              .stream = (uint32_t)pick(random, 0, STREAMS - 1)};
    if (what == 1) {
        uint64_t room;
        assert_int_equal(ftl_room(ftl, write.handle, &room, &err), OK);
        twin_make_room(twin, (int)write.handle);
        int open = twin->host[write.handle];
        assert_int_equal(room, twin->superblock_units - twin->all[open].written);
        return;
    }
    assert_int_equal(ftl_write(ftl, &write, &err), OK);
    twin_write(twin, &write);
}

static void run_drive(uint64_t *random) {
    struct ftl_config config = draw_config(random);
    struct twin twin;
    twin_init(&twin, &config);
    struct ftl *ftl = NULL;
    struct error err = {0};
    if (ftl_open(&config, &ftl, &err) != OK) {
        fail_msg("%s", err.text);
    }
    for (int i = 0; i < STEPS; i++) {
        step(random, &twin, ftl);
        compare(&twin, ftl);
    }
    ftl_close(ftl);
    mem_free(twin.all);
}

static void extents_equal_units(void **state) {
    (void)state;
    const char *given = getenv("SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("# SEED=%llu\n", (unsigned long long)seed);
    for (int i = 0; i < DRIVES; i++) {
        run_drive(&seed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(extents_equal_units)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
