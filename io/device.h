#ifndef CKPTSIM_IO_DEVICE_H
#define CKPTSIM_IO_DEVICE_H

#include "base/facts.h"
#include "io/nvme_health.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* The block device under a folder, and what it and its drive count. Whatever cannot be told has a
 * reason in words instead. `root` stands before /sys and /proc; it is "" but in tests. */

#define DEVICE_UNKNOWN UINT64_MAX
/* Under this many bytes from the host a drive's own counters are too coarse to be divided. */
#define DEVICE_LEAST_BYTES UINT64_C(1000000000)

struct device {
    const char *root; /* the caller's */
    bool found;
    char missing[160]; /* not found: why */
    char name[64];     /* what the file system lies on: nvme0n1p1, dm-0 */
    char disk[64];     /* the drive below: nvme0n1 */
};

/* Finds the device of an existing path. */
void device_find(struct device *device, const char *root, const char *path);
/* The same by device number. */
void device_find_number(struct device *device, const char *root, unsigned major, unsigned minor);

/* name, disk, model, size_bytes, rotational, scheduler, backing_file (of a loop device), or
 * counters_missing with the reason. */
void device_facts(const struct device *device, struct facts *facts);

/* Bytes that the kernel counted as written to the device, by whomever, or DEVICE_UNKNOWN. Cheap: to
 * be read around every checkpoint. */
uint64_t device_written_bytes(const struct device *device);

/* Asks the drive itself; with reasons where it is no NVMe drive or does not tell. */
void device_read_health(const struct device *device, struct nvme_health *health);

/* What happened between two readings: percentage_used, temperature_kelvin, host_written_bytes and
 * media_written_bytes of the run, or write_amplification_missing with the reason. */
void device_run_facts(const struct nvme_health *before, const struct nvme_health *after,
                      struct facts *facts);

#endif
