#include "io/mailbox.h"

#include "base/check.h"

/* libuv adds the time of day to a timeout; a longer wait is cut so that it does not overflow, and
 * the receiver asks again. */
#define LONGEST_WAIT_NS UINT64_C(3600000000000)

void mailbox_init(struct mailbox *mailbox) {
    *mailbox = (struct mailbox){0};
    int failed = uv_mutex_init(&mailbox->lock);
    CHECK(failed == 0);
    failed = uv_cond_init(&mailbox->arrived);
    CHECK(failed == 0);
}

void mailbox_fini(struct mailbox *mailbox) {
    uv_cond_destroy(&mailbox->arrived);
    uv_mutex_destroy(&mailbox->lock);
}

void mailbox_put(struct mailbox *mailbox, struct io_request *request) {
    request->next = NULL;
    uv_mutex_lock(&mailbox->lock);
    if (mailbox->first == NULL) {
        mailbox->first = request;
    } else {
        mailbox->last->next = request;
    }
    mailbox->last = request;
    bool wake = mailbox->sleeping;
    mailbox->sleeping = false;
    uv_mutex_unlock(&mailbox->lock);
    if (wake) {
        uv_cond_signal(&mailbox->arrived);
    }
}

struct io_request *mailbox_take(struct mailbox *mailbox, uint64_t timeout_ns) {
    uint64_t now_ns = uv_hrtime(), end_ns;
    if (__builtin_add_overflow(now_ns, timeout_ns, &end_ns)) {
        end_ns = UINT64_MAX;
    }
    uv_mutex_lock(&mailbox->lock);
    while (mailbox->first == NULL && !mailbox->closed && now_ns < end_ns) {
        uint64_t left_ns = end_ns - now_ns;
        mailbox->sleeping = true;
        /* Timed out or woken: the condition of the loop tells. */
        uv_cond_timedwait(&mailbox->arrived, &mailbox->lock,
                          left_ns < LONGEST_WAIT_NS ? left_ns : LONGEST_WAIT_NS);
        now_ns = uv_hrtime();
    }
    mailbox->sleeping = false;
    struct io_request *all = mailbox->first;
    mailbox->first = mailbox->last = NULL;
    uv_mutex_unlock(&mailbox->lock);
    return all;
}

void mailbox_close(struct mailbox *mailbox) {
    uv_mutex_lock(&mailbox->lock);
    mailbox->closed = true;
    uv_mutex_unlock(&mailbox->lock);
    uv_cond_signal(&mailbox->arrived);
}

bool mailbox_is_closed(struct mailbox *mailbox) {
    uv_mutex_lock(&mailbox->lock);
    bool closed = mailbox->closed;
    uv_mutex_unlock(&mailbox->lock);
    return closed;
}
