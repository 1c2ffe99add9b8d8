#include "io/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    return (size_t)snprintf(text, MANIFEST_LINE * 2,
                            "ckptsim manifest 1\nrun %s\ncheckpoint %u serial %llu\n"
                            "payload %s seed %llu compressible %.17g dedupe %.17g\n"
                            "files %llu bytes %llu\n",
                            head->run_id, head->checkpoint, (unsigned long long)head->serial,
                            payload_words[head->payload.kind],
                            (unsigned long long)head->payload.seed, head->payload.compressible,
                            head->payload.dedupe, (unsigned long long)head->files,
                            (unsigned long long)head->bytes);
}

size_t manifest_write_entry(const struct manifest_entry *entry, char *text) {
    char sum[20] = "-";
    if (entry->has_sum) {
        snprintf(sum, sizeof sum, "%016llx", (unsigned long long)entry->sum);
    }
    return (size_t)snprintf(text, MANIFEST_LINE * 2, "%u %llu %llu %s %s\n", entry->rank,
                            (unsigned long long)entry->index, (unsigned long long)entry->bytes,
                            sum, entry->path);
}

size_t manifest_write_end(const struct manifest_head *head, char *text) {
    return (size_t)snprintf(text, MANIFEST_LINE * 2, "end %llu\n", (unsigned long long)head->files);
}

/* A path of our own making: relative, no "..", no empty part, no control characters, none of the
 * folder's own files. */
static bool path_is_ours(const char *path) {
    enum manifest_kind kind;
    uint32_t number;
    size_t length = strlen(path);
    if (length == 0 || length >= MANIFEST_LINE / 2 || path[0] == '/' || path[0] == '.' ||
        strcmp(path, MANIFEST_LATEST) == 0 || manifest_parse_name(path, &kind, &number)) {
        return false;
    }
    for (const char *at = path; *at != '\0'; at++) {
        bool part_begins = at == path || at[-1] == '/';
        if (*at < 0x20 || *at == 0x7f || (part_begins && (*at == '.' || *at == '/'))) {
            return false;
        }
    }
    return path[length - 1] != '/';
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

static bool parse_head(struct lines *lines, struct manifest_head *head) {
    char *line = next_line(lines), kind[16];
    if (line == NULL || strcmp(line, "ckptsim manifest 1") != 0) {
        return false;
    }
    line = next_line(lines);
    if (line == NULL || sscanf(line, "run %39s", head->run_id) != 1) {
        return false;
    }
    unsigned long long serial, seed, files, bytes;
    line = next_line(lines);
    if (line == NULL || sscanf(line, "checkpoint %u serial %llu", &head->checkpoint, &serial) != 2) {
        return false;
    }
    line = next_line(lines);
    if (line == NULL || sscanf(line, "payload %15s seed %llu compressible %lf dedupe %lf", kind,
                               &seed, &head->payload.compressible, &head->payload.dedupe) != 4) {
        return false;
    }
    head->payload.kind = strcmp(kind, payload_words[PAYLOAD_ZERO]) == 0 ? PAYLOAD_ZERO
                                                                       : PAYLOAD_RANDOM;
    line = next_line(lines);
    if (line == NULL || sscanf(line, "files %llu bytes %llu", &files, &bytes) != 2) {
        return false;
    }
    head->serial = serial;
    head->payload.seed = seed;
    head->files = files;
    head->bytes = bytes;
    return files <= MANIFEST_FILES_LIMIT && head->payload.compressible >= 1 &&
           head->payload.dedupe >= 1;
}

static bool parse_entry(char *line, struct arena *arena, struct manifest_entry *entry) {
    unsigned long long index, bytes;
    char sum[20];
    int used = 0;
    if (line == NULL ||
        sscanf(line, "%u %llu %llu %16s %n", &entry->rank, &index, &bytes, sum, &used) != 4 ||
        used == 0 || !path_is_ours(line + used)) {
        return false;
    }
    entry->index = index;
    entry->bytes = bytes;
    entry->has_sum = strcmp(sum, "-") != 0;
    entry->path = arena_text(arena, line + used);
    char *end = sum;
    entry->sum = entry->has_sum ? strtoull(sum, &end, 16) : 0;
    return !entry->has_sum || (*end == '\0' && strlen(sum) == 16);
}

static bool parse(struct lines *lines, struct arena *arena, struct manifest *manifest) {
    if (!parse_head(lines, &manifest->head)) {
        return false;
    }
    uint64_t files = manifest->head.files;
    if (files > (uint64_t)(lines->end - lines->at)) {
        return false; /* fewer bytes than files: torn, and no reason to allocate */
    }
    manifest->entries = arena_new(arena, files, sizeof *manifest->entries);
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < files; i++) {
        if (!parse_entry(next_line(lines), arena, &manifest->entries[i])) {
            return false;
        }
        bytes += manifest->entries[i].bytes;
    }
    char *line = next_line(lines);
    unsigned long long count;
    return line != NULL && sscanf(line, "end %llu", &count) == 1 && count == files &&
           bytes == manifest->head.bytes;
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
    if (!parse(&lines, arena, manifest)) {
        status = error_set(err, ERR_FAILED, "'%s/%s' is damaged at line %u", folder->path, name,
                           lines.number + 1);
    }
    mem_free(text);
    return status;
}
