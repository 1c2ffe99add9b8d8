#include "sim/job/tier.h"

#include "base/check.h"
#include "base/memory.h"

#include <string.h>

static void make_room(struct tier *tier, uint64_t slot) {
    if (slot < tier->slot_count) {
        return;
    }
    uint64_t count = slot * 2 + 16, added = count - tier->slot_count;
    tier->held = mem_resize(tier->held, count, sizeof *tier->held);
    tier->serials = mem_resize(tier->serials, count, sizeof *tier->serials);
    memset(tier->held + tier->slot_count, 0, added * sizeof *tier->held);
    memset(tier->serials + tier->slot_count, 0, added * sizeof *tier->serials);
    tier->slot_count = count;
}

bool tier_holds(const struct tier *tier, uint64_t slot) {
    return slot < tier->slot_count && tier->held[slot];
}

void tier_set_held(struct tier *tier, uint64_t slot, bool held) {
    make_room(tier, slot);
    tier->held_count += (uint64_t)held;
    tier->held_count -= (uint64_t)tier->held[slot];
    tier->held[slot] = held;
    if (!held) {
        tier->serials[slot] = 0;
    }
}

void tier_set_complete(struct tier *tier, uint64_t slot, uint64_t serial) {
    if (serial > 0) {
        CHECK(tier_holds(tier, slot));
        tier->serials[slot] = serial;
    } else if (slot < tier->slot_count) {
        tier->serials[slot] = 0;
    }
}

uint64_t tier_serial(const struct tier *tier, uint64_t slot) {
    return slot < tier->slot_count ? tier->serials[slot] : 0;
}

void tier_fini(struct tier *tier) {
    mem_free(tier->held);
    mem_free(tier->serials);
    tier->held = NULL;
    tier->serials = NULL;
    tier->slot_count = 0;
}
