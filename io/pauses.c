/* A list sorted by end; ranks mostly pause for equal times, so that a new pause goes to the end. */
#include "io/pauses.h"

void pauses_add(struct pauses *pauses, struct io_request *request, uint64_t now_ns) {
    request->begin_ns = now_ns;
    if (__builtin_add_overflow(now_ns, request->pause_ns, &request->end_ns)) {
        request->end_ns = UINT64_MAX;
    }
    struct io_request **link = &pauses->first;
    if (pauses->last != NULL && pauses->last->end_ns <= request->end_ns) {
        link = &pauses->last->next;
    }
    while (*link != NULL && (*link)->end_ns <= request->end_ns) {
        link = &(*link)->next;
    }
    request->next = *link;
    *link = request;
    if (request->next == NULL) {
        pauses->last = request;
    }
}

struct io_request *pauses_take(struct pauses *pauses, uint64_t now_ns) {
    struct io_request *request = pauses->first;
    if (request == NULL || request->end_ns > now_ns) {
        return NULL;
    }
    pauses->first = request->next;
    if (pauses->first == NULL) {
        pauses->last = NULL;
    }
    request->next = NULL;
    request->end_ns = now_ns;
    request->error = 0;
    request->done_bytes = request->payload_ns = 0;
    request->short_write = false;
    return request;
}

uint64_t pauses_next_ns(const struct pauses *pauses) {
    return pauses->first == NULL ? UINT64_MAX : pauses->first->end_ns;
}

void pauses_cancel(struct pauses *pauses, uint64_t now_ns) {
    for (struct io_request *request = pauses->first; request != NULL; request = request->next) {
        if (request->end_ns > now_ns) {
            request->end_ns = now_ns;
        }
    }
}
