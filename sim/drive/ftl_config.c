/* Which drives can work. A drive needs room for all logical units, a superblock for every frontier
 * and the reserve, and one stale unit at least among the rest, or GC could find no victim that
 * gains anything. */
#include "sim/drive/ftl_private.h"

#include "base/check.h"

enum { UNIT_BYTES_MIN = 512, SUPERBLOCKS_MAX = 1 << 24, HANDLES_MAX = 4096 };

static uint64_t superblocks_of(const struct ftl_config *config) {
    return config->raw_bytes / config->superblock_bytes;
}

static uint64_t logical_units_of(const struct ftl_config *config) {
    return config->logical_bytes / config->unit_bytes +
           (config->logical_bytes % config->unit_bytes != 0);
}

static uint64_t frontiers_of(const struct ftl_config *config) {
    uint64_t gc = config->gc_frontier == FTL_GC_OWN      ? config->handles
                  : config->gc_frontier == FTL_GC_SHARED ? 1
                                                         : 0;
    return config->handles + gc;
}

static enum status check_sizes(const struct ftl_config *config, struct error *err) {
    if (config->unit_bytes < UNIT_BYTES_MIN) {
        return error_set(err, ERR_USAGE, "unit of %u bytes: at least %d are needed",
                         config->unit_bytes, UNIT_BYTES_MIN);
    }
    if (config->superblock_bytes < config->unit_bytes ||
        config->superblock_bytes % config->unit_bytes != 0 ||
        config->superblock_bytes / config->unit_bytes >= UINT32_MAX) {
        return error_set(err, ERR_USAGE,
                         "superblock of %llu bytes is not a whole number of units of %u bytes",
                         (unsigned long long)config->superblock_bytes, config->unit_bytes);
    }
    if (config->logical_bytes == 0 || config->raw_bytes <= config->logical_bytes) {
        return error_set(
            err, ERR_USAGE, "raw capacity of %llu bytes must exceed the logical one of %llu bytes",
            (unsigned long long)config->raw_bytes, (unsigned long long)config->logical_bytes);
    }
    if (logical_units_of(config) >= FTL_LOG_UNITS_MAX || superblocks_of(config) > SUPERBLOCKS_MAX) {
        return error_set(err, ERR_USAGE,
                         "drive of %llu bytes is too large for units of %u and superblocks of "
                         "%llu bytes",
                         (unsigned long long)config->raw_bytes, config->unit_bytes,
                         (unsigned long long)config->superblock_bytes);
    }
    return OK;
}

static enum status check_counts(const struct ftl_config *config, struct error *err) {
    if (config->handles == 0 || config->handles > HANDLES_MAX) {
        return error_set(err, ERR_USAGE, "%u placement handles: 1 to %d are possible",
                         config->handles, HANDLES_MAX);
    }
    if (config->streams == 0 || config->streams > FTL_LOG_STREAMS_MAX) {
        return error_set(err, ERR_USAGE, "%u streams: 1 to %d are possible", config->streams,
                         FTL_LOG_STREAMS_MAX);
    }
    if (config->gc_low == 0) {
        return error_set(err, ERR_USAGE, "garbage collection needs a superblock in reserve");
    }
    if (config->victims == FTL_VICTIMS_D_CHOICES && config->choices == 0) {
        return error_set(err, ERR_USAGE, "victims are chosen among 0 superblocks");
    }
    return OK;
}

static enum status check_room(const struct ftl_config *config, struct error *err) {
    uint64_t units = config->superblock_bytes / config->unit_bytes;
    uint64_t kept = frontiers_of(config) + config->gc_low;
    uint64_t data = logical_units_of(config) / units + 1;
    if (superblocks_of(config) < data + kept) {
        return error_set(err, ERR_USAGE,
                         "over-provisioning is too small: %llu superblocks, where %llu are needed "
                         "for data and %llu for open and reserved ones",
                         (unsigned long long)superblocks_of(config), (unsigned long long)data,
                         (unsigned long long)kept);
    }
    return OK;
}

uint64_t ftl_fixed_bytes(const struct ftl_config *config) {
    uint32_t superblocks = (uint32_t)superblocks_of(config);
    uint64_t each = sizeof(struct ftl_superblock) + sizeof(uint32_t);
    return superblocks * each + ftl_queue_bytes(superblocks) +
           ftl_map_bytes(logical_units_of(config)) +
           2 * config->handles * sizeof(struct ftl_frontier) +
           config->streams * sizeof(struct ftl_stream);
}

enum status ftl_config_check(const struct ftl_config *config, struct error *err) {
    enum status status = check_sizes(config, err);
    status = status == OK ? check_counts(config, err) : status;
    status = status == OK ? check_room(config, err) : status;
    if (status == OK && ftl_fixed_bytes(config) > config->memory_limit_bytes) {
        return error_set(err, ERR_USAGE, "state of the drive needs %llu bytes, %llu are allowed",
                         (unsigned long long)ftl_fixed_bytes(config),
                         (unsigned long long)config->memory_limit_bytes);
    }
    return status;
}
