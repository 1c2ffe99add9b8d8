/* What follows from a drive's figures. The order matters: each step uses what those before it set.
 *
 *   unit, blocks -> rating -> spare share -> raw bytes -> dies -> superblocks -> endurance
 *
 * The spare share is rarely stated, yet a sheet's own rates imply it: a full drive written at
 * random spends sequential_write bytes a second on random_write x block bytes of the host, and how
 * many bytes are programmed for each depends on the spare share alone. */
#include "sim/drive/drive_sheet.h"

#include "base/check.h"
#include "base/units.h"
#include "sim/drive/drive_check.h"
#include "sim/drive/drive_defaults.h"
#include "sim/drive/write_amplification.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { DAYS_PER_YEAR = 365, SUPERBLOCKS_LEAST = 256, DIE_HALVINGS = 2, DIES_PER_STRIPE_DIE = 6 };

#define MILLION 1e6
/* A spare share outside is no property of the flash, but a sheet whose two rates are limited by
 * something else. */
#define SPARE_LEAST 0.03
#define SPARE_MOST 0.60
#define DRIVE_FIELD(field) offsetof(struct drive_config, field)

#define ROW(key, kind, field, help)                                                                \
    { key, FIGURE_##kind, offsetof(struct drive_sheet, field), 0, 0, false, help, NULL }

const struct figure_row drive_derived_figures[] = {
    ROW("bits_per_cell", COUNT, bits_per_cell, "bits of a flash cell"),
    ROW("link_rate", RATE, link_rate, "payload over the link, one direction"),
    ROW("read_rate", RATE, read_rate, "ceiling of reads"),
    ROW("read_overhead", DURATION, read_overhead_ns, "read latency beyond the flash's own time"),
    ROW("implied_programming", RATIO, implied_programming,
        "bytes programmed per byte written at random, as the stated rates imply"),
    ROW("raw_capacity", SIZE, raw_bytes, "flash for data, spare included"),
    ROW("superblocks", COUNT, superblock_count, "superblocks of the drive"),
    ROW("die_program_rate", RATE, die_program_rate, "one die programming"),
    ROW("dies_program_rate", RATE, dies_program_rate,
        "all dies programming, were there no ceiling"),
    ROW("dies_read_rate", RATE, dies_read_rate, "all dies reading, were there no ceiling"),
    ROW("map_memory", SIZE, map_bytes, "DRAM for the map"),
    ROW("rated_media_writes", SIZE, rated_media_bytes, "programmed bytes the rating amounts to"),
    ROW("program_cycles", COUNT, program_cycles, "the same over the raw capacity"),
};
const size_t drive_derived_figures_count = COUNT_OF(drive_derived_figures);

/* A log of `a` bytes per user byte, cleaned oldest first, programs A = a / (a + W0(-a e^-a)) bytes
 * per byte written (Desnoyers 2012; Xiang and Kurkoski 2012). With x = -W0(-a e^-a) = a (1 - 1/A)
 * and x e^-x = a e^-a, this turns around into a = -A ln(1 - 1/A). */
double drive_spare_of(double amplification) {
    return -amplification * log1p(-1 / amplification) - 1;
}

double drive_amplification_of(double spare) { return write_amplification_fifo(1 / (1 + spare)); }

static bool known(const struct figure *figure) { return figure->origin != FIGURE_UNKNOWN; }

static void derive(struct figure *figure, double value, const char *how) {
    *figure =
        (struct figure){.value = (uint64_t)(value + 0.5), .origin = FIGURE_DERIVED, .source = how};
}

/* Whole bytes: a double would round what lies beyond its 53 bits. */
static uint64_t multiply_divide(uint64_t a, uint64_t b, uint64_t divisor) {
    return (uint64_t)((unsigned __int128)a * b / divisor);
}

static const char *text_of(enum figure_kind kind, const struct figure *figure,
                           struct arena *arena) {
    char buffer[FIGURE_TEXT];
    return arena_text(arena, figure_text(kind, figure->value, buffer));
}

static const char *rate_of(const struct figure *figure, struct arena *arena) {
    return text_of(FIGURE_RATE, figure, arena);
}

static const char *size_of(const struct figure *figure, struct arena *arena) {
    return text_of(FIGURE_SIZE, figure, arena);
}

/* Bytes a second of one lane without its line code: 128b/130b up to generation 5, flits of 256
 * bytes with 236 of payload in generation 6. */
static double lane_rate(uint64_t generation) {
    static const double rates[] = {8e9 / 8 * 128 / 130, 16e9 / 8 * 128 / 130, 32e9 / 8 * 128 / 130,
                                   64e9 / 8 * 236 / 256};
    CHECK(generation >= 3 && generation <= 6);
    return rates[generation - 3];
}

/* A packet of 512 bytes carries 24 bytes of header, frame and checksum. */
static double link_bytes(uint64_t generation, uint64_t lanes) {
    return lane_rate(generation) * (double)lanes * 512 / 536;
}

/* Data-centre flash starts at PCIe 4; a faster rate needs a faster link. */
static void set_link(struct drive_sheet *sheet, struct arena *arena) {
    struct drive_config *drive = &sheet->drive;
    if (!known(&drive->pcie_generation)) {
        uint64_t generation = 4, lanes = drive->pcie_lanes.value;
        uint64_t read = drive->sequential_read_rate.value;
        uint64_t write = drive->sequential_write_rate.value, most = read > write ? read : write;
        while (generation < 6 && link_bytes(generation, lanes) < (double)most) {
            generation++;
        }
        derive(&drive->pcie_generation, (double)generation,
               "the lowest from 4 on that carries the sequential rates");
    }
    uint64_t generation = drive->pcie_generation.value, lanes = drive->pcie_lanes.value;
    derive(&sheet->link_rate, link_bytes(generation, lanes),
           arena_printf(arena,
                        "PCIe %llu.0 x%llu less its line code and 24 bytes around 512 of payload",
                        (unsigned long long)generation, (unsigned long long)lanes));
}

/* The missing one of the rates is the link's, which no drive passes. */
static void set_reads(struct drive_sheet *sheet) {
    struct drive_config *drive = &sheet->drive;
    if (!known(&drive->sequential_read_rate)) {
        derive(&drive->sequential_read_rate, (double)sheet->link_rate.value,
               "not stated: the link's rate");
    }
    uint64_t link = sheet->link_rate.value / drive->random_read_block_bytes.value;
    if (drive->random_read_iops.origin == FIGURE_DEFAULT && drive->random_read_iops.value > link) {
        derive(&drive->random_read_iops, (double)link, "not stated: the link's rate in blocks");
    }
    bool measured =
        sheet->basis == DRIVE_AS_MEASURED && known(&drive->measured.sequential_read_rate);
    sheet->read_rate =
        measured ? drive->measured.sequential_read_rate : drive->sequential_read_rate;
    if (sheet->read_rate.value > sheet->link_rate.value) {
        sheet->read_rate = sheet->link_rate;
    }
    uint64_t latency = drive->read_latency_ns.value, flash = drive->read_time_ns.value;
    if (flash > latency && drive->read_time_ns.origin == FIGURE_DEFAULT) {
        flash = latency / 2;
        derive(&drive->read_time_ns, (double)flash, "half of the stated read latency");
    }
    derive(&sheet->read_overhead_ns, latency > flash ? (double)(latency - flash) : 0,
           "read_latency less read_time");
}

/* A sheet rates random writes in indirection units, or would show a far lower figure. */
static void set_blocks(struct drive_config *drive) {
    if (!known(&drive->indirection_unit_bytes) && known(&drive->random_write_block_bytes)) {
        derive(&drive->indirection_unit_bytes, (double)drive->random_write_block_bytes.value,
               "not stated: the block that random_write is rated at");
    }
    drive_defaults_fill_one(drive, DRIVE_FIELD(indirection_unit_bytes));
    if (!known(&drive->random_write_block_bytes)) {
        derive(&drive->random_write_block_bytes, (double)drive->indirection_unit_bytes.value,
               "not stated: the indirection unit");
    }
}

/* Bytes written to flash for a random write of the rated block: whole indirection units. */
static double charged_bytes(const struct drive_config *drive) {
    uint64_t unit = drive->indirection_unit_bytes.value;
    uint64_t block = drive->random_write_block_bytes.value;
    return (double)((block + unit - 1) / unit * unit);
}

/* The most that the flash was ever seen or said to take: sequential writes leave garbage collection
 * nothing to do, so host and garbage collection together reach this too. */
static const struct figure *flash_ceiling(const struct drive_sheet *sheet, const char **kind) {
    const struct drive_config *drive = &sheet->drive;
    const struct figure *measured = &drive->measured.sequential_write_rate;
    bool more = sheet->basis == DRIVE_AS_MEASURED && known(measured) &&
                measured->value > drive->sequential_write_rate.value;
    *kind = more ? "measured" : "stated";
    return more ? measured : &drive->sequential_write_rate;
}

static void spare_from_rates(struct drive_sheet *sheet, struct arena *arena) {
    struct drive_config *drive = &sheet->drive;
    const char *kind;
    const struct figure *ceiling = flash_ceiling(sheet, &kind);
    double charged = charged_bytes(drive);
    double programmed = (double)ceiling->value /
                        ((double)drive->random_write_iops.value * charged);
    double spare = programmed > 1 ? drive_spare_of(programmed) : SPARE_MOST;
    const char *bound = "";
    if (spare < SPARE_LEAST || !(spare < SPARE_MOST)) {
        spare = spare < SPARE_LEAST ? SPARE_LEAST : SPARE_MOST;
        bound = "; bounded to 3 % to 60 %, beyond which something else limits the rates";
    }
    struct figure charge = {.value = (uint64_t)charged};
    const char *how = arena_printf(
        arena,
        "%s / (%s x %s a write) = %.3g bytes programmed per byte written, which a log cleaned "
        "oldest first has at this spare share%s",
        rate_of(ceiling, arena),
        text_of(FIGURE_IOPS, &drive->random_write_iops, arena), size_of(&charge, arena), programmed,
        bound);
    derive(&drive->over_provisioning, spare * MILLION, how);
}

/* Drives rated for more writes a day have more spare flash: 3-DWPD sheets imply 21 to 38 %, those
 * of one write or less 9 to 14 %. */
static void spare_by_class(struct drive_config *drive) {
    bool mixed =
        known(&drive->drive_writes_per_day) && drive->drive_writes_per_day.value >= 2000000;
    drive->over_provisioning =
        (struct figure){.value = mixed                      ? 280000
                                 : drive->nand == DRIVE_TLC ? 110000
                                                            : 120000,
                        .origin = FIGURE_DEFAULT,
                        .source = "the middle of what the sheets of drives with this rating imply"};
}

static void set_spare(struct drive_sheet *sheet, struct arena *arena) {
    struct drive_config *drive = &sheet->drive;
    if (known(&drive->random_write_iops)) {
        derive(&sheet->implied_programming,
               MILLION * (double)drive->sequential_write_rate.value /
                   ((double)drive->random_write_iops.value *
                    (double)drive->random_write_block_bytes.value),
               "sequential_write / (random_write x its block)");
    }
    if (!known(&drive->over_provisioning) && known(&drive->random_write_iops)) {
        spare_from_rates(sheet, arena);
    } else if (!known(&drive->over_provisioning)) {
        spare_by_class(drive);
    }
    double spare = (double)drive->over_provisioning.value / MILLION;
    if (!known(&drive->random_write_iops)) {
        derive(&drive->random_write_iops,
               (double)drive->sequential_write_rate.value /
                   (charged_bytes(drive) * drive_amplification_of(spare)),
               "not stated: what sequential_write leaves at this spare share, cleaned oldest "
               "first");
    }
    uint64_t capacity = drive->capacity_bytes.value;
    derive(&sheet->raw_bytes, 0, "capacity x (1 + over_provisioning)");
    sheet->raw_bytes.value =
        capacity + multiply_divide(capacity, drive->over_provisioning.value, 1000000);
}

static double die_rate(const struct drive_config *drive) {
    double bits = drive->nand == DRIVE_TLC ? 3 : 4;
    return (double)drive->planes.value * (double)drive->page_bytes.value * bits * 1e9 /
           (double)drive->program_time_ns.value;
}

static double dies_of(const struct drive_sheet *sheet) {
    double dies = (double)sheet->raw_bytes.value / (double)sheet->drive.die_bytes.value;
    return dies < 1 ? 1 : floor(dies + 0.5);
}

/* Small fast drives are built from smaller dies: a default die is halved until all dies together
 * carry the write rate. */
static void fit_default_die(struct drive_sheet *sheet) {
    struct drive_config *drive = &sheet->drive;
    double rate = (double)drive->sequential_write_rate.value;
    bool free = drive->die_bytes.origin == FIGURE_DEFAULT;
    for (int i = 0; i < DIE_HALVINGS && free; i++) {
        if (dies_of(sheet) * die_rate(drive) >= rate) {
            return;
        }
        derive(&drive->die_bytes, (double)(drive->die_bytes.value / 2),
               "the family's die, halved until all dies carry sequential_write");
    }
}

/* A default stripe grows with the drive, so that the number of superblocks, and with it the tables of
 * a controller, stays the same; it has no more dies than there are. */
static void set_stripe(struct drive_config *drive) {
    if (drive->stripe_dies.origin != FIGURE_DEFAULT) {
        return;
    }
    uint64_t stripe = drive->stripe_dies.value;
    while (stripe * DIES_PER_STRIPE_DIE * 3 / 2 < drive->dies.value) {
        stripe *= 2;
    }
    if (stripe > drive->stripe_dies.value) {
        derive(&drive->stripe_dies, (double)stripe,
               "assumed: the default doubled with the dies, so that the superblocks stay as many");
    }
    if (stripe > drive->dies.value) {
        derive(&drive->stripe_dies, (double)drive->dies.value, "all dies");
    }
}

static void set_dies(struct drive_sheet *sheet) {
    struct drive_config *drive = &sheet->drive;
    derive(&sheet->bits_per_cell, drive->nand == DRIVE_TLC ? 3 : 4, "the kind of flash");
    if (!known(&drive->dies)) {
        fit_default_die(sheet);
        derive(&drive->dies, dies_of(sheet), "raw_capacity / die_capacity");
    }
    set_stripe(drive);
    double dies = (double)drive->dies.value;
    derive(&sheet->die_program_rate, die_rate(drive),
           "planes x page x bits_per_cell / program_time");
    derive(&sheet->dies_program_rate, dies * die_rate(drive), "dies x die_program_rate");
    derive(&sheet->dies_read_rate,
           dies * (double)drive->planes.value * (double)drive->page_bytes.value * 1e9 /
               (double)drive->read_time_ns.value,
           "dies x planes x page / read_time");
}

static void set_program_rate(struct drive_sheet *sheet, struct arena *arena) {
    struct drive_config *drive = &sheet->drive;
    if (known(&drive->program_rate)) {
        return;
    }
    const char *kind;
    const struct figure *from = flash_ceiling(sheet, &kind);
    double dies = (double)sheet->dies_program_rate.value;
    derive(&drive->program_rate, (double)from->value,
           arena_printf(arena, "the %s sequential write rate, %.0f %% of what the dies alone could",
                        kind, 100 * (double)from->value / dies));
}

/* One erase block of every plane of a stripe of dies; a small drive has smaller ones, lest its
 * spare flash be a handful of superblocks. */
/* Enterprise drives protect a stripe against the loss of a die. */
#define PARITY_SHARE (1.0 / 16)

static void set_superblocks(struct drive_sheet *sheet) {
    struct drive_config *drive = &sheet->drive;
    uint64_t unit = drive->indirection_unit_bytes.value, raw = sheet->raw_bytes.value;
    if (!known(&drive->superblock_bytes)) {
        double stripe = (double)drive->stripe_dies.value * (double)drive->planes.value *
                        (double)drive->erase_block_bytes.value * (1 - PARITY_SHARE);
        double most = (double)raw / SUPERBLOCKS_LEAST;
        bool small = stripe > most;
        uint64_t bytes = (uint64_t)(small ? most : stripe);
        derive(&drive->superblock_bytes, 0,
               small ? "a 256th of raw_capacity, for a small drive"
                     : "stripe_dies x planes x erase_block, less one die in 16 for parity (assumed)");
        drive->superblock_bytes.value = bytes < unit ? unit : bytes / unit * unit;
    }
    derive(&sheet->superblock_count, 0, "raw_capacity / superblock");
    sheet->superblock_count.value = raw / drive->superblock_bytes.value;
}

/* An entry holds a unit's number within the raw capacity: four bytes up to 2^32 of them. */
static void set_map(struct drive_sheet *sheet) {
    uint64_t unit = sheet->drive.indirection_unit_bytes.value;
    bool wide = sheet->raw_bytes.value / unit > UINT32_MAX;
    derive(&sheet->map_bytes, 0,
           wide ? "capacity / indirection_unit x 5 bytes"
                : "capacity / indirection_unit x 4 bytes");
    sheet->map_bytes.value = sheet->drive.capacity_bytes.value / unit * (wide ? 5 : 4);
}

static void rated_from_days(const struct drive_config *drive, const struct figure *per_day,
                            struct figure *rated, const char *how) {
    if (!known(rated) && known(per_day)) {
        double days = (double)(DAYS_PER_YEAR * drive->warranty_years.value);
        derive(rated, (double)drive->capacity_bytes.value * days * (double)per_day->value / MILLION,
               how);
    }
}

static void set_writes_per_day(struct drive_config *drive) {
    drive_defaults_fill_one(drive, DRIVE_FIELD(warranty_years));
    if (!known(&drive->drive_writes_per_day) && known(&drive->rated_written_bytes)) {
        double days = (double)(DAYS_PER_YEAR * drive->warranty_years.value);
        derive(&drive->drive_writes_per_day,
               MILLION * (double)drive->rated_written_bytes.value /
                   (days * (double)drive->capacity_bytes.value),
               "rated_writes / (capacity x 365 x warranty_years)");
    }
    drive_defaults_fill_one(drive, DRIVE_FIELD(drive_writes_per_day));
    rated_from_days(drive, &drive->drive_writes_per_day, &drive->rated_written_bytes,
                    "capacity x drive_writes_per_day x 365 x warranty_years");
    rated_from_days(drive, &drive->sequential_drive_writes_per_day, &drive->rated_sequential_bytes,
                    "capacity x sequential_drive_writes_per_day x 365 x warranty_years");
}

/* The rating in programmed bytes: written in order every byte is programmed once; at random so many
 * as the spare share implies. The sequential rating is the nearer one to how checkpoints write. */
static void set_endurance(struct drive_sheet *sheet, struct arena *arena) {
    const struct drive_config *drive = &sheet->drive;
    if (known(&drive->rated_sequential_bytes)) {
        derive(&sheet->rated_media_bytes, (double)drive->rated_sequential_bytes.value,
               "rated_sequential_writes, each byte programmed once");
    } else {
        double amplification =
            drive_amplification_of((double)drive->over_provisioning.value / MILLION);
        derive(&sheet->rated_media_bytes, (double)drive->rated_written_bytes.value * amplification,
               arena_printf(arena,
                            "rated_writes x %.3g, what random writes of whole units program at "
                            "this spare share, cleaned oldest first",
                            amplification));
    }
    derive(&sheet->program_cycles,
           (double)sheet->rated_media_bytes.value / (double)sheet->raw_bytes.value,
           "rated_media_writes / raw_capacity");
}

/* A drive known from a review alone. */
static void set_sequential_write(struct drive_config *drive) {
    if (!known(&drive->sequential_write_rate)) {
        drive->sequential_write_rate = drive->measured.sequential_write_rate;
    }
}

enum status drive_sheet_make(const struct drive_config *config, enum drive_basis basis,
                             struct arena *arena, struct drive_sheet *sheet, struct error *err) {
    struct drive_sheet made = {.drive = *config, .basis = basis};
    set_sequential_write(&made.drive);
    set_blocks(&made.drive);
    set_writes_per_day(&made.drive);
    set_spare(&made, arena);
    drive_defaults_fill(&made.drive);
    set_link(&made, arena);
    set_reads(&made);
    set_dies(&made);
    set_program_rate(&made, arena);
    set_superblocks(&made);
    set_map(&made);
    set_endurance(&made, arena);
    enum status status = drive_check(&made, err);
    if (status != OK) {
        return error_wrap(err, "drive '%.100s'", config->name);
    }
    *sheet = made;
    return OK;
}
