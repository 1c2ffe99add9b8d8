/* Random requests for the page-exact FTL, and the state in which they find it. */
#include "sim/drive/page_ftl_private.h"

#include "base/check.h"
#include "base/memory.h"
#include "sim/drive/ftl_span.h"

enum { TRIM_DRAWS_MAX = 1000, PERMILLE = 1000 };

/* A byte offset that is a multiple of align, in the hot part of the drive or the rest. */
static uint64_t draw_offset(struct page_ftl *ftl, const struct page_workload *workload) {
    uint64_t bytes = (uint64_t)ftl->config.logical_units * ftl->config.unit_bytes;
    uint64_t begin = 0, end = bytes;
    if (workload->hot_units_permille > 0) {
        uint64_t hot = (uint64_t)ftl->config.logical_units * workload->hot_units_permille /
                       PERMILLE * ftl->config.unit_bytes;
        bool to_hot = page_random(ftl, PERMILLE) < workload->hot_writes_permille;
        begin = to_hot ? 0 : hot;
        end = to_hot ? hot : bytes;
    }
    CHECK(end - begin >= workload->length_bytes);
    uint64_t places = (end - begin - workload->length_bytes) / workload->align_bytes + 1;
    CHECK(places <= UINT32_MAX);
    return begin + (uint64_t)page_random(ftl, (uint32_t)places) * workload->align_bytes;
}

static void write_one(struct page_ftl *ftl, const struct page_workload *workload) {
    uint64_t offset = draw_offset(ftl, workload);
    struct ftl_span span = ftl_span(offset, workload->length_bytes, ftl->config.unit_bytes);
    for (uint64_t i = 0; i < span.units; i++) {
        page_ftl_write(ftl, (uint32_t)(span.first_unit + i));
    }
    ftl->stats.partial_units += span.partial_units;
    ftl->stats.host_bytes += workload->length_bytes;
}

/* With almost nothing live the draws may all miss; then this request trims nothing. */
static void trim_one(struct page_ftl *ftl) {
    for (int i = 0; i < TRIM_DRAWS_MAX; i++) {
        uint32_t unit = page_random(ftl, ftl->config.logical_units);
        if (ftl->superblock_of[unit] != PAGE_NONE) {
            page_ftl_trim(ftl, unit);
            return;
        }
    }
}

void page_ftl_run(struct page_ftl *ftl, const struct page_workload *workload) {
    CHECK(workload->length_bytes > 0);
    CHECK(workload->align_bytes > 0);
    for (uint64_t i = 0; i < workload->requests; i++) {
        if (workload->trim_permille > 0 && page_random(ftl, PERMILLE) < workload->trim_permille) {
            trim_one(ftl);
        } else {
            write_one(ftl, workload);
        }
    }
}

/* A superblock spends a time in proportion to 1/i with i valid units, down to the count at which it
 * is collected (write_amplification.c has the source). Fills counts for that lowest count: the
 * superblock at share (k + 1/2) / n of the time, in fixed point. Returns the sum. */
static uint64_t spread_counts(uint32_t *counts, uint32_t n, uint32_t lowest, uint32_t units) {
    uint64_t total = 0, sum = 0, time = 0;
    for (uint32_t i = units; i >= lowest; i--) {
        total += (UINT64_C(1) << 32) / i;
    }
    uint32_t valid = units;
    for (uint32_t k = 0; k < n; k++) {
        uint64_t share = (uint64_t)((unsigned __int128)total * (2 * (uint64_t)k + 1) / (2 * n));
        while (valid > lowest && time + (UINT64_C(1) << 32) / valid <= share) {
            time += (UINT64_C(1) << 32) / valid--;
        }
        counts[k] = valid;
        sum += valid;
    }
    return sum;
}

/* Valid counts of n superblocks that hold all logical units between them. */
static void draw_counts(const struct page_ftl *ftl, uint32_t *counts, uint32_t n) {
    uint32_t units = ftl->config.superblock_units, lowest = units;
    uint64_t sum = spread_counts(counts, n, lowest, units);
    while (lowest > 1 && sum > ftl->config.logical_units) {
        sum = spread_counts(counts, n, --lowest, units);
    }
    /* The last step overshoots by less than a unit a superblock: some get one back. */
    for (uint32_t k = n; sum<ftl->config.logical_units; k = k> 1 ? k - 1 : n) {
        if (counts[k - 1] < units) {
            counts[k - 1]++;
            sum++;
        }
    }
    for (uint32_t k = n; sum > ftl->config.logical_units; k = k > 1 ? k - 1 : n) {
        if (counts[k - 1] > 1) {
            counts[k - 1]--;
            sum--;
        }
    }
}

static void shuffle(struct page_ftl *ftl, uint32_t *values, uint32_t count) {
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = page_random(ftl, i), kept = values[i - 1];
        values[i - 1] = values[other];
        values[other] = kept;
    }
}

/* Places beyond the valid ones repeat the first unit: stale by the rule of the forward map. */
static void fill(struct page_ftl *ftl, const uint32_t *order, uint32_t valid) {
    uint32_t superblock = page_take_free(ftl);
    uint32_t *units = ftl->units + (size_t)superblock * ftl->config.superblock_units;
    for (uint32_t i = 0; i < ftl->config.superblock_units; i++) {
        units[i] = order[i < valid ? i : 0];
        ftl->superblock_of[units[i]] = superblock;
    }
    ftl->superblocks[superblock].valid = valid;
    ftl->superblocks[superblock].written = ftl->config.superblock_units;
    page_close(ftl, superblock);
}

void page_ftl_precondition(struct page_ftl *ftl) {
    CHECK(ftl->stats.mapped_units == 0);
    CHECK(ftl->stats.free_superblocks == ftl->config.superblocks);
    uint32_t logical = ftl->config.logical_units;
    /* The reserve stays free, and a superblock for each frontier. */
    uint32_t n = ftl->config.superblocks - ftl->config.gc_low - (ftl->config.gc_mixed ? 1 : 2);
    uint32_t *counts = mem_new(n, sizeof *counts), *order = mem_new(logical, sizeof *order);
    for (uint32_t i = 0; i < logical; i++) {
        order[i] = i;
    }
    shuffle(ftl, order, logical);
    draw_counts(ftl, counts, n);
    shuffle(ftl, counts, n);
    const uint32_t *next = order;
    for (uint32_t k = 0; k < n; k++) {
        CHECK(counts[k] > 0);
        fill(ftl, next, counts[k]);
        next += counts[k];
    }
    ftl->stats.mapped_units = logical;
    mem_free(order);
    mem_free(counts);
}
