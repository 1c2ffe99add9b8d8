/* The page-exact FTL against the closed forms. Under a sanitizer the drives are smaller and so are
 * the claims. */
#include "tests/unit/support.h"

#include "sim/drive/page_ftl.h"
#include "sim/drive/write_amplification.h"

#include <math.h>

#ifdef __SANITIZE_ADDRESS__
enum { SUPERBLOCKS = 1024, TOLERANCE_PERMILLE = 30 };
#else
enum { SUPERBLOCKS = 4096, TOLERANCE_PERMILLE = 10 };
#endif

enum { UNIT = 16384, KIB = 1024 };

static struct page_ftl_config small_drive(double fill, uint32_t superblocks, uint32_t units) {
    return (struct page_ftl_config){.logical_units = (uint32_t)(fill * superblocks * units),
                                    .superblocks = superblocks,
                                    .superblock_units = units,
                                    .unit_bytes = UNIT,
                                    .gc_low = 2,
                                    .seed = 12};
}

static struct page_ftl *open_drive(const struct page_ftl_config *config) {
    struct page_ftl *ftl = NULL;
    struct error err = {0};
    if (page_ftl_open(config, &ftl, &err) != OK) {
        fail_msg("%s", err.text);
    }
    return ftl;
}

static void audit(const struct page_ftl *ftl) {
    struct error err = {0};
    if (page_ftl_check(ftl, &err) != OK) {
        fail_msg("%s", err.text);
    }
}

/* Requests enough to write every unit `fills` times. */
static struct page_workload uniform(const struct page_ftl_config *config, double fills) {
    return (struct page_workload){.requests = (uint64_t)(fills * config->logical_units),
                                  .length_bytes = UNIT,
                                  .align_bytes = UNIT};
}

/* Write amplification of GC during the workload. */
static double measure(struct page_ftl *ftl, const struct page_workload *workload) {
    struct page_ftl_stats before = page_ftl_stats(ftl);
    page_ftl_run(ftl, workload);
    struct page_ftl_stats after = page_ftl_stats(ftl);
    return 1 + (double)(after.gc_units - before.gc_units) /
                   (double)(after.host_units - before.host_units);
}

static void assert_close(double value, double expected, int permille) {
    if (!(fabs(value / expected - 1) <= permille / 1000.0)) {
        fail_msg("%.4f is not within %d per mille of %.4f", value, permille, expected);
    }
}

/* After preconditioning, over the fills that follow. */
static double settled(const struct page_ftl_config *config, const struct page_workload *settle,
                      const struct page_workload *workload) {
    struct page_ftl *ftl = open_drive(config);
    page_ftl_precondition(ftl);
    page_ftl_run(ftl, settle);
    double amplification = measure(ftl, workload);
    page_ftl_close(ftl);
    return amplification;
}

/* When a victim is chosen, the reserve is empty and the open superblock of GC half so. */
static double kept(const struct page_ftl_config *config) { return config->gc_low + 0.5; }

static double greedy(const struct page_ftl_config *config, double live) {
    double fill = (double)config->logical_units * live /
                  ((double)config->superblocks * config->superblock_units);
    fill = write_amplification_finite_fill(fill, config->superblocks, kept(config));
    return write_amplification_greedy(fill, config->superblock_units);
}

static const double fills[] = {1 / 1.07, 0.93, 1 / 1.125, 1 / 1.2, 1 / 1.28, 0.72, 1 / 1.5};

static void uniform_writes_cost_what_the_formula_says(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(fills); i++) {
        struct page_ftl_config config = small_drive(fills[i], SUPERBLOCKS, 256);
        struct page_workload workload = uniform(&config, 1.5), settle = uniform(&config, 0.5);
        double amplification = settled(&config, &settle, &workload);
        assert_close(amplification, greedy(&config, 1), TOLERANCE_PERMILLE);
    }
}

/* Preconditioning may not hide that the state is reached from an empty drive too. */
static void an_empty_drive_settles_to_the_same(void **state) {
    (void)state;
    struct page_ftl_config config = small_drive(1 / 1.28, SUPERBLOCKS / 4, 256);
    struct page_ftl *ftl = open_drive(&config);
    for (uint32_t unit = 0; unit < config.logical_units; unit++) {
        page_ftl_write(ftl, unit);
    }
    assert_int_equal(page_ftl_stats(ftl).gc_units, 0);
    struct page_workload workload = uniform(&config, 8);
    page_ftl_run(ftl, &workload);
    assert_close(measure(ftl, &workload), greedy(&config, 1), TOLERANCE_PERMILLE);
    audit(ftl);
    page_ftl_close(ftl);
}

/* At fill 0.93 three superblocks kept back of 256 cost 8.38, of 1,024 7.40; the simulated reserve
 * is two and a half. */
static void few_superblocks_cost_more(void **state) {
    (void)state;
    static const double costs[][2] = {{256, 8.382}, {1024, 7.399}};
    for (size_t i = 0; i < COUNT_OF(costs); i++) {
        struct page_ftl_config config = small_drive(0.93, (uint32_t)costs[i][0], 256);
        struct page_workload workload = uniform(&config, 8), settle = uniform(&config, 2);
        double amplification = settled(&config, &settle, &workload);
        assert_close(amplification, greedy(&config, 1), TOLERANCE_PERMILLE);
        assert_close(amplification, costs[i][1], 30);
    }
}

static void other_victims(void **state) {
    (void)state;
    struct page_ftl_config config = small_drive(0.93, SUPERBLOCKS / 2, 256);
    struct page_workload workload = uniform(&config, 3), settle = uniform(&config, 3);
    double fill = write_amplification_finite_fill(0.93, config.superblocks, kept(&config));
    config.victims = PAGE_VICTIMS_FIFO;
    assert_close(settled(&config, &settle, &workload), write_amplification_fifo(fill),
                 2 * TOLERANCE_PERMILLE);
    config.victims = PAGE_VICTIMS_D_CHOICES;
    config.choices = 10;
    assert_close(settled(&config, &settle, &workload), write_amplification_d_choices(fill, 256, 10),
                 2 * TOLERANCE_PERMILLE);
}

static void trims_make_room(void **state) {
    (void)state;
    static const uint32_t permille[] = {50, 100, 200, 300};
    for (size_t i = 0; i < COUNT_OF(permille); i++) {
        struct page_ftl_config config = small_drive(1 / 1.07, SUPERBLOCKS / 4, 128);
        struct page_workload workload = uniform(&config, 4), settle = uniform(&config, 8);
        workload.trim_permille = settle.trim_permille = permille[i];
        struct page_ftl *ftl = open_drive(&config);
        page_ftl_precondition(ftl);
        page_ftl_run(ftl, &settle);
        double amplification = measure(ftl, &workload);
        double live = write_amplification_live_share(permille[i] / 1000.0);
        assert_close(page_ftl_stats(ftl).mapped_units, live * config.logical_units, 10);
        assert_close(amplification, greedy(&config, live), 3 * TOLERANCE_PERMILLE);
        audit(ftl);
        page_ftl_close(ftl);
    }
}

/* 4 KiB on units of 16 KiB: each write reads and writes a whole unit. 128 KiB at multiples of 4 KiB
 * touches 8.75 units of 8. */
static void writes_below_a_unit(void **state) {
    (void)state;
    struct page_ftl_config config = small_drive(1 / 1.28, SUPERBLOCKS / 4, 256);
    static const struct {
        uint32_t length, align;
        double partial;
    } cases[] = {{4 * KIB, 4 * KIB, 1}, {64 * KIB, 16 * KIB, 0}, {128 * KIB, 4 * KIB, 1.5}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct page_ftl *ftl = open_drive(&config);
        page_ftl_precondition(ftl);
        struct page_workload workload = {
            .requests = 200000, .length_bytes = cases[i].length, .align_bytes = cases[i].align};
        page_ftl_run(ftl, &workload);
        struct page_ftl_stats stats = page_ftl_stats(ftl);
        double touched = (double)stats.host_units / 200000;
        assert_close(touched,
                     write_amplification_touched_units(cases[i].length, cases[i].align, UNIT), 2);
        assert_true(fabs((double)stats.partial_units / 200000 - cases[i].partial) < 0.01);
        assert_int_equal(stats.host_bytes, UINT64_C(200000) * cases[i].length);
        page_ftl_close(ftl);
    }
}

/* A frontier of its own for GC keeps the cold apart from the hot. */
static void hot_and_cold(void **state) {
    (void)state;
    struct page_ftl_config config = small_drive(0.78, SUPERBLOCKS / 4, 128);
    struct page_workload workload = uniform(&config, 5), settle = uniform(&config, 30);
    workload.hot_units_permille = settle.hot_units_permille = 200;
    workload.hot_writes_permille = settle.hot_writes_permille = 800;
    assert_close(settled(&config, &settle, &workload), 2.70, 4 * TOLERANCE_PERMILLE);
    config.gc_mixed = true;
    assert_close(settled(&config, &settle, &workload), 2.80, 4 * TOLERANCE_PERMILLE);
}

static void sequential_overwrite_copies_nothing(void **state) {
    (void)state;
    struct page_ftl_config config = small_drive(0.98, 512, 64);
    struct page_ftl *ftl = open_drive(&config);
    for (int pass = 0; pass < 5; pass++) {
        for (uint32_t unit = 0; unit < config.logical_units; unit++) {
            page_ftl_write(ftl, unit);
        }
    }
    assert_int_equal(page_ftl_stats(ftl).gc_units, 0);
    audit(ftl);
    page_ftl_close(ftl);
}

static void impossible_drives_are_refused(void **state) {
    (void)state;
    struct page_ftl_config full = small_drive(1, 64, 64), huge = small_drive(0.9, 64, 64);
    huge.superblocks = UINT32_MAX;
    struct page_ftl *ftl = NULL;
    struct error err = {0};
    assert_int_equal(page_ftl_open(&full, &ftl, &err), ERR_USAGE);
    assert_int_equal(page_ftl_open(&huge, &ftl, &err), ERR_USAGE);
    assert_null(ftl);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_writes_cost_what_the_formula_says),
        cmocka_unit_test(an_empty_drive_settles_to_the_same),
        cmocka_unit_test(few_superblocks_cost_more),
        cmocka_unit_test(other_victims),
        cmocka_unit_test(trims_make_room),
        cmocka_unit_test(writes_below_a_unit),
        cmocka_unit_test(hot_and_cold),
        cmocka_unit_test(sequential_overwrite_copies_nothing),
        cmocka_unit_test(impossible_drives_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
