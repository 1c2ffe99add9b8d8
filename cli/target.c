#include "cli/target.h"

#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* What is left free on a system disk however the run is bounded: a twentieth, at most 10 GiB. */
#define SYSTEM_RESERVE_BYTES (UINT64_C(10) << 30)
enum { SYSTEM_RESERVE_PART = 20 };

static enum status look_at_dir(const char *dir, struct target *target, struct error *err) {
    struct stat info, root, here;
    if (stat(dir, &info) != 0) {
        return error_set(err, ERR_USAGE,
                         "--dir: cannot open '%s': %s; an existing folder on the drive is needed",
                         dir, error_words(errno));
    }
    if (!S_ISDIR(info.st_mode)) {
        return error_set(err, ERR_USAGE,
                         "--dir: '%s' is not a folder; an existing folder on the drive is needed%s",
                         dir, S_ISBLK(info.st_mode) ? " (mount the device and name its mount point)"
                                                    : "");
    }
    if (access(dir, W_OK | X_OK) != 0) {
        return error_set(err, ERR_USAGE, "--dir: cannot write to '%s': %s", dir, error_words(errno));
    }
    struct statvfs space;
    if (statvfs(dir, &space) != 0) {
        return error_set(err, ERR_USAGE, "--dir: cannot look at '%s': %s", dir, error_words(errno));
    }
    target->free_bytes = (uint64_t)space.f_bavail * space.f_frsize;
    target->total_bytes = (uint64_t)space.f_blocks * space.f_frsize;
    target->system_disk = (stat("/", &root) == 0 && root.st_dev == info.st_dev) ||
                          (stat(".", &here) == 0 && here.st_dev == info.st_dev);
    return OK;
}

/* A run on the system disk has to be bounded by the user's own word. */
static enum status guard_system_disk(struct spec *spec, const struct target *target,
                                     struct error *err) {
    if (!target->system_disk || spec->fill_system_disk) {
        return OK;
    }
    if (spec->job.fill.max_bytes == 0 && spec->job.checkpoints_per_pass == 0) {
        return error_set(err, ERR_USAGE,
                         "--dir: '%s' is on the file system that holds / or the current directory, "
                         "and filling that is refused; bound the run by --max-bytes SIZE or "
                         "--checkpoints-per-pass N, or say --fill-system-disk",
                         spec->dir);
    }
    uint64_t floor_bytes = target->total_bytes / SYSTEM_RESERVE_PART;
    floor_bytes = floor_bytes < SYSTEM_RESERVE_BYTES ? floor_bytes : SYSTEM_RESERVE_BYTES;
    if (spec->job.fill.reserve_bytes < floor_bytes) {
        spec->job.fill.reserve_bytes = floor_bytes;
    }
    return OK;
}

double target_scale(const struct shards *shards, uint64_t room) {
    static const double digits[] = {5, 2, 1};
    /* Blocks and text files that every shard takes beside its bytes do not shrink. */
    double beside = (double)(fill_checkpoint_bytes(shards) - shards->most_bytes);
    double most = shards->plan->scale * ((double)room * 0.98 - beside) /
                  ((double)shards->most_bytes + 1);
    for (double power = 0.1; power > 1e-10; power /= 10) {
        for (size_t i = 0; i < sizeof digits / sizeof digits[0]; i++) {
            if (digits[i] * power <= most) {
                return digits[i] * power;
            }
        }
    }
    return 0;
}

static enum status too_small(const struct spec *spec, const struct shards *shards,
                             const struct target *target, struct error *err) {
    uint64_t room = fill_room(&spec->job.fill, target->free_bytes, target->total_bytes, 0);
    char need[UNITS_TEXT], have[UNITS_TEXT], use[80];
    double scale = target_scale(shards, room);
    if (scale > 0) {
        snprintf(use, sizeof use, "--scale %g would fit", scale);
    } else {
        snprintf(use, sizeof use, "no --scale would fit");
    }
    return error_set(err, ERR_USAGE,
                     "--dir: '%s' is too small: a checkpoint takes %s and %s may be used "
                     "(free space less --reserve, --fill and --max-bytes); %s",
                     spec->dir, units_gb(fill_checkpoint_bytes(shards), need), units_gb(room, have),
                     use);
}

enum status target_check(struct spec *spec, const struct shards *shards, bool resumed,
                         struct target *target, struct error *err) {
    *target = (struct target){0};
    if (look_at_dir(spec->dir, target, err) != OK || guard_system_disk(spec, target, err) != OK) {
        return err->status;
    }
    uint64_t free_bytes = target->free_bytes, total_bytes = target->total_bytes;
    if (spec->io.quota_bytes > 0 && spec->io.quota_bytes < free_bytes) {
        free_bytes = total_bytes = spec->io.quota_bytes;
    }
    target->checkpoints = job_checkpoints_that_fit(&spec->job, shards, free_bytes, total_bytes);
    if (target->checkpoints == 0 && !resumed) {
        target->free_bytes = free_bytes;
        target->total_bytes = total_bytes;
        return too_small(spec, shards, target, err);
    }
    return OK;
}
