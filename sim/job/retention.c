#include "sim/job/retention.h"

uint64_t retention_victim(const struct retention *keep, const uint64_t *serials, uint64_t slot_count,
                          uint64_t first_needed) {
    if (keep->last == 0) {
        return 0;
    }
    uint64_t victim = 0;
    for (uint64_t slot = 1; slot < slot_count; slot++) {
        bool kept = keep->every > 0 && slot % keep->every == 0;
        if (serials[slot] > 0 && serials[slot] < first_needed && !kept &&
            (victim == 0 || serials[slot] < serials[victim])) {
            victim = slot;
        }
    }
    uint64_t newer = 0;
    for (uint64_t slot = 1; victim > 0 && slot < slot_count; slot++) {
        newer += serials[slot] > serials[victim];
    }
    return newer >= keep->last ? victim : 0;
}

uint64_t retention_most(const struct retention *keep, uint64_t count) {
    if (keep->last == 0) {
        return count;
    }
    uint64_t kept = keep->every > 0 ? count / keep->every : 0, most;
    if (__builtin_add_overflow(keep->last, 1 + kept, &most) || most > count) {
        return count;
    }
    return most;
}
