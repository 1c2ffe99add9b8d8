#ifndef CKPTSIM_METRICS_DRIVE_PASS_H
#define CKPTSIM_METRICS_DRIVE_PASS_H

#include <stdint.h>

/* What one pass did to a simulated drive, beside the pass's timings. */

enum { DRIVE_PASS_STATIONS = 4 }; /* host, link, controller, nand: the order of `busy` */

struct drive_pass {
    uint32_t pass;
    uint64_t elapsed_ns;       /* of the whole pass, pauses included */
    uint64_t host_bytes;       /* the host sent */
    uint64_t unit_bytes;       /* programmed for them: whole indirection units */
    uint64_t gc_bytes;         /* copied by garbage collection */
    uint64_t free_superblocks; /* at the end */
    double cycles;             /* programmed bytes over raw bytes, since the drive was new */
    double endurance_used;     /* programmed bytes over those that the rating amounts to */
    double years_to_wear_out;  /* if the drive went on like this pass without a rest */
    double energy_joules;
    double busy[DRIVE_PASS_STATIONS]; /* share of the pass in which each station worked */
    const char *bottleneck;    /* the station that was busiest */
    const char *why;           /* one sentence: why it is slower or faster than the pass before */
};

/* The same per checkpoint, for plotting. */
struct drive_checkpoint {
    uint32_t pass, checkpoint;
    uint64_t host_bytes, unit_bytes, gc_bytes, free_superblocks;
};

struct drive_result {
    const char *name;          /* x200p-7.68tb */
    uint32_t pass_count;
    struct drive_pass *passes;
    uint64_t capacity_bytes;
    double rated_media_bytes;
};

#endif
