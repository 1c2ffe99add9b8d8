/* What the space plane of a simulated drive costs: passes of a checkpointing job over extents, and
 * random writes unit by unit.
 *
 *   bench_ftl CAPACITY_TB STREAMS PASSES
 *
 *   extents: wall_s=... host_tb_per_s=... memory_mb=... write_amplification=...
 *   pages: writes_per_s=... write_amplification=...
 *
 * Each stream overwrites a part of the drive of its own, all at once: every superblock is shared
 * among them, with 10 % of difference between the shares. */
#include "base/memory.h"
#include "base/prng.h"
#include "sim/drive/ftl.h"
#include "sim/drive/page_ftl.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { UNIT = 16384, JITTER_PERMILLE = 100 };

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void must(enum status status, const struct error *err) {
    if (status != OK) {
        fprintf(stderr, "bench_ftl: %s\n", err->text);
        exit(1);
    }
}

/* One stream's share of the room, written at its place in its part of the drive. */
static uint64_t write_share(struct ftl *ftl, uint32_t stream, uint64_t part, uint64_t share,
                            uint64_t *place) {
    struct error err = {0};
    struct ftl_write write = {
        .first_unit = stream * part + *place, .units = share, .stream = stream};
    write.units = share < part - *place ? share : part - *place;
    must(ftl_write(ftl, &write, &err), &err);
    *place = (*place + write.units) % part;
    return write.units;
}

static void run_passes(struct ftl *ftl, uint32_t streams, uint64_t units) {
    uint64_t part = ftl_logical_units(ftl) / streams, done = 0, random = 1, room;
    uint64_t *places = mem_new(streams, sizeof *places);
    struct error err = {0};
    while (done < units) {
        must(ftl_room(ftl, 0, &room, &err), &err);
        /* What the unequal shares leave over goes to one stream whole: shares of it would be
         * crumbs. */
        if (room < ftl_superblock_units(ftl) / 4) {
            uint32_t stream = (uint32_t)(prng_next(&random) % streams);
            done += write_share(ftl, stream, part, room, &places[stream]);
            continue;
        }
        for (uint32_t stream = 0; stream < streams; stream++) {
            uint64_t permille = 1000 - JITTER_PERMILLE + prng_next(&random) % 200;
            uint64_t share = room * permille / 1000 / streams + 1;
            done += write_share(ftl, stream, part, share, &places[stream]);
        }
    }
    mem_free(places);
}

static void bench_extents(double capacity_tb, uint32_t streams, uint64_t passes) {
    uint64_t bytes = (uint64_t)(capacity_tb * 1e12);
    struct ftl_config config = {.logical_bytes = bytes,
                                .raw_bytes = bytes + bytes / 100 * 7,
                                .superblock_bytes = UINT64_C(16) << 30,
                                .unit_bytes = UNIT,
                                .gc_low = 3,
                                .handles = 1,
                                .streams = streams,
                                .memory_limit_bytes = UINT64_C(1) << 30};
    struct ftl *ftl;
    struct error err = {0};
    double begin = now_s();
    must(ftl_open(&config, &ftl, &err), &err);
    run_passes(ftl, streams, passes * ftl_logical_units(ftl));
    double wall = now_s() - begin;
    struct ftl_stats stats = ftl_stats(ftl);
    double host_tb = (double)stats.host_units * UNIT / 1e12;
    printf("extents: wall_s=%.3f host_tb_per_s=%.0f memory_mb=%.0f write_amplification=%.3f\n",
           wall, host_tb / wall, (double)stats.memory_bytes / 1e6,
           1 + (double)stats.gc_units / (double)stats.host_units);
    ftl_close(ftl);
}

static void bench_pages(void) {
    struct page_ftl_config config = {.logical_units = 819200,
                                     .superblocks = 4096,
                                     .superblock_units = 256,
                                     .unit_bytes = 4096,
                                     .gc_low = 2};
    struct page_workload workload = {
        .requests = 8000000, .length_bytes = 4096, .align_bytes = 4096};
    struct page_ftl *ftl;
    struct error err = {0};
    must(page_ftl_open(&config, &ftl, &err), &err);
    page_ftl_precondition(ftl);
    double begin = now_s();
    page_ftl_run(ftl, &workload);
    double wall = now_s() - begin;
    struct page_ftl_stats stats = page_ftl_stats(ftl);
    printf("pages: writes_per_s=%.0f write_amplification=%.3f\n", 8000000 / wall,
           1 + (double)stats.gc_units / (double)stats.host_units);
    page_ftl_close(ftl);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: bench_ftl CAPACITY_TB STREAMS PASSES\n");
        return 2;
    }
    bench_extents(atof(argv[1]), (uint32_t)atoi(argv[2]), (uint64_t)atoi(argv[3]));
    bench_pages();
    return 0;
}
