#include "io/verify.h"

#include "io/crc32.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct file_check {
    const struct manifest *manifest;
    const struct manifest_entry *entry;
    const struct format_file *content; /* NULL: payload from end to end */
    int fd;
    char *buffer;
    size_t size;
    struct verify_verdict *verdict;
};

static bool damaged(struct file_check *check, const char *what, uint64_t offset) {
    snprintf(check->verdict->text, sizeof check->verdict->text, "'%s' at byte %llu: %s",
             check->entry->path, (unsigned long long)offset, what);
    check->verdict->state = VERIFY_DAMAGED;
    return false;
}

/* Fills the buffer from offset; short only at the end of the file. Negative errno on failure. */
static ssize_t read_chunk(int fd, char *buffer, size_t size, uint64_t offset) {
    size_t used = 0;
    while (used < size) {
        ssize_t got = pread(fd, buffer + used, size - used, (off_t)(offset + used));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -errno;
        }
        if (got == 0) {
            break;
        }
        used += (size_t)got;
    }
    return (ssize_t)used;
}

/* How many of the bytes in the buffer are those that were written at this offset. */
static size_t right_bytes(const struct file_check *check, uint64_t stream, uint64_t offset,
                          size_t length) {
    const struct payload *classes = check->manifest->head.classes;
    if (check->content == NULL) {
        return payload_compare(&classes[0], stream, offset, check->buffer, length);
    }
    struct format_source source = {.stream = stream, .classes = classes};
    return format_compare(check->content, &source, offset, check->buffer, length);
}

static bool check_bytes(struct file_check *check) {
    const struct manifest_entry *entry = check->entry;
    const struct manifest_head *head = &check->manifest->head;
    uint64_t stream = payload_stream(&head->classes[0], head->serial, entry->rank, entry->index);
    uint64_t sum = 0;
    for (uint64_t offset = 0; offset < entry->bytes;) {
        uint64_t left = entry->bytes - offset;
        size_t want = left < check->size ? (size_t)left : check->size;
        ssize_t got = read_chunk(check->fd, check->buffer, want, offset);
        if (got < 0) {
            return damaged(check, error_words((int)-got), offset);
        }
        if ((size_t)got < want) {
            return damaged(check, "the file ends too early", offset + (uint64_t)got);
        }
        size_t right = right_bytes(check, stream, offset, want);
        if (right < want) {
            return damaged(check, "not the bytes that were written", offset + right);
        }
        sum += payload_sum(offset, check->buffer, want);
        offset += want;
    }
    /* A verifier should not push other people's data out of the page cache. */
    posix_fadvise(check->fd, 0, 0, POSIX_FADV_DONTNEED);
    return sum == entry->sum || damaged(check, "the checksum differs from the manifest's", 0);
}

static bool check_file(const struct folder *folder, struct file_check *check) {
    check->fd = folder_open_file(folder, check->entry->path, O_RDONLY);
    if (check->fd < 0) {
        return damaged(check, error_words(-check->fd), 0);
    }
    struct stat info;
    bool good;
    if (fstat(check->fd, &info) != 0) {
        good = damaged(check, error_words(errno), 0);
    } else if ((uint64_t)info.st_size != check->entry->bytes) {
        char what[96];
        snprintf(what, sizeof what, "%lld bytes long, %llu were written", (long long)info.st_size,
                 (unsigned long long)check->entry->bytes);
        good = damaged(check, what, (uint64_t)info.st_size);
    } else {
        good = check_bytes(check);
    }
    close(check->fd);
    return good;
}

static void damaged_marker(struct verify_verdict *verdict, const struct manifest_marker *marker,
                           const char *what) {
    verdict->state = VERIFY_DAMAGED;
    snprintf(verdict->text, sizeof verdict->text, "'%s': %s", marker->path, what);
}

/* A marker is small text; its CRC says whether it is what was written. */
static void check_marker(const struct folder *folder, const struct manifest_marker *marker,
                         char *buffer, size_t size, struct verify_verdict *verdict) {
    int fd = folder_open_file(folder, marker->path, O_RDONLY);
    if (fd < 0) {
        damaged_marker(verdict, marker, error_words(-fd));
        return;
    }
    uint64_t offset = 0;
    uint32_t crc = 0;
    ssize_t got;
    while ((got = read_chunk(fd, buffer, size, offset)) > 0) {
        crc = crc32_more(crc, buffer, (size_t)got);
        offset += (uint64_t)got;
    }
    close(fd);
    if (got < 0) {
        damaged_marker(verdict, marker, error_words((int)-got));
    } else if (offset != marker->bytes || (marker->has_crc && crc != marker->crc)) {
        damaged_marker(verdict, marker, "not the text that was written");
    }
}

static void check_all(const struct folder *folder, const struct manifest *manifest,
                      struct verify_contents *contents, void *buffer, size_t size,
                      struct verify_verdict *verdict) {
    for (uint64_t i = 0; i < manifest->head.files; i++) {
        struct file_check check = {.manifest = manifest, .entry = &manifest->entries[i],
                                   .content = contents->content(contents, i),
                                   .buffer = buffer, .size = size, .verdict = verdict};
        if (!check_file(folder, &check)) {
            return;
        }
        verdict->files++;
        verdict->bytes += manifest->entries[i].bytes;
    }
    for (uint64_t i = 0; i < manifest->head.markers && verdict->state == VERIFY_COMPLETE; i++) {
        if (!manifest->markers[i].newest) {
            check_marker(folder, &manifest->markers[i], buffer, size, verdict);
        }
    }
}

void verify_checkpoint(const struct folder *folder, uint32_t checkpoint,
                       struct verify_contents *contents, void *buffer, size_t size,
                       struct verify_verdict *verdict) {
    char name[MANIFEST_NAME];
    struct arena arena = {0};
    struct manifest manifest;
    struct error err;
    *verdict = (struct verify_verdict){.state = VERIFY_COMPLETE};
    manifest_name(MANIFEST_COMPLETE, checkpoint, name);
    int fd = folder_open_file(folder, name, O_RDONLY);
    if (fd == -ENOENT) {
        verdict->state = VERIFY_INCOMPLETE;
        return;
    }
    if (fd >= 0) {
        close(fd);
    }
    if (manifest_read(folder, name, &arena, &manifest, &err) != OK) {
        verdict->state = VERIFY_DAMAGED;
        snprintf(verdict->text, sizeof verdict->text, "%.500s", err.text);
    } else if (manifest.head.checkpoint != checkpoint) {
        verdict->state = VERIFY_DAMAGED;
        snprintf(verdict->text, sizeof verdict->text, "'%s' is the manifest of checkpoint %u", name,
                 manifest.head.checkpoint);
    }
    if (verdict->state == VERIFY_COMPLETE && contents->begin(contents, &manifest, &err) != OK) {
        verdict->state = VERIFY_DAMAGED;
        snprintf(verdict->text, sizeof verdict->text, "'%s': %.450s", name, err.text);
    }
    if (verdict->state == VERIFY_COMPLETE) {
        check_all(folder, &manifest, contents, buffer, size, verdict);
    }
    arena_fini(&arena);
}
