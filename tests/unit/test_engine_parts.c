/* What engines are made of: pauses, the hand-off between threads, buffers and their limits; and
 * what an engine does where the system gives it less than it would like. */
#include "base/check.h"
#include "base/prng.h"
#include "io/buffer.h"
#include "io/mailbox.h"
#include "io/memory_limit.h"
#include "io/pauses.h"
#include "tests/contract/engine_play.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void test_pauses_end_in_order(void **state) {
    (void)state;
    enum { COUNT = 200 };
    static struct io_request requests[COUNT];
    struct pauses pauses = {0};
    uint64_t random = 1;
    for (int i = 0; i < COUNT; i++) {
        requests[i] = (struct io_request){.op = IO_PAUSE, .error = -1};
        requests[i].pause_ns = i % 3 == 0 ? 500 : prng_next(&random) % 1000;
        pauses_add(&pauses, &requests[i], (uint64_t)i);
    }
    uint64_t now_ns = 0;
    for (int taken = 0; taken < COUNT; taken++) {
        assert_true(pauses_next_ns(&pauses) >= now_ns);
        now_ns = pauses_next_ns(&pauses);
        assert_null(now_ns == 0 ? NULL : pauses_take(&pauses, now_ns - 1));
        struct io_request *request = pauses_take(&pauses, now_ns);
        assert_non_null(request);
        assert_int_equal(request->error, 0);
        assert_int_equal(request->end_ns - request->begin_ns, request->pause_ns);
    }
    assert_int_equal(pauses_next_ns(&pauses), UINT64_MAX);
    assert_null(pauses_take(&pauses, UINT64_MAX));
}

static void test_pauses_cancelled(void **state) {
    (void)state;
    struct io_request requests[3] = {{.pause_ns = UINT64_MAX}, {.pause_ns = 10}, {.pause_ns = 99}};
    struct pauses pauses = {0};
    for (int i = 0; i < 3; i++) {
        pauses_add(&pauses, &requests[i], 5);
    }
    pauses_cancel(&pauses, 20);
    assert_ptr_equal(pauses_take(&pauses, 20), &requests[1]);
    assert_ptr_equal(pauses_take(&pauses, 20), &requests[2]);
    assert_ptr_equal(pauses_take(&pauses, 20), &requests[0]);
    assert_int_equal(requests[0].end_ns, 20);
}

enum { SENT = 20000 };

struct sender {
    struct mailbox *mailbox;
    struct io_request *requests;
};

static void send_all(void *argument) {
    struct sender *sender = argument;
    for (int i = 0; i < SENT; i++) {
        mailbox_put(sender->mailbox, &sender->requests[i]);
    }
}

/* Two senders: all arrives once, and each one's in its order. */
static void test_mailbox(void **state) {
    (void)state;
    struct mailbox mailbox;
    struct sender senders[2];
    uv_thread_t threads[2];
    uint64_t next[2] = {0, 0};
    mailbox_init(&mailbox);
    assert_null(mailbox_take(&mailbox, 0));
    assert_null(mailbox_take(&mailbox, MS));
    for (uint32_t s = 0; s < 2; s++) {
        senders[s] = (struct sender){&mailbox, calloc(SENT, sizeof(struct io_request))};
        for (uint64_t i = 0; i < SENT; i++) {
            senders[s].requests[i].rank = s;
            senders[s].requests[i].offset = i;
        }
        uv_thread_create(&threads[s], send_all, &senders[s]);
    }
    while (next[0] < SENT || next[1] < SENT) {
        struct io_request *request = mailbox_take(&mailbox, UINT64_MAX);
        assert_non_null(request);
        for (; request != NULL; request = request->next) {
            assert_int_equal(request->offset, next[request->rank]++);
        }
    }
    for (int s = 0; s < 2; s++) {
        uv_thread_join(&threads[s]);
        free(senders[s].requests);
    }
    mailbox_close(&mailbox);
    assert_true(mailbox_is_closed(&mailbox));
    assert_null(mailbox_take(&mailbox, UINT64_MAX));
    mailbox_fini(&mailbox);
}

static void test_buffers(void **state) {
    (void)state;
    struct buffer_pool pool;
    struct error err;
    assert_int_equal(buffer_open(&pool, 3, 2, 12288, &err), OK);
    for (size_t i = 0; i < 6; i++) {
        uint8_t *buffer = buffer_at(&pool, i);
        assert_int_equal((uintptr_t)buffer % 4096, 0);
        for (size_t k = 0; k < 12288; k++) {
            assert_int_equal(buffer[k], 0);
        }
        memset(buffer, 0xff, 12288); /* no overlap: the next one is zero still */
    }
    assert_non_null(buffer_pages_name(&pool));
    buffer_close(&pool);
}

static void test_buffers_too_large(void **state) {
    (void)state;
    struct buffer_pool pool;
    struct error err;
    uint64_t available = memory_limit_available();
    assert_true(available > 0);
    assert_int_equal(buffer_open(&pool, 1024, 1, available / 1024 + 4096, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "1024 ranks x queue depth 1 x"));
    assert_non_null(strstr(err.text, "what fits is --chunk="));
    assert_int_equal(buffer_open(&pool, UINT32_MAX, 1 << 20, 4096, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "fewer ranks"));
}

/* Runs check in a process of its own, since it changes limits and users. */
static void in_child(void (*check)(struct play *play), bool as_nobody) {
    struct play play = {0};
    assert_true(play_make_folder(&play, "/tmp"));
    char command[300];
    snprintf(command, sizeof command, "chmod -R a+rwx '%s'", play.dir);
    assert_int_equal(system(command), 0);
    pid_t child = fork();
    if (child == 0) {
        if (as_nobody && setuid(65534) != 0) {
            _exit(77);
        }
        check(&play);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    play_remove_folder(&play);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("# cannot become another user\n");
        return;
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* In the child there is no test runner: end with a code of its own. */
static void require(bool condition, int code) {
    if (!condition) {
        _exit(code);
    }
}

static const char *fact_text(struct play *play, const char *key) {
    struct facts facts = {.arena = &play->arena};
    play->engine->ops->facts(play->engine, &facts);
    const struct fact *fact = facts_get(&facts, key);
    return fact == NULL ? "" : fact->text;
}

static void write_one_file(struct play *play, const char *engine) {
    struct error err;
    enum status status = engine_open(engine, &play->config, &play->engine, &err);
    if (status != OK) {
        print_message("# %s\n", err.text);
    }
    require(status == OK, 10);
    struct io_file file = {.path = "f", .size_bytes = 10000, .stream = 1};
    struct io_request requests[] = {
        {.op = IO_OPEN, .file = &file},
        {.op = IO_WRITE, .file = &file, .length_bytes = 10000},
        {.op = IO_SYNC, .file = &file},
        {.op = IO_CLOSE, .file = &file},
    };
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        engine_submit(play->engine, &requests[i]);
        require(engine_wait(play->engine, PLAY_TIMEOUT_NS) == &requests[i], 11);
        require(requests[i].error == 0, 12);
    }
}

static void check_no_locked_memory(struct play *play) {
    /* Enough for the rings themselves, but not for a single buffer. */
    setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){512 * 1024, 512 * 1024});
    play->config.chunk_bytes = 1 << 20;
    write_one_file(play, "uring");
    require(strcmp(fact_text(play, "registered_buffers"), "off") == 0, 13);
    engine_close(play->engine);
}

/* Buffers that may not be locked are written from all the same. */
static void test_no_locked_memory(void **state) {
    (void)state;
    in_child(check_no_locked_memory, true);
}

static void check_signals(struct play *play) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(SIGTERM, &action, NULL);
    write_one_file(play, "threads");
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    /* Blocked here and in every worker it stays pending; one worker that took it would end us. */
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    kill(getpid(), SIGTERM);
    require(engine_wait(play->engine, 20 * MS) == NULL, 14);
    sigset_t pending;
    sigpending(&pending);
    require(sigismember(&pending, SIGTERM) == 1, 15);
    engine_close(play->engine);
}

static void test_workers_take_no_signals(void **state) {
    (void)state;
    in_child(check_signals, false);
}

static void test_unknown_engine(void **state) {
    (void)state;
    struct engine_config config = play_config(NULL);
    struct engine *engine = NULL;
    struct error err;
    assert_int_equal(engine_open("magic", &config, &engine, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "'magic' is none of threads, uring, uv, null"));
    assert_int_equal(engine_buffer_bytes("null", &config), 0);
    assert_int_equal(engine_buffer_bytes("threads", &config), PLAY_RANKS * PLAY_CHUNK);
    config.faults = "write:nonsense";
    assert_int_equal(engine_open("null", &config, &engine, &err), ERR_USAGE);
    assert_null(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pauses_end_in_order),
        cmocka_unit_test(test_pauses_cancelled),
        cmocka_unit_test(test_mailbox),
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_buffers_too_large),
        cmocka_unit_test(test_no_locked_memory),
        cmocka_unit_test(test_workers_take_no_signals),
        cmocka_unit_test(test_unknown_engine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
