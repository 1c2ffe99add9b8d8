#include "cli/strategy.h"

#include "base/units.h"
#include "io/memory_limit.h"

#include <string.h>

enum { MEMORY_PART = 4 }; /* of what is available, if nothing is asked for */

const char *strategy_name(const struct spec *spec) {
    static const char *const names[] = {[JOB_SYNC] = "sync", [JOB_ASYNC] = "async",
                                        [JOB_TIERED] = "tiered"};
    return names[spec->job.mode];
}

/* Whether some rule begins so. */
static bool has_fault(const struct spec *spec, const char *begin) {
    const char *rule = spec->io.faults;
    while (rule != NULL && strncmp(rule, begin, strlen(begin)) != 0) {
        rule = strchr(rule, ',');
        rule = rule != NULL ? rule + 1 : NULL;
    }
    return rule != NULL;
}

static enum status check_settings(const struct spec *spec, struct error *err) {
    if (spec->job.mode != JOB_ASYNC && spec->job.snapshot_bytes > 0) {
        return error_set(err, ERR_USAGE, "--snapshot-memory: only --mode async copies into memory");
    }
    if (spec->job.mode != JOB_ASYNC && has_fault(spec, "copy:")) {
        return error_set(err, ERR_USAGE, "--faults: 'copy': only --mode async copies into memory");
    }
    if (spec->drain_to == NULL && has_fault(spec, "drain-")) {
        return error_set(err, ERR_USAGE, "--faults: 'drain-...' is about --drain-to, which is not given");
    }
    return OK;
}

static enum status check_retention(const struct spec *spec, struct error *err) {
    const struct retention *keep = &spec->job.keep;
    if (keep->last == 0 && keep->every > 0) {
        return error_set(err, ERR_USAGE, "--keep-every: goes with --keep-last alone, which says how many "
                                         "others stay");
    }
    if (keep->last > 0 && spec->job.checkpoints_per_pass == 0) {
        return error_set(err, ERR_USAGE, "--keep-last: the drive never fills; --checkpoints-per-pass has "
                                         "to say when a pass ends");
    }
    if (keep->last > 0 && spec->commit != COMMIT_MANIFEST) {
        return error_set(err, ERR_USAGE, "--keep-last: only complete checkpoints are removed, and without "
                                         "a manifest (--commit none) none is");
    }
    return OK;
}

static enum status check_available(uint64_t bytes, struct error *err) {
    uint64_t available = memory_limit_available();
    char need[UNITS_TEXT], have[UNITS_TEXT];
    if (bytes <= available) {
        return OK;
    }
    return error_set(err, ERR_USAGE, "--snapshot-memory: %s are more than the %s that are available",
                     units_gib(bytes, need), units_gib(available, have));
}

/* A simulated run takes no memory for it: unless bounded, a whole checkpoint finds room. */
static uint64_t default_limit(bool simulated) {
    return simulated ? UINT64_MAX : memory_limit_available() / MEMORY_PART;
}

enum status strategy_plan(struct spec *spec, const struct shards *shards, bool simulated,
                          struct strategy *strategy, struct error *err) {
    *strategy = (struct strategy){0};
    if (check_settings(spec, err) != OK || check_retention(spec, err) != OK) {
        return err->status;
    }
    spec->io.copies = spec->job.mode == JOB_ASYNC;
    spec->io.memory_given = spec->io.copies && spec->read == 0; /* restores need buffers */
    if (spec->job.mode != JOB_ASYNC) {
        return OK;
    }
    uint64_t given = spec->job.snapshot_bytes;
    enum status status = snapshot_plan(shards, spec->io.chunk_bytes,
                                       given > 0 ? given : default_limit(simulated),
                                       &strategy->snapshot, err);
    if (status == OK && !simulated) {
        status = check_available(strategy_memory_bytes(strategy), err);
    }
    return status;
}

uint64_t strategy_memory_bytes(const struct strategy *strategy) {
    return strategy->snapshot.buffers * strategy->snapshot.chunk_bytes;
}

enum status strategy_open(struct strategy *strategy, struct error *err) {
    uint64_t count = strategy->snapshot.buffers;
    if (count == 0) {
        return OK;
    }
    if (buffer_open(&strategy->pool, 1, count, strategy->snapshot.chunk_bytes, err) != OK) {
        return check_available(UINT64_MAX, err); /* it was there a moment ago */
    }
    return OK;
}

void strategy_close(struct strategy *strategy) { buffer_close(&strategy->pool); }
