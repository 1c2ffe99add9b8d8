#ifndef CKPTSIM_SIM_DRIVE_HOST_CONFIG_H
#define CKPTSIM_SIM_DRIVE_HOST_CONFIG_H

#include "base/error.h"
#include "base/memory.h"
#include "sim/drive/figure.h"

#include <stddef.h>

/* What the machine and the program that writes or reads can deliver, from configs/hosts/NAME.yaml. A figure
 * that the file leaves out stays unknown: then the host sets no such limit. */

struct host_config {
    const char *name, *about;
    struct figure rank_write_new_rate;    /* of one rank into new files */
    struct figure rank_write_reused_rate; /* of one rank into the blocks of files written before */
    struct figure total_write_rate;       /* of all ranks */
    struct figure rank_read_rate, total_read_rate; /* of one rank and of all */
    struct figure rank_copy_rate, total_copy_rate; /* of state into host memory, likewise */
    struct figure cpu_per_request_ns;
    struct figure dirty_limit_bytes; /* page cache: writers wait beyond it */
    struct figure write_back_bytes;  /* of one file in a row, from the page cache to the drive */
};

extern const struct figure_row host_figures[];
extern const size_t host_figures_count;

/* Reads the host that `name` means: a name of a built-in or in config_dir, or a path. */
enum status host_config_read(const char *name, const char *config_dir, struct arena *arena,
                             struct host_config *host, struct error *err);

#endif
