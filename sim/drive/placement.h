#ifndef CKPTSIM_SIM_DRIVE_PLACEMENT_H
#define CKPTSIM_SIM_DRIVE_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

/* Where a file system puts the bytes of files: the addresses that a drive sees. Space alone, no time.
 * A policy chooses the free extent for the next bytes of a file; the free space is kept in regions
 * (XFS: allocation groups), each a short sorted list, so that the cost grows with extents.
 *
 *   ext4       behind the file's own last byte if that is free; else a new file in any free extent, each
 *              as likely as the next (mballoc's optimized scan takes groups by the size of their free
 *              extents, not by address), and a blocked one at the moving goal that all files share, if
 *              something is free within four groups of it, else in any free extent
 *   xfs        behind the file's own last byte, else in the file's allocation group the free extent
 *              nearest its start that holds the whole request; the file's folder chooses the group
 *   next-fit   at one moving goal, always
 *   first-fit  at the lowest free address, always
 *
 * On an empty file system next-fit and first-fit fill from the start; ext4 begins in any region, XFS at
 * the start of the folder's group. Sources:
 * fs/ext4/mballoc.c (mb_optimize_scan, mb_max_linear_groups, s_mb_last_group),
 * fs/xfs/libxfs/xfs_alloc.c (allocation near a block) of Linux; simplified as said above. */

enum placement_policy { PLACEMENT_EXT4, PLACEMENT_XFS, PLACEMENT_NEXT_FIT, PLACEMENT_FIRST_FIT };

struct placement_extent {
    uint64_t start_bytes, length_bytes;
};

struct placement_file {
    struct placement_extent *extents; /* in file order */
    uint32_t count, capacity;
    uint64_t length_bytes;
    uint32_t group;                   /* xfs: number of its folder, which chooses the group */
};

struct placement;

/* Freed space can be used again commit_ns after it was freed, when the file system's journal has been
 * written; sooner if there is no other room. */
struct placement *placement_open(enum placement_policy policy, uint64_t total_bytes,
                                 uint64_t commit_ns, uint64_t seed);
void placement_close(struct placement *placement);

/* Appends length_bytes to the file. False, with nothing changed, where less is free. */
bool placement_append(struct placement *placement, struct placement_file *file,
                      uint64_t length_bytes);

/* Frees everything the file has; the extents stay readable until the next append. */
void placement_truncate(struct placement *placement, struct placement_file *file, uint64_t now_ns);

/* Makes usable what was freed at least commit_ns before now_ns. */
void placement_commit(struct placement *placement, uint64_t now_ns);

void placement_file_fini(struct placement_file *file);

uint64_t placement_free_bytes(const struct placement *placement);
uint64_t placement_total_bytes(const struct placement *placement);
void placement_each_free(const struct placement *placement,
                         void (*visit)(void *context, struct placement_extent extent),
                         void *context);
const char *placement_policy_name(enum placement_policy policy);
/* Free extents, for tests and cost. */
uint64_t placement_free_extents(const struct placement *placement);

#endif
