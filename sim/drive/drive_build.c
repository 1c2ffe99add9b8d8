#include "sim/drive/drive_build.h"

#include <math.h>

#define COMMIT_NS UINT64_C(5000000000) /* ext4's default: a journal commit every 5 s */

static uint64_t or_no_limit(const struct figure *figure) {
    return figure->origin != FIGURE_UNKNOWN ? figure->value : UINT64_MAX;
}

/* The rate that a drive shows in sequential writes: as a review measured it, else as its maker says. */
static uint64_t sequential_rate(const struct drive_sheet *sheet) {
    const struct figure *measured = &sheet->drive.measured.sequential_write_rate;
    bool use = sheet->basis == DRIVE_AS_MEASURED && measured->origin != FIGURE_UNKNOWN;
    return use ? measured->value : sheet->drive.sequential_write_rate.value;
}

static uint64_t program_rate(const struct drive_sheet *sheet) {
    const struct figure *given = &sheet->drive.program_rate;
    uint64_t sequential = sequential_rate(sheet);
    bool own = given->origin == FIGURE_SHEET || given->origin == FIGURE_FITTED;
    return own || given->value > sequential ? given->value : sequential;
}

enum { MIXING_POINTS = 3 };

struct mixing_point {
    double streams, rate;
};

/* The measured rates that a drive file gives, by ascending number of jobs. */
static int mixing_points(const struct drive_sheet *sheet, struct mixing_point *points) {
    const struct drive_measured *measured = &sheet->drive.measured;
    const struct figure *const rates[MIXING_POINTS] = {
        &measured->cdn_write_1_rate, &measured->cdn_write_2_rate, &measured->cdn_write_4_rate};
    int count = 0;
    for (int i = 0; i < MIXING_POINTS && sheet->basis == DRIVE_AS_MEASURED; i++) {
        if (rates[i]->origin != FIGURE_UNKNOWN) {
            points[count++] = (struct mixing_point){1 << i, (double)rates[i]->value};
        }
    }
    return count;
}

bool drive_mixing_is_fitted(const struct drive_sheet *sheet) {
    struct mixing_point points[MIXING_POINTS];
    return mixing_points(sheet, points) > 0;
}

double drive_mixing(const struct drive_sheet *sheet, uint32_t streams) {
    struct mixing_point points[MIXING_POINTS];
    int count = mixing_points(sheet, points);
    double full = (double)program_rate(sheet), n = streams > 0 ? streams : 1;
    if (count == 0) {
        return 1;
    }
    int right = 1; /* the segment that holds n, or the last one */
    while (right < count - 1 && points[right].streams < n) {
        right++;
    }
    double rate = points[0].rate;
    if (count > 1 && n > points[0].streams) {
        const struct mixing_point *a = &points[right - 1], *b = &points[right];
        double slope = fmin(0, log(b->rate / a->rate) / log(b->streams / a->streams));
        rate = b->rate * pow(n / b->streams, slope);
    }
    for (int i = 0; i < count && points[i].streams <= n; i++) {
        rate = fmin(rate, points[i].rate); /* a rate measured higher under more jobs is scatter */
    }
    return fmin(1, rate / full);
}

static const uint64_t *mixed_rates(const struct drive_sheet *sheet, uint32_t ranks,
                                   struct arena *arena) {
    double rate = (double)program_rate(sheet);
    uint64_t *rates = arena_new(arena, (size_t)ranks + 1, sizeof *rates);
    for (uint32_t streams = 0; streams <= ranks; streams++) {
        rates[streams] = (uint64_t)(rate * drive_mixing(sheet, streams));
    }
    return rates;
}

/* Frontiers that ranks are spread over: by data placement handles, or as a mechanism of the drive. */
static uint32_t handles(const struct drive_config *drive) {
    uint64_t most = drive->fdp_handles.value > drive->write_frontiers.value
                        ? drive->fdp_handles.value : drive->write_frontiers.value;
    return most > 1 ? (uint32_t)most : 1;
}

static struct ftl_config build_ftl(const struct drive_sheet *sheet,
                                   const struct drive_choices *choices) {
    const struct drive_config *drive = &sheet->drive;
    uint64_t unit = drive->indirection_unit_bytes.value;
    return (struct ftl_config){
        .logical_bytes = drive->capacity_bytes.value / unit * unit,
        .raw_bytes = sheet->raw_bytes.value,
        .superblock_bytes = drive->superblock_bytes.value / unit * unit,
        .unit_bytes = (uint32_t)unit,
        .gc_low = (uint32_t)drive->gc_low_superblocks.value,
        .handles = handles(drive),
        .streams = choices->ranks,
        .gc_frontier = (enum ftl_gc_frontier)drive->gc_frontier.value,
        .victims = (enum ftl_victims)drive->gc_victims.value,
        .choices = (uint32_t)drive->gc_choices.value,
        .memory_limit_bytes = choices->memory_limit_bytes,
        .seed = choices->seed,
    };
}

void drive_build(const struct drive_sheet *sheet, const struct host_config *host,
                 const struct drive_choices *choices, struct arena *arena,
                 struct drive_engine_config *config) {
    const struct drive_config *drive = &sheet->drive;
    *config = (struct drive_engine_config){
        .ftl = build_ftl(sheet, choices),
        .placement = choices->placement,
        .discard = choices->discard,
        .commit_ns = COMMIT_NS,
        .buffered = choices->buffered,
        .used_before = choices->used_before,
        .ranks = choices->ranks,
        .seed = choices->seed,
    };
    config->capacity_bytes = config->ftl.logical_bytes;
    config->rates = (struct drive_rates){
        .link_bytes_per_s = sheet->link_rate.value,
        .controller_bytes_per_s = sequential_rate(sheet),
        .program_bytes_per_s = program_rate(sheet),
        .read_bytes_per_s = sheet->read_rate.value,
        .nand_read_bytes_per_s = sheet->dies_read_rate.value,
        .read_latency_ns = drive->read_latency_ns.value,
        .mixed_program_bytes_per_s = mixed_rates(sheet, choices->ranks, arena),
        .idle_mw = drive->idle_mw.value,
        .active_mw = drive->active_mw.value,
    };
    config->host = (struct drive_host){
        .rank_new_bytes_per_s = or_no_limit(&host->rank_write_new_rate),
        .rank_reused_bytes_per_s = or_no_limit(&host->rank_write_reused_rate),
        .total_bytes_per_s = or_no_limit(&host->total_write_rate),
        .rank_read_bytes_per_s = or_no_limit(&host->rank_read_rate),
        .total_read_bytes_per_s = or_no_limit(&host->total_read_rate),
        .rank_copy_bytes_per_s = or_no_limit(&host->rank_copy_rate),
        .total_copy_bytes_per_s = or_no_limit(&host->total_copy_rate),
        .dirty_limit_bytes =
            host->dirty_limit_bytes.origin != FIGURE_UNKNOWN ? host->dirty_limit_bytes.value : 0,
        .write_back_bytes =
            host->write_back_bytes.origin != FIGURE_UNKNOWN ? host->write_back_bytes.value : 0,
    };
}
