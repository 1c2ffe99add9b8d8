#include "cli/drain.h"

#include "base/units.h"
#include "cli/resume.h"
#include "sim/job/tier_copy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { MOST_RANKS_UNASKED = 8 };

enum status drain_check_settings(const struct spec *spec, struct error *err) {
    const struct retention *keep = &spec->job.drain_keep;
    bool wanted = spec->job.mode == JOB_TIERED;
    if (wanted && spec->drain_to == NULL) {
        return error_set(err, ERR_USAGE, "--mode: tiered needs --drain-to, the folder that checkpoints "
                                         "are copied to");
    }
    if (spec->drain_to == NULL && (spec->job.drain_ranks > 0 || keep->last > 0 || keep->every > 0)) {
        return error_set(err, ERR_USAGE, "%s: there is no second folder (--drain-to)",
                         spec->job.drain_ranks > 0 ? "--drain-ranks"
                         : keep->last > 0          ? "--drain-keep-last"
                                                   : "--drain-keep-every");
    }
    if (spec->drain_to == NULL) {
        return OK;
    }
    if (spec->job.mode == JOB_SYNC) {
        return error_set(err, ERR_USAGE, "--drain-to: with --mode sync nothing is copied; tiered or async "
                                         "is allowed");
    }
    if (spec->dir == NULL && spec->drives == NULL) {
        return error_set(err, ERR_USAGE, "--drain-to: without --dir there is nothing to copy");
    }
    if (spec->commit != COMMIT_MANIFEST) {
        return error_set(err, ERR_USAGE, "--drain-to: only complete checkpoints are copied, and without "
                                         "a manifest (--commit none) none is");
    }
    if (keep->last == 0 && keep->every > 0) {
        return error_set(err, ERR_USAGE, "--drain-keep-every: goes with --drain-keep-last alone, which "
                                         "says how many others stay");
    }
    if (keep->last > 0 && spec->job.checkpoints_per_pass == 0) {
        return error_set(err, ERR_USAGE, "--drain-keep-last: --checkpoints-per-pass has to say when a pass "
                                         "ends");
    }
    return OK;
}

static enum status check_folder(const struct spec *spec, struct stat *info, struct error *err) {
    struct stat first;
    const char *dir = spec->drain_to;
    if (stat(dir, info) != 0) {
        return error_set(err, ERR_USAGE, "--drain-to: cannot open '%s': %s; an existing folder is needed",
                         dir, error_words(errno));
    }
    if (!S_ISDIR(info->st_mode)) {
        return error_set(err, ERR_USAGE, "--drain-to: '%s' is not a folder", dir);
    }
    if (access(dir, W_OK | X_OK) != 0) {
        return error_set(err, ERR_USAGE, "--drain-to: cannot write to '%s': %s", dir,
                         error_words(errno));
    }
    if (stat(spec->dir, &first) == 0 && first.st_dev == info->st_dev && first.st_ino == info->st_ino) {
        return error_set(err, ERR_USAGE, "--drain-to: '%s' is the folder of --dir; another one is needed",
                         dir);
    }
    return OK;
}

static bool is_system_disk(const struct stat *info) {
    struct stat root, here;
    return (stat("/", &root) == 0 && root.st_dev == info->st_dev) ||
           (stat(".", &here) == 0 && here.st_dev == info->st_dev);
}

/* One checkpoint has to fit; on the system disk all that are there at once, and a twentieth stays free. */
static enum status check_room(const struct spec *spec, const struct shards *shards,
                              const struct stat *info, uint64_t checkpoints, struct error *err) {
    struct statvfs space;
    if (statvfs(spec->drain_to, &space) != 0) {
        return error_set(err, ERR_USAGE, "--drain-to: cannot look at '%s': %s", spec->drain_to,
                         error_words(errno));
    }
    uint64_t room = (uint64_t)space.f_bavail * space.f_frsize, count = 1, need;
    if (is_system_disk(info) && !spec->fill_system_disk) {
        uint64_t stays = (uint64_t)space.f_blocks * space.f_frsize / 20;
        room -= stays < room ? stays : room;
        count = retention_most(&spec->job.drain_keep, checkpoints);
    }
    if (__builtin_mul_overflow(count, fill_checkpoint_bytes(shards), &need)) {
        need = UINT64_MAX;
    }
    if (need <= room) {
        return OK;
    }
    char needed[UNITS_TEXT], have[UNITS_TEXT];
    return error_set(err, ERR_USAGE,
                     "--drain-to: '%s' is too small: %llu checkpoint%s %s and %s may be used%s",
                     spec->drain_to, (unsigned long long)count, count > 1 ? "s take" : " takes",
                     units_gb(need, needed), units_gb(room, have),
                     count > 1 ? " of the system disk; --drain-keep-last bounds it" : "");
}

void drain_choose_ranks(struct spec *spec, const struct shards *shards) {
    if (spec->job.drain_ranks == 0) {
        spec->job.drain_ranks = shards->ranks < MOST_RANKS_UNASKED ? shards->ranks : MOST_RANKS_UNASKED;
    }
    uint32_t ranks = shards->ranks + (uint32_t)spec->job.drain_ranks;
    spec->io.ranks = ranks > spec->io.ranks ? ranks : spec->io.ranks;
}

enum status drain_check(struct spec *spec, const struct shards *shards, uint64_t checkpoints,
                        bool resumed, struct error *err) {
    struct stat info;
    if (drain_check_settings(spec, err) != OK) {
        return err->status;
    }
    if (spec->drain_to == NULL) {
        return OK;
    }
    if (check_folder(spec, &info, err) != OK ||
        (!resumed && check_room(spec, shards, &info, checkpoints, err) != OK)) {
        return err->status;
    }
    drain_choose_ranks(spec, shards);
    return OK;
}

uint64_t drain_memory_bytes(const struct spec *spec) {
    return spec->job.drain_ranks * spec->io.queue_depth * spec->io.chunk_bytes;
}

/* What is said of --dir by those who open folders is said of this one. */
static enum status own_words(struct error *err) {
    char text[sizeof err->text];
    static const char other[] = "--dir: ";
    snprintf(text, sizeof text, "%s", err->text);
    const char *at = strncmp(text, other, strlen(other)) == 0 ? text + strlen(other) : text;
    return error_set(err, err->status, "--drain-to: %s", at);
}

enum status drain_open(struct drain *drain, struct spec *spec, const char *run_id,
                       const struct journal_content *earlier, struct arena *arena,
                       struct error *err) {
    *drain = (struct drain){0};
    if (spec->drain_to == NULL) {
        return OK;
    }
    uint32_t ranks = (uint32_t)spec->job.drain_ranks;
    if (buffer_open(&drain->pool, ranks, spec->io.queue_depth, spec->io.chunk_bytes, err) != OK) {
        return error_wrap(err, "--drain-ranks");
    }
    enum status status = earlier != NULL
                             ? resume_folder(spec, spec->drain_to, earlier, arena, &drain->folder, err)
                             : folder_create(spec->drain_to, run_id, arena, &drain->folder, err);
    if (status != OK) {
        buffer_close(&drain->pool);
        return own_words(err);
    }
    drain->opened = true;
    spec->io.second_folder = &drain->folder;
    return OK;
}

void drain_close(struct drain *drain) {
    if (drain->opened) {
        folder_close(&drain->folder);
    }
    drain->opened = false;
    buffer_close(&drain->pool);
}

void drain_remove(struct drain *drain) {
    if (drain->opened) {
        const char *path = drain->folder.path;
        int error = folder_remove_self(&drain->folder);
        if (error != 0) {
            printf("%s stays: %s\n", path, error == ENOTEMPTY
                                               ? "it holds files that this run did not write, or could "
                                                 "not remove"
                                               : error_words(error));
        }
    }
    drain->opened = false;
    buffer_close(&drain->pool);
}
