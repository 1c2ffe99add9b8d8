/* The portable engine: libuv's loop and its pool of threads. One request of a rank is in the pool
 * at a time; the rank's next one follows when it is done, so that they begin in order. Copies, where
 * they will come, queue apart from the rest of their rank.
 *
 *   submit ──rank's queue──> uv_queue_work ──pool thread: payload, pwrite──> after_work ──> wait
 */
#include "io/buffer.h"
#include "io/engines.h"
#include "io/pauses.h"
#include "io/perform_codec.h"

#include "base/check.h"
#include "base/memory.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

enum { POOL_THREADS_MAX = 1024 }; /* libuv's own limit */

struct pool_engine;

struct pool_rank {
    uv_work_t work;
    struct pool_engine *engine;
    struct perform_tools tools;      /* one request at a time, so one context too */
    struct io_request *current;      /* in the pool; the pool thread's until after_work */
    struct io_request *first, *last; /* waiting for it */
};

struct pool_engine {
    struct engine base;
    struct perform perform;
    struct buffer_pool buffers;
    struct pauses pauses;
    uv_loop_t loop;
    uv_timer_t timer; /* the end of a wait, or of a pause */
    struct pool_rank *ranks; /* and as many behind them for copies */
    struct io_request *done_first, *done_last;
};

static void append(struct io_request **first, struct io_request **last,
                   struct io_request *request) {
    request->next = NULL;
    if (*first == NULL) {
        *first = request;
    } else {
        (*last)->next = request;
    }
    *last = request;
}

static struct io_request *take_first(struct io_request **first) {
    struct io_request *request = *first;
    if (request != NULL) {
        *first = request->next;
        request->next = NULL;
    }
    return request;
}

static void work(uv_work_t *job) {
    struct pool_rank *rank = job->data;
    perform_request(&rank->engine->perform, rank->current, &rank->tools);
}

static void begin_next(struct pool_rank *rank);

static void after_work(uv_work_t *job, int status) {
    struct pool_rank *rank = job->data;
    struct pool_engine *engine = rank->engine;
    CHECK(status == 0);
    append(&engine->done_first, &engine->done_last, rank->current);
    rank->current = NULL;
    begin_next(rank);
}

static void begin_next(struct pool_rank *rank) {
    rank->current = take_first(&rank->first);
    if (rank->current != NULL) {
        int failed = uv_queue_work(&rank->engine->loop, &rank->work, work, after_work);
        CHECK(failed == 0);
    }
}

/* The pool reads its size from the environment when it first gets work, and its threads inherit the
 * signals that are blocked at that moment: all of them, as the main thread handles signals. */
static void nothing(uv_work_t *job) { (void)job; }

static void after_nothing(uv_work_t *job, int status) { (void)job, (void)status; }

static void start_pool(struct pool_engine *engine, uint32_t ranks) {
    char size[16];
    snprintf(size, sizeof size, "%u", ranks < POOL_THREADS_MAX ? ranks : POOL_THREADS_MAX);
    setenv("UV_THREADPOOL_SIZE", size, 1);
    sigset_t blocked, before;
    sigfillset(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    uv_work_t job;
    int failed = uv_queue_work(&engine->loop, &job, nothing, after_nothing);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    CHECK(failed == 0);
    uv_run(&engine->loop, UV_RUN_DEFAULT);
}

static enum status pool_open(const struct engine_config *config, struct engine **opened,
                             struct error *err) {
    struct pool_engine *engine = mem_new(1, sizeof *engine);
    engine->base.ops = &engine_uv;
    enum status status = perform_init(&engine->perform, config, err);
    if (status == OK && perform_buffer_bytes(config) > 0) {
        status = buffer_open(&engine->buffers, config->ranks, 1, perform_buffer_bytes(config), err);
    }
    int failed = status == OK ? uv_loop_init(&engine->loop) : 0;
    if (failed != 0) {
        buffer_close(&engine->buffers);
        status = error_set(err, ERR_FAILED, "cannot start libuv's loop: %s", uv_strerror(failed));
    }
    if (status != OK) {
        mem_free(engine);
        return status;
    }
    uint32_t queues = config->copies ? 2 * config->ranks : config->ranks;
    start_pool(engine, queues);
    uv_timer_init(&engine->loop, &engine->timer);
    engine->ranks = mem_new(queues, sizeof engine->ranks[0]);
    for (uint32_t i = 0; i < queues; i++) {
        struct pool_rank *rank = &engine->ranks[i];
        rank->engine = engine;
        rank->work.data = rank;
        rank->tools.buffer = i < engine->buffers.count ? buffer_at(&engine->buffers, i) : NULL;
        rank->tools.codec = i < config->ranks ? perform_codec_new(config) : NULL;
    }
    engine->perform.start_ns = uv_hrtime();
    *opened = &engine->base;
    return OK;
}

static void pool_submit(struct engine *base, struct io_request *request) {
    struct pool_engine *engine = (struct pool_engine *)base;
    CHECK(request->rank < engine->perform.config.ranks);
    if (request->op == IO_PAUSE) {
        pauses_add(&engine->pauses, request, perform_now(&engine->perform));
        return;
    }
    const struct engine_config *config = &engine->perform.config;
    bool apart = request->op == IO_COPY && config->copies;
    struct pool_rank *rank = &engine->ranks[request->rank + (apart ? config->ranks : 0)];
    append(&rank->first, &rank->last, request);
    if (rank->current == NULL) {
        begin_next(rank);
    }
}

static struct io_request *next_done(struct pool_engine *engine) {
    struct io_request *request = pauses_take(&engine->pauses, perform_now(&engine->perform));
    if (request == NULL) {
        request = take_first(&engine->done_first);
        if (request != NULL) {
            perform_finish(request);
        }
    }
    return request;
}

static void ignore_timer(uv_timer_t *timer) { (void)timer; }

/* Runs the loop until something happens in it or until_ns. libuv counts milliseconds. */
static void run_loop(struct pool_engine *engine, uint64_t now_ns, uint64_t until_ns) {
    enum { NS_PER_MS = 1000000, LONGEST_MS = 3600000 };
    uint64_t ms = until_ns > now_ns ? (until_ns - now_ns) / NS_PER_MS + 1 : 0;
    uv_update_time(&engine->loop);
    uv_timer_start(&engine->timer, ignore_timer, ms < LONGEST_MS ? ms : LONGEST_MS, 0);
    uv_run(&engine->loop, ms == 0 ? UV_RUN_NOWAIT : UV_RUN_ONCE);
    uv_timer_stop(&engine->timer);
}

static struct io_request *pool_wait(struct engine *base, uint64_t timeout_ns) {
    struct pool_engine *engine = (struct pool_engine *)base;
    uint64_t now_ns = perform_now(&engine->perform), end_ns;
    if (__builtin_add_overflow(now_ns, timeout_ns, &end_ns)) {
        end_ns = UINT64_MAX;
    }
    for (;;) {
        struct io_request *request = next_done(engine);
        if (request != NULL) {
            return request;
        }
        uint64_t next_ns = pauses_next_ns(&engine->pauses);
        run_loop(engine, now_ns, next_ns < end_ns ? next_ns : end_ns);
        now_ns = perform_now(&engine->perform);
        if (now_ns >= end_ns) {
            return next_done(engine);
        }
    }
}

static uint64_t pool_now(struct engine *base) {
    return perform_now(&((struct pool_engine *)base)->perform);
}

static void pool_cancel_pauses(struct engine *base) {
    struct pool_engine *engine = (struct pool_engine *)base;
    pauses_cancel(&engine->pauses, perform_now(&engine->perform));
}

static int pool_space(struct engine *base, uint64_t *free_bytes, uint64_t *total_bytes) {
    const struct pool_engine *engine = (const struct pool_engine *)base;
    return folder_space(engine->perform.config.folder, free_bytes, total_bytes);
}

static void pool_facts(struct engine *base, struct facts *facts) {
    const struct pool_engine *engine = (const struct pool_engine *)base;
    perform_facts(&engine->perform, facts);
    if (engine->buffers.count > 0) {
        facts_text(facts, "huge_pages", buffer_pages_name(&engine->buffers));
    }
    facts_count(facts, "buffer_bytes", base->ops->buffer_bytes(&engine->perform.config));
}

static void pool_close(struct engine *base) {
    struct pool_engine *engine = (struct pool_engine *)base;
    uv_close((uv_handle_t *)&engine->timer, NULL);
    uv_run(&engine->loop, UV_RUN_DEFAULT);
    int failed = uv_loop_close(&engine->loop);
    CHECK(failed == 0);
    buffer_close(&engine->buffers);
    for (uint32_t i = 0; i < engine->perform.config.ranks; i++) {
        codec_close(engine->ranks[i].tools.codec);
    }
    mem_free(engine->ranks);
    mem_free(engine);
}

static uint64_t pool_buffer_bytes(const struct engine_config *config) {
    return config->ranks * (perform_buffer_bytes(config) + perform_codec_bytes(config));
}

static uint32_t pool_workers(const struct engine_config *config) {
    return config->ranks < POOL_THREADS_MAX ? config->ranks : POOL_THREADS_MAX;
}

const struct engine_ops engine_uv = {
    .name = "uv",
    .about = "libuv's loop and thread pool",
    .needs_folder = true,
    .open = pool_open,
    .submit = pool_submit,
    .wait = pool_wait,
    .now = pool_now,
    .cancel_pauses = pool_cancel_pauses,
    .space = pool_space,
    .facts = pool_facts,
    .close = pool_close,
    .buffer_bytes = pool_buffer_bytes,
    .workers = pool_workers,
};
