/* Host files: a few figures, each optional. */
#include "sim/drive/host_config.h"

#include "base/check.h"
#include "base/configs.h"

#include <stddef.h>
#include <string.h>

#define MEGA UINT64_C(1000000)
#define TERA (MEGA * MEGA)

#define ROW(key, kind, field, least, most, help)                                                   \
    { key, FIGURE_##kind, offsetof(struct host_config, field), least, most, false, help, NULL }

const struct figure_row host_figures[] = {
    ROW("rank_write_new", RATE, rank_write_new_rate, MEGA, TERA,
        "what one rank writes into new files"),
    ROW("rank_write_reused", RATE, rank_write_reused_rate, MEGA, TERA,
        "what one rank writes where files were written before"),
    ROW("total_write", RATE, total_write_rate, MEGA, TERA, "what all ranks write together"),
    ROW("rank_read", RATE, rank_read_rate, MEGA, TERA, "what one rank reads"),
    ROW("total_read", RATE, total_read_rate, MEGA, TERA, "what all ranks read together"),
    ROW("rank_copy", RATE, rank_copy_rate, MEGA, TERA,
        "what one rank copies of its state into host memory"),
    ROW("total_copy", RATE, total_copy_rate, MEGA, TERA, "what all ranks copy together"),
    ROW("cpu_per_request", DURATION, cpu_per_request_ns, 0, 1000 * MEGA,
        "processor time of one request"),
    ROW("dirty_limit", SIZE, dirty_limit_bytes, MEGA, 1000 * TERA,
        "page cache waiting to be written, beyond which writers wait"),
    ROW("write_back", SIZE, write_back_bytes, 4096, TERA,
        "bytes of one file in a row from page cache to drive"),
};
const size_t host_figures_count = COUNT_OF(host_figures);

static const char *const other_keys[] = {"about", "aliases", "sources", NULL};

static const char *base_name(const char *path, struct arena *arena) {
    const char *slash = strrchr(path, '/');
    const char *start = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(start, '.');
    return arena_text_n(arena, start, dot != NULL ? (size_t)(dot - start) : strlen(start));
}

static enum status read_root(const struct yaml_node *root, struct arena *arena,
                             struct host_config *host, struct error *err) {
    if (root->kind != YAML_MAP) {
        return yaml_error(root, err, "a host file must be a map of keys and values");
    }
    const struct yaml_node *about = yaml_get(root, "about");
    if (about != NULL && about->kind != YAML_TEXT) {
        return yaml_error(about, err, "'about' must be a text");
    }
    host->name = base_name(root->file, arena);
    host->about = about != NULL ? about->text : NULL;
    enum status status =
        figures_refuse_unknown(root, host_figures, host_figures_count, other_keys, err);
    return status == OK ? figures_read(root, host_figures, host_figures_count,
                                       yaml_get(root, "sources"), FIGURE_SHEET, host, err)
                        : status;
}

enum status host_config_read(const char *name, const char *config_dir, struct arena *arena,
                             struct host_config *host, struct error *err) {
    struct yaml_node *root;
    struct host_config read = {0};
    enum status status = config_read("hosts", name, config_dir, arena, &root, err);
    status = status == OK ? read_root(root, arena, &read, err) : status;
    if (status != OK) {
        return error_wrap(err, "host '%.100s'", name);
    }
    *host = read;
    return OK;
}
