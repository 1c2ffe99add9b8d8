#ifndef CKPTSIM_IO_NVME_HEALTH_H
#define CKPTSIM_IO_NVME_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

/* What an NVMe drive counts itself: log page 02h, which every drive has (SMART), and log page C0h
 * of the OCP Datacenter NVMe SSD Specification, which data centre drives have. Both are 512 bytes.
 */

enum { NVME_HEALTH_LOG_BYTES = 512, NVME_HEALTH_WHY = 160 };

struct nvme_health {
    bool smart_known, media_known;
    char smart_missing[NVME_HEALTH_WHY], media_missing[NVME_HEALTH_WHY]; /* why not */
    uint64_t host_written_bytes;  /* SMART: data units written, to half a megabyte */
    uint64_t percentage_used;     /* SMART: 100 is the rated endurance, more is possible */
    uint64_t temperature_kelvin;  /* SMART: composite */
    uint64_t media_written_bytes; /* OCP: to the flash, garbage collection included */
};

/* Takes a log page apart; false, and the reason set, where it cannot be one. */
bool nvme_health_parse_smart(const uint8_t *log, struct nvme_health *health);
bool nvme_health_parse_ocp(const uint8_t *log, struct nvme_health *health);

/* Asks the drive whose block device is /dev/NAME. What it does not tell has its reason set. */
void nvme_health_read(const char *name, struct nvme_health *health);

#endif
