#include "io/verify.h"

#include "io/codec.h"
#include "io/compressed_file.h"
#include "io/crc32.h"
#include "io/file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* What compressed files are read with. */
struct unpacker {
    uint64_t chunk_bytes;
    struct codec *codec;
    char *raw, *stored; /* a window, before and after */
};

struct file_check {
    const struct manifest *manifest;
    const struct manifest_entry *entry;
    const struct format_file *content; /* NULL: payload from end to end */
    int fd;
    char *buffer;
    size_t size;
    struct unpacker *unpacker; /* NULL: the file is not compressed */
    struct verify_verdict *verdict;
};

static bool damaged(struct file_check *check, const char *what, uint64_t offset) {
    snprintf(check->verdict->text, sizeof check->verdict->text, "'%s' at byte %llu: %s",
             check->entry->path, (unsigned long long)offset, what);
    check->verdict->state = VERIFY_DAMAGED;
    return false;
}

/* How many of these bytes are those that were written at this offset. */
static size_t right_bytes(const struct file_check *check, uint64_t offset, const char *bytes,
                          size_t length) {
    const struct manifest_entry *entry = check->entry;
    const struct manifest_head *head = &check->manifest->head;
    const struct payload *classes = head->classes;
    uint64_t stream = payload_stream(&classes[0], head->serial, entry->rank, entry->index);
    if (check->content == NULL) {
        return payload_compare(&classes[0], stream, offset, bytes, length);
    }
    struct format_source source = {.stream = stream, .classes = classes};
    return format_compare(check->content, &source, offset, bytes, length);
}

/* Compares these bytes of the content and adds their checksum. */
static bool check_part(struct file_check *check, uint64_t offset, const char *bytes, size_t length,
                       uint64_t *sum) {
    size_t right = right_bytes(check, offset, bytes, length);
    *sum += payload_sum(offset, bytes, length);
    return right == length || damaged(check, "not the bytes that were written", offset + right);
}

static bool check_bytes(struct file_check *check) {
    const struct manifest_entry *entry = check->entry;
    uint64_t sum = 0;
    for (uint64_t offset = 0; offset < entry->bytes;) {
        uint64_t left = entry->bytes - offset;
        size_t want = left < check->size ? (size_t)left : check->size;
        ssize_t got = file_read(check->fd, check->buffer, want, offset);
        if (got < 0) {
            return damaged(check, error_words((int)-got), offset);
        }
        if ((size_t)got < want) {
            return damaged(check, "the file ends too early", offset + (uint64_t)got);
        }
        if (!check_part(check, offset, check->buffer, want, &sum)) {
            return false;
        }
        offset += want;
    }
    /* A verifier should not push other people's data out of the page cache. */
    posix_fadvise(check->fd, 0, 0, POSIX_FADV_DONTNEED);
    return sum == entry->sum || damaged(check, "the checksum differs from the manifest's", 0);
}

/* Offsets that are told are those of the content. */
static bool check_window(struct file_check *check, const struct seek_table *table, uint64_t window,
                         uint64_t *sum) {
    const struct unpacker *unpacker = check->unpacker;
    uint64_t offset = table->points[window].raw_offset;
    size_t raw_bytes = seek_table_raw_bytes(table, window);
    size_t stored_bytes = seek_table_stored_bytes(table, window);
    ssize_t got = file_read(check->fd, unpacker->stored, stored_bytes,
                             table->points[window].stored_offset);
    struct error err;
    if (got < 0) {
        return damaged(check, error_words((int)-got), offset);
    }
    if (codec_decompress(unpacker->codec, unpacker->stored, (size_t)got, unpacker->raw, raw_bytes,
                         &err) != OK) {
        return damaged(check, err.text, offset);
    }
    return check_part(check, offset, unpacker->raw, raw_bytes, sum);
}

static bool check_windows(struct file_check *check) {
    struct arena arena = {0};
    struct seek_table table;
    struct error err;
    uint64_t sum = 0;
    int error = compressed_file_table(check->fd, check->entry->bytes,
                                      check->unpacker->chunk_bytes, &arena, &table, &err);
    bool good = error == 0 ||
                damaged(check, error == EBADMSG ? err.text : error_words(error), 0);
    for (uint64_t window = 0; good && window < table.count; window++) {
        good = check_window(check, &table, window, &sum);
    }
    arena_fini(&arena);
    posix_fadvise(check->fd, 0, 0, POSIX_FADV_DONTNEED);
    return good && (sum == check->entry->sum ||
                    damaged(check, "the checksum differs from the manifest's", 0));
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
    } else if ((uint64_t)info.st_size != check->entry->stored_bytes) {
        char what[96];
        snprintf(what, sizeof what, "%lld bytes long, %llu were written", (long long)info.st_size,
                 (unsigned long long)check->entry->stored_bytes);
        uint64_t stored = check->entry->stored_bytes;
        good = damaged(check, what, (uint64_t)info.st_size < stored ? (uint64_t)info.st_size : stored);
    } else {
        good = check->unpacker != NULL ? check_windows(check) : check_bytes(check);
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
    while ((got = file_read(fd, buffer, size, offset)) > 0) {
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
                      struct verify_contents *contents, struct unpacker *unpacker, void *buffer,
                      size_t size, struct verify_verdict *verdict) {
    for (uint64_t i = 0; i < manifest->head.files; i++) {
        struct file_check check = {.manifest = manifest, .entry = &manifest->entries[i],
                                   .content = contents->content(contents, i),
                                   .unpacker = unpacker,
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

static void open_unpacker(struct unpacker *unpacker, uint64_t chunk_bytes) {
    *unpacker = (struct unpacker){
        .chunk_bytes = chunk_bytes,
        .codec = codec_open(1, chunk_bytes), /* for reading all levels are the same */
        .raw = mem_new(1, chunk_bytes),
        .stored = mem_new(1, codec_bound(chunk_bytes)),
    };
}

static void close_unpacker(struct unpacker *unpacker) {
    codec_close(unpacker->codec);
    mem_free(unpacker->raw);
    mem_free(unpacker->stored);
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
        verdict->state = err.status == ERR_USAGE ? VERIFY_UNCHECKED : VERIFY_DAMAGED;
        snprintf(verdict->text, sizeof verdict->text, "'%s': %.450s", name, err.text);
    }
    if (verdict->state == VERIFY_COMPLETE) {
        struct unpacker unpacker;
        bool compressed = contents->chunk_bytes > 0;
        if (compressed) {
            open_unpacker(&unpacker, contents->chunk_bytes);
        }
        check_all(folder, &manifest, contents, compressed ? &unpacker : NULL, buffer, size,
                  verdict);
        if (compressed) {
            close_unpacker(&unpacker);
        }
    }
    arena_fini(&arena);
}
