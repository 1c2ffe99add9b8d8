#include "io/shim.h"

static struct engine *inner_of(struct engine *engine) { return ((struct shim *)engine)->inner; }

static void forward_submit(struct engine *engine, struct io_request *request) {
    engine_submit(inner_of(engine), request);
}

static uint64_t forward_now(struct engine *engine) { return engine_now(inner_of(engine)); }

static void forward_cancel_pauses(struct engine *engine) { engine_cancel_pauses(inner_of(engine)); }

static int forward_space(struct engine *engine, uint64_t *free_bytes, uint64_t *total_bytes) {
    struct engine *inner = inner_of(engine);
    return inner->ops->space(inner, free_bytes, total_bytes);
}

static void forward_facts(struct engine *engine, struct facts *facts) {
    struct engine *inner = inner_of(engine);
    inner->ops->facts(inner, facts);
}

void shim_init(struct shim *shim, struct engine *inner) {
    shim->inner = inner;
    shim->ops = (struct engine_ops){
        .name = inner->ops->name,
        .about = inner->ops->about,
        .needs_folder = inner->ops->needs_folder,
        .submit = forward_submit,
        .wait = shim_wait,
        .now = forward_now,
        .cancel_pauses = forward_cancel_pauses,
        .space = forward_space,
        .facts = forward_facts,
    };
    shim->base.ops = &shim->ops;
}

void shim_answer(struct shim *shim, struct io_request *request, int error) {
    request->error = error;
    request->short_write = false;
    request->done_bytes = 0;
    request->payload_ns = request->compress_ns = request->compress_wall_ns = request->stored_bytes = 0;
    request->begin_ns = request->end_ns = engine_now(shim->inner);
    request->next = NULL;
    if (shim->first == NULL) {
        shim->first = request;
    } else {
        shim->last->next = request;
    }
    shim->last = request;
}

struct io_request *shim_wait(struct engine *engine, uint64_t timeout_ns) {
    struct shim *shim = (struct shim *)engine;
    struct io_request *request = shim->first;
    if (request == NULL) {
        return engine_wait(shim->inner, timeout_ns);
    }
    shim->first = request->next;
    request->next = NULL;
    return request;
}
