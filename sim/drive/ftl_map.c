/* Forward map of the FTL.
 *
 *   unit >> 16 ──> bucket: sorted runs {first, last, superblock}, 8 B each, never adjacent in one
 *                  superblock
 *                  or, when they become too many, superblock[65536]
 *
 * Large sequential writes need a run or two per bucket whatever the unit is. Scattered small writes
 * would make the shifting of runs quadratic; a bucket of theirs becomes dense, where a unit costs
 * O(1). Each time as many units of it were set as it has, its runs are counted, and it goes back to
 * them if they have become few. */
#include "sim/drive/ftl_map.h"

#include "base/check.h"

#include <string.h>

enum { DENSE_CLASS = 12, RUNS_SMALLEST = 8, RUNS_FEW = FTL_BUCKET_RUNS_MAX / 4 };

struct run {
    uint16_t first, last; /* within the bucket, both included */
    uint32_t superblock;
};

struct ftl_bucket {
    union {
        struct run *runs;
        uint32_t *dense;
    };
    uint16_t count; /* of runs */
    uint8_t class;  /* of the block that holds them */
    bool is_dense;
    uint32_t set_units; /* of a dense bucket, since its runs were counted */
};

_Static_assert(FTL_BUCKET_UNITS * sizeof(uint32_t) == (uint64_t)FTL_POOL_SMALLEST << DENSE_CLASS,
               "a dense bucket is one block");
_Static_assert(RUNS_SMALLEST * sizeof(struct run) == FTL_POOL_SMALLEST,
               "the smallest block holds a whole number of runs");

static uint64_t buckets_for(uint64_t units) {
    return units / FTL_BUCKET_UNITS + (units % FTL_BUCKET_UNITS != 0);
}

uint64_t ftl_map_bytes(uint64_t units) { return buckets_for(units) * sizeof(struct ftl_bucket); }

void ftl_map_init(struct ftl_map *map, uint64_t units, struct ftl_pool *pool) {
    *map = (struct ftl_map){.units = units, .bucket_count = buckets_for(units), .pool = pool};
    map->buckets = mem_new(map->bucket_count, sizeof *map->buckets);
}

void ftl_map_fini(struct ftl_map *map) {
    mem_free(map->buckets);
    *map = (struct ftl_map){0};
}

/* Index of the first run that ends at offset or after it. */
static uint32_t find_run(const struct ftl_bucket *bucket, uint32_t offset) {
    uint32_t low = 0, high = bucket->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (bucket->runs[middle].last < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool next_run(const struct ftl_bucket *bucket, uint32_t first, uint32_t last,
                     struct run *found) {
    uint32_t i = find_run(bucket, first);
    if (i == bucket->count || bucket->runs[i].first > last) {
        return false;
    }
    *found = bucket->runs[i];
    found->first = found->first < first ? (uint16_t)first : found->first;
    found->last = found->last > last ? (uint16_t)last : found->last;
    return true;
}

static bool next_dense(const struct ftl_bucket *bucket, uint32_t first, uint32_t last,
                       struct run *found) {
    uint32_t i = first;
    while (i <= last && bucket->dense[i] == FTL_UNMAPPED) {
        i++;
    }
    if (i > last) {
        return false;
    }
    *found = (struct run){.first = (uint16_t)i, .superblock = bucket->dense[i]};
    while (i < last && bucket->dense[i + 1] == found->superblock) {
        i++;
    }
    found->last = (uint16_t)i;
    return true;
}

/* The last offset of [unit, end) that lies in unit's bucket. */
static uint32_t last_offset(uint64_t unit, uint64_t end) {
    uint64_t base = unit - unit % FTL_BUCKET_UNITS;
    return (uint32_t)(end - base > FTL_BUCKET_UNITS ? FTL_BUCKET_UNITS - 1 : end - base - 1);
}

bool ftl_map_next(const struct ftl_map *map, uint64_t first, uint64_t end,
                  struct ftl_piece *piece) {
    for (uint64_t unit = first; unit < end; unit += FTL_BUCKET_UNITS - unit % FTL_BUCKET_UNITS) {
        const struct ftl_bucket *bucket = &map->buckets[unit / FTL_BUCKET_UNITS];
        uint32_t offset = unit % FTL_BUCKET_UNITS, last = last_offset(unit, end);
        struct run run;
        bool found = bucket->is_dense ? next_dense(bucket, offset, last, &run)
                                      : next_run(bucket, offset, last, &run);
        if (found) {
            piece->first_unit = unit - offset + run.first;
            piece->units = (uint64_t)run.last - run.first + 1;
            piece->superblock = run.superblock;
            return true;
        }
    }
    return false;
}

static uint32_t run_units(const struct run *run) { return (uint32_t)run->last - run->first + 1; }

static void release(struct ftl_map *map, struct ftl_bucket *bucket) {
    if (bucket->runs != NULL) {
        ftl_pool_give(map->pool, bucket->runs, bucket->class);
    }
    *bucket = (struct ftl_bucket){0};
}

/* Makes room for count runs, keeping those that are there. */
static void reserve(struct ftl_map *map, struct ftl_bucket *bucket, uint32_t count) {
    uint8_t class = bucket->class;
    while ((uint32_t)RUNS_SMALLEST << class < count) {
        class ++;
    }
    if (bucket->runs != NULL && class == bucket->class) {
        return;
    }
    struct run *runs = ftl_pool_take(map->pool, class);
    if (bucket->runs != NULL) {
        memcpy(runs, bucket->runs, bucket->count * sizeof *runs);
        ftl_pool_give(map->pool, bucket->runs, bucket->class);
    }
    bucket->runs = runs;
    bucket->class = class;
}

static void make_dense(struct ftl_map *map, struct ftl_bucket *bucket) {
    uint32_t *dense = ftl_pool_take(map->pool, DENSE_CLASS);
    memset(dense, 0xff, FTL_BUCKET_UNITS * sizeof *dense);
    for (uint32_t i = 0; i < bucket->count; i++) {
        for (uint32_t unit = bucket->runs[i].first; unit <= bucket->runs[i].last; unit++) {
            dense[unit] = bucket->runs[i].superblock;
        }
    }
    map->runs -= bucket->count;
    map->dense_buckets++;
    release(map, bucket);
    bucket->dense = dense;
    bucket->class = DENSE_CLASS;
    bucket->is_dense = true;
}

/* Puts the count runs of with where the runs [from, to) are. */
static void replace(struct ftl_map *map, struct ftl_bucket *bucket, uint32_t from, uint32_t to,
                    const struct run *with, uint32_t count) {
    uint32_t total = bucket->count - (to - from) + count;
    reserve(map, bucket, total);
    memmove(bucket->runs + from + count, bucket->runs + to,
            (bucket->count - to) * sizeof *bucket->runs);
    memcpy(bucket->runs + from, with, count * sizeof *with);
    map->runs = map->runs - bucket->count + total;
    bucket->count = (uint16_t)total;
    if (total > FTL_BUCKET_RUNS_MAX) {
        make_dense(map, bucket);
    }
}

/* Drops unmapped runs of three neighbours and joins those in one superblock. Returns how many are
 * left. */
static uint32_t join(struct run parts[3]) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < 3; i++) {
        struct run part = parts[i];
        if (part.superblock == FTL_UNMAPPED) {
            continue;
        }
        if (count > 0 && parts[count - 1].last + 1 == part.first &&
            parts[count - 1].superblock == part.superblock) {
            parts[count - 1].last = part.last;
        } else {
            parts[count++] = part;
        }
    }
    return count;
}

static void set_runs(struct ftl_map *map, struct ftl_bucket *bucket, struct run set) {
    struct run left = {.superblock = FTL_UNMAPPED}, right = left;
    uint32_t from = find_run(bucket, set.first), to = from;
    for (; to < bucket->count && bucket->runs[to].first <= set.last; to++) {
        const struct run *old = &bucket->runs[to];
        map->mapped_units -= run_units(old);
        if (old->first < set.first) {
            left = (struct run){old->first, (uint16_t)(set.first - 1), old->superblock};
        }
        if (old->last > set.last) {
            right = (struct run){(uint16_t)(set.last + 1), old->last, old->superblock};
        }
    }
    /* A neighbour that only touches the range takes part too, in case it can be merged. */
    if (left.superblock == FTL_UNMAPPED && from > 0 &&
        bucket->runs[from - 1].last + 1 == set.first) {
        left = bucket->runs[--from];
        map->mapped_units -= run_units(&left);
    }
    if (right.superblock == FTL_UNMAPPED && to < bucket->count &&
        bucket->runs[to].first == set.last + 1) {
        right = bucket->runs[to++];
        map->mapped_units -= run_units(&right);
    }
    struct run parts[] = {left, set, right};
    uint32_t count = join(parts);
    for (uint32_t i = 0; i < count; i++) {
        map->mapped_units += run_units(&parts[i]);
    }
    replace(map, bucket, from, to, parts, count);
}

static uint32_t count_runs(const struct ftl_bucket *bucket) {
    uint32_t runs = 0;
    struct run run = {.last = 0};
    for (uint32_t at = 0; at < FTL_BUCKET_UNITS; at = (uint32_t)run.last + 1) {
        if (!next_dense(bucket, at, FTL_BUCKET_UNITS - 1, &run)) {
            break;
        }
        runs++;
    }
    return runs;
}

static void make_runs(struct ftl_map *map, struct ftl_bucket *bucket, uint32_t count) {
    struct ftl_bucket dense = *bucket;
    *bucket = (struct ftl_bucket){0};
    reserve(map, bucket, count);
    uint32_t at = 0;
    for (; bucket->count < count; bucket->count++) {
        struct run *run = &bucket->runs[bucket->count];
        bool found = next_dense(&dense, at, FTL_BUCKET_UNITS - 1, run);
        CHECK(found);
        at = (uint32_t)run->last + 1;
    }
    map->runs += count;
    map->dense_buckets--;
    release(map, &dense);
}

static void set_dense(struct ftl_map *map, struct ftl_bucket *bucket, struct run set) {
    for (uint32_t unit = set.first; unit <= set.last; unit++) {
        map->mapped_units -= bucket->dense[unit] != FTL_UNMAPPED;
        map->mapped_units += set.superblock != FTL_UNMAPPED;
        bucket->dense[unit] = set.superblock;
    }
    bucket->set_units += run_units(&set);
    if (bucket->set_units < FTL_BUCKET_UNITS) {
        return;
    }
    bucket->set_units = 0;
    uint32_t runs = count_runs(bucket);
    if (runs <= RUNS_FEW) {
        make_runs(map, bucket, runs);
    }
}

void ftl_map_set(struct ftl_map *map, const struct ftl_piece *piece) {
    uint64_t end = piece->first_unit + piece->units;
    CHECK(end <= map->units);
    for (uint64_t unit = piece->first_unit; unit < end;
         unit += FTL_BUCKET_UNITS - unit % FTL_BUCKET_UNITS) {
        struct ftl_bucket *bucket = &map->buckets[unit / FTL_BUCKET_UNITS];
        struct run set = {.first = unit % FTL_BUCKET_UNITS,
                          .last = (uint16_t)last_offset(unit, end),
                          .superblock = piece->superblock};
        if (bucket->is_dense) {
            set_dense(map, bucket, set);
        } else {
            set_runs(map, bucket, set);
        }
    }
}

static bool runs_in_order(const struct ftl_bucket *bucket, uint64_t *mapped) {
    for (uint32_t i = 0; i < bucket->count; i++) {
        const struct run *run = &bucket->runs[i];
        if (run->first > run->last || run->superblock == FTL_UNMAPPED) {
            return false;
        }
        if (i > 0 && (run[-1].last >= run->first ||
                      (run[-1].last + 1 == run->first && run[-1].superblock == run->superblock))) {
            return false;
        }
        *mapped += run_units(run);
    }
    return true;
}

bool ftl_map_consistent(const struct ftl_map *map) {
    uint64_t mapped = 0, runs = 0, dense = 0;
    for (uint64_t i = 0; i < map->bucket_count; i++) {
        const struct ftl_bucket *bucket = &map->buckets[i];
        runs += bucket->count;
        dense += bucket->is_dense;
        if (!bucket->is_dense && !runs_in_order(bucket, &mapped)) {
            return false;
        }
        for (uint32_t unit = 0; bucket->is_dense && unit < FTL_BUCKET_UNITS; unit++) {
            mapped += bucket->dense[unit] != FTL_UNMAPPED;
        }
    }
    return mapped == map->mapped_units && runs == map->runs && dense == map->dense_buckets;
}
