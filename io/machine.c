#include "io/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

static FILE *open_beneath(const char *root, const char *path) {
    char whole[PATH_MAX];
    int length = snprintf(whole, sizeof whole, "%s%s", root, path);
    return length > 0 && (size_t)length < sizeof whole ? fopen(whole, "re") : NULL;
}

bool machine_read_line(const char *root, const char *path, char *line, size_t size) {
    FILE *stream = open_beneath(root, path);
    if (stream == NULL) {
        return false;
    }
    bool got = fgets(line, (int)size, stream) != NULL;
    fclose(stream);
    if (got) {
        line[strcspn(line, "\n")] = '\0';
    }
    return got;
}

/* The value of the first "name : value" line in a file of /proc. */
static bool read_named(const char *root, const char *path, const char *name, char *value,
                       size_t size) {
    FILE *stream = open_beneath(root, path);
    if (stream == NULL) {
        return false;
    }
    char line[512];
    bool found = false;
    size_t length = strlen(name);
    while (!found && fgets(line, sizeof line, stream) != NULL) {
        if (strncmp(line, name, length) != 0) {
            continue;
        }
        const char *colon = line + length + strspn(line + length, " \t");
        if (*colon == ':') { /* not "model name" where "model" is asked for */
            colon += 1 + strspn(colon + 1, " \t");
            snprintf(value, size, "%.*s", (int)strcspn(colon, "\n"), colon);
            found = true;
        }
    }
    fclose(stream);
    return found;
}

static const char *build_kind(void) {
#if defined(__SANITIZE_ADDRESS__)
    return "address sanitizer";
#elif defined(__SANITIZE_THREAD__)
    return "thread sanitizer";
#elif defined(__OPTIMIZE__)
    return "optimized";
#else
    return "not optimized";
#endif
}

void machine_facts(const char *root, struct facts *facts) {
    char text[512];
    struct utsname name;
    if (uname(&name) == 0) {
        snprintf(text, sizeof text, "%s %s %s", name.sysname, name.release, name.machine);
        facts_text(facts, "hostname", name.nodename);
        facts_text(facts, "kernel", text);
    }
    if (read_named(root, "/proc/cpuinfo", "model name", text, sizeof text)) {
        facts_text(facts, "cpu_model", text);
    }
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (cpus > 0) {
        facts_count(facts, "cpus", (uint64_t)cpus);
    }
    if (read_named(root, "/proc/meminfo", "MemTotal", text, sizeof text)) {
        facts_count(facts, "memory_bytes", strtoull(text, NULL, 10) * 1024); /* given in kB */
    }
    snprintf(text, sizeof text, "%s, compiler %s, %s", CKPTSIM_VERSION, __VERSION__, build_kind());
    facts_text(facts, "build", text);
}

/* mountinfo writes space, tab, newline and backslash as \ooo. */
static void unescape(char *text) {
    char *out = text;
    for (const char *at = text; *at != '\0'; at++) {
        if (at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] >= '0' && at[2] <= '7' &&
            at[3] >= '0' && at[3] <= '7') {
            *out++ = (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'));
            at += 3;
        } else {
            *out++ = *at;
        }
    }
    *out = '\0';
}

static void copy_field(char *into, size_t size, const char *field) {
    snprintf(into, size, "%s", field);
    unescape(into);
}

/* "36 35 98:0 /root /point rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue": six fields,
 * any number of tagged ones, a dash, three fields. */
static bool parse_mount(char *line, struct machine_mount *mount) {
    char *fields[6], *save = NULL;
    line[strcspn(line, "\n")] = '\0';
    for (int i = 0; i < 6; i++) {
        fields[i] = strtok_r(i == 0 ? line : NULL, " ", &save);
        if (fields[i] == NULL) {
            return false;
        }
    }
    char *tag = strtok_r(NULL, " ", &save);
    while (tag != NULL && strcmp(tag, "-") != 0) {
        tag = strtok_r(NULL, " ", &save);
    }
    char *type = strtok_r(NULL, " ", &save), *source = strtok_r(NULL, " ", &save);
    char *super_options = strtok_r(NULL, " ", &save);
    if (source == NULL || sscanf(fields[2], "%u:%u", &mount->major, &mount->minor) != 2) {
        return false;
    }
    copy_field(mount->point, sizeof mount->point, fields[4]);
    copy_field(mount->options, sizeof mount->options, fields[5]);
    copy_field(mount->type, sizeof mount->type, type);
    copy_field(mount->source, sizeof mount->source, source);
    copy_field(mount->super_options, sizeof mount->super_options,
               super_options != NULL ? super_options : "");
    return true;
}

static bool lies_under(const char *path, const char *point) {
    size_t length = strlen(point);
    if (length == 1) {
        return true; /* "/" */
    }
    return strncmp(path, point, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* Of the mounts above a path, the one with the file's own device number is right, whatever was
 * mounted over what; where none has it (btrfs subvolumes), the deepest and latest is. */
static size_t rank_mount(const struct machine_mount *mount, const char *path, dev_t device) {
    if (!lies_under(path, mount->point)) {
        return 0;
    }
    bool same = mount->major == major(device) && mount->minor == minor(device);
    return strlen(mount->point) + (same ? PATH_MAX : 0);
}

bool machine_find_mount(const char *root, const char *path, struct machine_mount *mount) {
    char real[PATH_MAX];
    struct stat info;
    FILE *stream = open_beneath(root, "/proc/self/mountinfo");
    size_t best = 0;
    if (stream != NULL && realpath(path, real) != NULL && stat(real, &info) == 0) {
        struct machine_mount *line_mount = mem_new(1, sizeof *line_mount);
        char *line = NULL;
        size_t capacity = 0;
        while (getline(&line, &capacity, stream) >= 0) {
            if (parse_mount(line, line_mount)) {
                size_t rank = rank_mount(line_mount, real, info.st_dev);
                if (rank > 0 && rank >= best) {
                    best = rank;
                    *mount = *line_mount;
                }
            }
        }
        free(line);
        mem_free(line_mount);
    }
    if (stream != NULL) {
        fclose(stream);
    }
    return best > 0;
}

void machine_file_system_facts(const char *root, const char *path, struct facts *facts) {
    struct machine_mount *mount = mem_new(1, sizeof *mount);
    if (machine_find_mount(root, path, mount)) {
        facts_text(facts, "type", mount->type);
        facts_text(facts, "mount_point", mount->point);
        facts_text(facts, "source", mount->source);
        char options[1024];
        snprintf(options, sizeof options, "%s,%s", mount->options, mount->super_options);
        facts_text(facts, "mount_options", options);
    }
    mem_free(mount);
    struct statvfs space;
    if (statvfs(path, &space) == 0) {
        facts_count(facts, "size_bytes", (uint64_t)space.f_blocks * space.f_frsize);
        facts_count(facts, "free_bytes", (uint64_t)space.f_bavail * space.f_frsize);
        facts_count(facts, "block_bytes", space.f_bsize);
    }
}
