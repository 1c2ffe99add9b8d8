#include "sim/drive/drive_media.h"

#include "base/check.h"
#include "base/units.h"
#include "sim/drive/flow.h"
#include "sim/drive/ftl_span.h"

enum { FS_BLOCK = 4096 };

/* The drive takes [start, start+length) of its address space. */
static bool write_extent(struct drive_media *media, struct drive_file *file, uint32_t stream,
                         uint64_t start, uint64_t length) {
    uint32_t unit_bytes = media->config->ftl.unit_bytes;
    struct ftl_span span = ftl_span(start, length, unit_bytes);
    if (span.units > 0 && span.first_unit == file->last_unit) {
        span.first_unit++; /* the write buffer still holds it: the neighbour fills it up */
        span.units--;
    }
    if (span.units == 0) {
        return true;
    }
    uint32_t handle = stream % media->config->ftl.handles;
    struct ftl_write write = {span.first_unit, span.units, handle, stream};
    file->last_unit = span.first_unit + span.units - 1;
    return ftl_write(media->ftl, &write, &media->error) == OK;
}

static uint64_t whole_blocks(uint64_t bytes) {
    return (bytes + FS_BLOCK - 1) / FS_BLOCK * FS_BLOCK;
}

/* The next bytes of a file, where its blocks lie. */
static bool write_placed(struct drive_media *media, struct drive_file *file, uint32_t stream,
                         uint64_t bytes) {
    while (bytes > 0) {
        struct placement_extent *extent = &file->placed.extents[file->cursor_extent];
        if (file->cursor_offset == extent->length_bytes) { /* not before: an append may grow it */
            file->cursor_extent++;
            file->cursor_offset = 0;
            continue;
        }
        uint64_t room = extent->length_bytes - file->cursor_offset;
        uint64_t length = room < bytes ? room : bytes;
        if (!write_extent(media, file, stream, extent->start_bytes + file->cursor_offset, length)) {
            return false;
        }
        file->cursor_offset += length;
        file->cursor_bytes += length;
        bytes -= length;
    }
    return true;
}

/* Writes the next bytes of a file, in place as far as it has blocks; further ones are placed first,
 * out of what was promised for the file. */
static bool take_bytes(struct drive_media *media, struct drive_file *file, uint32_t stream,
                       uint64_t bytes, uint64_t now_ns) {
    uint64_t needed = whole_blocks(file->cursor_bytes + bytes), has = file->placed.length_bytes;
    if (needed > has) {
        placement_commit(media->placement, now_ns);
        bool placed = placement_append(media->placement, &file->placed, needed - has);
        CHECK(placed); /* it was promised */
        CHECK(media->promised_bytes >= needed - has);
        media->promised_bytes -= needed - has;
    }
    return write_placed(media, file, stream, bytes);
}

/* What garbage collection copies for one superblock counts as going on until the next one is full:
 * a drive spreads it over that time. */
static uint64_t program_rate_now(struct drive_media *media, uint64_t gc_bytes, uint32_t streams) {
    if (gc_bytes > 0) {
        media->copied_until_bytes =
            media->stats.host_bytes + 2 * media->config->ftl.superblock_bytes;
    }
    if (media->stats.host_bytes >= media->copied_until_bytes) {
        return media->config->rates.program_bytes_per_s;
    }
    return media->config->rates.mixed_program_bytes_per_s[streams];
}

/* What a piece costs at each station; the slowest one sets the pace. Garbage collection comes in
 * lumps of a superblock, but a drive spreads it: the NAND may lag behind by its reserve. While a piece
 * is served the NAND counts as evenly busy with what it lags behind. */
static uint64_t service_ns(struct drive_media *media, uint32_t streams, uint64_t bytes,
                           uint64_t unit_bytes, uint64_t gc_bytes, uint64_t begun_ns) {
    uint64_t now_ns = begun_ns - media->given_way_ns;
    uint64_t program_rate = program_rate_now(media, gc_bytes, streams);
    const struct drive_rates *rates = &media->config->rates;
    struct drive_stats *stats = &media->stats;
    uint64_t link_ns = flow_time_ns(bytes, rates->link_bytes_per_s);
    uint64_t controller_ns = flow_time_ns(bytes, rates->controller_bytes_per_s);
    uint64_t gc_ns = flow_time_ns(gc_bytes, program_rate);
    uint64_t nand_ns = flow_time_ns(unit_bytes, program_rate) + gc_ns;
    stats->busy_ns[DRIVE_STATION_LINK] += link_ns;
    stats->busy_ns[DRIVE_STATION_CONTROLLER] += controller_ns;
    stats->busy_ns[DRIVE_STATION_NAND] += nand_ns;
    stats->nand_ns_for_gc += gc_ns;
    uint64_t ns = link_ns > controller_ns ? link_ns : controller_ns;
    uint64_t begin_ns = media->nand_free_ns > now_ns ? media->nand_free_ns : now_ns;
    media->nand_free_ns = begin_ns + nand_ns;
    uint64_t caught_up_ns =
        media->nand_free_ns > media->nand_lag_ns ? media->nand_free_ns - media->nand_lag_ns : 0;
    uint64_t wait_ns = caught_up_ns > now_ns ? caught_up_ns - now_ns : 0;
    ns = ns > wait_ns ? ns : wait_ns;
    media->piece_use = (struct station_use){
        .controller = station_part(controller_ns, ns),
        .nand = station_part(media->nand_free_ns - now_ns, ns),
    };
    return ns;
}

bool drive_media_take(struct drive_media *media, struct drive_file *file, uint32_t stream,
                      uint32_t streams, uint64_t bytes, uint64_t now_ns, uint64_t *ns) {
    struct ftl_stats before = ftl_stats(media->ftl);
    if (!take_bytes(media, file, stream, bytes, now_ns)) {
        return false;
    }
    struct ftl_stats after = ftl_stats(media->ftl);
    uint64_t unit = media->config->ftl.unit_bytes;
    uint64_t unit_bytes = (after.host_units - before.host_units) * unit;
    uint64_t gc_bytes = (after.gc_units - before.gc_units) * unit;
    *ns = service_ns(media, streams, bytes, unit_bytes, gc_bytes, now_ns);
    media->stats.host_bytes += bytes;
    media->stats.unit_bytes += unit_bytes;
    media->stats.gc_bytes += gc_bytes;
    return true;
}

uint64_t drive_media_backlog_ns(const struct drive_media *media, uint64_t now_ns) {
    uint64_t own_ns = now_ns - media->given_way_ns;
    return media->nand_free_ns > own_ns ? media->nand_free_ns - own_ns : 0;
}

struct station_use drive_media_use(const struct drive_media *media, bool serving,
                                   uint64_t now_ns) {
    if (serving) {
        return media->piece_use;
    }
    bool behind = drive_media_backlog_ns(media, now_ns) > 0;
    return (struct station_use){.nand = behind ? STATION_WHOLE : 0};
}

static void discard(struct drive_media *media, const struct placement_file *placed) {
    if (media->config->discard != DRIVE_DISCARD_DELETE) {
        return;
    }
    uint64_t unit = media->config->ftl.unit_bytes;
    for (uint32_t i = 0; placed->length_bytes > 0 && i < placed->count; i++) {
        uint64_t start = (placed->extents[i].start_bytes + unit - 1) / unit;
        uint64_t end = (placed->extents[i].start_bytes + placed->extents[i].length_bytes) / unit;
        if (end > start) {
            ftl_trim(media->ftl, start, end - start);
        }
    }
}

uint64_t drive_media_free_bytes(const struct drive_media *media) {
    return placement_free_bytes(media->placement) - media->promised_bytes;
}

bool drive_media_promise(struct drive_media *media, struct drive_file *file, uint64_t size_bytes) {
    if (size_bytes <= file->size_bytes) {
        return true;
    }
    uint64_t grown = whole_blocks(size_bytes) - whole_blocks(file->size_bytes);
    if (grown > drive_media_free_bytes(media)) {
        return false;
    }
    media->promised_bytes += grown;
    file->size_bytes = size_bytes;
    return true;
}

void drive_media_empty(struct drive_media *media, struct drive_file *file, uint64_t now_ns) {
    media->promised_bytes -= whole_blocks(file->size_bytes) - file->placed.length_bytes;
    discard(media, &file->placed);
    placement_truncate(media->placement, &file->placed, now_ns);
    file->size_bytes = 0;
    file->cursor_bytes = file->cursor_offset = 0;
    file->cursor_extent = 0;
    file->last_unit = UINT64_MAX;
}

struct trimmer {
    struct ftl *ftl;
    uint64_t unit;
};

static void trim_extent(void *context, struct placement_extent extent) {
    const struct trimmer *trimmer = context;
    uint64_t start = (extent.start_bytes + trimmer->unit - 1) / trimmer->unit;
    uint64_t end = (extent.start_bytes + extent.length_bytes) / trimmer->unit;
    if (end > start) {
        ftl_trim(trimmer->ftl, start, end - start);
    }
}

void drive_media_trim_free(struct drive_media *media) {
    struct trimmer trimmer = {media->ftl, media->config->ftl.unit_bytes};
    placement_commit(media->placement, UINT64_MAX);
    placement_each_free(media->placement, trim_extent, &trimmer);
}

void drive_media_stats(const struct drive_media *media, uint64_t now_ns,
                       struct drive_stats *stats) {
    *stats = media->stats;
    stats->now_ns = now_ns;
    stats->ftl = ftl_stats(media->ftl);
    stats->wear = ftl_wear(media->ftl);
}

/* Reading takes the active power too, and both together no more than that. */
static uint64_t active_ns(const struct drive_stats *stats) {
    uint64_t programming = stats->busy_ns[DRIVE_STATION_NAND];
    uint64_t both = programming + stats->read_busy_ns[DRIVE_STATION_CONTROLLER];
    uint64_t most = programming > stats->now_ns ? programming : stats->now_ns;
    return both < most ? both : most;
}

uint64_t drive_media_energy_mj(const struct drive_media *media, const struct drive_stats *stats) {
    const struct drive_rates *rates = &media->config->rates;
    uint64_t more_mw = rates->active_mw > rates->idle_mw ? rates->active_mw - rates->idle_mw : 0;
    return (uint64_t)(((unsigned __int128)rates->idle_mw * stats->now_ns +
                       (unsigned __int128)more_mw * active_ns(stats)) /
                      NS_PER_SECOND);
}

/* As a drive is after tests that filled it: every address holds data that nobody will read. */
static enum status fill_once(struct drive_media *media, struct error *err) {
    uint64_t all = ftl_logical_units(media->ftl), step_units = ftl_superblock_units(media->ftl);
    for (uint64_t at = 0; at < all; at += step_units) {
        uint64_t units = all - at < step_units ? all - at : step_units;
        enum status status = ftl_write(media->ftl, &(struct ftl_write){at, units, 0, 0}, err);
        if (status != OK) {
            return status;
        }
    }
    return OK;
}

void drive_media_close(struct drive_media *media) {
    placement_close(media->placement);
    ftl_close(media->ftl);
}

enum status drive_media_open(const struct drive_engine_config *config, struct drive_media *media,
                             struct error *err) {
    *media = (struct drive_media){.config = config};
    enum status status = ftl_open(&config->ftl, &media->ftl, err);
    if (status != OK) {
        return status;
    }
    media->placement = placement_open(config->placement, config->capacity_bytes, config->commit_ns,
                                      config->seed);
    media->nand_lag_ns = flow_time_ns(config->ftl.superblock_bytes * config->ftl.gc_low,
                                 config->rates.program_bytes_per_s);
    status = config->used_before ? fill_once(media, err) : OK;
    if (status != OK) {
        drive_media_close(media);
    }
    return status;
}
