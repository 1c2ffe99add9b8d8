/* The engine for deep queues: a few workers, each with an io_uring of its own, and the ranks spread
 * over them. A worker makes the payload of a write and hands it to the kernel, up to the queue
 * depth of each of its ranks; fsync goes through the ring as well, since it takes long; what is
 * short (open, close, names) is done on the spot.
 *
 *   submit ──inbox──> worker: backlog ──payload──> ring ──> completion ──mailbox `done`──> wait
 *
 * A worker with nothing to do sleeps in the ring; a poll on an eventfd wakes it for its inbox. */
#include "io/engines.h"
#include "io/perform_codec.h"
#include "io/worker_engine.h"

#include "base/check.h"
#include "base/memory.h"

#include <errno.h>
#include <liburing.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    RING_ENTRIES_MAX = 4096,
    /* Small writes are handed to the kernel together, once this many bytes of them are ready. */
    SUBMIT_BYTES = 256 * 1024,
};

struct uring_engine;

/* A request in the ring, and its buffer. */
struct uring_slot {
    struct io_request *request;
    struct perform_write write;
    struct perform_read read;
    uint8_t *buffer; /* NULL: requests bring their memory */
    uint32_t index; /* of the buffer among the registered ones */
    struct uring_slot *next_free;
};

struct uring_worker {
    struct uring_engine *engine;
    uv_thread_t thread;
    struct mailbox inbox;
    int wake_fd;
    atomic_bool asleep; /* whoever clears it writes to wake_fd */
    /* The worker's own, once it runs: */
    struct io_uring ring;
    bool buffers_registered;
    uint64_t wake_count;        /* what the read of wake_fd brings */
    struct io_request *backlog; /* taken from the inbox, not begun */
    uint32_t slot_count, under_way;
    struct uring_slot *slots, *free_slots;
    struct codec *codec;     /* NULL where nothing is compressed */
    uint64_t prepared_bytes; /* in the ring's queue, not handed to the kernel */
};

struct uring_engine {
    struct worker_engine worker;
    uint32_t worker_count;
    struct uring_worker *workers; /* rank r belongs to worker r % worker_count */
};

/* Beginning requests. */

static struct io_uring_sqe *next_sqe(struct uring_worker *worker) {
    struct io_uring_sqe *sqe = io_uring_get_sqe(&worker->ring);
    while (sqe == NULL) {
        io_uring_submit(&worker->ring);
        sqe = io_uring_get_sqe(&worker->ring);
    }
    return sqe;
}

static void put_done(struct uring_worker *worker, struct io_request *request) {
    mailbox_put(&worker->engine->worker.done, request);
}

/* Reads wake_fd: completes when somebody writes to it. A completion without a slot is this one. */
static void arm_wake(struct uring_worker *worker) {
    struct io_uring_sqe *sqe = next_sqe(worker);
    io_uring_prep_read(sqe, worker->wake_fd, &worker->wake_count, sizeof worker->wake_count, 0);
    io_uring_sqe_set_data(sqe, NULL);
}

static struct perform_tools tools_of(const struct uring_worker *worker,
                                     const struct uring_slot *slot) {
    return (struct perform_tools){slot->buffer, worker->codec};
}

/* Whether bytes lie in the slot's own memory, which the ring knows. */
static bool is_registered(const struct uring_worker *worker, const struct uring_slot *slot,
                          const void *bytes) {
    uint64_t room = worker->engine->worker.buffers.chunk_bytes;
    return worker->buffers_registered && (uintptr_t)bytes - (uintptr_t)slot->buffer < room;
}

static void begin_write(struct uring_worker *worker, struct uring_slot *slot) {
    struct perform *perform = &worker->engine->worker.perform;
    struct io_request *request = slot->request;
    struct perform_tools tools = tools_of(worker, slot);
    slot->write = perform_prepare_write(perform, request, &tools);
    struct io_uring_sqe *sqe = next_sqe(worker);
    int fd = request->file->fd;
    const struct perform_write *write = &slot->write;
    unsigned length = (unsigned)write->length_bytes;
    if (is_registered(worker, slot, write->bytes)) {
        io_uring_prep_write_fixed(sqe, fd, write->bytes, length, write->offset, (int)slot->index);
    } else {
        io_uring_prep_write(sqe, fd, write->bytes, length, write->offset);
    }
    sqe->rw_flags = write->flags;
    io_uring_sqe_set_data(sqe, slot);
    worker->prepared_bytes += length;
    request->begin_ns = perform_now(perform);
}

/* False, with the request's error set, where there is nothing to read. */
static bool begin_read(struct uring_worker *worker, struct uring_slot *slot) {
    struct perform *perform = &worker->engine->worker.perform;
    struct io_request *request = slot->request;
    struct perform_tools tools = tools_of(worker, slot);
    slot->read = perform_prepare_read(perform, request, &tools);
    const struct perform_read *read = &slot->read;
    request->begin_ns = request->end_ns = perform_now(perform);
    if (read->error != 0) {
        perform_settle_read(perform, request, read, &tools, -read->error);
        return false;
    }
    struct io_uring_sqe *sqe = next_sqe(worker);
    int fd = request->file->fd;
    unsigned length = (unsigned)read->length_bytes;
    if (is_registered(worker, slot, read->bytes)) {
        io_uring_prep_read_fixed(sqe, fd, read->bytes, length, read->offset, (int)slot->index);
    } else {
        io_uring_prep_read(sqe, fd, read->bytes, length, read->offset);
    }
    io_uring_sqe_set_data(sqe, slot);
    worker->prepared_bytes += length;
    return true;
}

/* fsync through the ring. False, with the request's error set, where it cannot even begin. */
static bool begin_sync(struct uring_worker *worker, struct uring_slot *slot) {
    struct perform *perform = &worker->engine->worker.perform;
    struct io_request *request = slot->request;
    request->begin_ns = perform_now(perform);
    request->error = perform_before_sync(request->file);
    if (request->error != 0) {
        request->end_ns = perform_now(perform);
        return false;
    }
    struct io_uring_sqe *sqe = next_sqe(worker);
    io_uring_prep_fsync(sqe, request->file->fd, 0);
    io_uring_sqe_set_data(sqe, slot);
    return true;
}

static void free_slot(struct uring_worker *worker, struct uring_slot *slot) {
    slot->next_free = worker->free_slots;
    worker->free_slots = slot;
}

static void begin_in_ring(struct uring_worker *worker, struct io_request *request) {
    struct uring_slot *slot = worker->free_slots;
    worker->free_slots = slot->next_free;
    slot->request = request;
    bool begun = true;
    if (request->op == IO_WRITE) {
        begin_write(worker, slot);
    } else {
        begun = request->op == IO_READ ? begin_read(worker, slot) : begin_sync(worker, slot);
    }
    if (!begun) {
        free_slot(worker, slot);
        put_done(worker, request);
        return;
    }
    worker->under_way++;
}

/* Begins the next request of the backlog; false where there is none, or no buffer for it. */
static bool begin_next(struct uring_worker *worker) {
    static const struct perform_tools no_tools = {0}; /* what needs some goes through the ring */
    struct io_request *request = worker->backlog;
    if (request == NULL) {
        return false;
    }
    bool in_ring =
        request->op == IO_WRITE || request->op == IO_READ || request->op == IO_SYNC;
    if (in_ring && worker->free_slots == NULL) {
        return false;
    }
    worker->backlog = request->next;
    if (in_ring) {
        begin_in_ring(worker, request);
    } else {
        perform_request(&worker->engine->worker.perform, request, &no_tools);
        put_done(worker, request);
    }
    return true;
}

/* Ending them. */

static void end_slot(struct uring_worker *worker, struct uring_slot *slot, int result) {
    struct perform *perform = &worker->engine->worker.perform;
    struct io_request *request = slot->request;
    request->end_ns = perform_now(perform);
    if (request->op == IO_WRITE) {
        perform_settle_write(perform, request, &slot->write, result);
    } else if (request->op == IO_READ) {
        struct perform_tools tools = tools_of(worker, slot);
        perform_settle_read(perform, request, &slot->read, &tools, result);
    } else {
        request->error = result < 0 ? -result : 0;
        perform_after_sync(request->file);
    }
    free_slot(worker, slot);
    worker->under_way--;
    put_done(worker, request);
}

static void reap(struct uring_worker *worker) {
    struct io_uring_cqe *cqe;
    while (io_uring_peek_cqe(&worker->ring, &cqe) == 0) {
        struct uring_slot *slot = io_uring_cqe_get_data(cqe);
        int result = cqe->res;
        io_uring_cqe_seen(&worker->ring, cqe);
        if (slot == NULL) {
            arm_wake(worker);
        } else {
            end_slot(worker, slot, result);
        }
    }
}

static void append_inbox(struct uring_worker *worker) {
    struct io_request **link = &worker->backlog;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = mailbox_take(&worker->inbox, 0);
}

/* Hands over what is prepared and sleeps until a completion, of which a wake is one. The inbox is
 * looked at once more after `asleep` is set: what was put there before has been seen by then, and
 * whoever puts something there later sees `asleep` and writes to wake_fd. */
static void sleep_in_ring(struct uring_worker *worker) {
    atomic_store(&worker->asleep, true);
    append_inbox(worker);
    bool idle = worker->backlog == NULL || worker->free_slots == NULL;
    worker->prepared_bytes = 0;
    io_uring_submit_and_wait(&worker->ring, idle && !mailbox_is_closed(&worker->inbox) ? 1 : 0);
    atomic_store(&worker->asleep, false);
}

/* liburing 2.3 declares io_uring_enable_rings but does not export it. */
static int enable_ring(const struct uring_worker *worker) {
    return (int)syscall(SYS_io_uring_register, worker->ring.ring_fd, IORING_REGISTER_ENABLE_RINGS,
                        NULL, 0);
}

static void worker_main(void *argument) {
    struct uring_worker *worker = argument;
    int failed = enable_ring(worker);
    CHECK(failed == 0);
    arm_wake(worker);
    while (!mailbox_is_closed(&worker->inbox)) {
        append_inbox(worker);
        while (begin_next(worker)) {
            /* The drive gets its work while the next payload is made. */
            if (worker->prepared_bytes >= SUBMIT_BYTES) {
                io_uring_submit_and_get_events(&worker->ring);
                worker->prepared_bytes = 0;
                reap(worker);
            }
        }
        sleep_in_ring(worker);
        reap(worker);
    }
    CHECK(worker->under_way == 0);
}

/* Opening and closing. */

static int init_ring(struct uring_worker *worker) {
    unsigned entries = worker->slot_count + 1;
    entries = entries < RING_ENTRIES_MAX ? entries : RING_ENTRIES_MAX;
    /* The thread that first uses the ring is its only one; kernels before 6.1 do not know that. */
    int failed = io_uring_queue_init(entries, &worker->ring,
                                     IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER |
                                         IORING_SETUP_DEFER_TASKRUN);
    return failed != -EINVAL ? failed
                             : io_uring_queue_init(entries, &worker->ring, IORING_SETUP_R_DISABLED);
}

/* Refused where the user may not lock that much memory: plain writes then. */
static bool register_buffers(struct uring_worker *worker) {
    if (worker->engine->worker.buffers.count == 0) {
        return false;
    }
    struct iovec *vectors = mem_new(worker->slot_count, sizeof vectors[0]);
    for (uint32_t i = 0; i < worker->slot_count; i++) {
        vectors[i].iov_base = worker->slots[i].buffer;
        vectors[i].iov_len = worker->engine->worker.buffers.chunk_bytes;
    }
    int failed = io_uring_register_buffers(&worker->ring, vectors, worker->slot_count);
    mem_free(vectors);
    return failed == 0;
}

static void init_slots(struct uring_worker *worker, uint32_t first_buffer) {
    worker->slots = mem_new(worker->slot_count, sizeof worker->slots[0]);
    for (uint32_t i = 0; i < worker->slot_count; i++) {
        worker->slots[i].index = i;
        const struct buffer_pool *buffers = &worker->engine->worker.buffers;
        worker->slots[i].buffer = buffers->count > 0 ? buffer_at(buffers, first_buffer + i) : NULL;
        free_slot(worker, &worker->slots[i]);
    }
}

static void fini_worker(struct uring_worker *worker) {
    close(worker->wake_fd);
    io_uring_queue_exit(&worker->ring);
    mailbox_fini(&worker->inbox);
    codec_close(worker->codec);
    mem_free(worker->slots);
}

static enum status open_worker(struct uring_worker *worker, uint32_t first_buffer,
                               struct error *err) {
    int failed = init_ring(worker);
    if (failed < 0) {
        return error_set(err, ERR_USAGE,
                         "--engine: 'uring' cannot set up io_uring: %s%s; threads does without it",
                         error_words(-failed),
                         failed == -ENOMEM ? " (the limit of `ulimit -l` may be too low)" : "");
    }
    worker->wake_fd = eventfd(0, EFD_CLOEXEC);
    CHECK(worker->wake_fd >= 0);
    mailbox_init(&worker->inbox);
    init_slots(worker, first_buffer);
    worker->codec = perform_codec_new(&worker->engine->worker.perform.config);
    worker->buffers_registered = register_buffers(worker);
    enum status status = worker_start(&worker->thread, worker_main, worker, err);
    if (status != OK) {
        fini_worker(worker);
    }
    return status;
}

static void wake(struct uring_worker *worker) {
    if (atomic_exchange(&worker->asleep, false)) {
        eventfd_write(worker->wake_fd, 1);
    }
}

static void close_workers(struct uring_engine *engine, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        mailbox_close(&engine->workers[i].inbox);
        wake(&engine->workers[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        uv_thread_join(&engine->workers[i].thread);
        fini_worker(&engine->workers[i]);
    }
}

static enum status open_workers(struct uring_engine *engine, const struct engine_config *config,
                                struct error *err) {
    uint32_t first_buffer = 0;
    for (uint32_t i = 0; i < engine->worker_count; i++) {
        struct uring_worker *worker = &engine->workers[i];
        uint32_t ranks = (config->ranks - i + engine->worker_count - 1) / engine->worker_count;
        worker->engine = engine;
        worker->slot_count = ranks * (uint32_t)config->queue_depth;
        enum status status = open_worker(worker, first_buffer, err);
        if (status != OK) {
            close_workers(engine, i);
            return status;
        }
        first_buffer += worker->slot_count;
    }
    return OK;
}

static uint32_t workers_for(const struct engine_config *config) {
    uint32_t cpus = uv_available_parallelism();
    return config->ranks < cpus ? config->ranks : cpus;
}

static enum status uring_open(const struct engine_config *config, struct engine **opened,
                              struct error *err) {
    struct uring_engine *engine = mem_new(1, sizeof *engine);
    engine->worker_count = workers_for(config);
    enum status status =
        worker_engine_init(&engine->worker, &engine_uring, config, config->queue_depth, err);
    if (status != OK) {
        goto fail_init;
    }
    engine->workers = mem_new(engine->worker_count, sizeof engine->workers[0]);
    status = open_workers(engine, config, err);
    if (status != OK) {
        goto fail_workers;
    }
    *opened = &engine->worker.base;
    return OK;

fail_workers:
    mem_free(engine->workers);
    worker_engine_fini(&engine->worker);
fail_init:
    mem_free(engine);
    return status;
}

static void uring_submit(struct engine *base, struct io_request *request) {
    struct uring_engine *engine = (struct uring_engine *)base;
    if (request->op == IO_PAUSE) {
        pauses_add(&engine->worker.pauses, request, perform_now(&engine->worker.perform));
        return;
    }
    struct uring_worker *worker = &engine->workers[request->rank % engine->worker_count];
    mailbox_put(&worker->inbox, request);
    wake(worker);
}

static void uring_facts(struct engine *base, struct facts *facts) {
    const struct uring_engine *engine = (const struct uring_engine *)base;
    worker_engine_facts(base, facts);
    bool registered = true;
    for (uint32_t i = 0; i < engine->worker_count; i++) {
        registered = registered && engine->workers[i].buffers_registered;
    }
    facts_text(facts, "registered_buffers", registered ? "on" : "off");
}

static void uring_close(struct engine *base) {
    struct uring_engine *engine = (struct uring_engine *)base;
    close_workers(engine, engine->worker_count);
    mem_free(engine->workers);
    worker_engine_fini(&engine->worker);
    mem_free(engine);
}

static uint64_t uring_buffer_bytes(const struct engine_config *config) {
    return config->ranks * config->queue_depth * perform_buffer_bytes(config) +
           workers_for(config) * perform_codec_bytes(config);
}

const struct engine_ops engine_uring = {
    .name = "uring",
    .about = "io_uring with registered buffers, a few threads for all ranks",
    .needs_folder = true,
    .open = uring_open,
    .submit = uring_submit,
    .wait = worker_engine_wait,
    .now = worker_engine_now,
    .cancel_pauses = worker_engine_cancel_pauses,
    .space = worker_engine_space,
    .facts = uring_facts,
    .close = uring_close,
    .buffer_bytes = uring_buffer_bytes,
    .workers = workers_for,
};
