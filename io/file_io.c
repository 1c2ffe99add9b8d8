#include "io/file_io.h"

#include "io/payload.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t file_read(int fd, void *bytes, size_t length, uint64_t offset) {
    size_t used = 0;
    while (used < length) {
        ssize_t count = pread(fd, (uint8_t *)bytes + used, length - used, (off_t)(offset + used));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count == 0 || (count < 0 && errno == EINVAL && used % PAYLOAD_BLOCK != 0)) {
            break; /* a direct read cannot go on within a block: it was the file's last one */
        }
        if (count < 0) {
            return -errno;
        }
        used += (size_t)count;
    }
    return (ssize_t)used;
}

ssize_t file_write(int fd, const void *bytes, size_t length, uint64_t offset, int flags) {
    struct iovec vector = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = length};
    ssize_t count;
    do {
        count = flags != 0 ? pwritev2(fd, &vector, 1, (off_t)offset, flags)
                           : pwrite(fd, bytes, length, (off_t)offset);
    } while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : count;
}
