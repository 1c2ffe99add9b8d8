#include "io/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MANIFEST_VERSION = 4 };
#define MANIFEST_BYTES_LIMIT (INT64_C(1) << 32)
#define MANIFEST_FILES_LIMIT (UINT64_C(1) << 26)

static const char *const payload_words[] = {[PAYLOAD_RANDOM] = "random", [PAYLOAD_ZERO] = "zero"};
static const char *const endings[] = {[MANIFEST_FILES] = "files", [MANIFEST_COMPLETE] = "manifest"};

void manifest_name(enum manifest_kind kind, uint32_t checkpoint, char *name) {
    snprintf(name, MANIFEST_NAME, "ckpt-%04u.%s", checkpoint, endings[kind]);
}

bool manifest_parse_name(const char *name, enum manifest_kind *kind, uint32_t *checkpoint) {
    unsigned number;
    if (sscanf(name, "ckpt-%u.", &number) != 1) {
        return false;
    }
    for (enum manifest_kind k = MANIFEST_FILES; k <= MANIFEST_COMPLETE; k++) {
        char own[MANIFEST_NAME];
        manifest_name(k, number, own);
        if (strcmp(own, name) == 0) {
            *kind = k;
            *checkpoint = number;
            return true;
        }
    }
    return false;
}

size_t manifest_write_head(const struct manifest_head *head, char *text) {
    const struct payload *payload = &head->classes[0];
    size_t length =
        (size_t)snprintf(text, MANIFEST_PIECE,
                         "ckptsim manifest %d\nrun %s\ncheckpoint %u serial %llu\n"
                         "digest %s\n"
                         "payload %s seed %llu dedupe %.17g compressible",
                         MANIFEST_VERSION, head->run_id, head->checkpoint,
                         (unsigned long long)head->serial,
                         head->model[0] != '\0' ? head->model : "-", payload_words[payload->kind],
                         (unsigned long long)payload->seed, payload->dedupe);
    for (int i = 0; i < FORMAT_CLASSES; i++) {
        length += (size_t)snprintf(text + length, MANIFEST_PIECE - length, " %.17g",
                                   head->classes[i].compressible);
    }
    return length + (size_t)snprintf(text + length, MANIFEST_PIECE - length, "\nsettings %llu\n",
                                     (unsigned long long)head->setting_count);
}

size_t manifest_write_setting(const struct manifest_setting *setting, char *text) {
    return (size_t)snprintf(text, MANIFEST_PIECE, "%s %s\n", setting->name, setting->value);
}

size_t manifest_write_counts(const struct manifest_head *head, char *text) {
    return (size_t)snprintf(text, MANIFEST_PIECE, "files %llu markers %llu bytes %llu\n",
                            (unsigned long long)head->files, (unsigned long long)head->markers,
                            (unsigned long long)head->bytes);
}

size_t manifest_write_entry(const struct manifest_entry *entry, char *text) {
    char written[48] = "- -";
    if (entry->has_sum) {
        snprintf(written, sizeof written, "%llu %016llx", (unsigned long long)entry->stored_bytes,
                 (unsigned long long)entry->sum);
    }
    return (size_t)snprintf(text, MANIFEST_PIECE, "%u %llu %llu %s %s\n", entry->rank,
                            (unsigned long long)entry->index, (unsigned long long)entry->bytes,
                            written, entry->path);
}

size_t manifest_write_marker(const struct manifest_marker *marker, char *text) {
    if (marker->newest) {
        return (size_t)snprintf(text, MANIFEST_PIECE, "newest %s\n", marker->path);
    }
    char crc[12] = "-";
    if (marker->has_crc) {
        snprintf(crc, sizeof crc, "%08x", marker->crc);
    }
    return (size_t)snprintf(text, MANIFEST_PIECE, "marker %llu %s %s\n",
                            (unsigned long long)marker->bytes, crc, marker->path);
}

size_t manifest_write_end(const struct manifest_head *head, char *text) {
    return (size_t)snprintf(text, MANIFEST_PIECE, "end %llu\n", (unsigned long long)head->files);
}

const char *manifest_setting(const struct manifest_head *head, const char *name) {
    for (uint64_t i = 0; i < head->setting_count; i++) {
        if (strcmp(head->settings[i].name, name) == 0) {
            return head->settings[i].value;
        }
    }
    return NULL;
}

/* A path of our own making: relative, no "." or "..", no empty part, no control characters, none of
 * the folder's own files. */
static bool path_is_ours(const char *path) {
    enum manifest_kind kind;
    uint32_t number;
    if (strlen(path) >= MANIFEST_PATH || strcmp(path, MANIFEST_LATEST) == 0 ||
        strncmp(path, FOLDER_MARKER, strlen(FOLDER_MARKER)) == 0 ||
        manifest_parse_name(path, &kind, &number)) {
        return false;
    }
    for (const char *part = path;; part++) {
        size_t length = strcspn(part, "/");
        if (length == 0 || (length == 1 && part[0] == '.') ||
            (length == 2 && part[0] == '.' && part[1] == '.')) {
            return false;
        }
        for (size_t i = 0; i < length; i++) {
            if ((unsigned char)part[i] < 0x20 || part[i] == 0x7f) {
                return false;
            }
        }
        part += length;
        if (*part == '\0') {
            return true;
        }
    }
}

struct lines {
    char *at, *end;
    unsigned number;
};

static char *next_line(struct lines *lines) {
    char *line = lines->at;
    char *newline = line < lines->end ? memchr(line, '\n', (size_t)(lines->end - line)) : NULL;
    if (newline == NULL) {
        return NULL;
    }
    *newline = '\0';
    lines->at = newline + 1;
    lines->number++;
    return line;
}

static bool parse_payload(char *line, struct manifest_head *head) {
    char kind[16];
    unsigned long long seed;
    double dedupe;
    int used = 0;
    if (line == NULL || sscanf(line, "payload %15s seed %llu dedupe %lf compressible%n", kind, &seed,
                               &dedupe, &used) != 3 || used == 0 || !(dedupe >= 1)) {
        return false;
    }
    char *at = line + used;
    for (int i = 0; i < FORMAT_CLASSES; i++) {
        char *end;
        bool zero = strcmp(kind, payload_words[PAYLOAD_ZERO]) == 0;
        double compressible = strtod(at, &end);
        head->classes[i] = (struct payload){.kind = zero ? PAYLOAD_ZERO : PAYLOAD_RANDOM,
                                            .seed = seed,
                                            .compressible = compressible,
                                            .dedupe = dedupe};
        if (end == at || !(compressible >= 1)) {
            return false;
        }
        at = end;
    }
    return *at == '\0';
}

static bool parse_settings(struct lines *lines, struct arena *arena, struct manifest_head *head) {
    char *line = next_line(lines);
    unsigned long long count;
    if (line == NULL || sscanf(line, "settings %llu", &count) != 1 || count > MANIFEST_SETTINGS) {
        return false;
    }
    struct manifest_setting *settings = arena_new(arena, count, sizeof *settings);
    for (unsigned long long i = 0; i < count; i++) {
        line = next_line(lines);
        char *space = line != NULL ? strchr(line, ' ') : NULL;
        if (space == NULL) {
            return false;
        }
        *space = '\0';
        settings[i].name = arena_text(arena, line);
        settings[i].value = arena_text(arena, space + 1);
    }
    head->settings = settings;
    head->setting_count = count;
    return true;
}

static bool parse_head(struct lines *lines, struct arena *arena, struct manifest_head *head) {
    unsigned long long serial, files, markers, bytes;
    int version;
    char *line = next_line(lines);
    if (line == NULL || sscanf(line, "ckptsim manifest %d", &version) != 1 ||
        version != MANIFEST_VERSION) {
        return false;
    }
    line = next_line(lines);
    if (line == NULL || sscanf(line, "run %39s", head->run_id) != 1) {
        return false;
    }
    line = next_line(lines);
    if (line == NULL || sscanf(line, "checkpoint %u serial %llu", &head->checkpoint, &serial) != 2) {
        return false;
    }
    line = next_line(lines);
    if (line == NULL || sscanf(line, "digest %32s", head->model) != 1) {
        return false;
    }
    if (!parse_payload(next_line(lines), head) || !parse_settings(lines, arena, head)) {
        return false;
    }
    line = next_line(lines);
    if (line == NULL || sscanf(line, "files %llu markers %llu bytes %llu", &files, &markers,
                               &bytes) != 3) {
        return false;
    }
    head->serial = serial;
    head->files = files;
    head->markers = markers;
    head->bytes = bytes;
    return files <= MANIFEST_FILES_LIMIT && markers <= MANIFEST_FILES_LIMIT;
}

/* Both or none. */
static bool parse_written(const char *stored, const char *sum, struct manifest_entry *entry) {
    entry->has_sum = strcmp(sum, "-") != 0;
    if (!entry->has_sum || stored[0] < '0' || stored[0] > '9') {
        return !entry->has_sum && strcmp(stored, "-") == 0;
    }
    char *stored_end, *sum_end;
    entry->stored_bytes = strtoull(stored, &stored_end, 10);
    entry->sum = strtoull(sum, &sum_end, 16);
    return *stored_end == '\0' && *sum_end == '\0' && strlen(sum) == 16;
}

static bool parse_entry(char *line, struct arena *arena, struct manifest_entry *entry) {
    unsigned long long index, bytes;
    char stored[24], sum[20];
    int used = 0;
    if (line == NULL ||
        sscanf(line, "%u %llu %llu %23s %16s %n", &entry->rank, &index, &bytes, stored, sum,
               &used) != 5 ||
        used == 0 || !path_is_ours(line + used)) {
        return false;
    }
    entry->index = index;
    entry->bytes = bytes;
    entry->path = arena_text(arena, line + used);
    return parse_written(stored, sum, entry);
}

static bool parse_marker(char *line, struct arena *arena, struct manifest_marker *marker) {
    unsigned long long bytes;
    char crc[12];
    int used = 0;
    if (line != NULL && strncmp(line, "newest ", 7) == 0) {
        marker->newest = true;
        used = 7;
    } else if (line == NULL || sscanf(line, "marker %llu %8s %n", &bytes, crc, &used) != 2) {
        return false;
    } else {
        char *end = crc;
        marker->bytes = bytes;
        marker->has_crc = strcmp(crc, "-") != 0;
        marker->crc = marker->has_crc ? (uint32_t)strtoul(crc, &end, 16) : 0;
        if (marker->has_crc && (*end != '\0' || strlen(crc) != 8)) {
            return false;
        }
    }
    marker->path = arena_text(arena, line + used);
    return path_is_ours(marker->path);
}

static bool parse_entries(struct lines *lines, struct arena *arena, struct manifest *manifest) {
    uint64_t files = manifest->head.files, markers = manifest->head.markers;
    if (files + markers > (uint64_t)(lines->end - lines->at)) {
        return false; /* fewer bytes than lines: torn, and no reason to allocate */
    }
    manifest->entries = arena_new(arena, files, sizeof *manifest->entries);
    manifest->markers = arena_new(arena, markers, sizeof *manifest->markers);
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < files; i++) {
        if (!parse_entry(next_line(lines), arena, &manifest->entries[i])) {
            return false;
        }
        bytes += manifest->entries[i].bytes;
    }
    for (uint64_t i = 0; i < markers; i++) {
        if (!parse_marker(next_line(lines), arena, &manifest->markers[i])) {
            return false;
        }
    }
    return bytes == manifest->head.bytes;
}

static bool parse(struct lines *lines, struct arena *arena, struct manifest *manifest) {
    if (!parse_head(lines, arena, &manifest->head) || !parse_entries(lines, arena, manifest)) {
        return false;
    }
    char *line = next_line(lines);
    unsigned long long count;
    return line != NULL && sscanf(line, "end %llu", &count) == 1 && count == manifest->head.files;
}

/* Of another version of this program: that is no damage. */
static bool is_foreign(const char *text) {
    int version;
    return sscanf(text, "ckptsim manifest %d", &version) == 1 && version != MANIFEST_VERSION;
}

/* Reads the whole file; the caller frees. NULL with errno set on failure. */
static char *read_all(const struct folder *folder, const char *name, size_t *length) {
    int fd = folder_open_file(folder, name, O_RDONLY);
    if (fd < 0) {
        errno = -fd;
        return NULL;
    }
    struct stat info;
    char *text = NULL;
    int error = fstat(fd, &info) == 0 ? 0 : errno;
    if (error == 0 && info.st_size > MANIFEST_BYTES_LIMIT) {
        error = EFBIG;
    }
    if (error == 0) {
        text = mem_new((size_t)info.st_size + 1, 1);
        for (*length = 0; *length < (size_t)info.st_size;) {
            ssize_t got = read(fd, text + *length, (size_t)info.st_size - *length);
            if (got <= 0) {
                error = got < 0 ? errno : 0;
                break;
            }
            *length += (size_t)got;
        }
    }
    close(fd);
    if (error != 0) {
        mem_free(text);
        errno = error;
        return NULL;
    }
    return text;
}

enum status manifest_read(const struct folder *folder, const char *name, struct arena *arena,
                          struct manifest *manifest, struct error *err) {
    size_t length = 0;
    char *text = read_all(folder, name, &length);
    if (text == NULL) {
        return error_set(err, ERR_FAILED, "cannot read '%s/%s': %s", folder->path, name,
                         error_words(errno));
    }
    struct lines lines = {.at = text, .end = text + length};
    *manifest = (struct manifest){0};
    enum status status = OK;
    if (is_foreign(text)) {
        status = error_set(err, ERR_FAILED, "'%s/%s' is of another version of ckptsim; this one reads "
                                            "manifests of version %d",
                           folder->path, name, MANIFEST_VERSION);
    } else if (!parse(&lines, arena, manifest)) {
        status = error_set(err, ERR_FAILED, "'%s/%s' is damaged at line %u", folder->path, name,
                           lines.number + 1);
    }
    mem_free(text);
    return status;
}
