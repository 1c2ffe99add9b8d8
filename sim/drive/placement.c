#include "sim/drive/placement.h"

#include "base/check.h"
#include "base/memory.h"
#include "base/prng.h"

#include <string.h>

/* Regions: at most REGIONS of them and none below a GiB, so that no list grows long. XFS makes groups
 * of at most 1 TiB and at least four. */
enum { REGIONS = 512, XFS_LEAST_GROUPS = 4, BLOCK_BYTES = 4096 };
#define LEAST_REGION_BYTES (UINT64_C(1) << 30)
/* ext4 looks through four groups of 128 MiB in order before it takes any (mb_max_linear_groups). */
#define LINEAR_BYTES (UINT64_C(4) << 27)
#define XFS_GROUP_BYTES (UINT64_C(1) << 40)

struct region {
    struct placement_extent *extents; /* free, sorted by start, never touching */
    uint32_t count, capacity;
    uint64_t free_bytes;
};

/* Freed, not yet committed. */
struct freed {
    struct placement_extent extent;
    uint64_t freed_ns;
};

struct placement {
    enum placement_policy policy;
    uint64_t commit_ns, freed_bytes;
    struct freed *freed; /* oldest first, from freed_first on */
    uint64_t freed_first, freed_count, freed_capacity;
    uint64_t total_bytes, free_bytes, region_bytes;
    uint32_t region_count;
    struct region *regions;
    uint64_t random;     /* state of the sequence of draws */
    uint64_t goal_bytes; /* ext4, next-fit: where the last allocation ended */
};

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* The size of so many equal parts, in whole blocks: no block lies across a border. */
static uint64_t part_of(uint64_t total_bytes, uint64_t parts) {
    uint64_t size = (total_bytes + parts - 1) / parts;
    return (size + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
}

static uint64_t region_size(enum placement_policy policy, uint64_t total_bytes) {
    if (policy == PLACEMENT_XFS) {
        return smaller(XFS_GROUP_BYTES, part_of(total_bytes, XFS_LEAST_GROUPS));
    }
    uint64_t size = part_of(total_bytes, REGIONS);
    return size > LEAST_REGION_BYTES ? size : LEAST_REGION_BYTES;
}

static void insert_extent(struct region *region, uint32_t at, struct placement_extent extent) {
    if (region->count == region->capacity) {
        region->capacity = region->capacity * 2 + 8;
        region->extents = mem_resize(region->extents, region->capacity, sizeof extent);
    }
    memmove(region->extents + at + 1, region->extents + at,
            (region->count - at) * sizeof extent);
    region->extents[at] = extent;
    region->count++;
}

static void remove_extent(struct region *region, uint32_t at) {
    region->count--;
    memmove(region->extents + at, region->extents + at + 1,
            (region->count - at) * sizeof region->extents[0]);
}

struct placement *placement_open(enum placement_policy policy, uint64_t total_bytes,
                                 uint64_t commit_ns, uint64_t seed) {
    struct placement *placement = mem_new(1, sizeof *placement);
    uint64_t size = region_size(policy, total_bytes);
    *placement = (struct placement){.policy = policy, .total_bytes = total_bytes,
                                    .free_bytes = total_bytes, .region_bytes = size,
                                    .commit_ns = commit_ns, .random = seed};
    placement->region_count = (uint32_t)((total_bytes + size - 1) / size);
    placement->regions = mem_new(placement->region_count, sizeof *placement->regions);
    for (uint32_t i = 0; i < placement->region_count; i++) {
        uint64_t start = i * size;
        struct placement_extent all = {start, smaller(size, total_bytes - start)};
        insert_extent(&placement->regions[i], 0, all);
        placement->regions[i].free_bytes = all.length_bytes;
    }
    return placement;
}

void placement_close(struct placement *placement) {
    for (uint32_t i = 0; i < placement->region_count; i++) {
        mem_free(placement->regions[i].extents);
    }
    mem_free(placement->regions);
    mem_free(placement->freed);
    mem_free(placement);
}

/* Index of the first free extent that ends after address. */
static uint32_t first_ending_after(const struct region *region, uint64_t address) {
    uint32_t low = 0, high = region->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct placement_extent *extent = &region->extents[middle];
        if (extent->start_bytes + extent->length_bytes > address) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Takes [from, from+length) out of free extent `at`. */
static void take(struct placement *placement, struct region *region, uint32_t at, uint64_t from,
                 uint64_t length) {
    struct placement_extent *extent = &region->extents[at];
    uint64_t before = from - extent->start_bytes;
    uint64_t after = extent->length_bytes - before - length;
    if (before == 0 && after == 0) {
        remove_extent(region, at);
    } else if (before == 0) {
        extent->start_bytes += length;
        extent->length_bytes = after;
    } else {
        extent->length_bytes = before;
        if (after > 0) {
            insert_extent(region, at + 1, (struct placement_extent){from + length, after});
        }
    }
    region->free_bytes -= length;
    placement->free_bytes -= length;
}

struct choice {
    struct region *region;
    uint32_t at;
    uint64_t from;
};

/* The first free byte at or after address, going round once. */
static bool find_from(struct placement *placement, uint64_t address, struct choice *choice) {
    if (address >= placement->total_bytes) { /* behind the last byte comes the first one */
        address = 0;
    }
    uint32_t first = (uint32_t)(address / placement->region_bytes);
    for (uint32_t i = 0; i <= placement->region_count; i++) {
        struct region *region = &placement->regions[(first + i) % placement->region_count];
        uint32_t at = i == 0 ? first_ending_after(region, address) : 0;
        if (at < region->count) {
            uint64_t start = region->extents[at].start_bytes;
            *choice = (struct choice){region, at, i == 0 && address > start ? address : start};
            return true;
        }
    }
    return false;
}

/* Whether exactly this address is free. */
static bool find_at(struct placement *placement, uint64_t address, struct choice *choice) {
    if (address >= placement->total_bytes) {
        return false;
    }
    struct region *region = &placement->regions[address / placement->region_bytes];
    uint32_t at = first_ending_after(region, address);
    if (at == region->count || region->extents[at].start_bytes > address) {
        return false;
    }
    *choice = (struct choice){region, at, address};
    return true;
}

/* In groups from the file's own on: the lowest free extent that holds length, else the largest one. */
static bool find_in_groups(struct placement *placement, struct placement_file *file,
                           uint64_t length, struct choice *choice) {
    struct choice largest = {0};
    uint64_t most = 0;
    for (uint32_t i = 0; i < placement->region_count; i++) {
        struct region *region =
            &placement->regions[(file->group + i) % placement->region_count];
        for (uint32_t at = 0; at < region->count; at++) {
            uint64_t size = region->extents[at].length_bytes;
            if (size >= length) {
                *choice = (struct choice){region, at, region->extents[at].start_bytes};
                return true;
            }
            if (size > most) {
                most = size;
                largest = (struct choice){region, at, region->extents[at].start_bytes};
            }
        }
    }
    *choice = largest;
    return most > 0;
}

/* Any free extent, each as likely as the next. */
static bool find_any(struct placement *placement, struct choice *choice) {
    uint64_t count = placement_free_extents(placement);
    if (count == 0) {
        return false;
    }
    uint64_t nth = prng_next(&placement->random) % count;
    struct region *region = placement->regions;
    while (nth >= region->count) {
        nth -= region->count;
        region++;
    }
    *choice = (struct choice){region, (uint32_t)nth, region->extents[nth].start_bytes};
    return true;
}

/* A new file starts anywhere; one that is blocked goes on near the goal that all files share, or
 * anywhere. */
static bool find_as_ext4(struct placement *placement, const struct placement_file *file,
                         struct choice *choice) {
    uint64_t goal = placement->goal_bytes;
    bool near = file->count > 0 && find_from(placement, goal, choice) && choice->from >= goal &&
                choice->from - goal <= LINEAR_BYTES;
    return near || find_any(placement, choice);
}

static bool choose(struct placement *placement, struct placement_file *file, uint64_t length,
                   struct choice *choice) {
    bool goes_on = placement->policy == PLACEMENT_EXT4 || placement->policy == PLACEMENT_XFS;
    if (goes_on && file->count > 0) {
        const struct placement_extent *last = &file->extents[file->count - 1];
        if (find_at(placement, last->start_bytes + last->length_bytes, choice)) {
            return true;
        }
    }
    if (placement->policy == PLACEMENT_EXT4) {
        return find_as_ext4(placement, file, choice);
    }
    if (placement->policy == PLACEMENT_XFS) {
        return find_in_groups(placement, file, length, choice);
    }
    uint64_t goal = placement->policy == PLACEMENT_FIRST_FIT ? 0 : placement->goal_bytes;
    return find_from(placement, goal, choice);
}

static void add_to_file(struct placement_file *file, uint64_t start, uint64_t length) {
    if (file->count > 0) {
        struct placement_extent *last = &file->extents[file->count - 1];
        if (last->start_bytes + last->length_bytes == start) {
            last->length_bytes += length;
            return;
        }
    }
    if (file->count == file->capacity) {
        file->capacity = file->capacity * 2 + 4;
        file->extents = mem_resize(file->extents, file->capacity, sizeof *file->extents);
    }
    file->extents[file->count++] = (struct placement_extent){start, length};
}

bool placement_append(struct placement *placement, struct placement_file *file,
                      uint64_t length_bytes) {
    if (length_bytes > placement->free_bytes) {
        placement_commit(placement, UINT64_MAX); /* short of room, a journal is written at once */
    }
    if (length_bytes > placement->free_bytes) {
        return false;
    }
    if (file->length_bytes == 0) {
        file->count = 0;
    }
    file->length_bytes += length_bytes;
    while (length_bytes > 0) {
        struct choice choice;
        bool found = choose(placement, file, length_bytes, &choice);
        CHECK(found);
        const struct placement_extent *extent = &choice.region->extents[choice.at];
        uint64_t room = extent->start_bytes + extent->length_bytes - choice.from;
        uint64_t length = smaller(room, length_bytes);
        take(placement, choice.region, choice.at, choice.from, length);
        add_to_file(file, choice.from, length);
        placement->goal_bytes = choice.from + length;
        length_bytes -= length;
    }
    return true;
}

/* Gives back a piece that lies within one region, merging it with its neighbours. */
static void give_back(struct placement *placement, uint64_t start, uint64_t length) {
    struct region *region = &placement->regions[start / placement->region_bytes];
    uint32_t at = first_ending_after(region, start);
    struct placement_extent *next = at < region->count ? &region->extents[at] : NULL;
    struct placement_extent *previous = at > 0 ? &region->extents[at - 1] : NULL;
    bool joins_next = next != NULL && next->start_bytes == start + length;
    bool joins_previous =
        previous != NULL && previous->start_bytes + previous->length_bytes == start;
    CHECK(next == NULL || next->start_bytes >= start + length); /* was in use */
    if (joins_previous && joins_next) {
        previous->length_bytes += length + next->length_bytes;
        remove_extent(region, at);
    } else if (joins_previous) {
        previous->length_bytes += length;
    } else if (joins_next) {
        next->start_bytes = start;
        next->length_bytes += length;
    } else {
        insert_extent(region, at, (struct placement_extent){start, length});
    }
    region->free_bytes += length;
    placement->free_bytes += length;
}

/* An extent may have grown over the border of two regions. */
static void give_back_split(struct placement *placement, uint64_t start, uint64_t length) {
    while (length > 0) {
        uint64_t border = (start / placement->region_bytes + 1) * placement->region_bytes;
        uint64_t part = smaller(length, border - start);
        give_back(placement, start, part);
        start += part;
        length -= part;
    }
}

static void remember_freed(struct placement *placement, struct placement_extent extent,
                           uint64_t now_ns) {
    if (placement->freed_first > 0 && placement->freed_first * 2 > placement->freed_count) {
        placement->freed_count -= placement->freed_first;
        memmove(placement->freed, placement->freed + placement->freed_first,
                placement->freed_count * sizeof *placement->freed);
        placement->freed_first = 0;
    }
    if (placement->freed_count == placement->freed_capacity) {
        placement->freed_capacity = placement->freed_capacity * 2 + 64;
        placement->freed = mem_resize(placement->freed, placement->freed_capacity,
                                      sizeof *placement->freed);
    }
    placement->freed[placement->freed_count++] = (struct freed){extent, now_ns};
    placement->freed_bytes += extent.length_bytes;
}

void placement_truncate(struct placement *placement, struct placement_file *file, uint64_t now_ns) {
    for (uint32_t i = 0; file->length_bytes > 0 && i < file->count; i++) {
        remember_freed(placement, file->extents[i], now_ns);
    }
    file->length_bytes = 0;
    placement_commit(placement, now_ns);
}

void placement_commit(struct placement *placement, uint64_t now_ns) {
    while (placement->freed_first < placement->freed_count) {
        struct freed *freed = &placement->freed[placement->freed_first];
        if (now_ns != UINT64_MAX && now_ns < freed->freed_ns + placement->commit_ns) {
            return;
        }
        give_back_split(placement, freed->extent.start_bytes, freed->extent.length_bytes);
        placement->freed_bytes -= freed->extent.length_bytes;
        placement->freed_first++;
    }
    placement->freed_first = placement->freed_count = 0;
}

void placement_file_fini(struct placement_file *file) {
    mem_free(file->extents);
    *file = (struct placement_file){0};
}

uint64_t placement_free_bytes(const struct placement *placement) {
    return placement->free_bytes + placement->freed_bytes;
}

uint64_t placement_total_bytes(const struct placement *placement) {
    return placement->total_bytes;
}

uint64_t placement_free_extents(const struct placement *placement) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < placement->region_count; i++) {
        count += placement->regions[i].count;
    }
    return count;
}

void placement_each_free(const struct placement *placement,
                         void (*visit)(void *context, struct placement_extent extent),
                         void *context) {
    for (uint32_t i = 0; i < placement->region_count; i++) {
        for (uint32_t at = 0; at < placement->regions[i].count; at++) {
            visit(context, placement->regions[i].extents[at]);
        }
    }
}

const char *placement_policy_name(enum placement_policy policy) {
    static const char *const names[] = {"ext4", "xfs", "next-fit", "first-fit"};
    return names[policy];
}
