#include "sim/drive/placement.h"

#include "tests/unit/support.h"

#define BLOCK UINT64_C(4096)
#define GIB (UINT64_C(1) << 30)

enum { FILES = 6 };

struct bench {
    struct placement *placement;
    struct placement_file files[FILES];
};

static void set_up(struct bench *bench, enum placement_policy policy, uint64_t bytes,
                   uint64_t commit_ns) {
    *bench = (struct bench){.placement = placement_open(policy, bytes, commit_ns, 1)};
}

static void tear_down(struct bench *bench) {
    placement_close(bench->placement);
    for (int i = 0; i < FILES; i++) {
        placement_file_fini(&bench->files[i]);
    }
}

static void append(struct bench *bench, int file, uint64_t bytes) {
    assert_true(placement_append(bench->placement, &bench->files[file], bytes));
}

static void lies_at(const struct bench *bench, int file, uint32_t nth, uint64_t start,
                    uint64_t length) {
    assert_true(nth < bench->files[file].count);
    assert_int_equal(bench->files[file].extents[nth].start_bytes, start);
    assert_int_equal(bench->files[file].extents[nth].length_bytes, length);
}

/* Six files of 10 blocks, 0 to 5, fill 60 blocks; then 1 and 3 are cut. */
static void fill_and_cut(struct bench *bench, enum placement_policy policy) {
    set_up(bench, policy, 100 * BLOCK, 0);
    for (int i = 0; i < FILES; i++) {
        append(bench, i, 10 * BLOCK);
        lies_at(bench, i, 0, (uint64_t)i * 10 * BLOCK, 10 * BLOCK);
    }
    placement_truncate(bench->placement, &bench->files[1], 0);
    placement_truncate(bench->placement, &bench->files[3], 0);
}

static void first_fit_takes_the_lowest(void **state) {
    (void)state;
    struct bench bench;
    fill_and_cut(&bench, PLACEMENT_FIRST_FIT);
    append(&bench, 3, 15 * BLOCK);
    assert_int_equal(bench.files[3].count, 2);
    lies_at(&bench, 3, 0, 10 * BLOCK, 10 * BLOCK);
    lies_at(&bench, 3, 1, 30 * BLOCK, 5 * BLOCK);
    append(&bench, 1, 6 * BLOCK);
    lies_at(&bench, 1, 0, 35 * BLOCK, 5 * BLOCK);
    lies_at(&bench, 1, 1, 60 * BLOCK, 1 * BLOCK);
    tear_down(&bench);
}

static void next_fit_goes_round(void **state) {
    (void)state;
    struct bench bench;
    fill_and_cut(&bench, PLACEMENT_NEXT_FIT);
    append(&bench, 1, 30 * BLOCK);
    lies_at(&bench, 1, 0, 60 * BLOCK, 30 * BLOCK);
    append(&bench, 3, 15 * BLOCK);
    lies_at(&bench, 3, 0, 90 * BLOCK, 10 * BLOCK);
    lies_at(&bench, 3, 1, 10 * BLOCK, 5 * BLOCK);
    append(&bench, 1, 6 * BLOCK);
    lies_at(&bench, 1, 1, 15 * BLOCK, 5 * BLOCK);
    lies_at(&bench, 1, 2, 30 * BLOCK, 1 * BLOCK);
    tear_down(&bench);
}

/* Behind the last byte of a space of several whole regions comes its first byte. */
static void next_fit_goes_round_regions(void **state) {
    (void)state;
    struct bench bench;
    set_up(&bench, PLACEMENT_NEXT_FIT, 4 * GIB, 0);
    append(&bench, 0, 4 * GIB);
    placement_truncate(bench.placement, &bench.files[0], 0);
    append(&bench, 1, BLOCK);
    lies_at(&bench, 1, 0, 0, BLOCK);
    tear_down(&bench);
}

static void ext4_stays_behind_its_own_end(void **state) {
    (void)state;
    struct bench bench;
    set_up(&bench, PLACEMENT_EXT4, 100 * BLOCK, 0);
    append(&bench, 0, 10 * BLOCK);
    append(&bench, 0, 5 * BLOCK);
    assert_int_equal(bench.files[0].count, 1); /* one extent grew */
    append(&bench, 1, 10 * BLOCK);
    lies_at(&bench, 1, 0, 15 * BLOCK, 10 * BLOCK);
    append(&bench, 0, 5 * BLOCK); /* blocked by file 1: at the goal, behind it */
    lies_at(&bench, 0, 1, 25 * BLOCK, 5 * BLOCK);
    tear_down(&bench);
}

/* A new file of ext4 begins in any free extent: over many draws each is met. */
static void ext4_draws_the_first_extent(void **state) {
    (void)state;
    struct bench bench;
    int met[3] = {0};
    fill_and_cut(&bench, PLACEMENT_EXT4);
    for (int i = 0; i < 300; i++) {
        append(&bench, 1, BLOCK);
        uint64_t at = bench.files[1].extents[0].start_bytes / BLOCK;
        assert_true(at == 10 || at == 30 || at == 60);
        met[at == 10 ? 0 : at == 30 ? 1 : 2]++;
        placement_truncate(bench.placement, &bench.files[1], 0);
    }
    for (int i = 0; i < 3; i++) {
        assert_in_range(met[i], 50, 150);
    }
    tear_down(&bench);
}

static void xfs_stays_in_its_group(void **state) {
    (void)state;
    struct bench bench;
    set_up(&bench, PLACEMENT_XFS, 400 * BLOCK, 0); /* four groups of 100 blocks */
    for (uint32_t i = 0; i < FILES; i++) {
        bench.files[i].group = i;
        append(&bench, (int)i, 10 * BLOCK);
    }
    lies_at(&bench, 0, 0, 0, 10 * BLOCK);
    lies_at(&bench, 1, 0, 100 * BLOCK, 10 * BLOCK);
    lies_at(&bench, 3, 0, 300 * BLOCK, 10 * BLOCK);
    lies_at(&bench, 4, 0, 10 * BLOCK,
            10 * BLOCK); /* the fifth folder is in the first group again */
    placement_truncate(bench.placement, &bench.files[0], 0);
    bench.files[0].group = 0;
    append(&bench, 0, 50 * BLOCK); /* the hole of 10 blocks does not hold the whole request */
    lies_at(&bench, 0, 0, 20 * BLOCK, 50 * BLOCK);
    append(&bench, 4,
           95 * BLOCK); /* nor does the rest of the group: the next one does not either ... */
    lies_at(&bench, 4, 1, 200 * BLOCK + 10 * BLOCK,
            90 * BLOCK); /* ... so the largest extent of all begins */
    tear_down(&bench);
}

/* A hole that is just large enough is. */
static void xfs_takes_a_hole_that_fits(void **state) {
    (void)state;
    struct bench bench;
    set_up(&bench, PLACEMENT_XFS, 400 * BLOCK, 0);
    append(&bench, 0, 10 * BLOCK);
    append(&bench, 1, 10 * BLOCK);
    placement_truncate(bench.placement, &bench.files[0], 0);
    append(&bench, 2, 10 * BLOCK);
    lies_at(&bench, 2, 0, 0, 10 * BLOCK);
    tear_down(&bench);
}

static void freed_space_waits_for_the_journal(void **state) {
    (void)state;
    struct bench bench;
    set_up(&bench, PLACEMENT_FIRST_FIT, 100 * BLOCK, 1000);
    append(&bench, 0, 10 * BLOCK);
    placement_truncate(bench.placement, &bench.files[0], 500);
    assert_int_equal(placement_free_bytes(bench.placement), 100 * BLOCK); /* free, not yet to use */
    append(&bench, 1, 5 * BLOCK);
    lies_at(&bench, 1, 0, 10 * BLOCK, 5 * BLOCK);
    placement_commit(bench.placement, 1499);
    append(&bench, 2, 5 * BLOCK);
    lies_at(&bench, 2, 0, 15 * BLOCK, 5 * BLOCK);
    placement_commit(bench.placement, 1500);
    append(&bench, 3, 5 * BLOCK);
    lies_at(&bench, 3, 0, 0, 5 * BLOCK);
    tear_down(&bench);
}

static void short_of_room_the_journal_is_written(void **state) {
    (void)state;
    struct bench bench;
    set_up(&bench, PLACEMENT_EXT4, 100 * BLOCK, UINT64_C(1) << 60);
    append(&bench, 0, 60 * BLOCK);
    placement_truncate(bench.placement, &bench.files[0], 0);
    append(&bench, 1, 100 * BLOCK);
    assert_int_equal(placement_free_bytes(bench.placement), 0);
    assert_int_equal(placement_free_extents(bench.placement), 0);
    assert_false(placement_append(bench.placement, &bench.files[2], BLOCK));
    assert_int_equal(bench.files[2].length_bytes, 0);
    tear_down(&bench);
}

static void a_cut_file_is_readable_until_it_grows(void **state) {
    (void)state;
    struct bench bench;
    set_up(&bench, PLACEMENT_FIRST_FIT, 100 * BLOCK, 0);
    append(&bench, 0, 10 * BLOCK);
    placement_truncate(bench.placement, &bench.files[0], 0);
    assert_int_equal(bench.files[0].length_bytes, 0);
    lies_at(&bench, 0, 0, 0, 10 * BLOCK);
    placement_truncate(bench.placement, &bench.files[0], 0); /* a second time frees nothing */
    assert_int_equal(placement_free_bytes(bench.placement), 100 * BLOCK);
    append(&bench, 0, BLOCK);
    assert_int_equal(bench.files[0].count, 1);
    tear_down(&bench);
}

/* No file system block lies across the border of two regions, whatever the capacity is. */
static void regions_hold_whole_blocks(void **state) {
    (void)state;
    static const uint64_t capacities[] = {UINT64_C(7680000000000),   UINT64_C(3840000004096),
                                          UINT64_C(61440000000000),  UINT64_C(1001 * 4096),
                                          UINT64_C(122880000012288), UINT64_C(245760000004096)};
    for (size_t i = 0; i < COUNT_OF(capacities); i++) {
        for (enum placement_policy policy = PLACEMENT_EXT4; policy <= PLACEMENT_FIRST_FIT;
             policy++) {
            struct bench bench;
            uint64_t capacity = capacities[i] / BLOCK * BLOCK;
            set_up(&bench, policy, capacity, 0);
            append(&bench, 0, capacity);
            for (uint32_t k = 0; k < bench.files[0].count; k++) {
                assert_int_equal(bench.files[0].extents[k].start_bytes % BLOCK, 0);
                assert_int_equal(bench.files[0].extents[k].length_bytes % BLOCK, 0);
            }
            tear_down(&bench);
        }
    }
}

static void policies_have_names(void **state) {
    (void)state;
    assert_string_equal(placement_policy_name(PLACEMENT_EXT4), "ext4");
    assert_string_equal(placement_policy_name(PLACEMENT_XFS), "xfs");
    assert_string_equal(placement_policy_name(PLACEMENT_NEXT_FIT), "next-fit");
    assert_string_equal(placement_policy_name(PLACEMENT_FIRST_FIT), "first-fit");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_fit_takes_the_lowest),
        cmocka_unit_test(next_fit_goes_round),
        cmocka_unit_test(next_fit_goes_round_regions),
        cmocka_unit_test(ext4_stays_behind_its_own_end),
        cmocka_unit_test(ext4_draws_the_first_extent),
        cmocka_unit_test(xfs_stays_in_its_group),
        cmocka_unit_test(xfs_takes_a_hole_that_fits),
        cmocka_unit_test(freed_space_waits_for_the_journal),
        cmocka_unit_test(short_of_room_the_journal_is_written),
        cmocka_unit_test(a_cut_file_is_readable_until_it_grows),
        cmocka_unit_test(regions_hold_whole_blocks),
        cmocka_unit_test(policies_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
