/* The shims around the engine that writes nothing, request by request; and what they count with. */
#include "base/check.h"
#include "base/prng.h"
#include "io/engine.h"
#include "io/held.h"
#include "io/shim_faults.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { KIB = 1024 };

struct fixture {
    struct engine_config config;
    struct engine *engine;
};

static struct fixture start(uint64_t quota_bytes, const char *faults, bool preallocate) {
    struct fixture fixture = {.config = {.ranks = 2,
                                         .chunk_bytes = 64 * KIB,
                                         .queue_depth = 4,
                                         .preallocate = preallocate,
                                         .quota_bytes = quota_bytes,
                                         .faults = faults,
                                         .seed = 3}};
    struct error err;
    if (engine_open("null", &fixture.config, &fixture.engine, &err) != OK) {
        fail_msg("%s", err.text);
    }
    return fixture;
}

static struct io_request run(struct fixture *fixture, struct io_request request) {
    engine_submit(fixture->engine, &request);
    assert_ptr_equal(engine_wait(fixture->engine, UINT64_C(10000000000)), &request);
    return request;
}

static int open_file(struct fixture *fixture, struct io_file *file) {
    return run(fixture, (struct io_request){.op = IO_OPEN, .file = file}).error;
}

static struct io_request write_file(struct fixture *fixture, struct io_file *file, uint64_t offset,
                                    uint64_t length_bytes) {
    struct io_request request = {.op = IO_WRITE, .file = file, .offset = offset};
    request.length_bytes = length_bytes;
    return run(fixture, request);
}

static int remove_path(struct fixture *fixture, const char *path) {
    return run(fixture, (struct io_request){.op = IO_REMOVE, .path = path}).error;
}

static uint64_t free_space(struct fixture *fixture) {
    uint64_t free_bytes, total_bytes;
    struct engine *engine = fixture->engine;
    assert_int_equal(engine->ops->space(engine, &free_bytes, &total_bytes), 0);
    return free_bytes;
}

static void test_quota_of_preallocated(void **state) {
    (void)state;
    struct fixture fixture = start(100 * KIB, NULL, true);
    struct io_file a = {.path = "a", .size_bytes = 60 * KIB};
    struct io_file b = {.path = "b", .size_bytes = 60 * KIB};
    assert_int_equal(open_file(&fixture, &a), 0);
    assert_int_equal(free_space(&fixture), 40 * KIB);
    assert_int_equal(open_file(&fixture, &b), ENOSPC);
    assert_int_equal(write_file(&fixture, &a, 0, 60 * KIB).error, 0);
    assert_int_equal(free_space(&fixture), 40 * KIB);
    assert_int_equal(open_file(&fixture, &a), 0); /* truncated and taken anew */
    a.mode = IO_OVERWRITE;
    assert_int_equal(open_file(&fixture, &a), 0);
    assert_int_equal(free_space(&fixture), 40 * KIB);
    assert_int_equal(remove_path(&fixture, "a"), 0);
    assert_int_equal(free_space(&fixture), 100 * KIB);
    assert_int_equal(open_file(&fixture, &b), 0);
    engine_close(fixture.engine);
}

static void test_quota_of_growing(void **state) {
    (void)state;
    struct fixture fixture = start(100 * KIB, NULL, false);
    struct io_file a = {.path = "a", .size_bytes = 200 * KIB};
    assert_int_equal(open_file(&fixture, &a), 0);
    assert_int_equal(write_file(&fixture, &a, 0, 64 * KIB).error, 0);
    struct io_request refused = write_file(&fixture, &a, 64 * KIB, 64 * KIB);
    assert_int_equal(refused.error, ENOSPC);
    assert_int_equal(refused.done_bytes, 0);
    assert_int_equal(write_file(&fixture, &a, 0, 64 * KIB).error, 0); /* in place */
    assert_int_equal(write_file(&fixture, &a, 64 * KIB, 36 * KIB).error, 0);
    assert_int_equal(free_space(&fixture), 0);
    struct io_request rename = {.op = IO_RENAME, .path = "a", .new_path = "b"};
    assert_int_equal(run(&fixture, rename).error, 0);
    assert_int_equal(remove_path(&fixture, "a"), 0); /* the null engine removes anything */
    assert_int_equal(free_space(&fixture), 0);
    struct io_file b = {.path = "b", .size_bytes = 1};
    assert_int_equal(open_file(&fixture, &b), 0);
    assert_int_equal(free_space(&fixture), 100 * KIB);
    engine_close(fixture.engine);
}

/* Against a plain list: random paths set, removed and renamed. */
static void test_held(void **state) {
    (void)state;
    enum { PATHS = 300 };
    static uint64_t bytes[PATHS];
    struct held held = {0};
    uint64_t random = 5, total = 0;
    char path[16], other[16];
    memset(bytes, 0, sizeof bytes);
    for (int step = 0; step < 20000; step++) {
        size_t i = prng_next(&random) % PATHS, j = prng_next(&random) % PATHS;
        snprintf(path, sizeof path, "d/%zu", i);
        snprintf(other, sizeof other, "d/%zu", j);
        switch (prng_next(&random) % 4) {
        case 0: held_remove(&held, path), total -= bytes[i], bytes[i] = 0; break;
        case 1:
            held_rename(&held, path, other);
            if (i != j && bytes[i] != 0) {
                total -= bytes[j], bytes[j] = bytes[i], bytes[i] = 0;
            }
            break;
        default:
            total -= bytes[i], bytes[i] = 1 + step, total += bytes[i];
            held_set(&held, path, bytes[i]);
        }
        assert_int_equal(held.total_bytes, total);
        assert_int_equal(held_bytes(&held, other), bytes[j]);
    }
    held_rename(&held, "d", "e/f");
    assert_int_equal(held.total_bytes, total);
    for (size_t i = 0; i < PATHS; i++) {
        snprintf(path, sizeof path, "e/f/%zu", i);
        assert_int_equal(held_bytes(&held, path), bytes[i]);
    }
    held_fini(&held);
}

static void test_faults_after(void **state) {
    (void)state;
    struct fixture fixture = start(0, "write:enospc:after=128KiB,sync:eio:after=128KiB", true);
    struct io_file a = {.path = "a", .size_bytes = 200 * KIB};
    struct io_request sync = {.op = IO_SYNC, .file = &a};
    uint64_t space = free_space(&fixture);
    assert_int_equal(open_file(&fixture, &a), 0);
    assert_int_equal(write_file(&fixture, &a, 0, 64 * KIB).error, 0);
    assert_int_equal(run(&fixture, sync).error, 0);
    assert_int_equal(write_file(&fixture, &a, 0, 64 * KIB).error, 0);
    assert_int_equal(write_file(&fixture, &a, 0, 1).error, ENOSPC);
    assert_int_equal(write_file(&fixture, &a, 0, 1).error, ENOSPC);
    assert_int_equal(run(&fixture, sync).error, EIO);
    assert_int_equal(free_space(&fixture), space);
    engine_close(fixture.engine);
}

static void test_faults_at(void **state) {
    (void)state;
    struct fixture fixture = start(0, "remove:eacces:at=2,open:edquot,rename:erofs", true);
    struct io_file a = {.path = "a"};
    assert_int_equal(remove_path(&fixture, "a"), 0);
    assert_int_equal(remove_path(&fixture, "a"), EACCES);
    assert_int_equal(remove_path(&fixture, "a"), 0);
    assert_int_equal(open_file(&fixture, &a), EDQUOT);
    struct io_request rename = {.op = IO_RENAME, .path = "a", .new_path = "b"};
    assert_int_equal(run(&fixture, rename).error, EROFS);
    engine_close(fixture.engine);
}

static uint64_t failures_at_rate(uint64_t *pattern) {
    struct fixture fixture = start(0, "write:eio:rate=25%", true);
    struct io_file a = {.path = "a", .size_bytes = 4096};
    uint64_t count = 0;
    for (int i = 0; i < 4000; i++) {
        int error = write_file(&fixture, &a, 0, 4096).error;
        assert_true(error == 0 || error == EIO);
        count += error != 0;
        *pattern = *pattern * 3 + (error != 0);
    }
    engine_close(fixture.engine);
    return count;
}

static void test_faults_rate(void **state) {
    (void)state;
    uint64_t first = 0, second = 0;
    uint64_t count = failures_at_rate(&first);
    assert_true(count > 850 && count < 1150);
    assert_int_equal(failures_at_rate(&second), count);
    assert_int_equal(first, second); /* the same seed, the same faults */
}

static void test_faults_short(void **state) {
    (void)state;
    struct fixture fixture = start(0, "write:short", true);
    struct io_file a = {.path = "a", .size_bytes = 64 * KIB};
    assert_int_equal(open_file(&fixture, &a), 0);
    struct io_request cut = write_file(&fixture, &a, 0, 64 * KIB);
    assert_int_equal(cut.error, EIO);
    assert_true(cut.short_write);
    assert_int_equal(cut.done_bytes, 32 * KIB);
    assert_int_equal(cut.length_bytes, 64 * KIB);
    cut = write_file(&fixture, &a, 0, 4096);
    assert_true(cut.short_write && cut.error == EIO && cut.done_bytes == 0);
    engine_close(fixture.engine);
}

/* The same path in two folders: faults and quota know which one is meant. */
static void test_tiers(void **state) {
    (void)state;
    struct fixture fixture = start(64 * KIB, "drain-write:enospc:after=100KiB,drain-open:eio:at=3", false);
    struct io_file near = {.path = "a", .size_bytes = 64 * KIB}, far = near;
    far.tier = 1;
    assert_int_equal(open_file(&fixture, &near), 0);
    assert_int_equal(open_file(&fixture, &far), 0);
    assert_int_equal(write_file(&fixture, &near, 0, 64 * KIB).error, 0);
    assert_int_equal(write_file(&fixture, &near, 0, 64 * KIB).error, 0);
    assert_int_equal(write_file(&fixture, &far, 0, 64 * KIB).error, 0); /* beyond the quota of the other */
    assert_int_equal(write_file(&fixture, &far, 64 * KIB, 64 * KIB).error, ENOSPC);
    assert_int_equal(write_file(&fixture, &near, 64 * KIB, KIB).error, ENOSPC); /* the quota */
    assert_int_equal(open_file(&fixture, &near), 0);
    assert_int_equal(open_file(&fixture, &far), 0);
    assert_int_equal(open_file(&fixture, &far), EIO);
    struct io_request gone = {.op = IO_REMOVE, .path = "a", .tier = 1}, *back;
    engine_submit(fixture.engine, &gone);
    while ((back = engine_wait(fixture.engine, 1000000)) == NULL) {
    }
    assert_int_equal(back->error, 0);
    assert_int_equal(write_file(&fixture, &near, 64 * KIB, KIB).error, ENOSPC); /* it holds as much */
    engine_close(fixture.engine);
}

static void test_faults_spelling(void **state) {
    (void)state;
    static const struct {
        const char *rules, *says;
    } wrong[] = {
        {"", "none of open, write"},
        {"wirte:eio", "none of open, write"},
        {"write", "none of eio, enospc"},
        {"write:ebusy", "none of eio, enospc"},
        {"write:eio:later=3", "none of after=SIZE"},
        {"write:eio:3", "none of after=SIZE"},
        {"write:eio:at=x", "'write:eio:at=x'"},
        {"write:eio:at=0", "at=1"},
        {"write:eio:rate=1.5", "from 0 to 1"},
        {"write:eio:at=1:at=2", "too much"},
        {"sync:short", "only a write"},
        {"write:eio,", "none of open, write"},
    };
    struct error err;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_int_equal(shim_faults_check(wrong[i].rules, &err), ERR_USAGE);
        if (strstr(err.text, wrong[i].says) == NULL || strncmp(err.text, "--faults: ", 10) != 0) {
            fail_msg("'%s' says: %s", wrong[i].rules, err.text);
        }
    }
    assert_int_equal(shim_faults_check("close:eio:rate=0.1,sync-dir:efbig:after=2.5GB", &err), OK);
}

static void test_both(void **state) {
    (void)state;
    struct fixture fixture = start(64 * KIB, "open:eio:at=2", true);
    struct io_file a = {.path = "a", .size_bytes = 64 * KIB}, b = a;
    b.path = "b";
    assert_int_equal(open_file(&fixture, &a), 0);
    assert_int_equal(open_file(&fixture, &b), EIO);
    assert_int_equal(open_file(&fixture, &b), ENOSPC);
    assert_string_equal(fixture.engine->ops->name, "null");
    engine_close(fixture.engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quota_of_preallocated),
        cmocka_unit_test(test_quota_of_growing),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_faults_after),
        cmocka_unit_test(test_faults_at),
        cmocka_unit_test(test_faults_rate),
        cmocka_unit_test(test_faults_short),
        cmocka_unit_test(test_tiers),
        cmocka_unit_test(test_faults_spelling),
        cmocka_unit_test(test_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
