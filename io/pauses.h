#ifndef CKPTSIM_IO_PAUSES_H
#define CKPTSIM_IO_PAUSES_H

#include "io/engine.h"

/* Pauses under way, the next to end first. They live in the loop's thread and end inside wait(), so
 * that no worker sleeps and a pause of hours ends at once when the run is to stop. */

struct pauses {
    struct io_request *first, *last; /* by end_ns */
};

/* Begins a pause at now_ns. */
void pauses_add(struct pauses *pauses, struct io_request *request, uint64_t now_ns);
/* The next pause that is over at now_ns, or NULL. */
struct io_request *pauses_take(struct pauses *pauses, uint64_t now_ns);
/* When the next one ends; UINT64_MAX: none is under way. */
uint64_t pauses_next_ns(const struct pauses *pauses);
/* All of them end at now_ns. */
void pauses_cancel(struct pauses *pauses, uint64_t now_ns);

#endif
