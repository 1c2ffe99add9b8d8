#ifndef CKPTSIM_IO_SHIM_H
#define CKPTSIM_IO_SHIM_H

#include "io/engine.h"

/* An engine around another one that lets most requests through and answers some itself. It goes by
 * the inner engine's name. */

struct shim {
    struct engine base;
    struct engine_ops ops;
    struct engine *inner;
    struct io_request *first, *last; /* answered here, not yet returned */
};

/* Fills ops with forwarding ones; the shim then sets its own submit, wait, space and close. */
void shim_init(struct shim *shim, struct engine *inner);

/* Answers a request with an error without showing it to the inner engine. */
void shim_answer(struct shim *shim, struct io_request *request, int error);
/* The next request answered here, else what the inner engine's wait returns. */
struct io_request *shim_wait(struct engine *engine, uint64_t timeout_ns);

#endif
