/* What the file system of each folder can do, found out with a small file that is removed again. */
#include "io/perform.h"

#include "base/check.h"
#include "io/file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <uv.h>

/* 0 where a block can be written to a new file opened with these flags. */
static int try_write(const struct folder *folder, int open_flags, int write_flags) {
    _Alignas(PAYLOAD_BLOCK) static const uint8_t block[PAYLOAD_BLOCK];
    int fd = folder_open_file(folder, FOLDER_PROBE, O_WRONLY | O_CREAT | O_TRUNC | open_flags);
    /* Gone at once, so that nothing stays behind if the program is killed here; an opening that is
     * refused may have made it all the same. */
    folder_remove(folder, FOLDER_PROBE);
    if (fd < 0) {
        return -fd;
    }
    ssize_t result = file_write(fd, block, sizeof block, 0, write_flags);
    close(fd);
    return result < 0 ? (int)-result : 0;
}

static bool is_refusal(int error) { return error == EINVAL || error == EOPNOTSUPP; }

static bool is_memory(const struct folder *folder) {
    struct statfs info;
    return fstatfs(folder->fd, &info) == 0 &&
           (info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC);
}

static enum status probe_direct(struct perform_tier *tier, int wanted, struct error *err) {
    tier->direct_why = "asked for";
    if (wanted == IO_DIRECT_OFF) {
        return OK;
    }
    if (wanted == IO_DIRECT_AUTO && is_memory(tier->folder)) {
        tier->direct_why = "the file system is memory";
        return OK;
    }
    /* Any other failure, a full drive say, is no refusal and comes back when it matters. */
    tier->direct = !is_refusal(try_write(tier->folder, O_DIRECT, 0));
    if (wanted == IO_DIRECT_ON && !tier->direct) {
        return error_set(err, ERR_USAGE,
                         "--direct: 'on' for '%s', but this file system refuses O_DIRECT; auto or "
                         "off is allowed",
                         tier->folder->path);
    }
    if (wanted == IO_DIRECT_AUTO) {
        tier->direct_why = tier->direct ? "it works" : "the file system refuses it";
    }
    return OK;
}

static enum status init_tier(struct perform_tier *tier, const struct engine_config *config,
                             const struct folder *folder, struct error *err) {
    tier->folder = folder;
    tier->preallocate = config->preallocate;
    tier->dontcache = config->dontcache != IO_DONTCACHE_OFF &&
                      !is_refusal(try_write(folder, 0, RWF_DONTCACHE));
    return probe_direct(tier, config->direct, err);
}

enum status perform_init(struct perform *perform, const struct engine_config *config,
                         struct error *err) {
    CHECK(config->folder != NULL);
    *perform = (struct perform){.config = *config, .start_ns = uv_hrtime()};
    enum status status = init_tier(&perform->tiers[0], config, config->folder, err);
    if (status == OK && config->second_folder != NULL) {
        status = init_tier(&perform->tiers[1], config, config->second_folder, err);
    }
    return status;
}

void perform_facts(const struct perform *perform, struct facts *facts) {
    const struct perform_tier *first = &perform->tiers[0], *second = &perform->tiers[1];
    facts_text(facts, "direct", first->direct ? "on" : "off");
    facts_text(facts, "direct_because", first->direct_why);
    facts_text(facts, "dontcache", first->dontcache ? "on" : "off");
    facts_text(facts, "preallocate", first->preallocate ? "on" : "off");
    if (second->folder != NULL) {
        facts_text(facts, "drain_direct", second->direct ? "on" : "off");
        facts_text(facts, "drain_direct_because", second->direct_why);
        facts_text(facts, "drain_dontcache", second->dontcache ? "on" : "off");
        facts_text(facts, "drain_preallocate", second->preallocate ? "on" : "off");
    }
}
