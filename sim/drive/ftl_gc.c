/* Garbage collection of the extent-mode FTL. A victim's log is read from its first entry on; what
 * the forward map still finds in the victim moves to the GC frontier, and the victim is erased. A
 * unit written twice to one superblock moves at its first entry and is then no longer there. */
#include "sim/drive/ftl_private.h"

#include "base/check.h"
#include "base/prng.h"

/* The best of some closed superblocks drawn at random; the best of all when those hold nothing
 * stale, because moving a fully valid superblock gains nothing. */
static uint32_t best_drawn(struct ftl *ftl) {
    const struct ftl_queue *queue = &ftl->queue;
    struct ftl_queue_node best = {.cost = UINT64_MAX};
    for (uint32_t i = 0; i < ftl->config.choices; i++) {
        uint64_t random = prng_next(&ftl->random) >> 32;
        const struct ftl_queue_node *drawn = &queue->nodes[random * queue->count >> 32];
        if (drawn->cost < best.cost || (drawn->cost == best.cost && drawn->age < best.age)) {
            best = *drawn;
        }
    }
    return best.cost < ftl->superblock_units ? best.superblock : ftl_queue_first(queue);
}

static struct ftl_frontier *gc_frontier(struct ftl *ftl, uint32_t handle) {
    switch (ftl->config.gc_frontier) {
    case FTL_GC_MIXED: return &ftl->host[handle];
    case FTL_GC_SHARED: return &ftl->gc[0];
    case FTL_GC_OWN: break;
    }
    return &ftl->gc[handle];
}

static void move_piece(struct ftl *ftl, const struct ftl_piece *piece, uint32_t stream) {
    struct ftl_superblock *victim = &ftl->superblocks[piece->superblock];
    struct ftl_frontier *frontier = gc_frontier(ftl, victim->handle);
    struct ftl_piece rest = *piece;
    while (rest.units > 0) {
        if (frontier->superblock == FTL_NONE) {
            ftl_open_superblock(ftl, frontier, victim->handle);
        }
        uint64_t moved = ftl_append(ftl, frontier, &rest, stream);
        victim->valid_units -= moved;
        rest.first_unit += moved;
        rest.units -= moved;
    }
    ftl->stats.gc_units += piece->units;
    ftl->streams[stream].gc_units += piece->units;
}

static void note_stream(struct ftl *ftl, uint32_t stream, bool valid) {
    struct ftl_stream *noted = &ftl->streams[stream];
    uint64_t victim = ftl->stats.victims;
    if (noted->seen_in != victim) {
        noted->seen_in = victim;
        ftl->stats.victim_streams_written++;
    }
    if (valid && noted->valid_in != victim) {
        noted->valid_in = victim;
        ftl->stats.victim_streams_valid++;
    }
}

static void move_entry(struct ftl *ftl, uint32_t victim, const struct ftl_entry *entry) {
    uint64_t first = ftl_entry_first(entry), end = first + entry->units;
    struct ftl_piece piece;
    bool valid = false;
    while (ftl_map_next(&ftl->map, first, end, &piece)) {
        first = piece.first_unit + piece.units;
        if (piece.superblock == victim) {
            move_piece(ftl, &piece, entry->stream);
            valid = true;
        }
    }
    note_stream(ftl, entry->stream, valid);
}

static void collect_one(struct ftl *ftl) {
    bool drawn = ftl->config.victims == FTL_VICTIMS_D_CHOICES;
    uint32_t victim = drawn ? best_drawn(ftl) : ftl_queue_first(&ftl->queue);
    ftl_queue_remove(&ftl->queue, victim);
    ftl->stats.victims++;
    uint64_t mapped = ftl->map.mapped_units;
    const struct ftl_chunk *chunk = ftl->superblocks[victim].log.oldest;
    for (; chunk != NULL; chunk = chunk->next) {
        for (uint32_t i = 0; i < chunk->count; i++) {
            move_entry(ftl, victim, &chunk->entries[i]);
        }
    }
    /* Conservation: all that was valid has moved (or ftl_erase would object), nothing came to it.
     */
    CHECK(ftl->map.mapped_units == mapped);
    ftl_erase(ftl, victim);
}

enum status ftl_collect(struct ftl *ftl, struct error *err) {
    while (ftl->free_count <= ftl->config.gc_low) {
        enum status status = ftl_within_memory(ftl, err);
        if (status != OK) {
            return status;
        }
        collect_one(ftl);
    }
    return OK;
}
