#include "io/residency.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

/* As in linux/mman.h since 6.5. */
struct cache_range {
    uint64_t offset, length; /* length 0: to the end */
};

struct cache_counts {
    uint64_t cached, dirty, writeback, evicted, recently_evicted; /* pages */
};

enum { WINDOW_PAGES = 16384 };

/* To others mincore says that every page is there (mm/mincore.c, can_do_mincore). */
static int may_ask(int fd, const struct stat *info) {
    bool own = info->st_uid == geteuid();
    return own || faccessat(fd, "", W_OK, AT_EACCESS | AT_EMPTY_PATH) == 0 ? 0 : EPERM;
}

static uint64_t page_bytes(void) { return (uint64_t)sysconf(_SC_PAGESIZE); }

int residency_bytes_mincore(int fd, uint64_t *bytes) {
    struct stat info;
    if (fstat(fd, &info) != 0) {
        return errno;
    }
    int asked = may_ask(fd, &info);
    if (asked != 0) {
        return asked;
    }
    uint64_t page = page_bytes(), pages = 0, size = (uint64_t)info.st_size;
    uint64_t window = page * WINDOW_PAGES;
    for (uint64_t offset = 0; offset < size; offset += window) {
        unsigned char resident[WINDOW_PAGES];
        uint64_t length = size - offset < window ? size - offset : window;
        void *map = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, (off_t)offset);
        if (map == MAP_FAILED) {
            return errno;
        }
        int error = mincore(map, length, resident) == 0 ? 0 : errno;
        munmap(map, length);
        if (error != 0) {
            return error;
        }
        for (uint64_t i = 0; i < (length + page - 1) / page; i++) {
            pages += resident[i] & 1;
        }
    }
    *bytes = pages * page;
    return 0;
}

int residency_bytes(int fd, uint64_t *bytes) {
    struct cache_range all = {0, 0};
    struct cache_counts counts;
    if (syscall(SYS_cachestat, (unsigned)fd, &all, &counts, 0) == 0) {
        *bytes = counts.cached * page_bytes();
        return 0;
    }
    return errno == ENOSYS ? residency_bytes_mincore(fd, bytes) : errno;
}
