/* The pages, as far as they are used (all little endian):
 *
 *   02h   1..2 composite temperature in K    5 percentage used    48..63 data units written
 *   C0h   0..15 physical media units written, in bytes     496..511 the page's GUID */
#include "io/nvme_health.h"

#include "base/error.h"

#include <errno.h>
#include <libnvme.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OCP_LOG_PAGE = 0xc0, DATA_UNIT_BYTES = 512 * 1000 };

/* AFD514C97C6F4F9CA4F2BFEA2810AFC5h, lowest byte first. Other vendors keep other things under C0h.
 */
static const uint8_t ocp_guid[16] = {0xc5, 0xaf, 0x10, 0x28, 0xea, 0xbf, 0xf2, 0xa4,
                                     0x9c, 0x4f, 0x6f, 0x7c, 0xc9, 0x14, 0xd5, 0xaf};

static uint64_t little_endian(const uint8_t *bytes, int count) {
    uint64_t value = 0;
    for (int i = count - 1; i >= 0; i--) {
        value = value << 8 | bytes[i];
    }
    return value;
}

/* Counters have 16 bytes; no drive has written 2^64 bytes, so a set upper half is nonsense. */
static bool counter(const uint8_t *bytes, uint64_t factor, uint64_t *value) {
    return little_endian(bytes + 8, 8) == 0 &&
           !__builtin_mul_overflow(little_endian(bytes, 8), factor, value);
}

bool nvme_health_parse_smart(const uint8_t *log, struct nvme_health *health) {
    health->smart_known = counter(log + 48, DATA_UNIT_BYTES, &health->host_written_bytes);
    if (!health->smart_known) {
        snprintf(health->smart_missing, NVME_HEALTH_WHY,
                 "the drive's SMART log page counts more bytes than can be");
        return false;
    }
    health->temperature_kelvin = little_endian(log + 1, 2);
    health->percentage_used = log[5];
    return true;
}

bool nvme_health_parse_ocp(const uint8_t *log, struct nvme_health *health) {
    health->media_known = false;
    if (memcmp(log + 496, ocp_guid, sizeof ocp_guid) != 0) {
        snprintf(health->media_missing, NVME_HEALTH_WHY,
                 "the drive's log page C0h is not the OCP one");
        return false;
    }
    if (!counter(log, 1, &health->media_written_bytes)) {
        snprintf(health->media_missing, NVME_HEALTH_WHY,
                 "the drive's OCP log page counts more bytes than can be");
        return false;
    }
    health->media_known = true;
    return true;
}

static void log_failed(const char *page, int result, int sys_errno, char *why) {
    snprintf(why, NVME_HEALTH_WHY, "the drive does not give its %s log page: %.90s", page,
             result > 0 ? nvme_status_to_string(result, false) : error_words(sys_errno));
}

void nvme_health_read(const char *name, struct nvme_health *health) {
    *health = (struct nvme_health){.smart_known = false};
    uint8_t log[NVME_HEALTH_LOG_BYTES] = {0};
    int fd = nvme_open(name);
    if (fd < 0) {
        snprintf(health->smart_missing, NVME_HEALTH_WHY, "cannot open '/dev/%.40s': %.80s", name,
                 error_words(errno));
        memcpy(health->media_missing, health->smart_missing, NVME_HEALTH_WHY);
        return;
    }
    int result = nvme_get_nsid_log(fd, true, NVME_LOG_LID_SMART, NVME_NSID_ALL, sizeof log, log);
    if (result == 0) {
        nvme_health_parse_smart(log, health);
    } else {
        log_failed("SMART", result, errno, health->smart_missing);
    }
    memset(log, 0, sizeof log);
    result = nvme_get_nsid_log(fd, true, (enum nvme_cmd_get_log_lid)OCP_LOG_PAGE, NVME_NSID_ALL,
                               sizeof log, log);
    if (result == 0) {
        nvme_health_parse_ocp(log, health);
    } else {
        log_failed("OCP (C0h)", result, errno, health->media_missing);
    }
    close(fd);
}
