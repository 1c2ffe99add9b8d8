/* The registry of engines, and their opening. */
#include "io/engine.h"

#include "base/names.h"
#include "base/units.h"
#include "io/engines.h"
#include "io/memory_limit.h"
#include "io/shim_faults.h"
#include "io/shim_quota.h"

#include <inttypes.h>
#include <string.h>

/* The first is the default. */
const struct engine_ops *const engines[] = {
    &engine_threads,
    &engine_uring,
    &engine_uv,
    &engine_null,
    NULL,
};

/* A write of 2 GiB is cut by the kernel, which would look like a short one. */
static const uint64_t chunk_bytes_max = UINT64_C(1) << 30;

const struct engine_ops *engine_find(const char *name) {
    for (size_t i = 0; engines[i] != NULL; i++) {
        if (names_equal(engines[i]->name, name)) {
            return engines[i];
        }
    }
    return NULL;
}

static enum status unknown(const char *name, struct error *err) {
    char known[256] = "";
    for (size_t i = 0; engines[i] != NULL; i++) {
        strncat(known, i == 0 ? "" : ", ", sizeof known - strlen(known) - 1);
        strncat(known, engines[i]->name, sizeof known - strlen(known) - 1);
    }
    return error_set(err, ERR_USAGE, "--engine: '%s' is none of %s", name, known);
}

static enum status check_config(const struct engine_config *config, struct error *err) {
    if (config->ranks == 0) {
        return error_set(err, ERR_USAGE, "--ranks: 0 is too few, at least 1 is needed");
    }
    if (config->queue_depth == 0) {
        return error_set(err, ERR_USAGE, "--queue-depth: 0 is too few, at least 1 is needed");
    }
    if (config->chunk_bytes == 0 || config->chunk_bytes % PAYLOAD_BLOCK != 0 ||
        config->chunk_bytes > chunk_bytes_max) {
        return error_set(err, ERR_USAGE,
                         "--chunk: %" PRIu64 " bytes, but a multiple of 4KiB up to 1GiB is needed",
                         config->chunk_bytes);
    }
    return config->faults == NULL ? OK : shim_faults_check(config->faults, err);
}

/* Contexts of high levels may take more memory than all buffers do. */
static enum status check_codec(const struct engine_ops *ops, const struct engine_config *config,
                               struct error *err) {
    char need[UNITS_TEXT], have[UNITS_TEXT];
    if (config->codec.kind == CODEC_NONE) {
        return OK;
    }
    if (ops->buffer_bytes == NULL) {
        return error_set(err, ERR_USAGE, "--codec: engine '%s' writes nothing, so there is nothing "
                                         "to compress; none is allowed", ops->name);
    }
    uint64_t bytes = ops->buffer_bytes(config), available = memory_limit_available();
    if (bytes > available) {
        return error_set(err, ERR_USAGE,
                         "--codec: %u ranks take %s of memory for buffers and zstd's contexts, %s "
                         "are available; use fewer ranks, a smaller --chunk or a lower level",
                         config->ranks, units_gib(bytes, need), units_gib(available, have));
    }
    return OK;
}

enum status engine_open(const char *name, const struct engine_config *config,
                        struct engine **engine, struct error *err) {
    const struct engine_ops *ops = engine_find(name);
    if (ops == NULL) {
        return unknown(name, err);
    }
    struct engine *opened = NULL;
    enum status status = check_config(config, err);
    status = status == OK ? check_codec(ops, config, err) : status;
    if (status == OK) {
        status = ops->open(config, &opened, err);
    }
    if (status == OK) {
        status = engine_wrap(config, &opened, err);
    }
    if (status == OK) {
        *engine = opened;
    }
    return status;
}

/* Faults lie outside the quota: what they refuse holds nothing. */
enum status engine_wrap(const struct engine_config *config, struct engine **engine,
                        struct error *err) {
    if (config->quota_bytes > 0) {
        *engine = shim_quota_open(config, *engine);
    }
    enum status status = OK;
    if (config->faults != NULL) {
        status = shim_faults_open(config, *engine, engine, err);
    }
    if (status != OK) {
        engine_close(*engine);
    }
    return status;
}

uint64_t engine_buffer_bytes(const char *name, const struct engine_config *config) {
    const struct engine_ops *ops = engine_find(name);
    return ops == NULL || ops->buffer_bytes == NULL ? 0 : ops->buffer_bytes(config);
}

uint32_t engine_workers(const char *name, const struct engine_config *config) {
    const struct engine_ops *ops = engine_find(name);
    return ops == NULL || ops->workers == NULL ? 0 : ops->workers(config);
}
