#include "sim/drive/rank_transfers.h"

#include "base/memory.h"
#include "sim/drive/drive_files.h"

void rank_transfers_init(struct rank_transfers *transfers, const uint64_t limits[FLOW_CLASSES],
                         uint32_t ranks) {
    flow_set_init(&transfers->flows, limits, ranks);
    transfers->lanes = mem_new(ranks, sizeof *transfers->lanes);
}

void rank_transfers_fini(struct rank_transfers *transfers) {
    flow_set_fini(&transfers->flows);
    mem_free(transfers->lanes);
}

/* Only writing knows two kinds of files. */
static enum flow_class class_of(const struct io_request *request) {
    const struct drive_file *file = request->op == IO_WRITE ? request->file->engine_data : NULL;
    return file != NULL && file->reused ? FLOW_REUSED : FLOW_NEW;
}

static void start_flow(struct rank_transfers *transfers, struct rank_lane *lane, uint64_t now_ns) {
    struct io_request *request = lane->head;
    if (lane->flowing || request == NULL) {
        return;
    }
    lane->flowing = true;
    lane->flow.owner = lane;
    if (request->op != IO_READ) { /* a read waits at the drive: it began when it was submitted */
        request->begin_ns = now_ns;
    }
    flow_add(&transfers->flows, &lane->flow, class_of(request), request->done_bytes);
}

void rank_transfers_add(struct rank_transfers *transfers, struct io_request *request,
                        uint64_t now_ns) {
    struct rank_lane *lane = &transfers->lanes[request->rank];
    request->next = NULL;
    if (lane->tail != NULL) {
        lane->tail->next = request;
    } else {
        lane->head = request;
    }
    lane->tail = request;
    start_flow(transfers, lane, now_ns);
}

struct io_request *rank_transfers_take_ended(struct rank_transfers *transfers, uint64_t now_ns) {
    struct io_request *request = NULL;
    for (struct flow *flow; request == NULL;) {
        flow = flow_take_ended(&transfers->flows);
        if (flow == NULL) {
            return NULL;
        }
        struct rank_lane *lane = flow->owner;
        lane->flowing = false;
        request = lane->head;
        if (request != NULL) {
            lane->head = request->next;
            lane->tail = lane->head != NULL ? lane->tail : NULL;
            start_flow(transfers, lane, now_ns);
        }
    }
    return request;
}

struct io_request *rank_transfers_drop(struct rank_transfers *transfers, uint32_t rank) {
    struct rank_lane *lane = &transfers->lanes[rank];
    struct io_request *first = lane->head;
    lane->head = lane->tail = NULL;
    return first;
}
