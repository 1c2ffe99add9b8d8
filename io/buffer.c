/* Memory for I/O. Reserved huge pages come first, then transparent ones, then normal pages; what
 * was really had is read back from the kernel, since madvise only asks. */
#include "io/buffer.h"

#include "base/check.h"
#include "base/units.h"
#include "io/memory_limit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { SMALL_PAGE = 4096, LARGE_PAGE = 2 * 1024 * 1024 };

#ifndef MAP_HUGE_2MB
#define MAP_HUGE_2MB (21 << 26)
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

/* A mapping that starts at a multiple of LARGE_PAGE; without that no huge page fits its ends. */
static void *map_aligned(size_t bytes) {
    uint8_t *wide = mmap(NULL, bytes + LARGE_PAGE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (wide == MAP_FAILED) {
        return NULL;
    }
    size_t before = (LARGE_PAGE - (uintptr_t)wide % LARGE_PAGE) % LARGE_PAGE;
    if (before > 0) {
        munmap(wide, before);
    }
    munmap(wide + before + bytes, LARGE_PAGE - before);
    return wide + before;
}

static void touch(uint8_t *memory, size_t bytes) {
    if (madvise(memory, bytes, MADV_POPULATE_WRITE) == 0) {
        return;
    }
    /* Kernels before 5.14 do not know it: write to every page instead. */
    for (size_t i = 0; i < bytes; i += SMALL_PAGE) {
        ((volatile uint8_t *)memory)[i] = 0;
    }
}

/* kB of huge pages in the mapping that holds address, as /proc/self/smaps counts them. */
static uint64_t huge_kb_at(const void *address) {
    FILE *file = fopen("/proc/self/smaps", "re");
    if (file == NULL) {
        return 0;
    }
    char line[512];
    bool here = false;
    uint64_t kb = 0, low, high;
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &low, &high) == 2) {
            here = low <= (uintptr_t)address && (uintptr_t)address < high;
        } else if (here && sscanf(line, "AnonHugePages: %" SCNu64, &kb) == 1) {
            break;
        }
    }
    fclose(file);
    return kb;
}

static enum buffer_pages transparent_pages(const void *memory, size_t bytes) {
    uint64_t huge = huge_kb_at(memory) * 1024;
    if (huge >= bytes) {
        return BUFFER_TRANSPARENT;
    }
    return huge > 0 ? BUFFER_PARTLY_TRANSPARENT : BUFFER_NORMAL;
}

static bool map_pool(struct buffer_pool *pool) {
    void *memory =
        mmap(NULL, pool->mapped_bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_2MB | MAP_POPULATE, -1, 0);
    if (memory != MAP_FAILED) {
        pool->memory = memory;
        pool->pages = BUFFER_HUGE;
        return true;
    }
    pool->memory = map_aligned(pool->mapped_bytes);
    if (pool->memory == NULL) {
        return false;
    }
    /* Refused where the kernel has no transparent huge pages: normal pages then, and the fact. */
    madvise(pool->memory, pool->mapped_bytes, MADV_HUGEPAGE);
    touch(pool->memory, pool->mapped_bytes);
    pool->pages = transparent_pages(pool->memory, pool->mapped_bytes);
    return true;
}

/* "512KiB" or "8MiB": as --chunk takes it. */
static const char *chunk_text(uint64_t bytes, char text[UNITS_TEXT]) {
    bool mib = bytes >= 1024 * 1024 && bytes % (1024 * 1024) == 0;
    snprintf(text, UNITS_TEXT, "%" PRIu64 "%s", mib ? bytes >> 20 : bytes >> 10,
             mib ? "MiB" : "KiB");
    return text;
}

/* Says what would fit: a smaller chunk, the largest power of two. */
static enum status too_large(uint32_t ranks, uint64_t per_rank, uint64_t chunk_bytes,
                             uint64_t available, struct error *err) {
    char chunk[UNITS_TEXT], fits[UNITS_TEXT], need[UNITS_TEXT], have[UNITS_TEXT];
    uint64_t fit = UINT64_C(1) << 30;
    uint64_t each = available / ranks / per_rank;
    while (fit > each && fit > SMALL_PAGE) {
        fit /= 2;
    }
    uint64_t bytes;
    if (__builtin_mul_overflow(ranks * per_rank, chunk_bytes, &bytes)) {
        bytes = UINT64_MAX;
    }
    return error_set(err, ERR_USAGE,
                     "--chunk: %" PRIu32 " ranks x queue depth %" PRIu64 " x %s need %s of memory "
                     "for buffers, %s are available; %s%s",
                     ranks, per_rank, chunk_text(chunk_bytes, chunk), units_gib(bytes, need),
                     units_gib(available, have),
                     fit > each ? "use fewer ranks or a smaller queue depth"
                                : "what fits is --chunk=",
                     fit > each ? "" : chunk_text(fit, fits));
}

enum status buffer_open(struct buffer_pool *pool, uint32_t ranks, uint64_t per_rank,
                        uint64_t chunk_bytes, struct error *err) {
    CHECK(ranks > 0 && per_rank > 0 && chunk_bytes > 0);
    uint64_t available = memory_limit_available();
    if (chunk_bytes > available / ranks / per_rank) {
        return too_large(ranks, per_rank, chunk_bytes, available, err);
    }
    size_t count = (size_t)ranks * per_rank;
    struct buffer_pool opened = {.count = count, .chunk_bytes = chunk_bytes};
    opened.mapped_bytes = round_up(count * round_up(chunk_bytes, SMALL_PAGE), LARGE_PAGE);
    if (!map_pool(&opened)) {
        return too_large(ranks, per_rank, chunk_bytes, opened.mapped_bytes / 2, err);
    }
    *pool = opened;
    return OK;
}

void buffer_close(struct buffer_pool *pool) {
    if (pool->memory != NULL) {
        munmap(pool->memory, pool->mapped_bytes);
        pool->memory = NULL;
    }
}

void *buffer_at(const struct buffer_pool *pool, size_t i) {
    CHECK(i < pool->count);
    return pool->memory + i * round_up(pool->chunk_bytes, SMALL_PAGE);
}

const char *buffer_pages_name(const struct buffer_pool *pool) {
    switch (pool->pages) {
    case BUFFER_HUGE: return "reserved";
    case BUFFER_TRANSPARENT: return "transparent";
    case BUFFER_PARTLY_TRANSPARENT: return "partly transparent";
    case BUFFER_NORMAL: break;
    }
    return "none";
}
