#include "io/worker_engine.h"

#include <signal.h>

enum { STACK_BYTES = 512 * 1024 };

enum status worker_engine_init(struct worker_engine *engine, const struct engine_ops *ops,
                               const struct engine_config *config, uint64_t per_rank,
                               struct error *err) {
    engine->base.ops = ops;
    enum status status = perform_init(&engine->perform, config, err);
    if (status == OK && perform_buffer_bytes(config) > 0) {
        status = buffer_open(&engine->buffers, config->ranks, per_rank,
                             perform_buffer_bytes(config), err);
    }
    if (status == OK) {
        mailbox_init(&engine->done);
        /* Touching the buffers took its time; the clock starts after it. */
        engine->perform.start_ns = uv_hrtime();
    }
    return status;
}

void worker_engine_fini(struct worker_engine *engine) {
    mailbox_fini(&engine->done);
    buffer_close(&engine->buffers);
}

enum status worker_start(uv_thread_t *thread, uv_thread_cb entry, void *argument,
                         struct error *err) {
    sigset_t blocked, before;
    sigfillset(&blocked);
    /* A fault in the worker must end the program where it happened. */
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        sigdelset(&blocked, faults[i]);
    }
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    uv_thread_options_t options = {.flags = UV_THREAD_HAS_STACK_SIZE, .stack_size = STACK_BYTES};
    int failed = uv_thread_create_ex(thread, &options, entry, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0) {
        return error_set(err, ERR_USAGE, "cannot start a writer thread: %s", uv_strerror(failed));
    }
    return OK;
}

static struct io_request *take_ready(struct worker_engine *engine) {
    struct io_request *request = engine->ready;
    engine->ready = request->next;
    perform_finish(request);
    return request;
}

struct io_request *worker_engine_wait(struct engine *base, uint64_t timeout_ns) {
    struct worker_engine *engine = (struct worker_engine *)base;
    uint64_t now_ns = perform_now(&engine->perform), end_ns;
    if (__builtin_add_overflow(now_ns, timeout_ns, &end_ns)) {
        end_ns = UINT64_MAX;
    }
    for (;;) {
        struct io_request *pause = pauses_take(&engine->pauses, now_ns);
        if (pause != NULL) {
            return pause;
        }
        if (engine->ready == NULL) {
            uint64_t next_ns = pauses_next_ns(&engine->pauses);
            uint64_t until_ns = next_ns < end_ns ? next_ns : end_ns;
            engine->ready = mailbox_take(&engine->done, until_ns > now_ns ? until_ns - now_ns : 0);
        }
        if (engine->ready != NULL) {
            return take_ready(engine);
        }
        now_ns = perform_now(&engine->perform);
        if (now_ns >= end_ns) {
            return pauses_take(&engine->pauses, now_ns);
        }
    }
}

uint64_t worker_engine_now(struct engine *base) {
    return perform_now(&((struct worker_engine *)base)->perform);
}

void worker_engine_cancel_pauses(struct engine *base) {
    struct worker_engine *engine = (struct worker_engine *)base;
    pauses_cancel(&engine->pauses, perform_now(&engine->perform));
}

int worker_engine_space(struct engine *base, uint64_t *free_bytes, uint64_t *total_bytes) {
    const struct worker_engine *engine = (const struct worker_engine *)base;
    return folder_space(engine->perform.config.folder, free_bytes, total_bytes);
}

void worker_engine_facts(struct engine *base, struct facts *facts) {
    const struct worker_engine *engine = (const struct worker_engine *)base;
    perform_facts(&engine->perform, facts);
    if (engine->buffers.count > 0) {
        facts_text(facts, "huge_pages", buffer_pages_name(&engine->buffers));
    }
    facts_count(facts, "buffer_bytes", base->ops->buffer_bytes(&engine->perform.config));
}
