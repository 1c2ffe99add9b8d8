/* Bars, loads and the scaled drive are rows and constants here; the rest carries figures. */
#include "sim/drive/sheet_check.h"

#include "base/check.h"
#include "sim/drive/ftl.h"
#include "sim/drive/page_ftl.h"
#include "sim/drive/queue_stations.h"
#include "sim/drive/write_amplification.h"

#include <math.h>
#include <stdlib.h>

enum {
    KIB = 1024,
    MILLE = 1000,
    /* The scaled drive and how long it is written. */
    SUPERBLOCKS = 1024,
    UNITS = 64,
    RESERVE = 2,
    SETTLE_PERCENT = 50,
    MEASURE_PERCENT = 100,
    UNITS_MOST = 4096, /* beyond, the size of a superblock changes nothing any more */
    /* The loads: deep enough for every drive to reach what it can. */
    SEQUENTIAL_BYTES = 128 * KIB,
    SEQUENTIAL_DEPTH = 64,
    RANDOM_JOBS = 16,
    RANDOM_DEPTH = 32,
    SEQUENTIAL_REQUESTS = 4000,
    RANDOM_REQUESTS = 20000,
    SEED = 1,
};

struct figure_kind_row {
    const char *name;
    uint32_t bar_permille;
    bool rate, write;
};

static const struct figure_kind_row kinds[SHEET_FIGURES] = {
    [SHEET_SEQUENTIAL_READ] = {"sequential read", 50, true, false},
    [SHEET_SEQUENTIAL_WRITE] = {"sequential write", 50, true, true},
    [SHEET_RANDOM_READ] = {"random read", 250, false, false},
    [SHEET_RANDOM_WRITE] = {"random write", 250, false, true},
};

const char *sheet_figure_name(enum sheet_figure figure) { return kinds[figure].name; }
bool sheet_figure_is_rate(enum sheet_figure figure) { return kinds[figure].rate; }
uint32_t sheet_figure_bar_permille(enum sheet_figure figure) { return kinds[figure].bar_permille; }

/* When a victim is chosen the reserve is empty, and garbage collection's own superblock half full.
 */
static double kept(uint64_t reserve, bool mixed) { return (double)reserve + (mixed ? 0 : 0.5); }

/* What the formula of the drive's victims says of so many superblocks of so many units. */
static double formula(const struct drive_config *drive, double fill, double superblocks,
                      uint32_t units, uint64_t reserve) {
    bool mixed = drive->gc_frontier.value == FTL_GC_MIXED;
    double effective = write_amplification_finite_fill(fill, superblocks, kept(reserve, mixed));
    if (!(effective < 1)) {
        return 0;
    }
    switch ((enum ftl_victims)drive->gc_victims.value) {
    case FTL_VICTIMS_FIFO: return write_amplification_fifo(effective);
    case FTL_VICTIMS_D_CHOICES:
        return write_amplification_d_choices(effective, units, (double)drive->gc_choices.value);
    case FTL_VICTIMS_GREEDY: break;
    }
    return write_amplification_greedy(effective, units);
}

static enum page_victims page_victims(const struct drive_config *drive) {
    switch ((enum ftl_victims)drive->gc_victims.value) {
    case FTL_VICTIMS_FIFO: return PAGE_VICTIMS_FIFO;
    case FTL_VICTIMS_D_CHOICES: return PAGE_VICTIMS_D_CHOICES;
    case FTL_VICTIMS_GREEDY: break;
    }
    return PAGE_VICTIMS_GREEDY;
}

/* Page by page on a drive with this fill. */
static enum status play(const struct drive_config *drive, double fill, double *amplification,
                        struct error *err) {
    struct page_ftl_config config = {
        .logical_units = (uint32_t)(fill * SUPERBLOCKS * UNITS),
        .superblocks = SUPERBLOCKS,
        .superblock_units = UNITS,
        .unit_bytes = KIB,
        .gc_low = RESERVE,
        .gc_mixed = drive->gc_frontier.value == FTL_GC_MIXED,
        .victims = page_victims(drive),
        .choices = (uint32_t)drive->gc_choices.value,
        .seed = SEED,
    };
    struct page_ftl *ftl;
    enum status status = page_ftl_open(&config, &ftl, err);
    if (status != OK) {
        return status;
    }
    struct page_workload workload = {.requests =
                                         (uint64_t)config.logical_units * SETTLE_PERCENT / 100,
                                     .length_bytes = KIB,
                                     .align_bytes = KIB};
    page_ftl_precondition(ftl);
    page_ftl_run(ftl, &workload);
    struct page_ftl_stats before = page_ftl_stats(ftl);
    workload.requests = (uint64_t)config.logical_units * MEASURE_PERCENT / 100;
    page_ftl_run(ftl, &workload);
    struct page_ftl_stats after = page_ftl_stats(ftl);
    page_ftl_close(ftl);
    *amplification = 1 + (double)(after.gc_units - before.gc_units) /
                             (double)(after.host_units - before.host_units);
    return OK;
}

enum status sheet_amplification(const struct drive_sheet *sheet, double *amplification,
                                struct error *err) {
    const struct drive_config *drive = &sheet->drive;
    double fill = (double)drive->capacity_bytes.value / (double)sheet->raw_bytes.value;
    uint64_t units = drive->superblock_bytes.value / drive->indirection_unit_bytes.value;
    double scaled = formula(drive, fill, SUPERBLOCKS, UNITS, RESERVE);
    double whole = formula(drive, fill, (double)sheet->superblock_count.value,
                           (uint32_t)(units < UNITS_MOST ? units : UNITS_MOST),
                           drive->gc_low_superblocks.value);
    if (!(scaled > 0) || !(whole > 0)) {
        return error_set(err, ERR_USAGE,
                         "drive '%.100s': over-provisioning does not hold the free superblocks",
                         drive->name);
    }
    double played;
    enum status status = play(drive, fill, &played, err);
    if (status != OK) {
        return error_wrap(err, "drive '%.100s'", drive->name);
    }
    *amplification = fmax(1, played * whole / scaled);
    return OK;
}

static const struct figure *stated_figure(const struct drive_config *drive,
                                          enum sheet_figure figure) {
    switch (figure) {
    case SHEET_SEQUENTIAL_READ: return &drive->sequential_read_rate;
    case SHEET_SEQUENTIAL_WRITE: return &drive->sequential_write_rate;
    case SHEET_RANDOM_READ: return &drive->random_read_iops;
    case SHEET_RANDOM_WRITE: return &drive->random_write_iops;
    case SHEET_FIGURES: break;
    }
    CHECK(false);
    return NULL;
}

static void set_load(const struct drive_config *drive, enum sheet_figure figure,
                     struct queue_depth_config *config) {
    bool sequential = kinds[figure].rate, write = kinds[figure].write;
    config->jobs = sequential ? 1 : RANDOM_JOBS;
    config->depth = sequential ? SEQUENTIAL_DEPTH : RANDOM_DEPTH;
    config->sequential = sequential;
    config->write_permille = write ? MILLE : 0;
    config->block_bytes = sequential ? SEQUENTIAL_BYTES
                          : write    ? drive->random_write_block_bytes.value
                                     : drive->random_read_block_bytes.value;
    config->requests = sequential ? SEQUENTIAL_REQUESTS : RANDOM_REQUESTS;
    config->seed = SEED;
}

/* Bytes programmed per byte that the host writes. */
static double programmed_per_byte(const struct queue_depth_config *config) {
    double block = (double)config->block_bytes, unit = (double)config->drive.unit_bytes;
    double copied = (double)config->drive.copied_millionths / 1e6;
    return (config->sequential ? 1 : ceil(block / unit) * unit / block) * (1 + copied);
}

/* In bytes/s: the link, and the dies with nothing else to do. */
static double flash_rate(const struct queue_depth_config *config) {
    const struct queue_drive *drive = &config->drive;
    double link = (double)drive->link_bytes_per_s, dies = drive->dies, ps = 1e12;
    if (config->write_permille > 0) {
        double program = dies * (double)drive->program_bytes / (double)drive->program_ps * ps;
        return fmin(link, program / programmed_per_byte(config));
    }
    double page = fmin((double)config->block_bytes, (double)drive->page_bytes);
    double read = dies * drive->planes * page / (double)drive->read_ps * ps;
    return fmin(link, read);
}

static void compare(const struct drive_config *drive, enum sheet_figure figure,
                    const struct queue_depth_config *config,
                    const struct queue_depth_result *result, struct sheet_row *row) {
    const struct figure *stated = stated_figure(drive, figure);
    row->model_value = kinds[figure].rate ? result->bytes_per_s : result->iops;
    double flash = flash_rate(config);
    row->flash_value = (uint64_t)(kinds[figure].rate ? flash : flash / (double)config->block_bytes);
    row->block_bytes = config->block_bytes;
    row->bottleneck = result->bottleneck;
    row->bottleneck_permille = result->utilization_permille[result->bottleneck];
    row->stated = stated->origin == FIGURE_SHEET;
    if (!row->stated) {
        return;
    }
    row->stated_value = stated->value;
    row->error_permille =
        (int32_t)lround(MILLE * ((double)row->model_value / (double)stated->value - 1));
    row->met = (uint32_t)abs(row->error_permille) <= kinds[figure].bar_permille;
}

/* Garbage collection alone would leave another rate than the sheet's. */
static const char *why_writes_differ(const struct drive_sheet *sheet,
                                     const struct queue_depth_config *config,
                                     const struct sheet_row *row, struct arena *arena) {
    bool given = sheet->drive.over_provisioning.origin != FIGURE_DERIVED;
    return arena_printf(
        arena,
        "its rates amount to %.2f bytes programmed per byte written, while its %s spare share of "
        "%.1f %% takes %.2f: %s",
        (double)sheet->implied_programming.value / 1e6, given ? "stated" : "derived",
        (double)sheet->drive.over_provisioning.value / 1e4, programmed_per_byte(config),
        row->error_permille > 0
            ? "something else limits its writes, or not all of that flash is spare"
            : "the sheet's rates are not those of one state of the drive");
}

static const char *why(const struct drive_sheet *sheet, const struct queue_depth_config *config,
                       const struct sheet_row *row, struct arena *arena) {
    if (!row->stated || row->met) {
        return NULL;
    }
    if (!config->sequential && row->bottleneck == QUEUE_PROGRAMMING) {
        return why_writes_differ(sheet, config, row, arena);
    }
    return arena_printf(arena, "limited by its %s, %.1f %% busy",
                        queue_station_name(row->bottleneck), row->bottleneck_permille / 10.0);
}

static enum status check_figure(const struct drive_sheet *sheet, enum sheet_figure figure,
                                double amplification, struct sheet_row *row, struct arena *arena,
                                struct error *err) {
    struct queue_depth_config config = {.jobs = 0};
    struct queue_depth_result result;
    set_load(&sheet->drive, figure, &config);
    queue_stations(sheet, amplification, 0, &config.drive);
    enum status status = queue_depth_run(&config, &result, err);
    if (status == OK) {
        compare(&sheet->drive, figure, &config, &result, row);
        row->why = why(sheet, &config, row, arena);
    }
    return status;
}

enum status sheet_check_drive(const struct drive_sheet *sheet, struct arena *arena,
                              struct sheet_check *check, struct error *err) {
    double amplification;
    enum status status = sheet_amplification(sheet, &amplification, err);
    if (status != OK) {
        return status;
    }
    struct sheet_check made = {.drive = sheet->drive.name};
    made.amplification_thousandths = (uint64_t)llround(MILLE * amplification);
    for (int i = 0; i < SHEET_FIGURES; i++) {
        /* In order, nothing is left to copy. */
        double programmed = kinds[i].rate ? 1 : amplification;
        status = check_figure(sheet, (enum sheet_figure)i, programmed, &made.rows[i], arena, err);
        if (status != OK) {
            return error_wrap(err, "drive '%.100s'", sheet->drive.name);
        }
    }
    *check = made;
    return OK;
}

enum status sheet_check_all(const char *config_dir, struct arena *arena,
                            struct sheet_check **checks, size_t *count, struct error *err) {
    size_t names_count;
    const char *const *names = drive_config_names(config_dir, arena, &names_count);
    struct sheet_check *made = arena_new(arena, names_count, sizeof *made);
    for (size_t i = 0; i < names_count; i++) {
        struct drive_config config;
        struct drive_sheet sheet;
        enum status status = drive_config_read(names[i], config_dir, arena, &config, err);
        if (status == OK) {
            status = drive_sheet_make(&config, DRIVE_AS_STATED, arena, &sheet, err);
        }
        if (status == OK) {
            status = sheet_check_drive(&sheet, arena, &made[i], err);
        }
        if (status != OK) {
            return status;
        }
    }
    *checks = made;
    *count = names_count;
    return OK;
}
