#include "io/device.h"

#include "io/machine.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { STACK_LIMIT = 8, SECTOR_BYTES = 512 };

static void not_found(struct device *device, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void not_found(struct device *device, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(device->missing, sizeof device->missing, format, args);
    va_end(args);
    device->found = false;
}

/* The name a link of /sys leads to, or that name's parent folder. False where it leads nowhere. */
static bool resolve(const char *root, const char *path, bool parent, char *name, size_t size) {
    char link[PATH_MAX], real[PATH_MAX];
    snprintf(link, sizeof link, "%s%s", root, path);
    if (realpath(link, real) == NULL) {
        return false;
    }
    char *slash = strrchr(real, '/');
    if (parent && slash != NULL) {
        *slash = '\0';
        slash = strrchr(real, '/');
    }
    if (slash == NULL) {
        return false;
    }
    int length = snprintf(name, size, "%s", slash + 1);
    return length > 0 && (size_t)length < size;
}

/* The one device that a mapped device lies on, or false where there is none or are several. */
static bool only_slave(const char *root, const char *name, char *slave, size_t size) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/sys/class/block/%s/slaves", root, name);
    DIR *folder = opendir(path);
    int count = 0;
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] != '.') {
            count++;
            snprintf(slave, size, "%s", entry->d_name);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count == 1;
}

/* From what the file system lies on down to the drive: a mapped device to the one below it, a
 * partition to its disk. */
static void find_disk(struct device *device) {
    char below[sizeof device->disk], path[PATH_MAX], line[32];
    memcpy(device->disk, device->name, sizeof device->disk);
    for (int i = 0; i < STACK_LIMIT && only_slave(device->root, device->disk, below, sizeof below);
         i++) {
        memcpy(device->disk, below, sizeof device->disk);
    }
    snprintf(path, sizeof path, "/sys/class/block/%s/partition", device->disk);
    if (machine_read_line(device->root, path, line, sizeof line)) {
        snprintf(path, sizeof path, "/sys/class/block/%s", device->disk);
        resolve(device->root, path, true, device->disk, sizeof device->disk);
    }
}

static void find_by_link(struct device *device, const char *link) {
    device->found = resolve(device->root, link, false, device->name, sizeof device->name);
    if (device->found) {
        find_disk(device);
    } else {
        not_found(device, "'%.100s' does not exist", link);
    }
}

void device_find_number(struct device *device, const char *root, unsigned major_number,
                        unsigned minor_number) {
    char link[64];
    *device = (struct device){.root = root};
    snprintf(link, sizeof link, "/sys/dev/block/%u:%u", major_number, minor_number);
    find_by_link(device, link);
}

/* "rw,lowerdir=/a,upperdir=/b,workdir=/c" -> "/b" */
static bool upper_folder(const struct machine_mount *mount, char *path, size_t size) {
    const char *at = strstr(mount->super_options, "upperdir=");
    if (strcmp(mount->type, "overlay") != 0 || at == NULL) {
        return false;
    }
    at += strlen("upperdir=");
    snprintf(path, size, "%.*s", (int)strcspn(at, ","), at);
    return true;
}

/* File systems with device numbers of their own (btrfs, zfs, overlay, tmpfs, nfs): the mount says
 * what they lie on, if on anything. */
static void find_by_mount(struct device *device, const char *path,
                          const struct machine_mount *mount) {
    char upper[PATH_MAX];
    struct stat info;
    if (strncmp(mount->source, "/dev/", 5) == 0) {
        /* /dev/mapper/x is a link to the name that /sys uses. */
        char real[PATH_MAX], link[PATH_MAX];
        const char *source = realpath(mount->source, real) != NULL ? real : mount->source;
        snprintf(link, sizeof link, "/sys/class/block/%.200s", strrchr(source, '/') + 1);
        find_by_link(device, link);
    } else if (upper_folder(mount, upper, sizeof upper) && strcmp(upper, path) != 0 &&
               stat(upper, &info) == 0 && major(info.st_dev) != 0) {
        device_find_number(device, device->root, major(info.st_dev), minor(info.st_dev));
    } else {
        not_found(device, "%s has no block device", mount->type);
    }
}

void device_find(struct device *device, const char *root, const char *path) {
    struct stat info;
    *device = (struct device){.root = root};
    if (stat(path, &info) != 0) {
        not_found(device, "'%.100s' does not exist", path);
        return;
    }
    /* Major 0 is for file systems without a device, and for those that number themselves. */
    if (major(info.st_dev) != 0) {
        device_find_number(device, root, major(info.st_dev), minor(info.st_dev));
        return;
    }
    struct machine_mount *mount = mem_new(1, sizeof *mount);
    if (machine_find_mount(root, path, mount)) {
        find_by_mount(device, path, mount);
    } else {
        not_found(device, "the mount of '%.100s' cannot be told", path);
    }
    mem_free(mount);
}

static bool read_attribute(const struct device *device, const char *name, const char *attribute,
                           char *line, size_t size) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/sys/class/block/%s/%s", name, attribute);
    return machine_read_line(device->root, path, line, size);
}

/* Drives pad their names with spaces. */
static void trim(char *text) {
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == ' ') {
        text[--length] = '\0';
    }
}

/* "[none] mq-deadline" -> "none" */
static void keep_chosen(char *text) {
    const char *open = strchr(text, '[');
    if (open != NULL) {
        size_t length = strcspn(open + 1, "]");
        memmove(text, open + 1, length);
        text[length] = '\0';
    }
}

void device_facts(const struct device *device, struct facts *facts) {
    char line[256];
    if (!device->found) {
        facts_text(facts, "counters_missing", device->missing);
        return;
    }
    facts_text(facts, "name", device->name);
    if (strcmp(device->name, device->disk) != 0) {
        facts_text(facts, "disk", device->disk);
    }
    if (read_attribute(device, device->disk, "device/model", line, sizeof line)) {
        trim(line);
        facts_text(facts, "model", line);
    }
    if (read_attribute(device, device->disk, "size", line, sizeof line)) {
        facts_count(facts, "size_bytes", strtoull(line, NULL, 10) * SECTOR_BYTES);
    }
    if (read_attribute(device, device->disk, "queue/rotational", line, sizeof line)) {
        facts_text(facts, "rotational", line[0] == '0' ? "no" : "yes");
    }
    if (read_attribute(device, device->disk, "queue/scheduler", line, sizeof line)) {
        keep_chosen(line);
        facts_text(facts, "scheduler", line);
    }
    if (read_attribute(device, device->disk, "loop/backing_file", line, sizeof line)) {
        facts_text(facts, "backing_file", line);
    }
    if (device_written_bytes(device) == DEVICE_UNKNOWN) {
        snprintf(line, sizeof line, "'%s' has no statistics", device->name);
        facts_text(facts, "counters_missing", line);
    }
}

/* The seventh number of `stat` counts sectors written, of 512 bytes whatever the drive's own size
 * (Documentation/block/stat.rst of Linux). */
uint64_t device_written_bytes(const struct device *device) {
    char line[512];
    unsigned long long sectors;
    if (!device->found || !read_attribute(device, device->name, "stat", line, sizeof line) ||
        sscanf(line, "%*u %*u %*u %*u %*u %*u %llu", &sectors) != 1) {
        return DEVICE_UNKNOWN;
    }
    return (uint64_t)sectors * SECTOR_BYTES;
}

void device_read_health(const struct device *device, struct nvme_health *health) {
    *health = (struct nvme_health){.smart_known = false};
    if (device->found && strncmp(device->disk, "nvme", 4) == 0) {
        nvme_health_read(device->disk, health);
        return;
    }
    if (device->found) {
        snprintf(health->smart_missing, NVME_HEALTH_WHY, "'%s' is no NVMe drive", device->disk);
    } else {
        snprintf(health->smart_missing, NVME_HEALTH_WHY, "%.150s", device->missing);
    }
    memcpy(health->media_missing, health->smart_missing, NVME_HEALTH_WHY);
}

static const char *amplification_missing(const struct nvme_health *before,
                                         const struct nvme_health *after) {
    if (!after->smart_known || !before->smart_known) {
        return after->smart_known ? before->smart_missing : after->smart_missing;
    }
    if (!after->media_known || !before->media_known) {
        return after->media_known ? before->media_missing : after->media_missing;
    }
    if (after->host_written_bytes < before->host_written_bytes ||
        after->media_written_bytes < before->media_written_bytes) {
        return "the drive's counters went backwards";
    }
    if (after->host_written_bytes - before->host_written_bytes < DEVICE_LEAST_BYTES) {
        return "less than 1 GB was written, too little for the drive's coarse counters";
    }
    return NULL;
}

void device_run_facts(const struct nvme_health *before, const struct nvme_health *after,
                      struct facts *facts) {
    if (after->smart_known) {
        facts_count(facts, "percentage_used", after->percentage_used);
        facts_count(facts, "temperature_kelvin", after->temperature_kelvin);
    }
    const char *missing = amplification_missing(before, after);
    if (missing != NULL) {
        facts_text(facts, "write_amplification_missing", missing);
        return;
    }
    facts_count(facts, "host_written_bytes",
                after->host_written_bytes - before->host_written_bytes);
    facts_count(facts, "media_written_bytes",
                after->media_written_bytes - before->media_written_bytes);
}
