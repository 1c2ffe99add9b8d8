/* The extent-mode FTL: what must cost nothing, what it shares with the page-exact one, what it
 * refuses. The twin of tests/property has the details. */
#include "base/memory.h"
#include "base/prng.h"
#include "sim/drive/ftl.h"
#include "sim/drive/page_ftl.h"
#include "tests/unit/support.h"

#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
enum { RANDOM_WRITES = 300000 };
#else
enum { RANDOM_WRITES = 1000000 };
#endif

enum { UNIT = 16384, SUPERBLOCK_UNITS = 256, STREAMS = 8 };

#define LIMIT_BYTES (UINT64_C(1) << 30)

/* Of data superblocks and some more. */
static struct ftl_config drive_of(uint64_t data, uint64_t spare) {
    uint64_t superblock = (uint64_t)SUPERBLOCK_UNITS * UNIT;
    return (struct ftl_config){.logical_bytes = data * superblock,
                               .raw_bytes = (data + spare) * superblock,
                               .superblock_bytes = superblock,
                               .unit_bytes = UNIT,
                               .gc_low = 2,
                               .handles = 1,
                               .streams = STREAMS,
                               .memory_limit_bytes = LIMIT_BYTES,
                               .seed = 3};
}

static struct ftl *open_drive(const struct ftl_config *config) {
    struct ftl *ftl = NULL;
    struct error err = {0};
    if (ftl_open(config, &ftl, &err) != OK) {
        fail_msg("%s", err.text);
    }
    return ftl;
}

static void put(struct ftl *ftl, const struct ftl_write *write) {
    struct error err = {0};
    if (ftl_write(ftl, write, &err) != OK) {
        fail_msg("%s", err.text);
    }
}

static void audit(const struct ftl *ftl) {
    struct error err = {0};
    if (ftl_check(ftl, &err) != OK) {
        fail_msg("%s", err.text);
    }
}

/* The smallest drive that is not refused: data, both frontiers, the reserve and one to be stale. */
static void sequential_overwrite_copies_nothing(void **state) {
    (void)state;
    static const uint64_t spares[] = {5, 6, 10, 40};
    static const uint64_t lengths[] = {1, 7, 64, SUPERBLOCK_UNITS, 5000};
    for (size_t i = 0; i < COUNT_OF(spares); i++) {
        struct ftl_config config = drive_of(200, spares[i]);
        struct ftl *ftl = open_drive(&config);
        uint64_t units = ftl_logical_units(ftl), length = lengths[i];
        for (uint64_t done = 0; done < 4 * units; done += length) {
            struct ftl_write write = {.first_unit = done % units, .units = length};
            write.units = write.first_unit + length > units ? units - write.first_unit : length;
            put(ftl, &write);
            done -= length - write.units;
        }
        struct ftl_stats stats = ftl_stats(ftl);
        assert_int_equal(stats.gc_units, 0);
        assert_int_equal(stats.host_units, 4 * units);
        assert_int_equal(stats.mapped_units, units);
        audit(ftl);
        ftl_close(ftl);
    }
}

/* Overwrites `loops` times, at once and in equal steps, regions of which region i is 2^i times as
 * large as the first: as many lifetimes. Returns the units that GC moved. */
static uint64_t lifetimes(uint32_t handles, enum ftl_gc_frontier gc, struct ftl_stats *stats) {
    enum { REGIONS = 5, STEP = 8, FIRST = 2560 };
    struct ftl_config config = drive_of(310, 25);
    config.handles = handles;
    config.gc_frontier = gc;
    struct ftl *ftl = open_drive(&config);
    for (uint64_t done = 0; done < UINT64_C(8) * 16 * FIRST; done += STEP) {
        for (uint32_t region = 0; region < REGIONS; region++) {
            uint64_t size = (uint64_t)FIRST << region, begin = size - FIRST;
            struct ftl_write write = {.first_unit = begin + done % size,
                                      .units = STEP,
                                      .handle = region % handles,
                                      .stream = region};
            put(ftl, &write);
        }
    }
    *stats = ftl_stats(ftl);
    audit(ftl);
    ftl_close(ftl);
    return stats->gc_units;
}

static void a_handle_per_lifetime_copies_nothing(void **state) {
    (void)state;
    struct ftl_stats stats;
    assert_int_equal(lifetimes(5, FTL_GC_OWN, &stats), 0);
    /* The same writes through one frontier do cost, and GC finds the long-lived data only. */
    assert_true(lifetimes(1, FTL_GC_OWN, &stats) > stats.host_units / 10);
    assert_true(stats.victim_streams_valid < stats.victim_streams_written);
    assert_true(lifetimes(1, FTL_GC_MIXED, &stats) > stats.host_units / 10);
}

/* Buckets of both kinds and borders between them take part: 150,000 units are three buckets. */
static void extents_equal_pages(void **state) {
    (void)state;
    struct ftl_config config = drive_of(600, 60);
    config.logical_bytes -= 5 * UNIT;
    struct page_ftl_config page_config = {.logical_units = 600 * SUPERBLOCK_UNITS - 5,
                                          .superblocks = 660,
                                          .superblock_units = SUPERBLOCK_UNITS,
                                          .unit_bytes = UNIT,
                                          .gc_low = 2};
    struct ftl *ftl = open_drive(&config);
    struct page_ftl *pages = NULL;
    struct error err = {0};
    assert_int_equal(page_ftl_open(&page_config, &pages, &err), OK);
    uint64_t random = 99;
    for (int i = 0; i < RANDOM_WRITES; i++) {
        uint32_t unit = (uint32_t)(prng_next(&random) % page_config.logical_units);
        if (prng_next(&random) % 20 == 0) {
            ftl_trim(ftl, unit, 1);
            page_ftl_trim(pages, unit);
        } else {
            put(ftl, &(struct ftl_write){.first_unit = unit, .units = 1});
            page_ftl_write(pages, unit);
        }
    }
    for (uint32_t unit = 0; unit < page_config.logical_units; unit++) {
        if (ftl_superblock_of(ftl, unit) != page_ftl_superblock_of(pages, unit)) {
            fail_msg("unit %u lies elsewhere", unit);
        }
    }
    for (uint32_t i = 0; i < page_config.superblocks; i++) {
        assert_int_equal(ftl_superblock(ftl, i).valid_units, page_ftl_valid_units(pages, i));
    }
    struct ftl_stats stats = ftl_stats(ftl);
    assert_int_equal(stats.gc_units, page_ftl_stats(pages).gc_units);
    assert_int_equal(stats.erases, page_ftl_stats(pages).erases);
    assert_int_equal(stats.trimmed_units, page_ftl_stats(pages).trimmed_units);
    assert_true(stats.gc_units > stats.host_units / 4);
    assert_true(stats.dense_buckets > 0);
    page_ftl_close(pages);
    ftl_close(ftl);
}

/* Large writes over scattered small ones make runs of dense buckets again. */
static void scattered_space_becomes_runs_again(void **state) {
    (void)state;
    struct ftl_config config = drive_of(600, 60);
    struct ftl *ftl = open_drive(&config);
    uint64_t random = 5, units = ftl_logical_units(ftl);
    for (int i = 0; i < 200000; i++) {
        put(ftl, &(struct ftl_write){.first_unit = prng_next(&random) % units, .units = 1});
    }
    assert_true(ftl_stats(ftl).dense_buckets >= 2);
    assert_true(ftl_mapped_units(ftl, 0, units) < units);
    for (int pass = 0; pass < 6; pass++) {
        put(ftl, &(struct ftl_write){.units = units});
    }
    struct ftl_stats stats = ftl_stats(ftl);
    assert_int_equal(stats.dense_buckets, 0);
    assert_int_equal(stats.mapped_units, units);
    ftl_trim(ftl, 0, units);
    assert_int_equal(ftl_stats(ftl).mapped_units, 0);
    assert_int_equal(ftl_stats(ftl).runs, 0);
    put(ftl, &(struct ftl_write){.units = units});
    assert_int_equal(ftl_stats(ftl).mapped_units, units);
    audit(ftl);
    ftl_close(ftl);
}

/* What GC moves for one stream of random writes under a choice of victims. */
static uint64_t moved_by(enum ftl_victims victims, uint32_t choices) {
    struct ftl_config config = drive_of(100, 20);
    config.victims = victims;
    config.choices = choices;
    struct ftl *ftl = open_drive(&config);
    uint64_t random = 8, units = ftl_logical_units(ftl);
    for (int i = 0; i < 20000; i++) {
        uint64_t first = prng_next(&random) % units;
        put(ftl, &(struct ftl_write){.first_unit = first,
                                     .units = units - first < 16 ? units - first : 16});
    }
    uint64_t moved = ftl_stats(ftl).gc_units;
    audit(ftl);
    ftl_close(ftl);
    return moved;
}

static void worse_victims_cost_more(void **state) {
    (void)state;
    uint64_t greedy = moved_by(FTL_VICTIMS_GREEDY, 0);
    uint64_t of_ten = moved_by(FTL_VICTIMS_D_CHOICES, 10);
    assert_true(greedy < of_ten);
    assert_true(of_ten < moved_by(FTL_VICTIMS_D_CHOICES, 2));
    assert_true(greedy < moved_by(FTL_VICTIMS_FIFO, 0));
}

static void streams_of_victims_are_told(void **state) {
    (void)state;
    struct ftl_config config = drive_of(16, 6);
    struct ftl *ftl = open_drive(&config);
    uint64_t units = ftl_logical_units(ftl), part = units / 4;
    /* Four streams in step; then only the first two write again. */
    for (int pass = 0; pass < 6; pass++) {
        for (uint64_t at = 0; at < part; at += 16) {
            for (uint32_t stream = 0; stream < (pass == 0 ? 4u : 2u); stream++) {
                put(ftl, &(struct ftl_write){
                             .first_unit = stream * part + at, .units = 16, .stream = stream});
            }
        }
    }
    struct ftl_stats stats = ftl_stats(ftl);
    assert_true(stats.victims > 0);
    assert_int_equal(stats.victim_streams_written, 4 * stats.victims);
    assert_int_equal(stats.victim_streams_valid, 2 * stats.victims);
    assert_int_equal(ftl_gc_units_of(ftl, 0) + ftl_gc_units_of(ftl, 1), 0);
    assert_int_equal(ftl_gc_units_of(ftl, 2) + ftl_gc_units_of(ftl, 3), stats.gc_units);
    ftl_close(ftl);
}

static void refused(struct ftl_config config, const char *why) {
    struct ftl *ftl = NULL;
    struct error err = {0};
    assert_int_equal(ftl_open(&config, &ftl, &err), ERR_USAGE);
    assert_null(ftl);
    if (strstr(err.text, why) == NULL) {
        fail_msg("'%s' does not say '%s'", err.text, why);
    }
}

static void impossible_drives_are_refused(void **state) {
    (void)state;
    struct ftl_config config = drive_of(100, 0);
    refused(config, "must exceed");
    refused(drive_of(100, 4), "over-provisioning is too small");
    config = drive_of(100, 10);
    config.unit_bytes = 0;
    refused(config, "unit");
    config = drive_of(100, 10);
    config.superblock_bytes = UNIT / 2;
    refused(config, "whole number of units");
    config = drive_of(100, 10);
    config.handles = 4;
    refused(config, "over-provisioning is too small");
    config.handles = 0;
    refused(config, "handles");
    config = drive_of(100, 10);
    config.gc_low = 0;
    refused(config, "reserve");
    config = drive_of(100, 10);
    config.logical_bytes = UINT64_MAX / 2;
    config.raw_bytes = UINT64_MAX;
    refused(config, "too large");
    config = drive_of(100, 10);
    config.memory_limit_bytes = 1000;
    refused(config, "are allowed");
}

/* The state is let grow to the limit, and not past it by more than a superblock's lists. */
static void memory_is_limited(void **state) {
    (void)state;
    struct ftl_config config = drive_of(4000, 400);
    config.memory_limit_bytes = 8 << 20;
    struct ftl *ftl = open_drive(&config);
    uint64_t random = 5, units = ftl_logical_units(ftl);
    enum status status = OK;
    struct error err = {0};
    for (int i = 0; status == OK && i < 2000000; i++) {
        struct ftl_write write = {.first_unit = prng_next(&random) % units, .units = 1};
        status = ftl_write(ftl, &write, &err);
    }
    assert_int_equal(status, ERR_FAILED);
    assert_non_null(strstr(err.text, "outgrew"));
    assert_true(ftl_stats(ftl).memory_bytes < config.memory_limit_bytes + (2 << 20));
    audit(ftl);
    ftl_close(ftl);
}

static void wear_is_even(void **state) {
    (void)state;
    struct ftl_config config = drive_of(100, 10);
    struct ftl *ftl = open_drive(&config);
    uint64_t units = ftl_logical_units(ftl);
    for (int pass = 0; pass < 11; pass++) {
        put(ftl, &(struct ftl_write){.units = units});
    }
    struct ftl_wear wear = ftl_wear(ftl);
    assert_int_equal(wear.erases, ftl_stats(ftl).erases);
    assert_true(wear.erases_max - wear.erases_min <= 1);
    ftl_close(ftl);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequential_overwrite_copies_nothing),
        cmocka_unit_test(a_handle_per_lifetime_copies_nothing),
        cmocka_unit_test(extents_equal_pages),
        cmocka_unit_test(scattered_space_becomes_runs_again),
        cmocka_unit_test(worse_victims_cost_more),
        cmocka_unit_test(streams_of_victims_are_told),
        cmocka_unit_test(impossible_drives_are_refused),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(wear_is_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
