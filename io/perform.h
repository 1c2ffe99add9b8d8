#ifndef CKPTSIM_IO_PERFORM_H
#define CKPTSIM_IO_PERFORM_H

#include "io/engine.h"

#include <stdatomic.h>
#include <sys/types.h>

/* Carries out one request in the calling thread: what all engines on a real folder have in common.
 * Any number of threads may call it at once, each with requests and buffers of its own. */

struct perform {
    struct engine_config config;
    uint64_t start_ns;      /* where the engine's clock starts */
    bool direct;            /* shards are opened with O_DIRECT */
    const char *direct_why; /* what decided it */
    atomic_bool dontcache;  /* RWF_DONTCACHE works as far as known */
    atomic_bool preallocate;
};

/* Tries out what the folder's file system can do, with a small file that is removed again.
 * ERR_USAGE where O_DIRECT was demanded and is refused. */
enum status perform_init(struct perform *perform, const struct engine_config *config,
                         struct error *err);

uint64_t perform_now(const struct perform *perform);
void perform_facts(const struct perform *perform, struct facts *facts);

/* Anything but IO_PAUSE. buffer holds chunk_bytes, aligned to PAYLOAD_BLOCK; under PAYLOAD_ZERO it
 * holds zeros before and after. */
void perform_request(struct perform *perform, struct io_request *request, void *buffer);

/* What an engine that writes by itself uses, in this order: */

struct perform_write {
    const void *bytes;
    size_t length_bytes; /* longer than the request's where the last block is padded */
    int flags;           /* RWF_ */
};

/* Makes payload and sum. */
struct perform_write perform_prepare_write(struct perform *perform, struct io_request *request,
                                           void *buffer);
/* Takes what the system call returned: bytes or a negative errno. -EOPNOTSUPP for RWF_DONTCACHE is
 * answered by writing once more without it; what a ring left undone (-EAGAIN) is done here. */
void perform_settle_write(struct perform *perform, struct io_request *request,
                          const struct perform_write *write, ssize_t result);
/* Where a read's bytes go, how many are asked for, and what came of it: bytes or a negative errno. */
void *perform_read_buffer(const struct io_request *request, void *buffer);
size_t perform_read_length(const struct io_request *request);
void perform_settle_read(struct perform *perform, struct io_request *request, void *bytes,
                         ssize_t result);
/* Before and after fsync; returns 0 or an errno. */
int perform_before_sync(struct io_file *file);
void perform_after_sync(struct io_file *file);

/* In the loop's thread, as wait() returns the request. */
void perform_finish(struct io_request *request);

#endif
