#include "io/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct file_check {
    const struct manifest *manifest;
    const struct manifest_entry *entry;
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

static bool check_bytes(struct file_check *check) {
    const struct manifest_entry *entry = check->entry;
    const struct manifest_head *head = &check->manifest->head;
    uint64_t stream = payload_stream(&head->payload, head->serial, entry->rank, entry->index);
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
        size_t right = payload_compare(&head->payload, stream, offset, check->buffer, want);
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

void verify_checkpoint(const struct folder *folder, uint32_t checkpoint, void *buffer, size_t size,
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
    uint64_t files = verdict->state == VERIFY_COMPLETE ? manifest.head.files : 0;
    for (uint64_t i = 0; i < files; i++) {
        struct file_check check = {.manifest = &manifest, .entry = &manifest.entries[i],
                                   .buffer = buffer, .size = size, .verdict = verdict};
        if (!check_file(folder, &check)) {
            break;
        }
        verdict->files++;
        verdict->bytes += manifest.entries[i].bytes;
    }
    arena_fini(&arena);
}
