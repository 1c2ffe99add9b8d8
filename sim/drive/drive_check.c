/* Combinations of figures that no drive has. A figure that stands in for an unknown one has no
 * place in a file; the error then points to the file's first line and says so. */
#include "sim/drive/drive_check.h"

#include "base/check.h"
#include "sim/drive/ftl.h"

#include <stdbool.h>
#include <stdio.h>

enum { SUPERBLOCKS_LEAST = 16 };

/* "'superblock' is 8 KiB (derived); at least 'indirection_unit', 16 KiB (given), is allowed" */
static enum status refuse(const struct drive_sheet *sheet, const char *key, enum figure_kind kind,
                          const struct figure *figure, const char *allowed, struct error *err) {
    char value[FIGURE_TEXT], origin[40] = "";
    const struct yaml_node *node = figure->node != NULL ? figure->node : sheet->drive.root;
    if (figure->node == NULL) {
        snprintf(origin, sizeof origin, " (%s)", figure_origin_text(figure->origin));
    }
    return yaml_error(node, err, "'%s' is %s%s; %s is allowed", key,
                      figure_text(kind, figure->value, value), origin, allowed);
}

/* The text "at most 15 GB/s, the link's rate,". */
static const char *bound(char *buffer, size_t size, const char *most_or_least,
                         enum figure_kind kind, uint64_t value, const char *what) {
    char text[FIGURE_TEXT];
    snprintf(buffer, size, "%s %s, %s,", most_or_least, figure_text(kind, value, text), what);
    return buffer;
}

static bool power_of_two(uint64_t value) { return value > 0 && (value & (value - 1)) == 0; }

static enum status check_units(const struct drive_sheet *sheet, struct error *err) {
    const struct drive_config *drive = &sheet->drive;
    const struct figure *unit = &drive->indirection_unit_bytes;
    const struct figure *superblock = &drive->superblock_bytes;
    char text[160];
    if (!power_of_two(unit->value)) {
        return refuse(sheet, "indirection_unit", FIGURE_SIZE, unit, "a power of two", err);
    }
    if (!power_of_two(drive->page_bytes.value)) {
        return refuse(sheet, "page", FIGURE_SIZE, &drive->page_bytes, "a power of two", err);
    }
    if (unit->value > superblock->value) {
        return refuse(
            sheet, "indirection_unit", FIGURE_SIZE, unit,
            bound(text, sizeof text, "at most", FIGURE_SIZE, superblock->value, "the superblock"),
            err);
    }
    if (superblock->value % unit->value != 0) {
        return refuse(sheet, "superblock", FIGURE_SIZE, superblock,
                      bound(text, sizeof text, "a multiple of", FIGURE_SIZE, unit->value,
                            "the indirection unit"),
                      err);
    }
    return OK;
}

/* Superblocks that cannot hold the capacity's data: open ones and those kept free. */
static uint64_t superblocks_apart(const struct drive_config *drive) {
    uint64_t open = drive->write_frontiers.value;
    if (drive->fdp_handles.value > open) {
        open = drive->fdp_handles.value;
    }
    uint64_t moved = drive->gc_frontier.value == FTL_GC_OWN      ? open
                     : drive->gc_frontier.value == FTL_GC_SHARED ? 1
                                                                 : 0;
    return open + moved + drive->gc_low_superblocks.value;
}

/* Superblocks apart must come out of the spare flash, or the drive cannot be filled. */
static enum status check_spare(const struct drive_sheet *sheet, struct error *err) {
    const struct drive_config *drive = &sheet->drive;
    uint64_t superblock = drive->superblock_bytes.value, capacity = drive->capacity_bytes.value;
    uint64_t spare = (sheet->raw_bytes.value - capacity) / superblock;
    uint64_t needed = superblocks_apart(drive);
    char text[240], least[FIGURE_TEXT], size[FIGURE_TEXT];
    if (sheet->superblock_count.value < SUPERBLOCKS_LEAST) {
        return refuse(sheet, "superblock", FIGURE_SIZE, &drive->superblock_bytes,
                      bound(text, sizeof text, "at most", FIGURE_SIZE,
                            sheet->raw_bytes.value / SUPERBLOCKS_LEAST, "a 16th of the raw flash"),
                      err);
    }
    if (spare >= needed) {
        return OK;
    }
    double share = 1e6 * (double)(needed + 1) * (double)superblock / (double)capacity;
    snprintf(text, sizeof text,
             "at least %s (%llu superblocks of %s: open ones, and those that garbage collection "
             "keeps free)",
             figure_text(FIGURE_RATIO, (uint64_t)share, least), (unsigned long long)needed,
             figure_text(FIGURE_SIZE, superblock, size));
    return refuse(sheet, "over_provisioning", FIGURE_RATIO, &drive->over_provisioning, text, err);
}

static enum status check_rates(const struct drive_sheet *sheet, struct error *err) {
    const struct drive_config *drive = &sheet->drive;
    uint64_t link = sheet->link_rate.value;
    const struct {
        const char *key;
        const struct figure *rate;
    } rows[] = {{"sequential_read", &drive->sequential_read_rate},
                {"sequential_write", &drive->sequential_write_rate}};
    char text[160];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i].rate->value > link) {
            return refuse(
                sheet, rows[i].key, FIGURE_RATE, rows[i].rate,
                bound(text, sizeof text, "at most", FIGURE_RATE, link, sheet->link_rate.source),
                err);
        }
    }
    uint64_t most = link / drive->random_read_block_bytes.value;
    if (drive->random_read_iops.value > most) {
        return refuse(
            sheet, "random_read", FIGURE_IOPS, &drive->random_read_iops,
            bound(text, sizeof text, "at most", FIGURE_IOPS, most, "the link's rate in blocks"),
            err);
    }
    most = drive->sequential_write_rate.value / drive->random_write_block_bytes.value;
    if (drive->random_write_iops.value > most) {
        return refuse(
            sheet, "random_write", FIGURE_IOPS, &drive->random_write_iops,
            bound(text, sizeof text, "at most", FIGURE_IOPS, most, "sequential_write in blocks"),
            err);
    }
    return OK;
}

static enum status check_flash(const struct drive_sheet *sheet, struct error *err) {
    const struct drive_config *drive = &sheet->drive;
    char text[160];
    if (drive->stripe_dies.value > drive->dies.value) {
        return refuse(
            sheet, "stripe_dies", FIGURE_COUNT, &drive->stripe_dies,
            bound(text, sizeof text, "at most", FIGURE_COUNT, drive->dies.value, "all dies"), err);
    }
    if (drive->read_time_ns.value > drive->read_latency_ns.value) {
        return refuse(sheet, "read_time", FIGURE_DURATION, &drive->read_time_ns,
                      bound(text, sizeof text, "at most", FIGURE_DURATION,
                            drive->read_latency_ns.value, "'read_latency'"),
                      err);
    }
    return OK;
}

static enum status check_buffers(const struct drive_sheet *sheet, struct error *err) {
    const struct drive_config *drive = &sheet->drive;
    uint64_t capacity = drive->capacity_bytes.value;
    char text[160];
    if (drive->write_buffer_bytes.value > capacity) {
        return refuse(sheet, "write_buffer", FIGURE_SIZE, &drive->write_buffer_bytes,
                      bound(text, sizeof text, "at most", FIGURE_SIZE, capacity, "the capacity"),
                      err);
    }
    if (drive->slc_stage_bytes.value > capacity) {
        return refuse(sheet, "slc_stage", FIGURE_SIZE, &drive->slc_stage_bytes,
                      bound(text, sizeof text, "at most", FIGURE_SIZE, capacity, "the capacity"),
                      err);
    }
    if (drive->slc_stage_bytes.value > 0 && drive->slc_stage_rate.origin == FIGURE_UNKNOWN) {
        return refuse(sheet, "slc_stage", FIGURE_SIZE, &drive->slc_stage_bytes,
                      "0 B, or a stage with its 'slc_stage_rate',", err);
    }
    if (drive->idle_mw.value > drive->active_mw.value) {
        return refuse(sheet, "idle_power", FIGURE_POWER, &drive->idle_mw,
                      bound(text, sizeof text, "at most", FIGURE_POWER, drive->active_mw.value,
                            "'active_power'"),
                      err);
    }
    return OK;
}

enum status drive_check(const struct drive_sheet *sheet, struct error *err) {
    enum status status = check_rates(sheet, err);
    status = status == OK ? check_units(sheet, err) : status;
    status = status == OK ? check_flash(sheet, err) : status;
    status = status == OK ? check_spare(sheet, err) : status;
    return status == OK ? check_buffers(sheet, err) : status;
}
