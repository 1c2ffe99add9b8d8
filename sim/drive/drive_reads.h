#ifndef CKPTSIM_SIM_DRIVE_DRIVE_READS_H
#define CKPTSIM_SIM_DRIVE_DRIVE_READS_H

#include "sim/drive/drive_engine.h"
#include "sim/drive/rank_transfers.h"
#include "sim/drive/station_share.h"

/* Reads of ranks: never from a page cache, in large pieces. Bytes flow through all stations at
 * once, so the slowest of them, or the host, sets the pace; a read comes back a latency after its
 * last byte has moved, and meanwhile its rank's next one flows. One read at a time thus waits for
 * the latency each time, and two are enough to hide it. */

struct drive_reads {
    const struct drive_engine_config *config;
    struct rank_transfers transfers;
    struct io_request *due_first,
        *due_last;         /* moved; they come back at their end_ns, which rises */
    uint64_t bytes;        /* moved */
    uint64_t host_busy_ns; /* while the host set the pace */
};

void drive_reads_init(struct drive_reads *reads, const struct drive_engine_config *config);
void drive_reads_fini(struct drive_reads *reads);

/* The request's done_bytes say how much is there to be read, which is more than nothing. */
void drive_reads_add(struct drive_reads *reads, struct io_request *request, uint64_t now_ns);

/* Sets how fast reads flow beside writing that takes these parts of the stations when alone; gives
 * back the speed that is left to writing. */
uint64_t drive_reads_share(struct drive_reads *reads, const struct station_use *writing);

/* Time until the next read has moved or comes back; UINT64_MAX where none does. */
uint64_t drive_reads_next_ns(const struct drive_reads *reads, uint64_t now_ns);
void drive_reads_advance(struct drive_reads *reads, uint64_t ns);
/* A read that comes back; NULL where there is none. */
struct io_request *drive_reads_take_done(struct drive_reads *reads, uint64_t now_ns);

/* Sets what is of reads. */
void drive_reads_stats(const struct drive_reads *reads, struct drive_stats *stats);

#endif
