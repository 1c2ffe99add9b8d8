#ifndef CKPTSIM_IO_WORKER_ENGINE_H
#define CKPTSIM_IO_WORKER_ENGINE_H

#include "io/buffer.h"
#include "io/engine.h"
#include "io/mailbox.h"
#include "io/pauses.h"
#include "io/perform.h"

/* What engines with threads of their own have in common: the loop's side of the hand-off. Workers
 * put completed requests into `done`; wait() takes them out, and ends pauses. */

struct worker_engine {
    struct engine base;
    struct perform perform;
    struct buffer_pool buffers;
    struct mailbox done;
    /* The loop's thread only: */
    struct io_request *ready; /* taken out of done, not yet returned */
    struct pauses pauses;
};

/* per_rank: buffers for each rank. */
enum status worker_engine_init(struct worker_engine *engine, const struct engine_ops *ops,
                               const struct engine_config *config, uint64_t per_rank,
                               struct error *err);
/* All workers have ended. */
void worker_engine_fini(struct worker_engine *engine);

/* Starts a thread that takes no signals: the main thread handles them. ERR_USAGE where the system
 * has no more threads. */
enum status worker_start(uv_thread_t *thread, uv_thread_cb entry, void *argument,
                         struct error *err);

/* Operations that fit the table of struct engine_ops. */
struct io_request *worker_engine_wait(struct engine *engine, uint64_t timeout_ns);
uint64_t worker_engine_now(struct engine *engine);
void worker_engine_cancel_pauses(struct engine *engine);
int worker_engine_space(struct engine *engine, uint64_t *free_bytes, uint64_t *total_bytes);
void worker_engine_facts(struct engine *engine, struct facts *facts);

#endif
