#ifndef CKPTSIM_SIM_DRIVE_DRIVE_CONFIG_H
#define CKPTSIM_SIM_DRIVE_DRIVE_CONFIG_H

#include "base/error.h"
#include "base/memory.h"
#include "base/yaml.h"
#include "sim/drive/figure.h"

#include <stddef.h>
#include <stdint.h>

/* What a drive file (configs/drives/FAMILY.yaml) says, and no more: figures it leaves out stay
 * unknown here; drive_sheet fills them in. A file describes one capacity, or a family of them whose
 * drives are named FAMILY-CAPACITY. No key exists for a write amplification or a checkpoint's time:
 * those come out of the simulation. docs/drives.md explains every key. */

enum drive_nand { DRIVE_TLC, DRIVE_QLC };

/* What reviews measured, kept apart from what the maker states. */
struct drive_measured {
    struct figure sequential_read_rate, sequential_write_rate;          /* 128 KiB, deep queue */
    struct figure random_read_iops;                                     /* 4 KiB, deep queue */
    struct figure read_latency_ns, write_latency_ns;                    /* 4 KiB, one at a time */
    struct figure cdn_write_1_rate, cdn_write_2_rate, cdn_write_4_rate; /* by number of jobs */
};

struct drive_config {
    const char *name;   /* x200p-7.68tb */
    const char *family; /* x200p */
    const char *vendor, *model, *about;
    const char *flash, *flash_source; /* NULL: unknown */
    enum drive_nand nand;
    const struct yaml_node *root; /* where an error about what is missing points */

    struct figure capacity_bytes;
    struct figure pcie_generation, pcie_lanes;
    struct figure sequential_read_rate, sequential_write_rate;
    struct figure random_read_iops, random_read_block_bytes;
    struct figure random_write_iops, random_write_block_bytes;
    struct figure read_latency_ns, write_latency_ns;
    struct figure drive_writes_per_day;            /* millionths; random writes of one unit */
    struct figure sequential_drive_writes_per_day; /* millionths */
    struct figure warranty_years;
    struct figure rated_written_bytes, rated_sequential_bytes; /* over the drive's life */
    struct figure active_mw, idle_mw;

    struct figure indirection_unit_bytes;
    struct figure over_provisioning; /* millionths: spare bytes per user byte */
    struct figure superblock_bytes, stripe_dies;
    struct figure dies, die_bytes, planes, page_bytes, erase_block_bytes;
    struct figure channels, channel_rate;
    struct figure program_rate; /* ceiling that host and garbage collection writes share */
    struct figure read_time_ns, program_time_ns, erase_time_ns;
    struct figure write_buffer_bytes;
    struct figure slc_stage_bytes, slc_stage_rate; /* 0 bytes: no such stage */
    struct figure fdp_handles;                     /* 0: none */
    struct figure gc_low_superblocks;              /* free ones kept in reserve */

    /* Calibrated parameters of mechanisms. */
    struct figure write_frontiers; /* superblocks that the host's streams are spread over */
    struct figure gc_frontier;     /* enum ftl_gc_frontier */
    struct figure gc_victims;      /* enum ftl_victims */
    struct figure gc_choices;      /* of FTL_VICTIMS_D_CHOICES */

    struct drive_measured measured;
};

/* Every figure of struct drive_config that a file may give; the measured ones apart. */
extern const struct figure_row drive_figures[];
extern const size_t drive_figures_count;
extern const struct figure_row drive_measured_figures[];
extern const size_t drive_measured_figures_count;

/* Reads the drive that `name` means: FAMILY-CAPACITY, a family of one capacity, or the path of a
 * file with one capacity; case and punctuation do not matter. A family with several capacities is
 * ERR_USAGE and lists them. */
enum status drive_config_read(const char *name, const char *config_dir, struct arena *arena,
                              struct drive_config *config, struct error *err);

/* The names of all drives, built-in and from config_dir (NULL: none), family by family. Families
 * whose file cannot be read are left out: drive_config_read says what is wrong with one. */
const char *const *drive_config_names(const char *config_dir, struct arena *arena, size_t *count);

const char *drive_nand_text(enum drive_nand nand);

#endif
