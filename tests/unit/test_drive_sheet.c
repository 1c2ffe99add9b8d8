/* What follows from a drive's figures, by hand for two drives; what stands in for the unknown; and
 * drives that cannot be. */
#include "support.h"

#include "sim/drive/drive_rows.h"
#include "sim/drive/drive_sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OURS "nand: TLC\ncapacity: 4TB\nsequential_write: 5GB/s\n"

static void make(const char *name, enum drive_basis basis, struct arena *arena,
                 struct drive_sheet *sheet) {
    struct drive_config config;
    struct error err = {.text = ""};
    if (drive_config_read(name, NULL, arena, &config, &err) != OK ||
        drive_sheet_make(&config, basis, arena, sheet, &err) != OK) {
        fail_msg("%s", err.text);
    }
}

static enum status make_text(const char *text, struct arena *arena, struct drive_sheet *sheet,
                             struct error *err) {
    char path[] = "/tmp/ckptsim-sheet-XXXXXX.yaml";
    struct drive_config config;
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    enum status status = drive_config_read(path, NULL, arena, &config, err);
    unlink(path);
    return status == OK ? drive_sheet_make(&config, DRIVE_AS_MEASURED, arena, sheet, err) : status;
}

static void assert_near(uint64_t value, double expected, double share) {
    if (!(fabs((double)value - expected) <= share * expected)) {
        fail_msg("%llu is not within %g of %.10g", (unsigned long long)value, share, expected);
    }
}

/* The flash takes what it was measured to take: 8.778 GB/s / (500,000 x 4096 B) = 4.28613;
 * -A ln(1 - 1/A) = 1.13871; raw 8.7453 TB. */
static void test_x200p(void **state) {
    (void)state;
    struct arena arena = {0};
    struct drive_sheet sheet;
    make("x200p-7.68tb", DRIVE_AS_MEASURED, &arena, &sheet);
    assert_near(sheet.implied_programming.value, 4248047, 1e-6);
    assert_near(sheet.drive.over_provisioning.value, 138712, 1e-3);
    assert_near(sheet.raw_bytes.value, 8.7453e12, 1e-4);
    assert_int_equal(sheet.bits_per_cell.value, 3);
    assert_int_equal(sheet.drive.dies.value, 64); /* 63.7 dies of 2^37 B */
    assert_int_equal(sheet.drive.superblock_bytes.value, UINT64_C(5760000000)); /* 64 x 4 x 24 MB x 15/16 */
    assert_int_equal(sheet.superblock_count.value, 1518);
    assert_int_equal(sheet.map_bytes.value, UINT64_C(7500000000)); /* 1.875e9 units x 4 B */
    assert_near(sheet.link_rate.value, 32e9 / 8 * 4 * 128 / 130 * 512 / 536, 1e-9);
    assert_int_equal(sheet.read_overhead_ns.value, 15000); /* 60 us - 45 us */
    assert_near(sheet.die_program_rate.value, 4 * 16384 * 3 / 1.2e-3, 1e-9);
    assert_int_equal(sheet.drive.rated_written_bytes.value, UINT64_C(14016000000000000));
    assert_near(sheet.rated_media_bytes.value, 14.016e15 * 4.28613, 1e-4);
    assert_near(sheet.program_cycles.value, 14.016e15 * 4.28613 / 8.7453e12, 1e-3);
    assert_int_equal(sheet.drive.program_rate.value, UINT64_C(8778000000));
    make("x200p-7.68tb", DRIVE_AS_STATED, &arena, &sheet);
    assert_int_equal(sheet.drive.program_rate.value, UINT64_C(8700000000));
    assert_int_equal(sheet.read_rate.value, UINT64_C(14800000000));
    arena_fini(&arena);
}

/* Each 16 KiB write costs a 32 KiB unit: 3.286 GB/s / (19,000 x 32 KiB) = 5.27793; spare .1087. A
 * drive of more than 64 x 6 x 1.5 dies has a stripe of 128. */
static void test_p5336(void **state) {
    (void)state;
    struct arena arena = {0};
    struct drive_sheet sheet;
    make("p5336-122.88tb", DRIVE_AS_MEASURED, &arena, &sheet);
    assert_near(sheet.implied_programming.value, 9637130, 1e-5);
    assert_near(sheet.drive.over_provisioning.value, 108707, 2e-3);
    assert_near(sheet.raw_bytes.value, 136.238e12, 1e-4);
    assert_int_equal(sheet.bits_per_cell.value, 4);
    assert_int_equal(sheet.drive.dies.value, 743);
    assert_int_equal(sheet.drive.superblock_bytes.value, UINT64_C(23040000000) / 32768 * 32768); /* 128 x 4 x 48 MB x 15/16 */
    assert_int_equal(sheet.map_bytes.value, UINT64_C(15000000000));
    assert_near(sheet.drive.rated_written_bytes.value, 134.3e15, 1e-12);
    assert_near(sheet.program_cycles.value, 134.3e15 * 5.27793 / 136.238e12, 1e-3);
    assert_int_equal(sheet.drive.program_rate.value, UINT64_C(3286000000));
    assert_true(sheet.dies_program_rate.value > 10 * sheet.drive.program_rate.value);
    arena_fini(&arena);
}

static void test_spare_formula(void **state) {
    (void)state;
    static const double known[][2] = {{.05, 10.7}, {.07, 7.82}, {.10, 5.68}, {.14, 4.25},
                                      {.20, 3.19}, {.28, 2.48}, {.50, 1.72}, {1.0, 1.25}};
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        double amplification = drive_amplification_of(known[i][0]);
        assert_true(fabs(amplification - known[i][1]) < 0.06);
        assert_true(fabs(drive_spare_of(amplification) - known[i][0]) < 1e-6);
    }
}

static void test_defaults(void **state) {
    (void)state;
    struct arena arena = {0};
    struct drive_sheet sheet;
    struct error err = {.text = ""};
    assert_int_equal(make_text(OURS, &arena, &sheet, &err), OK);
    assert_int_equal(sheet.drive.over_provisioning.value, 110000);
    assert_int_equal(sheet.drive.over_provisioning.origin, FIGURE_DEFAULT);
    assert_int_equal(sheet.drive.random_write_iops.origin, FIGURE_DERIVED);
    assert_near(sheet.drive.random_write_iops.value, 5e9 / 4096 / drive_amplification_of(.11),
                1e-6);
    assert_int_equal(sheet.drive.rated_written_bytes.value, UINT64_C(7300000000000000));
    assert_int_equal(make_text(OURS "drive_writes_per_day: 3\n", &arena, &sheet, &err), OK);
    assert_int_equal(sheet.drive.over_provisioning.value, 280000);
    /* Writes in order rate the flash itself. */
    assert_int_equal(make_text(OURS "rated_sequential_writes: 20PB\n", &arena, &sheet, &err), OK);
    assert_int_equal(sheet.rated_media_bytes.value, UINT64_C(20000000000000000));
    /* What the file gives is kept. */
    assert_int_equal(make_text(OURS "over_provisioning: 7%\nrandom_write: 100k\nsuperblock: 1GiB\n",
                               &arena, &sheet, &err),
                     OK);
    assert_int_equal(sheet.drive.over_provisioning.value, 70000);
    assert_int_equal(sheet.drive.superblock_bytes.value, UINT64_C(1) << 30);
    /* A random write rate close to the sequential one says nothing of the spare share. */
    assert_int_equal(make_text(OURS "random_write: 1200k\n", &arena, &sheet, &err), OK);
    assert_int_equal(sheet.drive.over_provisioning.value, 600000);
    assert_non_null(strstr(sheet.drive.over_provisioning.source, "bounded"));
    arena_fini(&arena);
}

static void test_small_drive(void **state) {
    (void)state;
    struct arena arena = {0};
    struct drive_sheet sheet;
    struct error err = {.text = ""};
    assert_int_equal(make_text("nand: TLC\ncapacity: 1GB\nsequential_write: 1GB/s\n"
                               "write_buffer: 1MiB\n",
                               &arena, &sheet, &err),
                     OK);
    assert_int_equal(sheet.superblock_count.value, 256);
    assert_int_equal(sheet.drive.superblock_bytes.value % 4096, 0);
    arena_fini(&arena);
}

struct mistake {
    const char *text;
    const char *says[4];
};

static const struct mistake mistakes[] = {
    {OURS "indirection_unit: 64KiB\nsuperblock: 64KiB\npage: 12KiB\n", {":6:7: ", "power of two"}},
    {OURS "indirection_unit: 256KiB\nsuperblock: 128KiB\n",
     {":4:19: ", "'indirection_unit' is 256 KiB", "at most 128 KiB, the superblock"}},
    {OURS "indirection_unit: 12KiB\n", {":4:19: ", "a power of two"}},
    {OURS "superblock: 1000001kB\n", {":4:13: ", "'superblock'", "a multiple of 4 KiB"}},
    {OURS "superblock: 1TB\n", {":4:13: ", "'superblock' is 1 TB", "a 16th"}},
    {OURS "over_provisioning: 0.5%\n", {":4:20: ", "'over_provisioning' is 0.005", "at least"}},
    {OURS "fdp_handles: 128\nover_provisioning: 7%\n", {":5:20: ", "259 superblocks"}},
    {OURS "sequential_read: 20GB/s\npcie_generation: 5\n",
     {":4:18: ", "'sequential_read' is 20 GB/s", "at most 15.048 GB/s", "PCIe 5.0 x4"}},
    {"nand: TLC\ncapacity: 4TB\nsequential_write: 60GB/s\n",
     {":3:19: ", "'sequential_write' is 60 GB/s", "PCIe 6.0 x4"}},
    {OURS "random_read: 20M\n", {":4:14: ", "'random_read'", "the link's rate in blocks"}},
    {OURS "random_write: 2M\n", {":4:15: ", "'random_write'", "sequential_write in blocks"}},
    {OURS "read_time: 80us\nread_latency: 60us\n", {":4:12: ", "'read_time' is 80 us", "60 us"}},
    {OURS "dies: 8\nstripe_dies: 9\n", {":5:14: ", "'stripe_dies' is 9", "at most 8"}},
    {OURS "slc_stage: 100GB\n", {":4:12: ", "'slc_stage_rate'"}},
    {OURS "slc_stage: 5TB\nslc_stage_rate: 9GB/s\n", {":4:12: ", "at most 4 TB, the capacity"}},
    {OURS "idle_power: 30W\n", {":4:13: ", "'idle_power' is 30 W", "at most 23 W"}},
    {"nand: TLC\ncapacity: 10MB\nsequential_write: 1GB/s\n",
     {":1:1: ", "'write_buffer' is 64 MiB (family default)", "the capacity"}},
};

static void test_mistakes(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        struct arena arena = {0};
        struct drive_sheet sheet;
        struct error err = {.text = ""};
        if (make_text(mistakes[i].text, &arena, &sheet, &err) != ERR_USAGE) {
            fail_msg("accepted: %s", mistakes[i].text);
        }
        for (size_t k = 0; k < COUNT_OF(mistakes[i].says) && mistakes[i].says[k] != NULL; k++) {
            if (strstr(err.text, mistakes[i].says[k]) == NULL) {
                fail_msg("'%s' lacks '%s'", err.text, mistakes[i].says[k]);
            }
        }
        assert_null(strchr(err.text, '\n'));
        arena_fini(&arena);
    }
}

/* Every line that shows a number of a built-in drive says where it is from. */
static void test_rows(void **state) {
    (void)state;
    struct arena arena = {0};
    size_t count, rows_count;
    const char *const *names = drive_config_names(NULL, &arena, &count);
    for (size_t i = 0; i < count; i++) {
        struct drive_sheet sheet;
        make(names[i], DRIVE_AS_MEASURED, &arena, &sheet);
        const struct drive_row *rows = drive_sheet_rows(&sheet, &arena, &rows_count);
        assert_true(rows_count > 50);
        for (size_t k = 0; k < rows_count; k++) {
            bool unknown = strcmp(rows[k].origin, "unknown") == 0;
            bool identity = strcmp(rows[k].group, "identity") == 0;
            if (!unknown && !identity && rows[k].source[0] == '\0') {
                fail_msg("%s: %s has no source", names[i], rows[k].name);
            }
            assert_int_equal(unknown, rows[k].text[0] == '\0');
        }
    }
    arena_fini(&arena);
}

/* Whatever a drive's file leaves out, the simulation finds a figure for it. */
static void test_nothing_is_missing(void **state) {
    (void)state;
    static const char *const optional[] = {"sequential_drive_writes_per_day",
                                           "rated_sequential_writes", "slc_stage_rate"};
    struct arena arena = {0};
    struct drive_sheet sheet;
    struct error err = {.text = ""};
    assert_int_equal(make_text(OURS, &arena, &sheet, &err), OK);
    for (size_t i = 0; i < drive_figures_count; i++) {
        bool may = false;
        for (size_t k = 0; k < COUNT_OF(optional); k++) {
            may = may || strcmp(optional[k], drive_figures[i].key) == 0;
        }
        if (!may && figure_in(&drive_figures[i], &sheet.drive)->origin == FIGURE_UNKNOWN) {
            fail_msg("%s is unknown", drive_figures[i].key);
        }
    }
    arena_fini(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_x200p),         cmocka_unit_test(test_p5336),
        cmocka_unit_test(test_spare_formula), cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_small_drive),   cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_rows),          cmocka_unit_test(test_nothing_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
