/* Binary heap with places. No linear scan: drives have up to 60,000 superblocks and more, and each
 * overwritten run changes the cost of one of them. */
#include "sim/drive/ftl_queue.h"

#include "base/check.h"
#include "base/memory.h"

#include <stdbool.h>
#include <string.h>

uint64_t ftl_queue_bytes(uint32_t superblocks) {
    return (uint64_t)superblocks * (sizeof(struct ftl_queue_node) + sizeof(uint32_t));
}

void ftl_queue_init(struct ftl_queue *queue, uint32_t superblocks) {
    queue->nodes = mem_new(superblocks, sizeof *queue->nodes);
    queue->places = mem_new(superblocks, sizeof *queue->places);
    queue->count = 0;
    memset(queue->places, 0xff, superblocks * sizeof *queue->places);
}

void ftl_queue_fini(struct ftl_queue *queue) {
    mem_free(queue->nodes);
    mem_free(queue->places);
    *queue = (struct ftl_queue){0};
}

static bool before(const struct ftl_queue_node *left, const struct ftl_queue_node *right) {
    return left->cost != right->cost ? left->cost < right->cost : left->age < right->age;
}

static void place(struct ftl_queue *queue, uint32_t at, const struct ftl_queue_node *node) {
    queue->nodes[at] = *node;
    queue->places[node->superblock] = at;
}

/* Puts node where it belongs, starting from the empty place at. */
static void settle(struct ftl_queue *queue, uint32_t at, const struct ftl_queue_node *node) {
    while (at > 0 && before(node, &queue->nodes[(at - 1) / 2])) {
        place(queue, at, &queue->nodes[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (uint32_t child = 2 * at + 1; child < queue->count; child = 2 * at + 1) {
        if (child + 1 < queue->count && before(&queue->nodes[child + 1], &queue->nodes[child])) {
            child++;
        }
        if (!before(&queue->nodes[child], node)) {
            break;
        }
        place(queue, at, &queue->nodes[child]);
        at = child;
    }
    place(queue, at, node);
}

void ftl_queue_put(struct ftl_queue *queue, const struct ftl_queue_node *node) {
    struct ftl_queue_node copy = *node;
    uint32_t at = queue->places[copy.superblock];
    if (at == FTL_QUEUE_OUT) {
        at = queue->count++;
        /* The new last place must not be read as a child before it holds something. */
        queue->nodes[at] = copy;
    }
    settle(queue, at, &copy);
}

void ftl_queue_remove(struct ftl_queue *queue, uint32_t superblock) {
    uint32_t at = queue->places[superblock];
    CHECK(at < queue->count);
    queue->places[superblock] = FTL_QUEUE_OUT;
    struct ftl_queue_node last = queue->nodes[--queue->count];
    if (at < queue->count) {
        settle(queue, at, &last);
    }
}

uint32_t ftl_queue_first(const struct ftl_queue *queue) {
    CHECK(queue->count > 0);
    return queue->nodes[0].superblock;
}
