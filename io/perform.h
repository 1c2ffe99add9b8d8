#ifndef CKPTSIM_IO_PERFORM_H
#define CKPTSIM_IO_PERFORM_H

#include "io/engine.h"

#include <stdatomic.h>
#include <sys/types.h>

/* Carries out one request in the calling thread: what all engines on a real folder have in common.
 * Any number of threads may call it at once, each with requests and buffers of its own. */

/* What is known of one folder's file system. */
struct perform_tier {
    const struct folder *folder; /* NULL: there is none */
    bool direct;            /* shards are opened with O_DIRECT */
    const char *direct_why; /* what decided it */
    atomic_bool dontcache;  /* RWF_DONTCACHE works as far as known */
    atomic_bool preallocate;
};

struct perform {
    struct engine_config config;
    uint64_t start_ns;      /* where the engine's clock starts */
    struct perform_tier tiers[2];
};

/* Tries out what the folder's file system can do, with a small file that is removed again.
 * ERR_USAGE where O_DIRECT was demanded and is refused. */
enum status perform_init(struct perform *perform, const struct engine_config *config,
                         struct error *err);

uint64_t perform_now(const struct perform *perform);
void perform_facts(const struct perform *perform, struct facts *facts);

/* What a worker carries out a request with, for one at a time. */
struct perform_tools {
    /* Of perform_buffer_bytes, aligned to PAYLOAD_BLOCK, NULL where those are 0. Under PAYLOAD_ZERO
     * what is there for content holds zeros before and after. */
    void *buffer;
    struct codec *codec; /* NULL where nothing is compressed; may serve several buffers */
};

/* chunk_bytes for content, unless requests bring its memory, and with a codec as much as the drive may
 * get of that, where literals pass through too. */
uint64_t perform_buffer_bytes(const struct engine_config *config);

/* Anything but IO_PAUSE. */
void perform_request(struct perform *perform, struct io_request *request,
                     const struct perform_tools *tools);

/* What an engine that writes by itself uses, in this order: */

struct perform_write {
    const void *bytes;
    size_t length_bytes; /* longer than the request's where the last block is padded */
    uint64_t offset;     /* in the file as it lies on the drive */
    int flags;           /* RWF_ */
    bool compressed;     /* bytes are a window's frame, not the content itself */
};

/* Makes payload and sum, and compresses. */
struct perform_write perform_prepare_write(struct perform *perform, struct io_request *request,
                                           const struct perform_tools *tools);
/* Takes what the system call returned: bytes or a negative errno. -EOPNOTSUPP for RWF_DONTCACHE is
 * answered by writing once more without it; what a ring left undone (-EAGAIN) is done here. */
void perform_settle_write(struct perform *perform, struct io_request *request,
                          const struct perform_write *write, ssize_t result);

struct perform_read {
    void *bytes;         /* where they go */
    size_t length_bytes; /* that are asked for */
    uint64_t offset;
    size_t wanted_bytes; /* of them; the rest fills a block */
    bool compressed;
    int error;           /* other than 0: there is nothing to read, that is how it ends */
};

/* Says what to read, and takes what came of it: bytes or a negative errno. */
struct perform_read perform_prepare_read(const struct perform *perform, struct io_request *request,
                                         const struct perform_tools *tools);
void perform_settle_read(struct perform *perform, struct io_request *request,
                         const struct perform_read *read, const struct perform_tools *tools,
                         ssize_t result);

/* Before and after fsync; returns 0 or an errno. */
int perform_before_sync(struct io_file *file);
void perform_after_sync(struct io_file *file);

/* In the loop's thread, as wait() returns the request. */
void perform_finish(struct io_request *request);

#endif
