#ifndef CKPTSIM_SIM_DRIVE_STATION_SHARE_H
#define CKPTSIM_SIM_DRIVE_STATION_SHARE_H

#include <stdint.h>

/* Reading and writing at the same station. Each may have half of its time, and what one of them
 * does not need the other gets:
 *
 *   reading  at most max(1/2, 1 - w) of the station     w: the part that writing alone takes
 *   writing  at min(1, (1 - r) / w) of its own speed    r: the part that reading then takes
 *
 * So w x speed + r <= 1: a station never works longer than time passes. Neither goes faster than
 * alone, nor at less than half of that. A drive has several stations, and the one that leaves least
 * decides. Parts are counted in 2^-32 and rounded so that the sum stays below the whole. */

#define STATION_WHOLE (UINT64_C(1) << 32)

/* Of the stations that both use; the link has a direction for each. */
struct station_use {
    uint64_t controller, nand; /* parts of their time */
};

/* The part of a time that so much work takes, at most all of it; no time has no part. */
uint64_t station_part(uint64_t work, uint64_t time);

/* The most that reading gets of a station which moves so many bytes/s. */
uint64_t station_read_rate(uint64_t bytes_per_s, uint64_t writing_part);
uint64_t station_writing_speed(uint64_t writing_part, uint64_t reading_part);

/* How long work takes at a speed, rounded up, and what is done of it within a time, rounded down.
 * At full speed both are what they are given. */
uint64_t station_slowed_ns(uint64_t ns, uint64_t speed);
uint64_t station_done_ns(uint64_t ns, uint64_t speed);

#endif
