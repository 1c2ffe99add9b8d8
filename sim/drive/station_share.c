#include "sim/drive/station_share.h"

#include "base/check.h"

static uint64_t divide_up(unsigned __int128 a, uint64_t b) { return (uint64_t)((a + b - 1) / b); }

uint64_t station_part(uint64_t work, uint64_t time) {
    if (work >= time) {
        return time > 0 ? STATION_WHOLE : 0;
    }
    return divide_up((unsigned __int128)work * STATION_WHOLE, time);
}

uint64_t station_read_rate(uint64_t bytes_per_s, uint64_t writing_part) {
    CHECK(writing_part <= STATION_WHOLE);
    uint64_t left = STATION_WHOLE - writing_part;
    uint64_t part = left > STATION_WHOLE / 2 ? left : STATION_WHOLE / 2;
    return (uint64_t)((unsigned __int128)bytes_per_s * part / STATION_WHOLE);
}

uint64_t station_writing_speed(uint64_t writing_part, uint64_t reading_part) {
    CHECK(reading_part <= STATION_WHOLE);
    uint64_t left = STATION_WHOLE - reading_part;
    if (writing_part <= left) {
        return STATION_WHOLE;
    }
    return (uint64_t)((unsigned __int128)left * STATION_WHOLE / writing_part);
}

uint64_t station_slowed_ns(uint64_t ns, uint64_t speed) {
    CHECK(speed > 0);
    return divide_up((unsigned __int128)ns * STATION_WHOLE, speed);
}

uint64_t station_done_ns(uint64_t ns, uint64_t speed) {
    return (uint64_t)((unsigned __int128)ns * speed / STATION_WHOLE);
}
