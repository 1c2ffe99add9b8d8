#ifndef CKPTSIM_SIM_DRIVE_DRIVE_MEDIA_H
#define CKPTSIM_SIM_DRIVE_DRIVE_MEDIA_H

#include "sim/drive/drive_engine.h"
#include "sim/drive/drive_files.h"
#include "sim/drive/station_share.h"

/* What is behind the page cache: where the bytes of files go (file system, FTL) and how long the
 * stations of the drive take for them. It knows no request and no rank but the number it tags data
 * with. */

struct drive_media {
    const struct drive_engine_config *config;
    struct placement *placement;
    struct ftl *ftl;
    struct drive_stats stats;
    struct error error;          /* why a take failed: the memory limit */
    uint64_t promised_bytes;     /* to writers, not placed yet: whole blocks of every file's size */
    uint64_t nand_free_ns;       /* when the NAND has caught up with what it was given, on the clock
                                  * of writing: given_way_ns behind the time of day */
    uint64_t given_way_ns;       /* for so long writing stood still in favour of reading */
    struct station_use piece_use; /* of the latest piece, while it is served */
    uint64_t nand_lag_ns;        /* it may be behind by the reserve of free superblocks */
    uint64_t copied_until_bytes; /* host bytes up to which the last copying counts as going on */
};

enum status drive_media_open(const struct drive_engine_config *config, struct drive_media *media,
                             struct error *err);
void drive_media_close(struct drive_media *media);

/* The file will hold size_bytes at least: room is promised, as delayed allocation does. False, with
 * nothing changed, where there is none. */
bool drive_media_promise(struct drive_media *media, struct drive_file *file, uint64_t size_bytes);

/* Takes the next bytes of a file, which were promised, while `streams` ranks have something to write; ns is how long the
 * drive is busy with them. False where it cannot, and media->error says why. */
bool drive_media_take(struct drive_media *media, struct drive_file *file, uint32_t stream,
                      uint32_t streams, uint64_t bytes, uint64_t now_ns, uint64_t *ns);

/* What writing takes of the stations were it alone: the latest piece, or what the NAND is behind. */
struct station_use drive_media_use(const struct drive_media *media, bool serving, uint64_t now_ns);
/* How far the NAND is behind, on the clock of writing. */
uint64_t drive_media_backlog_ns(const struct drive_media *media, uint64_t now_ns);

/* The file holds nothing any more; the drive hears of it as --discard says. */
void drive_media_empty(struct drive_media *media, struct drive_file *file, uint64_t now_ns);

void drive_media_trim_free(struct drive_media *media);

/* Free bytes of the file system that are not promised yet. */
uint64_t drive_media_free_bytes(const struct drive_media *media);

/* Since the opening; now_ns completes the time. Energy, which reading takes too, comes after all. */
void drive_media_stats(const struct drive_media *media, uint64_t now_ns, struct drive_stats *stats);
uint64_t drive_media_energy_mj(const struct drive_media *media, const struct drive_stats *stats);

#endif
