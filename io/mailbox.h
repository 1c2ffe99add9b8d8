#ifndef CKPTSIM_IO_MAILBOX_H
#define CKPTSIM_IO_MAILBOX_H

#include "io/engine.h"

#include <uv.h>

/* Hands requests from one thread to another, first in first out. The receiver takes all that lies
 * there at once, and is woken only if it sleeps: under load a hand-off costs a lock, no system
 * call. */

struct mailbox {
    uv_mutex_t lock;
    uv_cond_t arrived;
    /* Under lock: */
    struct io_request *first, *last;
    bool sleeping; /* the receiver waits for arrived */
    bool closed;
};

void mailbox_init(struct mailbox *mailbox);
void mailbox_fini(struct mailbox *mailbox);

void mailbox_put(struct mailbox *mailbox, struct io_request *request);
/* All that is there, linked by next; waits up to timeout_ns for the first one. NULL: nothing came,
 * or the mailbox is closed and empty. */
struct io_request *mailbox_take(struct mailbox *mailbox, uint64_t timeout_ns);
/* Wakes the receiver; from now on taking does not wait. */
void mailbox_close(struct mailbox *mailbox);
bool mailbox_is_closed(struct mailbox *mailbox);

#endif
