/* Data sheets and reviews against the model. Under a sanitizer every eighth drive is enough. */
#include "tests/unit/support.h"

#include "sim/drive/queue_model.h"
#include "sim/drive/queue_points.h"
#include "sim/drive/queue_stations.h"
#include "sim/drive/sheet_check.h"
#include "sim/drive/write_amplification.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
enum { STRIDE = 8 };
#else
enum { STRIDE = 1 };
#endif

static void assert_near(double value, double expected, double share) {
    if (!(fabs(value / expected - 1) <= share)) {
        fail_msg("%.6g is not within %g of %.6g", value, share, expected);
    }
}

static void make(const char *name, enum drive_basis basis, struct arena *arena,
                 struct drive_sheet *sheet) {
    struct drive_config config;
    struct error err = {.text = ""};
    if (drive_config_read(name, NULL, arena, &config, &err) != OK ||
        drive_sheet_make(&config, basis, arena, sheet, &err) != OK) {
        fail_msg("%s", err.text);
    }
}

/* A drive of a user's own file. */
static void make_text(const char *text, struct arena *arena, struct drive_sheet *sheet) {
    char path[] = "/tmp/ckptsim-check-XXXXXX.yaml";
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    make(path, DRIVE_AS_STATED, arena, sheet);
    unlink(path);
}

static struct sheet_check check(const struct drive_sheet *sheet, struct arena *arena) {
    struct sheet_check result;
    struct error err = {.text = ""};
    if (sheet_check_drive(sheet, arena, &result, &err) != OK) {
        fail_msg("%s", err.text);
    }
    return result;
}

/* The one sheet whose figures do not go together: 3 GB/s and 160,000 writes of 4 KiB a second with
 * a quarter more flash than capacity. */
static bool contradicts_itself(const char *drive, int figure) {
    return strcmp(drive, "pm1725a-6.4tb") == 0 && figure == SHEET_RANDOM_WRITE;
}

static void every_sheet_comes_out(void **state) {
    (void)state;
    struct arena arena = {0};
    size_t count;
    const char *const *names = drive_config_names(NULL, &arena, &count);
    assert_true(count >= 82);
    for (size_t i = 0; i < count; i += STRIDE) {
        struct drive_sheet sheet;
        make(names[i], DRIVE_AS_STATED, &arena, &sheet);
        struct sheet_check result = check(&sheet, &arena);
        for (int k = 0; k < SHEET_FIGURES; k++) {
            const struct sheet_row *row = &result.rows[k];
            assert_true(row->model_value > 0);
            assert_true(row->model_value <= row->flash_value + row->flash_value / 100);
            bool beyond = row->stated && !row->met;
            if (beyond != contradicts_itself(names[i], k) || beyond != (row->why != NULL)) {
                fail_msg("%s, %s: %d per mille off; %s", names[i],
                         sheet_figure_name((enum sheet_figure)k), row->error_permille,
                         row->why != NULL ? row->why : "no reason given");
            }
        }
    }
    arena_fini(&arena);
}

static void what_a_sheet_lacks_is_left_out(void **state) {
    (void)state;
    struct arena arena = {0};
    struct drive_sheet sheet;
    make("dc3000me-7.68tb", DRIVE_AS_STATED, &arena, &sheet);
    struct sheet_check result = check(&sheet, &arena);
    for (int k = 0; k < SHEET_FIGURES; k++) {
        assert_false(result.rows[k].stated);
        assert_int_equal(result.rows[k].stated_value, 0);
        assert_null(result.rows[k].why);
    }
    arena_fini(&arena);
}

/* The steady state of a whole drive: page by page on a scaled one, or by the formula alone. */
static void amplification_is_that_of_the_whole_drive(void **state) {
    (void)state;
    static const char *const names[] = {"x200p-7.68tb", "p5336-122.88tb", "cd6-r-15.36tb",
                                        "9550max-25.6tb", "sn861-3.2tb"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct arena arena = {0};
        struct drive_sheet sheet;
        struct error err = {.text = ""};
        double amplification, spare;
        make(names[i], DRIVE_AS_STATED, &arena, &sheet);
        assert_int_equal(sheet_amplification(&sheet, &amplification, &err), OK);
        spare = (double)sheet.drive.over_provisioning.value / 1e6;
        double fill =
            write_amplification_finite_fill(1 / (1 + spare), (double)sheet.superblock_count.value,
                                            (double)sheet.drive.gc_low_superblocks.value + 0.5);
        assert_near(amplification, write_amplification_fifo(fill), 0.015);
        arena_fini(&arena);
    }
}

#define OWN "nand: TLC\ncapacity: 7.68TB\nsequential_write: 7GB/s\nsequential_read: 14GB/s\n"

static uint64_t random_writes(const char *text) {
    struct arena arena = {0};
    struct drive_sheet sheet;
    make_text(text, &arena, &sheet);
    uint64_t iops = check(&sheet, &arena).rows[SHEET_RANDOM_WRITE].model_value;
    arena_fini(&arena);
    return iops;
}

/* Random writes follow from spare share and unit, whatever the sheet says of them. */
static void random_writes_are_not_copied(void **state) {
    (void)state;
    double seven = (double)random_writes(OWN "over_provisioning: 7%\nrandom_write: 900k\n");
    double more = (double)random_writes(OWN "over_provisioning: 28%\nrandom_write: 300k\n");
    double none = (double)random_writes(OWN "over_provisioning: 28%\n");
    assert_near(seven, 7e9 / 4096 / 7.8, 0.09); /* the reserve costs some of the spare flash */
    assert_near(more, 7e9 / 4096 / 2.48, 0.06);
    assert_near(more, none, 1e-9);
    double quarter = (double)random_writes(
        OWN "over_provisioning: 28%\nindirection_unit: 16KiB\nrandom_write_block: 4KiB\n");
    assert_near(quarter, more / 4, 0.05);
}

static void a_figure_beyond_its_bar_says_why(void **state) {
    (void)state;
    struct arena arena = {0};
    struct drive_sheet sheet;
    make_text(OWN "over_provisioning: 28%\nrandom_write: 200k\n", &arena, &sheet);
    struct sheet_check result = check(&sheet, &arena);
    assert_false(result.rows[SHEET_RANDOM_WRITE].met);
    assert_true(result.rows[SHEET_RANDOM_WRITE].error_permille > 250);
    assert_non_null(strstr(result.rows[SHEET_RANDOM_WRITE].why, "stated spare share of 28.0 %"));
    /* 64 dies of 45 us and one plane do not read 3 M times a second. */
    make_text(OWN "dies: 64\nplanes: 1\nrandom_read: 3M\nprogram_time: 200us\n", &arena, &sheet);
    result = check(&sheet, &arena);
    assert_false(result.rows[SHEET_RANDOM_READ].met);
    assert_non_null(strstr(result.rows[SHEET_RANDOM_READ].why, "limited by its dies"));
    assert_int_equal(result.rows[SHEET_RANDOM_READ].flash_value, 64000000 / 45);
    arena_fini(&arena);
}

/* One request alone takes what the sheet says; a deep queue gets what the controller commands. */
static void stations_of_a_drive(void **state) {
    (void)state;
    struct arena arena = {0};
    struct drive_sheet sheet;
    struct queue_depth_config config = {
        .jobs = 1, .depth = 1, .block_bytes = 4096, .requests = 1000};
    struct queue_depth_result result;
    struct error err = {.text = ""};
    make("x200p-7.68tb", DRIVE_AS_STATED, &arena, &sheet);
    queue_stations(&sheet, 4.25, 0, &config.drive);
    assert_int_equal(config.drive.copied_millionths, 3250000);
    assert_int_equal(config.drive.command_ps, 333333);
    assert_int_equal(config.drive.program_bytes, 3 * 4 * 16384);
    assert_int_equal(config.drive.programs_per_erase,
                     sheet.drive.erase_block_bytes.value / (3 * 16384));
    /* Three in four units of a victim are valid, of its pages of four units nearly all are read. */
    double valid = 3.25 / 4.25;
    assert_near((double)config.drive.copy_pages_millionths,
                1e6 * (1 - pow(1 - valid, 4)) / (4 * valid), 1e-5);
    assert_int_equal(queue_depth_run(&config, &result, &err), OK);
    assert_near((double)result.reads.mean_ns, 60000, 1e-3);
    config.write_permille = 1000;
    assert_int_equal(queue_depth_run(&config, &result, &err), OK);
    assert_near((double)result.writes.mean_ns, 10000, 1e-3);
    make("x200p-7.68tb", DRIVE_AS_MEASURED, &arena, &sheet);
    config.host_ps = 5000000;
    config.write_permille = 0;
    queue_stations(&sheet, 4.25, config.host_ps, &config.drive);
    assert_int_equal(config.drive.command_ps, 500000);
    assert_int_equal(queue_depth_run(&config, &result, &err), OK);
    assert_near((double)result.reads.mean_ns, 59000, 1e-3);
    arena_fini(&arena);
}

/* How near the predictions come, in per mille, by where in the curve they lie. With few or all
 * requests under way they hold; in between the machine that measured lost time in a way that
 * neither the drive's stations nor a CPU for each job explain. */
static int bar_of(const struct queue_point *point) {
    uint32_t under_way = point->depth * point->jobs;
    bool between = strcmp(point->drive, "x200p-7.68tb") == 0 && point->depth > 1 && under_way < 200;
    return point->fitted != NULL ? 5 : between ? 420 : 140;
}

static void points_of_reviews(void **state) {
    (void)state;
    struct arena arena = {0};
    struct queue_point_row *rows;
    struct error err = {.text = ""};
    size_t count, fitted = 0;
    if (queue_points_run(NULL, &arena, &rows, &count, &err) != OK) {
        fail_msg("%s", err.text);
    }
    for (size_t i = 0; i < count; i++) {
        const struct queue_point *point = rows[i].point;
        fitted += point->fitted != NULL;
        if (abs(rows[i].error_permille) > bar_of(point)) {
            fail_msg("%s, %u x %u of %llu bytes: %d per mille off", point->drive, point->depth,
                     point->jobs, (unsigned long long)point->block_bytes, rows[i].error_permille);
        }
    }
    assert_true(fitted * 3 < count);
    arena_fini(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sheet_comes_out),
        cmocka_unit_test(what_a_sheet_lacks_is_left_out),
        cmocka_unit_test(amplification_is_that_of_the_whole_drive),
        cmocka_unit_test(random_writes_are_not_copied),
        cmocka_unit_test(a_figure_beyond_its_bar_says_why),
        cmocka_unit_test(stations_of_a_drive),
        cmocka_unit_test(points_of_reviews),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
