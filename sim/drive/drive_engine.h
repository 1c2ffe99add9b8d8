#ifndef CKPTSIM_SIM_DRIVE_DRIVE_ENGINE_H
#define CKPTSIM_SIM_DRIVE_DRIVE_ENGINE_H

#include "base/error.h"
#include "io/engine.h"
#include "sim/drive/ftl.h"
#include "sim/drive/placement.h"

#include <stdint.h>

/* A simulated drive behind the engine contract, in virtual time. What a request passes through:
 *
 *   write  rank ──(host: its own rate)──> page cache or request ──(write-back, rank by rank)──>
 *          placement ──> link ──> controller ──> FTL and NAND (host, unit and GC bytes share the
 *          program rate)
 *   read   NAND ──> controller ──> link ──(host: its own rate)──> rank
 *   copy   rank ──(host: its own rate)──> host memory
 *
 * Buffered, a write is done when the page cache has it, and ranks are slowed to what the drive takes
 * once dirty_limit_bytes wait; otherwise it is done when the drive has it. The drive takes one piece
 * of one rank after another; a piece goes into the FTL as a whole, so that how ranks mix in a
 * superblock follows from the pieces. Everything is decided by the configuration and its seed.
 *
 * Reads flow side by side and share controller and NAND with writing (station_share.h). They never
 * come from the page cache, so IO_COLD has nothing to do and costs nothing; what is not written back
 * yet reads as if it were. A copy only takes time. Writes, reads and copies of a rank go on beside each
 * other: those of one kind begin in the order they were submitted. */

enum drive_discard { DRIVE_DISCARD_NONE, DRIVE_DISCARD_DELETE, DRIVE_DISCARD_FSTRIM };

/* How fast each station is. */
struct drive_rates {
    uint64_t link_bytes_per_s;
    uint64_t controller_bytes_per_s; /* sequential writes as the data sheet has them */
    uint64_t program_bytes_per_s;    /* NAND: host and garbage collection together */
    /* The same while garbage collection copies and so many streams are written at once: indexed by
     * their number, 1 .. ranks; never above program_bytes_per_s. */
    const uint64_t *mixed_program_bytes_per_s;
    uint64_t read_bytes_per_s;       /* controller: sequential reads as the data sheet has them */
    uint64_t nand_read_bytes_per_s;  /* all dies reading */
    uint64_t read_latency_ns;        /* of a read, beside what its bytes take */
    uint64_t idle_mw, active_mw;     /* active: while the NAND programs or the controller reads */
};

/* What the machine and its processes can deliver. Writing, reading and copying do not share. */
struct drive_host {
    uint64_t rank_new_bytes_per_s, rank_reused_bytes_per_s; /* of one rank; UINT64_MAX: no limit */
    uint64_t total_bytes_per_s;                             /* of all; UINT64_MAX: no limit */
    uint64_t rank_read_bytes_per_s, total_read_bytes_per_s; /* likewise */
    uint64_t rank_copy_bytes_per_s, total_copy_bytes_per_s; /* into host memory */
    uint64_t dirty_limit_bytes; /* page cache: writers wait beyond this; buffered only */
    uint64_t write_back_bytes;  /* of one file in a row; 0: half a second of what the drive takes */
};

struct drive_engine_config {
    uint64_t capacity_bytes; /* of the file system */
    struct ftl_config ftl;
    struct drive_rates rates;
    struct drive_host host;
    enum placement_policy placement;
    enum drive_discard discard;
    uint64_t commit_ns; /* of the file system's journal: freed space is used again after it */
    bool buffered;           /* through the page cache */
    bool used_before;        /* every address was written once, in order, and never discarded */
    uint32_t ranks;
    uint32_t readers; /* ranks that read, where there are more of these than write; 0: as many */
    uint64_t seed;
};

/* The stations that a byte passes, for utilization and the bottleneck's name. */
enum drive_station {
    DRIVE_STATION_HOST,
    DRIVE_STATION_LINK,
    DRIVE_STATION_CONTROLLER,
    DRIVE_STATION_NAND,
    DRIVE_STATIONS,
};

/* Since the engine was opened. */
struct drive_stats {
    uint64_t now_ns;
    uint64_t busy_ns[DRIVE_STATIONS];
    uint64_t host_bytes;  /* that the host sent */
    uint64_t unit_bytes;  /* programmed for them, whole units */
    uint64_t gc_bytes;    /* moved by garbage collection */
    uint64_t nand_ns_for_gc;
    uint64_t read_bytes;  /* that the host read */
    /* For them. The link has a direction of its own for reads; at controller and NAND this and busy_ns
     * together are no more than the time that passed, but for what the NAND is still behind. */
    uint64_t read_busy_ns[DRIVE_STATIONS];
    uint64_t copy_bytes;  /* that ranks copied into host memory */
    uint64_t energy_mj;
    struct ftl_stats ftl;
    struct ftl_wear wear;
};

enum status drive_engine_open(const struct drive_engine_config *config, struct engine **engine,
                              struct error *err);

void drive_engine_stats(struct engine *engine, struct drive_stats *stats);

/* Why the simulation could not go on: its state outgrew the memory limit. From then on all writes
 * fail with ENOMEM. OK where it went on. */
enum status drive_engine_failure(struct engine *engine, struct error *err);

/* Tells the drive of all free space, as fstrim does once the journal is written; takes no time. */
void drive_engine_trim_free(struct engine *engine);

const char *drive_discard_name(enum drive_discard discard);
const char *drive_station_name(enum drive_station station);

/* For two drives in one time (two_drives.h): how long until something happens in this one, by itself; 0:
 * a completion is ready; UINT64_MAX: never. And lets so much time pass, at most that long. */
uint64_t drive_engine_next_ns(struct engine *engine);
void drive_engine_pass(struct engine *engine, uint64_t ns);

#endif
