/* The default engine: one writer thread per rank with a queue and one buffer of its own, blocking
 * system calls.
 *
 *   submit ──mailbox of the rank──> thread: payload, pwrite ──mailbox `done`──> wait
 *
 * While a thread's write waits for the drive, other threads make their payload; a queue depth above
 * one only keeps the queue from running dry between two writes. Copies, where they will come, have a
 * second thread for each rank. */
#include "io/engines.h"
#include "io/perform_codec.h"
#include "io/worker_engine.h"

#include "base/check.h"
#include "base/memory.h"

struct threads_engine;

struct writer {
    struct threads_engine *engine;
    struct mailbox queue;
    struct perform_tools tools;
    uv_thread_t thread;
};

struct threads_engine {
    struct worker_engine worker;
    uint32_t writer_count;
    struct writer *writers; /* one per rank, behind them those that copy */
};

static void writer_main(void *argument) {
    struct writer *writer = argument;
    struct worker_engine *engine = &writer->engine->worker;
    while (!mailbox_is_closed(&writer->queue)) {
        struct io_request *request = mailbox_take(&writer->queue, UINT64_MAX);
        while (request != NULL) {
            struct io_request *next = request->next;
            perform_request(&engine->perform, request, &writer->tools);
            mailbox_put(&engine->done, request);
            request = next;
        }
    }
}

static void stop_writers(struct threads_engine *engine, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        mailbox_close(&engine->writers[i].queue);
    }
    for (uint32_t i = 0; i < count; i++) {
        uv_thread_join(&engine->writers[i].thread);
        mailbox_fini(&engine->writers[i].queue);
        codec_close(engine->writers[i].tools.codec);
    }
}

static enum status start_writers(struct threads_engine *engine, struct error *err) {
    for (uint32_t i = 0; i < engine->writer_count; i++) {
        struct writer *writer = &engine->writers[i];
        writer->engine = engine;
        const struct engine_config *config = &engine->worker.perform.config;
        const struct buffer_pool *buffers = &engine->worker.buffers;
        writer->tools.buffer = i < buffers->count ? buffer_at(buffers, i) : NULL;
        writer->tools.codec = i < config->ranks ? perform_codec_new(config) : NULL;
        mailbox_init(&writer->queue);
        enum status status = worker_start(&writer->thread, writer_main, writer, err);
        if (status != OK) {
            mailbox_fini(&writer->queue);
            codec_close(writer->tools.codec);
            stop_writers(engine, i);
            return error_wrap(err, "--ranks: thread %u of %u", i + 1, engine->writer_count);
        }
    }
    return OK;
}

static enum status threads_open(const struct engine_config *config, struct engine **opened,
                                struct error *err) {
    struct threads_engine *engine = mem_new(1, sizeof *engine);
    engine->writer_count = config->copies ? 2 * config->ranks : config->ranks;
    enum status status = worker_engine_init(&engine->worker, &engine_threads, config, 1, err);
    if (status != OK) {
        goto fail_init;
    }
    engine->writers = mem_new(engine->writer_count, sizeof engine->writers[0]);
    status = start_writers(engine, err);
    if (status != OK) {
        goto fail_writers;
    }
    *opened = &engine->worker.base;
    return OK;

fail_writers:
    mem_free(engine->writers);
    worker_engine_fini(&engine->worker);
fail_init:
    mem_free(engine);
    return status;
}

static void threads_submit(struct engine *base, struct io_request *request) {
    struct threads_engine *engine = (struct threads_engine *)base;
    const struct engine_config *config = &engine->worker.perform.config;
    CHECK(request->rank < config->ranks);
    if (request->op == IO_PAUSE) {
        pauses_add(&engine->worker.pauses, request, perform_now(&engine->worker.perform));
        return;
    }
    bool apart = request->op == IO_COPY && config->copies;
    mailbox_put(&engine->writers[request->rank + (apart ? config->ranks : 0)].queue, request);
}

static void threads_close(struct engine *base) {
    struct threads_engine *engine = (struct threads_engine *)base;
    stop_writers(engine, engine->writer_count);
    mem_free(engine->writers);
    worker_engine_fini(&engine->worker);
    mem_free(engine);
}

static uint64_t threads_buffer_bytes(const struct engine_config *config) {
    return config->ranks * (perform_buffer_bytes(config) + perform_codec_bytes(config));
}

static uint32_t threads_workers(const struct engine_config *config) { return config->ranks; }

const struct engine_ops engine_threads = {
    .name = "threads",
    .about = "one writer thread per rank, blocking writes",
    .needs_folder = true,
    .open = threads_open,
    .submit = threads_submit,
    .wait = worker_engine_wait,
    .now = worker_engine_now,
    .cancel_pauses = worker_engine_cancel_pauses,
    .space = worker_engine_space,
    .facts = worker_engine_facts,
    .close = threads_close,
    .buffer_bytes = threads_buffer_bytes,
    .workers = threads_workers,
};
