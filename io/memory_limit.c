/* How much memory is left, from the files of the kernel. A limit that cannot be read does not
 * count: the worst that follows is that the kernel says no later. */
#include "io/memory_limit.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum { PATH_LIMIT = 512 };

/* "NAME:  123 kB" of a file in the manner of /proc/meminfo, in bytes; false where it is not there.
 */
static bool read_kb(const char *path, const char *format, uint64_t *bytes) {
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    char line[256];
    uint64_t kb = 0;
    bool found = false;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        found = sscanf(line, format, &kb) == 1;
    }
    fclose(file);
    *bytes = kb * 1024;
    return found;
}

/* A file with one number in it; "max" is none. */
static bool read_number(const char *folder, const char *name, uint64_t *number) {
    char path[PATH_LIMIT + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    bool found = fscanf(file, "%" SCNu64, number) == 1;
    fclose(file);
    return found;
}

static uint64_t least(uint64_t left, uint64_t right) { return left < right ? left : right; }

/* What one control group leaves; its reclaimable page cache counts as free. */
static uint64_t group_left(const char *folder, const char *limit_name, const char *usage_name) {
    uint64_t limit, usage;
    if (!read_number(folder, limit_name, &limit) || !read_number(folder, usage_name, &usage)) {
        return UINT64_MAX;
    }
    char path[PATH_LIMIT + 64];
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    FILE *file = fopen(path, "re");
    uint64_t cache = 0;
    if (file != NULL) {
        char line[256];
        while (fgets(line, sizeof line, file) != NULL &&
               sscanf(line, "inactive_file %" SCNu64, &cache) != 1) {
        }
        fclose(file);
    }
    usage -= least(usage, cache);
    return limit - least(limit, usage);
}

/* Its own group and all groups above it, up to where the groups are mounted. */
static uint64_t groups_left(const char *root, const char *group, const char *limit_name,
                            const char *usage_name) {
    char folder[PATH_LIMIT];
    snprintf(folder, sizeof folder, "%s%s", root, strcmp(group, "/") == 0 ? "" : group);
    uint64_t left = UINT64_MAX;
    while (strlen(folder) >= strlen(root)) {
        left = least(left, group_left(folder, limit_name, usage_name));
        char *slash = strrchr(folder, '/');
        if (slash == NULL) {
            break;
        }
        *slash = '\0';
    }
    return left;
}

static uint64_t all_groups_left(void) {
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (file == NULL) {
        return UINT64_MAX;
    }
    uint64_t left = UINT64_MAX;
    char line[PATH_LIMIT];
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (group == NULL) {
            continue;
        }
        *group++ = '\0';
        if (strcmp(controllers, ":") == 0) {
            left =
                least(left, groups_left("/sys/fs/cgroup", group, "memory.max", "memory.current"));
        } else if (strcmp(controllers, ":memory") == 0) {
            left = least(left, groups_left("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes",
                                           "memory.usage_in_bytes"));
        }
    }
    fclose(file);
    return left;
}

static uint64_t address_space_left(void) {
    struct rlimit limit;
    uint64_t used = 0;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        !read_kb("/proc/self/status", "VmSize: %" SCNu64 " kB", &used)) {
        return UINT64_MAX;
    }
    return limit.rlim_cur - least(limit.rlim_cur, used);
}

uint64_t memory_limit_available(void) {
    uint64_t left = UINT64_MAX, machine;
    if (read_kb("/proc/meminfo", "MemAvailable: %" SCNu64 " kB", &machine)) {
        left = machine;
    }
    left = least(left, all_groups_left());
    left = least(left, address_space_left());
    return left == UINT64_MAX ? left : left - left / 10;
}
