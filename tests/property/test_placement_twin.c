/* Where files lie against a twin that keeps every block of a small space by itself. Random appends,
 * truncations and journal commits under every policy; after each step no block belongs to two
 * files, none is lost, what was freed is not used again before its time, what a file holds is read
 * back through its extents, and the simple policies took exactly the blocks they say. The seed is
 * printed; SEED=n in the environment repeats it. */
#include "base/memory.h"
#include "base/prng.h"
#include "sim/drive/placement.h"
#include "tests/unit/support.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __SANITIZE_ADDRESS__
enum { SPACES = 60 };
#else
enum { SPACES = 500 };
#endif

#define LINEAR_BYTES (UINT64_C(512) << 20) /* how far ext4 looks in order */

enum { STEPS = 200, FILES = 8, BLOCKS_MAX = 2400, FREE = -1, PENDING = -2 };

struct twin_file {
    struct placement_file placed;
    int *blocks; /* what the writer wrote, in file order: a token per block */
    int count;
};

struct twin {
    struct placement *placement;
    enum placement_policy policy;
    uint64_t block_bytes, commit_ns, now_ns;
    int blocks;
    int owner[BLOCKS_MAX]; /* of each block: a file, FREE or PENDING */
    int token[BLOCKS_MAX]; /* what the block holds */
    uint64_t freed_ns[BLOCKS_MAX];
    int goal, tokens;
    struct twin_file files[FILES];
};

static uint64_t pick(uint64_t *random, uint64_t low, uint64_t high) {
    return low + prng_next(random) % (high - low + 1);
}

/* A space of one region, or of blocks so large that there are several; XFS has four in any case,
 * and a block that lies across their borders would be no block. */
static void open_twin(struct twin *twin, uint64_t *random) {
    static const uint64_t block_sizes[] = {4096, 4096, UINT64_C(8) << 20, UINT64_C(64) << 20};
    *twin = (struct twin){.policy = (enum placement_policy)pick(random, 0, 3),
                          .block_bytes = block_sizes[pick(random, 0, 3)],
                          .commit_ns = pick(random, 0, 2) == 0 ? 0 : pick(random, 1, 1000),
                          .blocks = (int)pick(random, 1, BLOCKS_MAX)};
    if (twin->block_bytes > 4096) {
        twin->blocks = (twin->blocks + 3) / 4 * 4;
    }
    for (int i = 0; i < twin->blocks; i++) {
        twin->owner[i] = FREE;
    }
    twin->placement = placement_open(twin->policy, (uint64_t)twin->blocks * twin->block_bytes,
                                     twin->commit_ns, prng_next(random));
    for (int i = 0; i < FILES; i++) {
        twin->files[i].placed.group = (uint32_t)prng_next(random);
        twin->files[i].blocks = mem_new(BLOCKS_MAX, sizeof(int));
    }
}

static void close_twin(struct twin *twin) {
    placement_close(twin->placement);
    for (int i = 0; i < FILES; i++) {
        placement_file_fini(&twin->files[i].placed);
        mem_free(twin->files[i].blocks);
    }
}

static int count_blocks(const struct twin *twin, int owner) {
    int count = 0;
    for (int i = 0; i < twin->blocks; i++) {
        count += twin->owner[i] == owner;
    }
    return count;
}

static void commit(struct twin *twin, bool all) {
    for (int i = 0; i < twin->blocks; i++) {
        if (twin->owner[i] == PENDING &&
            (all || twin->now_ns >= twin->freed_ns[i] + twin->commit_ns)) {
            twin->owner[i] = FREE;
        }
    }
}

/* The first free block from `from` on, going round once. */
static int free_from(const struct twin *twin, int from) {
    for (int i = 0; i < twin->blocks; i++) {
        if (twin->owner[(from + i) % twin->blocks] == FREE) {
            return (from + i) % twin->blocks;
        }
    }
    fail_msg("no free block");
    return 0;
}

/* The block that a policy must take next, or -1 where it has a choice. */
static int expected_block(const struct twin *twin, const struct placement_extent *last) {
    if (twin->policy == PLACEMENT_FIRST_FIT) {
        return free_from(twin, 0);
    }
    if (twin->policy == PLACEMENT_NEXT_FIT) {
        return free_from(twin, twin->goal);
    }
    if (last != NULL) {
        int behind = (int)((last->start_bytes + last->length_bytes) / twin->block_bytes);
        if (behind < twin->blocks && twin->owner[behind] == FREE) {
            return behind;
        }
        int near = free_from(twin, twin->goal);
        uint64_t away = (uint64_t)(near - twin->goal) * twin->block_bytes;
        if (twin->policy == PLACEMENT_EXT4 && near >= twin->goal && away <= LINEAR_BYTES) {
            return near;
        }
    }
    return -1;
}

/* The n-th block of a file through its extents. */
static int block_of(const struct twin *twin, const struct placement_file *placed, int n) {
    uint64_t offset = (uint64_t)n * twin->block_bytes;
    for (uint32_t i = 0; i < placed->count; i++) {
        const struct placement_extent *extent = &placed->extents[i];
        if (offset < extent->length_bytes) {
            assert_int_equal((extent->start_bytes + offset) % twin->block_bytes, 0);
            return (int)((extent->start_bytes + offset) / twin->block_bytes);
        }
        offset -= extent->length_bytes;
    }
    fail_msg("a file is shorter than what was written");
    return 0;
}

/* Takes over what the placement chose for the blocks from `first` on, checking each choice. */
static void follow_append(struct twin *twin, int index, int first) {
    struct twin_file *file = &twin->files[index];
    struct placement_extent last = {0};
    for (int n = first; n < file->count; n++) {
        int at = block_of(twin, &file->placed, n);
        assert_int_equal(twin->owner[at], FREE);
        int before = n > 0 ? block_of(twin, &file->placed, n - 1) : -1;
        last = (struct placement_extent){(uint64_t)before * twin->block_bytes, twin->block_bytes};
        int expected = expected_block(twin, n > 0 ? &last : NULL);
        if (expected != -1) {
            assert_int_equal(at, expected);
        }
        twin->owner[at] = index;
        twin->token[at] = file->blocks[n] = ++twin->tokens;
        twin->goal = at + 1;
    }
}

static void append(struct twin *twin, int index, uint64_t *random) {
    struct twin_file *file = &twin->files[index];
    int free = count_blocks(twin, FREE), pending = count_blocks(twin, PENDING);
    uint64_t most =
        pick(random, 0, 3) == 0 ? (uint64_t)twin->blocks : 1 + (uint64_t)twin->blocks / 20;
    int wanted = (int)pick(random, 1, most);
    struct placement_file before = file->placed;
    bool done =
        placement_append(twin->placement, &file->placed, (uint64_t)wanted * twin->block_bytes);
    assert_int_equal(done, wanted <= free + pending);
    if (wanted > free) {
        commit(twin, true); /* short of room the journal is written at once */
    }
    if (!done) {
        assert_memory_equal(&file->placed, &before, sizeof before);
        return;
    }
    int first = file->count;
    file->count += wanted;
    follow_append(twin, index, first);
}

static void truncate_file(struct twin *twin, int index) {
    struct twin_file *file = &twin->files[index];
    for (int i = 0; i < twin->blocks; i++) {
        if (twin->owner[i] == index) {
            twin->owner[i] = PENDING;
            twin->freed_ns[i] = twin->now_ns;
        }
    }
    file->count = 0;
    placement_truncate(twin->placement, &file->placed, twin->now_ns);
    commit(twin, false);
}

static void check_free(void *context, struct placement_extent extent) {
    struct twin *twin = context;
    assert_true(extent.length_bytes > 0);
    assert_int_equal(extent.start_bytes % twin->block_bytes, 0);
    assert_int_equal(extent.length_bytes % twin->block_bytes, 0);
    int first = (int)(extent.start_bytes / twin->block_bytes);
    int end = first + (int)(extent.length_bytes / twin->block_bytes);
    assert_true(end <= twin->blocks);
    for (int i = first; i < end; i++) {
        assert_int_equal(twin->owner[i], FREE);
        twin->freed_ns[i] = UINT64_MAX; /* seen */
    }
}

static void check_file(const struct twin *twin, int index) {
    const struct twin_file *file = &twin->files[index];
    assert_true(file->placed.length_bytes == (uint64_t)file->count * twin->block_bytes);
    int n = 0;
    uint64_t behind = UINT64_MAX; /* where a longer extent would have gone on */
    for (uint32_t i = 0; n < file->count; i++) {
        struct placement_extent extent = file->placed.extents[i];
        assert_true(extent.start_bytes != behind);
        behind = extent.start_bytes + extent.length_bytes;
        for (uint64_t at = extent.start_bytes; at < behind; at += twin->block_bytes, n++) {
            assert_int_equal(twin->owner[at / twin->block_bytes], index);
            assert_int_equal(twin->token[at / twin->block_bytes], file->blocks[n]);
        }
    }
    assert_int_equal(n, file->count);
}

static void compare(struct twin *twin) {
    int free = count_blocks(twin, FREE), pending = count_blocks(twin, PENDING), seen = 0;
    for (int i = 0; i < twin->blocks; i++) {
        twin->freed_ns[i] = twin->owner[i] == FREE ? 0 : twin->freed_ns[i];
    }
    placement_each_free(twin->placement, check_free, twin);
    for (int i = 0; i < twin->blocks; i++) {
        seen += twin->owner[i] == FREE && twin->freed_ns[i] == UINT64_MAX;
    }
    assert_int_equal(seen, free);
    assert_true(placement_free_bytes(twin->placement) ==
                (uint64_t)(free + pending) * twin->block_bytes);
    assert_true(placement_total_bytes(twin->placement) ==
                (uint64_t)twin->blocks * twin->block_bytes);
    for (int i = 0; i < FILES; i++) {
        check_file(twin, i);
    }
}

static void step(struct twin *twin, uint64_t *random) {
    int index = (int)pick(random, 0, FILES - 1);
    twin->now_ns += pick(random, 0, 1) == 0 ? 0 : pick(random, 0, 500);
    switch (pick(random, 0, 5)) {
    case 0: truncate_file(twin, index); break;
    case 1:
        placement_commit(twin->placement, twin->now_ns);
        commit(twin, false);
        break;
    default: append(twin, index, random);
    }
}

static void extents_equal_blocks(void **state) {
    (void)state;
    const char *given = getenv("SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("# SEED=%llu\n", (unsigned long long)seed);
    struct twin *twin = mem_new(1, sizeof *twin);
    for (int i = 0; i < SPACES; i++) {
        open_twin(twin, &seed);
        for (int k = 0; k < STEPS; k++) {
            step(twin, &seed);
            compare(twin);
        }
        close_twin(twin);
    }
    mem_free(twin);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(extents_equal_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
