/* The rows of a drive file: one for each figure, with its limits and its meaning. The limits keep
 * arithmetic on the figures inside 64 bits and catch a slipped unit; which combinations are
 * nonsense is drive_check's to say. */
#include "sim/drive/drive_config.h"

#include "base/check.h"
#include "sim/drive/ftl.h"

#include <stddef.h>

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)
#define KILO UINT64_C(1000)
#define MEGA (KILO * 1000)
#define GIGA (MEGA * 1000)
#define TERA (GIGA * 1000)
#define PETA (TERA * 1000)

#define ROW(key, kind, field, least, most, help)                                                   \
    { key, FIGURE_##kind, offsetof(struct drive_config, field), least, most, false, help, NULL }
#define FIT(key, kind, field, least, most, help)                                                   \
    { key, FIGURE_##kind, offsetof(struct drive_config, field), least, most, true, help, NULL }
#define WORDS(key, field, choices, help)                                                           \
    { key, FIGURE_WORD, offsetof(struct drive_config, field), 0, 0, true, help, choices }

/* The words' numbers are those of the FTL's enums. */
_Static_assert(FTL_GC_OWN == 0 && FTL_GC_SHARED == 1 && FTL_GC_MIXED == 2, "own|shared|mixed");
_Static_assert(FTL_VICTIMS_GREEDY == 0 && FTL_VICTIMS_FIFO == 1 && FTL_VICTIMS_D_CHOICES == 2,
               "greedy|fifo|d_choices");

const struct figure_row drive_figures[] = {
    ROW("capacity", SIZE, capacity_bytes, MIB, 10 * PETA, "what the host may store"),
    ROW("pcie_generation", COUNT, pcie_generation, 3, 6, "generation of the link"),
    ROW("pcie_lanes", COUNT, pcie_lanes, 1, 16, "lanes of the link"),
    ROW("sequential_read", RATE, sequential_read_rate, MEGA, TERA, "128 KiB reads in order"),
    ROW("sequential_write", RATE, sequential_write_rate, MEGA, TERA, "128 KiB writes in order"),
    ROW("random_read", IOPS, random_read_iops, 100, GIGA, "random reads a second"),
    ROW("random_read_block", SIZE, random_read_block_bytes, 512, MIB, "block of random_read"),
    ROW("random_write", IOPS, random_write_iops, 100, GIGA,
        "random writes a second once the drive is full"),
    ROW("random_write_block", SIZE, random_write_block_bytes, 512, MIB, "block of random_write"),
    ROW("read_latency", DURATION, read_latency_ns, KILO, GIGA, "one 4 KiB read at a time"),
    ROW("write_latency", DURATION, write_latency_ns, KILO, GIGA, "one 4 KiB write at a time"),
    ROW("drive_writes_per_day", RATIO, drive_writes_per_day, KILO, KILO *MEGA,
        "rated writes of the whole drive a day, at random in indirection units"),
    ROW("sequential_drive_writes_per_day", RATIO, sequential_drive_writes_per_day, KILO, KILO *MEGA,
        "the same, written in order"),
    ROW("warranty_years", COUNT, warranty_years, 1, 30, "years that the rating is for"),
    ROW("rated_writes", SIZE, rated_written_bytes, MIB, 1000 * PETA,
        "rated bytes over the drive's life, at random in indirection units"),
    ROW("rated_sequential_writes", SIZE, rated_sequential_bytes, MIB, 1000 * PETA,
        "the same, written in order"),
    ROW("active_power", POWER, active_mw, 100, MEGA, "power at work"),
    ROW("idle_power", POWER, idle_mw, 1, MEGA, "power at rest"),
    ROW("indirection_unit", SIZE, indirection_unit_bytes, 512, MIB,
        "bytes of one map entry; smaller writes read and rewrite a whole unit"),
    ROW("over_provisioning", RATIO, over_provisioning, KILO, MEGA,
        "spare flash as a share of the capacity"),
    ROW("superblock", SIZE, superblock_bytes, 64 * KIB, TERA, "what is erased together"),
    ROW("stripe_dies", COUNT, stripe_dies, 1, 65536, "dies that a superblock lies across"),
    ROW("dies", COUNT, dies, 1, 1048576, "flash dies"),
    ROW("die_capacity", SIZE, die_bytes, 16 * MIB, 16 * TERA, "bytes of one die"),
    ROW("planes", COUNT, planes, 1, 64, "planes of a die that program at once"),
    ROW("page", SIZE, page_bytes, 512, MIB, "flash page of one plane"),
    ROW("erase_block", SIZE, erase_block_bytes, 64 * KIB, 4 * GIB, "erase block of one plane"),
    ROW("channels", COUNT, channels, 1, 1024, "flash channels"),
    ROW("channel_rate", RATE, channel_rate, MEGA, TERA, "transfers on one channel"),
    ROW("program_bandwidth", RATE, program_rate, MEGA, TERA,
        "ceiling that host and garbage collection writes share"),
    ROW("read_time", DURATION, read_time_ns, KILO, GIGA, "tR, reading a page"),
    ROW("program_time", DURATION, program_time_ns, KILO, GIGA,
        "tProg, programming a page of every bit of the cells"),
    ROW("erase_time", DURATION, erase_time_ns, KILO, 10 * GIGA, "tErase"),
    ROW("write_buffer", SIZE, write_buffer_bytes, 4 * KIB, TERA, "power-protected DRAM for writes"),
    ROW("slc_stage", SIZE, slc_stage_bytes, 0, PETA, "pseudo-SLC stage in front; 0B: none"),
    ROW("slc_stage_rate", RATE, slc_stage_rate, MEGA, TERA, "writes into the pseudo-SLC stage"),
    ROW("fdp_handles", COUNT, fdp_handles, 0, 128, "flexible data placement handles; 0: none"),
    ROW("gc_low", COUNT, gc_low_superblocks, 1, 65536,
        "free superblocks that garbage collection keeps in reserve"),
    FIT("write_frontiers", COUNT, write_frontiers, 1, 1024,
        "open superblocks that the host's streams are spread over"),
    WORDS("gc_frontier", gc_frontier, "own|shared|mixed",
          "where moved data goes: a superblock of its own for each handle, one for all, or in with "
          "new data"),
    WORDS("gc_victims", gc_victims, "greedy|fifo|d_choices",
          "what is collected: the fewest valid units, the oldest, or the best of some at random"),
    FIT("gc_choices", COUNT, gc_choices, 1, 1024, "of how many d_choices takes the best"),
};
const size_t drive_figures_count = COUNT_OF(drive_figures);

const struct figure_row drive_measured_figures[] = {
    ROW("sequential_read", RATE, measured.sequential_read_rate, MEGA, TERA,
        "128 KiB reads in order, deep queue"),
    ROW("sequential_write", RATE, measured.sequential_write_rate, MEGA, TERA,
        "128 KiB writes in order, deep queue"),
    ROW("random_read", IOPS, measured.random_read_iops, 100, GIGA, "4 KiB reads, deep queue"),
    ROW("read_latency", DURATION, measured.read_latency_ns, KILO, GIGA, "one 4 KiB read at a time"),
    ROW("write_latency", DURATION, measured.write_latency_ns, KILO, GIGA,
        "one 4 KiB write at a time"),
    ROW("cdn_write_1", RATE, measured.cdn_write_1_rate, MEGA, TERA,
        "random writes, nearly all of 128 KiB, of 1 job at queue depth 32, drive full"),
    ROW("cdn_write_2", RATE, measured.cdn_write_2_rate, MEGA, TERA, "the same of 2 jobs"),
    ROW("cdn_write_4", RATE, measured.cdn_write_4_rate, MEGA, TERA, "the same of 4 jobs"),
};
const size_t drive_measured_figures_count = COUNT_OF(drive_measured_figures);
