#include "sim/job/fill.h"

#include "io/manifest.h"
#include "sim/job/shards.h"

enum { BLOCK_BYTES = 4096, LINE_BYTES = 96, SLACK_BYTES = 16 * BLOCK_BYTES };

uint64_t fill_checkpoint_bytes(const struct shards *shards) {
    uint64_t files = shards->files + shards_markers(shards);
    return shards->most_bytes + shards->marker_bytes +
           files * (BLOCK_BYTES + 2 * LINE_BYTES) + SLACK_BYTES;
}

static uint64_t less(uint64_t from, uint64_t take) {
    return from > take ? from - take : 0;
}

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

uint64_t fill_room(const struct fill *fill, uint64_t free_bytes, uint64_t total_bytes,
                   uint64_t held_bytes) {
    uint64_t room = less(free_bytes, fill->reserve_bytes);
    if (fill->share < 1) {
        uint64_t allowed = (uint64_t)(fill->share * (double)total_bytes);
        room = smaller(room, less(allowed, total_bytes - free_bytes));
    }
    if (fill->max_bytes > 0) {
        room = smaller(room, less(fill->max_bytes, held_bytes));
    }
    return room;
}
