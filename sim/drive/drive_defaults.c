/* Family defaults as const rows. Units are those of struct drive_config: bytes, nanoseconds,
 * millionths, milliwatts. */
#include "sim/drive/drive_defaults.h"

#include "base/check.h"
#include "sim/drive/ftl.h"

#include <stddef.h>

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
#define US UINT64_C(1000)
#define MS (US * 1000)

#define BOTH(field, value, why)                                                                    \
    { offsetof(struct drive_config, field), value, value, why }
#define EACH(field, tlc, qlc, why)                                                                 \
    { offsetof(struct drive_config, field), tlc, qlc, why }

const struct drive_default drive_defaults[] = {
    BOTH(pcie_lanes, 4, "data-centre drives have four lanes"),
    BOTH(random_read_block_bytes, 4 * KIB, "sheets rate random reads at 4 KiB"),
    EACH(random_read_iops, 2600000, 1000000, "the middle of the built-in drives"),
    EACH(read_latency_ns, 60 * US, 110 * US, "the middle of the built-in drives"),
    EACH(write_latency_ns, 10 * US, 30 * US, "the middle of the built-in drives"),
    EACH(drive_writes_per_day, 1000000, 600000, "the usual rating of read-intensive drives"),
    BOTH(warranty_years, 5, "sheets rate five years"),
    EACH(active_mw, 23000, 25000, "the middle of the built-in drives"),
    BOTH(idle_mw, 5000, "the middle of the built-in drives"),
    EACH(indirection_unit_bytes, 4 * KIB, 16 * KIB,
         "4 KiB maps on TLC; dense QLC saves map memory with 16 KiB"),
    BOTH(stripe_dies, 64, "64 dies x 4 planes x 24 MB make the 6 GB superblock usual for TLC"),
    EACH(die_bytes, UINT64_C(1) << 37, UINT64_C(183251937962),
         "1 Tb dies of current TLC, 1.33 Tb of 192-layer QLC"),
    BOTH(planes, 4, "4 planes are usual; parts with 2 to 6 exist"),
    BOTH(page_bytes, 16 * KIB, "pages of 16 KiB are usual"),
    EACH(erase_block_bytes, 24000000, 48000000, "24 MB blocks of TLC parts, 48 MB of QLC parts"),
    BOTH(channels, 16, "16 channels are usual; 8 and 18 exist"),
    EACH(channel_rate, UINT64_C(2000000000), UINT64_C(2400000000),
         "8-bit ONFI channels at 1.6 to 3.6 GT/s"),
    EACH(read_time_ns, 45 * US, 85 * US, "TLC parts state 40 to 58 us, QLC 85 to 200 us"),
    EACH(program_time_ns, 1200 * US, 3 * MS,
         "inside the surveyed 0.8 to 2 ms (TLC) and 2 to 3 ms (QLC); a TLC die then programs "
         "164 MB/s, inside the 132 to 194 MB/s that parts state"),
    EACH(erase_time_ns, 3500 * US, 4 * MS, "3.5 to 4 ms are usual"),
    BOTH(write_buffer_bytes, 64 * MIB, "what capacitors can bring to flash at a power cut"),
    BOTH(slc_stage_bytes, 0, "no maker of these drives states a pseudo-SLC stage"),
    BOTH(fdp_handles, 0, "flexible data placement is off unless asked for"),
    BOTH(gc_low_superblocks, 3, "enough for the frontiers and one to spare"),
    BOTH(write_frontiers, 1, "one frontier takes all streams unless fitted"),
    BOTH(gc_frontier, FTL_GC_OWN, "moved data is kept from new data unless fitted"),
    BOTH(gc_victims, FTL_VICTIMS_GREEDY, "the fewest valid units are the least to move"),
    BOTH(gc_choices, 10, "close to the best of all"),
};
const size_t drive_defaults_count = COUNT_OF(drive_defaults);

static void fill(struct drive_config *drive, const struct drive_default *row) {
    struct figure *figure = (struct figure *)((char *)drive + row->field);
    if (figure->origin == FIGURE_UNKNOWN) {
        figure->value = drive->nand == DRIVE_TLC ? row->tlc : row->qlc;
        figure->origin = FIGURE_DEFAULT;
        figure->source = row->why;
    }
}

void drive_defaults_fill(struct drive_config *drive) {
    for (size_t i = 0; i < drive_defaults_count; i++) {
        fill(drive, &drive_defaults[i]);
    }
}

void drive_defaults_fill_one(struct drive_config *drive, size_t field) {
    size_t i = 0;
    while (i < drive_defaults_count && drive_defaults[i].field != field) {
        i++;
    }
    CHECK(i < drive_defaults_count);
    fill(drive, &drive_defaults[i]);
}
