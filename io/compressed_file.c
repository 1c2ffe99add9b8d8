/* The tail is read into memory that begins at a whole block, in whole blocks, so that it does not
 * matter how the file was opened. */
#include "io/compressed_file.h"

#include "io/codec.h"
#include "io/file_io.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* Until all bytes are there; 0 or an errno. */
static int read_whole(int fd, uint8_t *bytes, uint64_t length, uint64_t offset, struct error *err) {
    ssize_t count = file_read(fd, bytes, length, offset);
    if (count >= 0 && (uint64_t)count < length) {
        error_set(err, ERR_FAILED, "the file ends within its seek table");
        return EBADMSG;
    }
    return count < 0 ? (int)-count : 0;
}

/* The windows that the writer made of so many bytes, and no others. */
static bool is_table_of(const struct seek_table *table, uint64_t raw_bytes, uint64_t chunk_bytes) {
    if (table->count != codec_windows(raw_bytes, chunk_bytes) ||
        table->points[table->count].raw_offset != raw_bytes) {
        return false;
    }
    for (uint64_t i = 0; i < table->count; i++) {
        if (table->points[i].raw_offset != i * chunk_bytes) {
            return false;
        }
    }
    return true;
}

static int read_tail(int fd, uint64_t file_bytes, uint64_t tail_bytes, struct arena *arena,
                     struct seek_table *table, struct error *err) {
    uint8_t *memory = mem_new(tail_bytes + CODEC_BLOCK, 1);
    uint8_t *tail = memory + (CODEC_BLOCK - (uintptr_t)memory % CODEC_BLOCK);
    int error = read_whole(fd, tail, tail_bytes, file_bytes - tail_bytes, err);
    if (error == 0 && seek_table_read(tail, tail_bytes, file_bytes, arena, table, err) != OK) {
        error = EBADMSG;
    }
    mem_free(memory);
    return error;
}

int compressed_file_table(int fd, uint64_t raw_bytes, uint64_t chunk_bytes, struct arena *arena,
                          struct seek_table *table, struct error *err) {
    _Alignas(CODEC_BLOCK) uint8_t block[CODEC_BLOCK];
    const uint8_t *footer = block + CODEC_BLOCK - SEEK_TABLE_FOOTER;
    struct stat info;
    if (fstat(fd, &info) != 0) {
        return errno;
    }
    uint64_t file_bytes = (uint64_t)info.st_size, tail_bytes;
    if (file_bytes == 0 || file_bytes % CODEC_BLOCK != 0) {
        error_set(err, ERR_FAILED, "no seek table at the end");
        return EBADMSG;
    }
    int error = read_whole(fd, block, CODEC_BLOCK, file_bytes - CODEC_BLOCK, err);
    if (error != 0) {
        return error;
    }
    if (seek_table_measure(footer, file_bytes, &tail_bytes, err) != OK) {
        return EBADMSG;
    }
    error = read_tail(fd, file_bytes, tail_bytes, arena, table, err);
    if (error == 0 && !is_table_of(table, raw_bytes, chunk_bytes)) {
        error_set(err, ERR_FAILED, "seek table is not that of %llu bytes in windows of %llu",
                  (unsigned long long)raw_bytes, (unsigned long long)chunk_bytes);
        error = EBADMSG;
    }
    return error;
}
