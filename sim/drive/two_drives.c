/* Whose next event is earlier sets how long time passes, for both: their clocks are always equal. At
 * equal times the first drive comes first. */
#include "sim/drive/two_drives.h"

#include "base/check.h"
#include "base/memory.h"
#include "sim/drive/drive_engine.h"

struct two_drives {
    struct engine base;
    struct engine *drives[2];
    uint64_t under_way;
};

static void two_submit(struct engine *engine, struct io_request *request) {
    struct two_drives *two = (struct two_drives *)engine;
    uint8_t tier = request->op == IO_PAUSE ? 0 : io_request_tier(request);
    CHECK(tier < 2);
    two->under_way++;
    engine_submit(two->drives[tier], request);
}

static struct io_request *two_wait(struct engine *engine, uint64_t timeout_ns) {
    struct two_drives *two = (struct two_drives *)engine;
    while (two->under_way > 0) {
        uint64_t first_ns = drive_engine_next_ns(two->drives[0]);
        uint64_t second_ns = first_ns > 0 ? drive_engine_next_ns(two->drives[1]) : UINT64_MAX;
        if (first_ns == 0 || second_ns == 0) {
            two->under_way--;
            return engine_wait(two->drives[first_ns == 0 ? 0 : 1], timeout_ns);
        }
        uint64_t ns = first_ns < second_ns ? first_ns : second_ns;
        CHECK(ns != UINT64_MAX); /* what is under way must come back */
        drive_engine_pass(two->drives[0], ns);
        drive_engine_pass(two->drives[1], ns);
    }
    return NULL;
}

static uint64_t two_now(struct engine *engine) {
    return engine_now(((struct two_drives *)engine)->drives[0]);
}

static void two_cancel_pauses(struct engine *engine) {
    engine_cancel_pauses(((struct two_drives *)engine)->drives[0]);
}

static int two_space(struct engine *engine, uint64_t *free_bytes, uint64_t *total_bytes) {
    struct engine *first = ((struct two_drives *)engine)->drives[0];
    return first->ops->space(first, free_bytes, total_bytes);
}

static void two_facts(struct engine *engine, struct facts *facts) {
    struct engine *first = ((struct two_drives *)engine)->drives[0];
    first->ops->facts(first, facts);
}

static void two_close(struct engine *engine) {
    struct two_drives *two = (struct two_drives *)engine;
    engine_close(two->drives[0]);
    engine_close(two->drives[1]);
    mem_free(two);
}

static const struct engine_ops two_ops = {
    .name = "two drives",
    .about = "two simulated drives in one virtual time",
    .submit = two_submit,
    .wait = two_wait,
    .now = two_now,
    .cancel_pauses = two_cancel_pauses,
    .space = two_space,
    .facts = two_facts,
    .close = two_close,
};

struct engine *two_drives_open(struct engine *first, struct engine *second) {
    struct two_drives *two = mem_new(1, sizeof *two);
    two->base.ops = &two_ops;
    two->drives[0] = first;
    two->drives[1] = second;
    return &two->base;
}
