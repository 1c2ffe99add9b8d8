/* Writes nothing: every request completes at once and all its bytes count as written. For trying
 * out a job, and for measuring what the program itself costs. A pause takes its real time. */
#include "base/memory.h"
#include "io/engines.h"
#include "io/pauses.h"

#include <time.h>
#include <uv.h>

struct null_engine {
    struct engine base;
    uint64_t start_ns;
    struct io_request *first, *last; /* completed, not yet returned */
    struct pauses pauses;
};

static uint64_t null_now(struct engine *base) {
    return uv_hrtime() - ((struct null_engine *)base)->start_ns;
}

static enum status null_open(const struct engine_config *config, struct engine **opened,
                             struct error *err) {
    (void)config, (void)err;
    struct null_engine *engine = mem_new(1, sizeof *engine);
    engine->base.ops = &engine_null;
    engine->start_ns = uv_hrtime();
    *opened = &engine->base;
    return OK;
}

static void null_submit(struct engine *base, struct io_request *request) {
    struct null_engine *engine = (struct null_engine *)base;
    uint64_t now_ns = null_now(base);
    if (request->op == IO_PAUSE) {
        pauses_add(&engine->pauses, request, now_ns);
        return;
    }
    request->begin_ns = request->end_ns = now_ns;
    request->error = 0;
    request->short_write = false;
    bool content = request->op == IO_WRITE || request->op == IO_READ || request->op == IO_COPY;
    request->done_bytes = content ? request->length_bytes : 0;
    request->stored_bytes = request->op == IO_COPY ? 0 : request->done_bytes;
    request->payload_ns = request->compress_ns = request->compress_wall_ns = 0;
    request->sum = 0;
    if (request->op == IO_OPEN) {
        request->file->sum = 0;
    }
    request->next = NULL;
    if (engine->first == NULL) {
        engine->first = request;
    } else {
        engine->last->next = request;
    }
    engine->last = request;
}

/* Sleeps until the next pause ends or the time is up; a signal ends it early. */
static void sleep_ns(uint64_t ns) {
    struct timespec time = {.tv_sec = (time_t)(ns / UINT64_C(1000000000)),
                            .tv_nsec = (long)(ns % UINT64_C(1000000000))};
    nanosleep(&time, NULL);
}

static struct io_request *null_wait(struct engine *base, uint64_t timeout_ns) {
    struct null_engine *engine = (struct null_engine *)base;
    struct io_request *request = engine->first;
    if (request != NULL) {
        engine->first = request->next;
        request->next = NULL;
        return request;
    }
    uint64_t now_ns = null_now(base), next_ns = pauses_next_ns(&engine->pauses);
    if (next_ns > now_ns) {
        uint64_t left_ns = next_ns - now_ns;
        sleep_ns(left_ns < timeout_ns ? left_ns : timeout_ns);
    }
    return pauses_take(&engine->pauses, null_now(base));
}

static void null_cancel_pauses(struct engine *base) {
    pauses_cancel(&((struct null_engine *)base)->pauses, null_now(base));
}

static int null_space(struct engine *base, uint64_t *free_bytes, uint64_t *total_bytes) {
    (void)base;
    *free_bytes = *total_bytes = UINT64_C(1) << 60;
    return 0;
}

static void null_facts(struct engine *base, struct facts *facts) {
    (void)base;
    facts_text(facts, "direct", "off");
    facts_text(facts, "direct_because", "nothing is written");
    facts_count(facts, "buffer_bytes", 0);
}

static void null_close(struct engine *base) { mem_free(base); }

const struct engine_ops engine_null = {
    .name = "null",
    .about = "writes nothing, completes at once; shows what the program itself costs",
    .open = null_open,
    .submit = null_submit,
    .wait = null_wait,
    .now = null_now,
    .cancel_pauses = null_cancel_pauses,
    .space = null_space,
    .facts = null_facts,
    .close = null_close,
};
