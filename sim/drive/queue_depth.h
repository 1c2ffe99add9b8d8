#ifndef CKPTSIM_SIM_DRIVE_QUEUE_DEPTH_H
#define CKPTSIM_SIM_DRIVE_QUEUE_DEPTH_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Small requests against a drive, event by event: so many jobs each keep so many requests under
 * way, and what comes of it is a rate, a distribution of latency and the name of what limits both.
 *
 *   read    job's CPU ──> controller ──(delay)──> planes of dies ──> channel ──> link out
 *   write   job's CPU ──> link in ──> controller ──(delay)──> write buffer: done
 *           write buffer ──(unit's rest read)──> programming ──> die;  copies likewise
 *
 * A write is done when the power-protected buffer has it, and waits for room there. The buffer
 * drains one program of a die at a time; for every byte drained garbage collection copies some
 * more, and both share the programming rate and the dies. How much it copies is given: where data
 * lies is the affair of page_ftl.h and write_amplification.h. Transfers of programs over the
 * channels fill gaps between reads and are not followed.
 *
 * Time is in picoseconds: a command takes some 300 ns, of which whole nanoseconds would lose a part
 * in a thousand. */

enum queue_service {
    QUEUE_DETERMINISTIC,
    QUEUE_EXPONENTIAL, /* every station's time is drawn anew; delays stay */
};

enum queue_station {
    QUEUE_HOST, /* the jobs' CPUs */
    QUEUE_LINK_IN,
    QUEUE_CONTROLLER,
    QUEUE_BUFFER,      /* its mean filling; it limits nothing itself */
    QUEUE_PROGRAMMING, /* the rate that host and garbage collection share */
    QUEUE_DIES,
    QUEUE_CHANNELS,
    QUEUE_LINK_OUT,
    QUEUE_STATIONS,
};

/* A rate or a time of 0 is no limit, unless it says otherwise. */
struct queue_drive {
    uint64_t link_bytes_per_s;              /* each direction */
    uint64_t command_ps, read_bytes_per_s;  /* controller: the slower counts, they overlap */
    uint64_t read_delay_ps, write_delay_ps; /* occupy nothing */
    uint32_t dies, planes;                  /* planes of a die read each for itself */
    uint32_t channels;                      /* 0: no limit; die i is on channel i mod channels */
    uint64_t channel_bytes_per_s;
    uint64_t page_bytes, read_ps;       /* of one plane */
    uint64_t program_bytes, program_ps; /* one die, all planes */
    uint64_t erase_ps;                  /* once in programs_per_erase programs */
    uint32_t programs_per_erase;        /* 0: never */
    uint64_t program_bytes_per_s;       /* all dies together */
    uint64_t buffer_bytes;
    uint32_t unit_bytes;            /* what is less than a unit is read, then programmed */
    uint64_t copied_millionths;     /* bytes copied per byte drained: amplification - 1 */
    uint64_t copy_pages_millionths; /* pages read per unit copied */
    uint64_t suspend_ps;            /* a program makes way for a host's read; 0: never ... */
    uint32_t suspends_max;          /* ... and so often */
};

struct queue_depth_config {
    struct queue_drive drive;
    uint32_t jobs, depth;
    uint64_t block_bytes;
    uint32_t write_permille; /* of the requests; the rest are reads */
    bool sequential;         /* reads go from page to page, writes leave no unit in part */
    uint64_t host_ps;        /* a job's own CPU takes this per request */
    enum queue_service service;
    uint64_t requests; /* measured; as many more as it takes to reach a steady state go before */
    uint64_t seed;
};

struct queue_latency {
    uint64_t count, mean_ns, p50_ns, p90_ns, p99_ns, p99_9_ns, p99_99_ns, max_ns;
};

struct queue_depth_result {
    uint64_t requests, elapsed_ps;
    uint64_t iops, bytes_per_s;
    struct queue_latency reads, writes;
    /* Time that requests spent between begin and end of the measuring, all together: always
     * jobs x depth x elapsed_ps, which is Little's law. */
    uint64_t residence_ps;
    uint32_t utilization_permille[QUEUE_STATIONS];
    enum queue_station bottleneck; /* the highest utilization; the buffer does not count */
    uint64_t events;
};

/* Same configuration, same result, to the last digit. */
enum status queue_depth_run(const struct queue_depth_config *config,
                            struct queue_depth_result *result, struct error *err);

const char *queue_station_name(enum queue_station station);

#endif
