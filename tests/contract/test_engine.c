/* The contract test: finds every engine through the registry and holds the rules of io/engine.h
 * against it, on a disk and in memory, in each mode of writing, and with each shim around it. A new
 * engine needs no line here. */
#include "tests/contract/engine_play.h"

#include "base/prng.h"

#include <errno.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <time.h>

/* One way to run an engine. */
struct variant {
    const struct engine_ops *ops;
    const char *where; /* a folder to work below */
    int direct, dontcache;
    bool preallocate;
    const char *shim; /* "quota", "faults" or NULL */
    struct play play;
};

static int set_up(void **state) {
    struct variant *variant = *state;
    struct play *play = &variant->play;
    *play = (struct play){0};
    if (!play_make_folder(play, variant->where)) {
        return -1;
    }
    play->config.direct = variant->direct;
    play->config.dontcache = variant->dontcache;
    play->config.preallocate = variant->preallocate;
    if (variant->shim != NULL && strcmp(variant->shim, "quota") == 0) {
        play->config.quota_bytes = UINT64_C(1) << 40;
    } else if (variant->shim != NULL) {
        play->config.faults = "write:eio:after=1TiB,sync:enospc:at=1000000";
    }
    return 0;
}

static int tear_down(void **state) {
    struct variant *variant = *state;
    if (variant->play.engine != NULL) {
        engine_close(variant->play.engine);
    }
    play_remove_folder(&variant->play);
    return 0;
}

static struct play *start(void **state) {
    struct variant *variant = *state;
    play_open_engine(&variant->play, variant->ops->name);
    return &variant->play;
}

static bool is_real(void **state) { return ((struct variant *)*state)->ops->needs_folder; }

static void make_files(const struct play *play, struct io_file *files, uint64_t size_bytes) {
    static const char *const paths[PLAY_RANKS] = {"a/shard-0", "a/shard-1", "shard-2"};
    for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
        files[rank] = (struct io_file){.path = paths[rank], .size_bytes = size_bytes};
        files[rank].stream = payload_stream(&play->config.payload, size_bytes, rank, 0);
    }
}

static void test_bytes_and_sums(void **state) {
    static const uint64_t sizes[] = {
        1, 511, 4095, 4096, 4097, PLAY_CHUNK, 3 * PLAY_CHUNK + 7, 17 * PLAY_CHUNK - 4096};
    struct play *play = start(state);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct io_file files[PLAY_RANKS];
        make_files(play, files, sizes[i]);
        assert_int_equal(play_checkpoint(play, files), 0);
        for (uint32_t rank = 0; is_real(state) && rank < PLAY_RANKS; rank++) {
            play_check_file(play, &files[rank]);
        }
    }
}

/* Chunks of some MiB, which an engine may write in several pieces. */
static void test_large_chunks(void **state) {
    struct variant *variant = *state;
    variant->play.config.chunk_bytes = PLAY_LARGE_CHUNK;
    struct play *play = start(state);
    struct io_file files[PLAY_RANKS];
    make_files(play, files, 2 * PLAY_LARGE_CHUNK + (1 << 20) + 4097);
    assert_int_equal(play_checkpoint(play, files), 0);
    for (uint32_t rank = 0; is_real(state) && rank < PLAY_RANKS; rank++) {
        play_check_file(play, &files[rank]);
    }
}

static void test_zero_payload(void **state) {
    struct variant *variant = *state;
    variant->play.config.payload.kind = PAYLOAD_ZERO;
    struct play *play = start(state);
    struct io_file files[PLAY_RANKS];
    static char text[5000];
    memset(text, 'x', sizeof text);
    struct io_file file = {.path = "text", .size_bytes = sizeof text};
    assert_int_equal(play_file_op(play, IO_OPEN, &file), 0);
    /* A literal passes through the buffer that must hold zeros again afterwards. */
    struct io_request write = {.op = IO_WRITE, .file = &file, .literal = text};
    write.length_bytes = sizeof text;
    assert_int_equal(play_run(play, write), 0);
    assert_int_equal(play_file_op(play, IO_CLOSE, &file), 0);
    make_files(play, files, 2 * PLAY_CHUNK + 100);
    assert_int_equal(play_checkpoint(play, files), 0);
    for (uint32_t rank = 0; is_real(state) && rank < PLAY_RANKS; rank++) {
        play_check_file(play, &files[rank]);
    }
}

static void test_overwrite(void **state) {
    struct play *play = start(state);
    struct io_file files[PLAY_RANKS];
    static const uint64_t sizes[] = {3 * PLAY_CHUNK + 7, 3 * PLAY_CHUNK + 7, PLAY_CHUNK + 1};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        make_files(play, files, sizes[i]);
        for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
            files[rank].mode = IO_OVERWRITE;
            files[rank].stream += i;
        }
        assert_int_equal(play_checkpoint(play, files), 0);
        for (uint32_t rank = 0; is_real(state) && rank < PLAY_RANKS; rank++) {
            play_check_file(play, &files[rank]);
        }
    }
    /* What is there already can be synced later. */
    files[0].mode = IO_EXISTING;
    assert_int_equal(play_file_op(play, IO_OPEN, &files[0]), 0);
    assert_int_equal(play_file_op(play, IO_SYNC, &files[0]), 0);
    assert_int_equal(play_file_op(play, IO_CLOSE, &files[0]), 0);
    if (is_real(state)) {
        assert_int_equal(play_file_size(play, files[0].path), files[0].size_bytes);
    }
}

static void write_literal(struct play *play, struct io_file *file, const char *text,
                          size_t length) {
    struct io_request write = {.op = IO_WRITE, .file = file, .literal = text};
    write.length_bytes = length;
    assert_int_equal(play_file_op(play, IO_OPEN, file), 0);
    assert_int_equal(play_run(play, write), 0);
    assert_int_equal(play_file_op(play, IO_SYNC, file), 0);
    assert_int_equal(play_file_op(play, IO_CLOSE, file), 0);
    assert_int_equal(file->sum, 0); /* sums are of payload alone */
}

static void check_literal(const struct play *play, const struct io_file *file, const char *text,
                          size_t length) {
    static char bytes[4 * PLAY_CHUNK];
    int fd = folder_open_file(&play->folder, file->path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, bytes, sizeof bytes, 0), length);
    close(fd);
    assert_memory_equal(bytes, text, length);
}

static void test_literal(void **state) {
    static const char text[] = "{\"checkpoint\": 1}\n";
    struct play *play = start(state);
    for (int plain = 0; plain < 2; plain++) {
        struct io_file file = {.path = "manifest", .size_bytes = sizeof text, .plain = plain};
        write_literal(play, &file, text, sizeof text);
        if (is_real(state)) {
            check_literal(play, &file, text, sizeof text);
        }
    }
    /* Longer than any write of payload, as manifests of many files are. */
    static char long_text[3 * PLAY_CHUNK + 5];
    memset(long_text, 'y', sizeof long_text);
    struct io_file file = {.path = "long", .size_bytes = sizeof long_text, .plain = true};
    write_literal(play, &file, long_text, sizeof long_text);
    if (is_real(state)) {
        check_literal(play, &file, long_text, sizeof long_text);
    }
}

/* A header in blocks of its own, then payload. */
static void test_header(void **state) {
    static const char text[] = "header";
    struct play *play = start(state);
    struct io_file file = {.path = "shard", .size_bytes = 3 * 4096 + 5, .stream = 9};
    struct io_request header = {.op = IO_WRITE, .file = &file, .literal = text};
    header.length_bytes = sizeof text;
    struct io_request body = {.op = IO_WRITE, .file = &file, .offset = 4096};
    body.length_bytes = 2 * 4096 + 5;
    assert_int_equal(play_file_op(play, IO_OPEN, &file), 0);
    assert_int_equal(play_run(play, header), 0);
    assert_int_equal(play_run(play, body), 0);
    assert_int_equal(play_file_op(play, IO_CLOSE, &file), 0);
    if (!is_real(state)) {
        return;
    }
    uint8_t bytes[3 * 4096 + 6];
    int fd = folder_open_file(&play->folder, "shard", O_RDONLY);
    assert_int_equal(pread(fd, bytes, sizeof bytes, 0), 3 * 4096 + 5);
    close(fd);
    assert_string_equal((char *)bytes, text);
    size_t right = payload_compare(&play->config.payload, 9, 4096, bytes + 4096, 2 * 4096 + 5);
    assert_int_equal(right, 2 * 4096 + 5);
    assert_int_equal(file.sum, payload_sum(4096, bytes + 4096, 2 * 4096 + 5));
}

static void test_names(void **state) {
    struct play *play = start(state);
    struct io_file file = {.path = "c1.tmp", .size_bytes = 10000, .stream = 3};
    assert_int_equal(play_file_op(play, IO_OPEN, &file), 0);
    assert_int_equal(play_file_op(play, IO_CLOSE, &file), 0);
    assert_int_equal(play_path_op(play, IO_RENAME, "c1.tmp", "c1"), 0);
    assert_int_equal(play_path_op(play, IO_SYNC_DIR, "", NULL), 0);
    assert_int_equal(play_path_op(play, IO_REMOVE, "c1", NULL), 0);
    if (!is_real(state)) {
        return;
    }
    assert_int_equal(folder_open_file(&play->folder, "c1", O_RDONLY), -ENOENT);
    assert_int_equal(play_path_op(play, IO_REMOVE, "c1", NULL), ENOENT);
    assert_int_equal(play_path_op(play, IO_RENAME, "c1", "c2"), ENOENT);
    assert_int_equal(play_path_op(play, IO_SYNC_DIR, "none", NULL), ENOENT);
}

static void test_failing_open(void **state) {
    struct play *play = start(state);
    struct io_file missing = {.path = "missing", .mode = IO_EXISTING};
    assert_int_equal(play_file_op(play, IO_OPEN, &missing), ENOENT);
    struct io_file file = {.path = "file", .size_bytes = 1};
    assert_int_equal(play_file_op(play, IO_OPEN, &file), 0);
    assert_int_equal(play_file_op(play, IO_CLOSE, &file), 0);
    struct io_file below = {.path = "file/below", .size_bytes = 1};
    assert_int_not_equal(play_file_op(play, IO_OPEN, &below), 0);
}

static void test_pause(void **state) {
    struct play *play = start(state);
    struct io_request late = {.op = IO_PAUSE, .rank = 0, .pause_ns = 60 * MS};
    struct io_request soon = {.op = IO_PAUSE, .rank = 1, .pause_ns = 30 * MS};
    play_submit(play, &late);
    play_submit(play, &soon);
    assert_null(engine_wait(play->engine, 5 * MS));
    assert_ptr_equal(play_wait(play), &soon);
    assert_ptr_equal(play_wait(play), &late);
    assert_true(soon.end_ns - soon.begin_ns >= 30 * MS && soon.end_ns - soon.begin_ns < 500 * MS);
    assert_true(late.end_ns - late.begin_ns >= 60 * MS);
    assert_int_equal(late.error, 0);
}

static void test_pause_cancelled(void **state) {
    struct play *play = start(state);
    struct io_request requests[PLAY_RANKS];
    for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
        requests[rank] = (struct io_request){.op = IO_PAUSE, .rank = rank};
        requests[rank].pause_ns = rank == 0 ? UINT64_MAX : UINT64_C(7200) * 1000 * MS;
        play_submit(play, &requests[rank]);
    }
    assert_null(engine_wait(play->engine, MS));
    engine_cancel_pauses(play->engine);
    for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
        struct io_request *request = play_wait(play);
        assert_true(request->end_ns - request->begin_ns < 10000 * MS);
    }
    assert_null(engine_wait(play->engine, 0));
}

/* One rank computes while another writes. */
static void test_pause_beside_writes(void **state) {
    struct play *play = start(state);
    struct io_request pause = {.op = IO_PAUSE, .rank = 2, .pause_ns = 50 * MS};
    struct io_file file = {.path = "f", .size_bytes = 10 * 4096, .stream = 3};
    struct io_request open = {.op = IO_OPEN, .file = &file};
    struct io_request close = {.op = IO_CLOSE, .file = &file};
    play_submit(play, &open);
    play_submit(play, &pause);
    for (int i = 0; i < 2; i++) {
        struct io_request *request = play_wait(play);
        assert_int_equal(request->error, 0);
        if (request == &open) {
            play_submit(play, &close);
            i--;
        }
    }
    assert_int_equal(play->under_way, 0);
}

static void test_waiting(void **state) {
    struct play *play = start(state);
    assert_true(engine_now(play->engine) < 5000 * MS); /* near 0 at open */
    uint64_t before = engine_now(play->engine);
    assert_null(engine_wait(play->engine, 20 * MS));
    uint64_t after = engine_now(play->engine);
    if (is_real(state)) {
        assert_true(after - before >= 20 * MS && after - before < 5000 * MS);
    }
    assert_null(engine_wait(play->engine, 0));
}

static void test_space_and_facts(void **state) {
    struct play *play = start(state);
    uint64_t free_bytes = 0, total_bytes = 0;
    assert_int_equal(play->engine->ops->space(play->engine, &free_bytes, &total_bytes), 0);
    assert_true(free_bytes <= total_bytes && total_bytes > 0);
    if (play->config.quota_bytes != 0) {
        assert_int_equal(total_bytes, play->config.quota_bytes);
    }
    struct facts facts = {.arena = &play->arena};
    play->engine->ops->facts(play->engine, &facts);
    assert_non_null(facts_get(&facts, "direct"));
    const struct variant *variant = *state;
    uint64_t buffers = engine_buffer_bytes(variant->ops->name, &play->config);
    assert_int_equal(facts_get(&facts, "buffer_bytes")->number, buffers);
    assert_true(buffers <= PLAY_RANKS * PLAY_DEPTH * (uint64_t)PLAY_CHUNK);
    if (is_real(state) && variant->direct == IO_DIRECT_OFF) {
        assert_string_equal(facts_get(&facts, "direct")->text, "off");
    }
}

/* A limit on the file's size: part of a write goes through, the rest is refused with a signal. */
static void test_size_limit(void **state) {
    struct variant *variant = *state;
    variant->play.config.preallocate = false;
    struct play *play = start(state);
    struct io_file files[PLAY_RANKS];
    make_files(play, files, 4 * PLAY_CHUNK);
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 2 * PLAY_CHUNK + 8192;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int error = play_checkpoint(play, files);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(error, EFBIG);
}

/* Whatever the order of operations, each request comes back once: ranks at random. */
static void test_random_jobs(void **state) {
    struct play *play = start(state);
    uint64_t random = (uint64_t)time(NULL);
    const char *given = getenv("SEED");
    random = given != NULL ? strtoull(given, NULL, 10) : random;
    print_message("# SEED=%llu\n", (unsigned long long)random);
    for (int round = 0; round < 6; round++) {
        struct io_file files[PLAY_RANKS];
        make_files(play, files, 1);
        for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
            files[rank].size_bytes = prng_next(&random) % (9 * PLAY_CHUNK);
            files[rank].mode = prng_next(&random) % 2 == 0 ? IO_TRUNCATE : IO_OVERWRITE;
            files[rank].plain = prng_next(&random) % 4 == 0;
        }
        assert_int_equal(play_checkpoint(play, files), 0);
        for (uint32_t rank = 0; is_real(state) && rank < PLAY_RANKS; rank++) {
            play_check_file(play, &files[rank]);
        }
    }
}

/* A file system of 2 MiB in memory, gone with its last user. */
static bool mount_small(const char *dir) {
    return geteuid() == 0 && mount("none", dir, "tmpfs", 0, "size=2m") == 0;
}

static void test_full_drive(void **state) {
    struct variant *variant = *state;
    struct play *play = &variant->play;
    char dir[] = "/tmp/ckptsim-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    if (!mount_small(dir)) {
        print_message("# not allowed to mount a small drive\n");
        rmdir(dir);
        skip();
    }
    struct folder folder;
    struct error err;
    assert_int_equal(folder_create(dir, "test", &play->arena, &folder, &err), OK);
    play->config.folder = &folder;
    play->config.direct = IO_DIRECT_AUTO;
    play_open_engine(play, variant->ops->name);
    struct io_file files[PLAY_RANKS];
    make_files(play, files, 1 << 20);
    int error = play_checkpoint(play, files);
    engine_close(play->engine);
    play->engine = NULL;
    folder_close(&folder);
    assert_int_equal(umount2(dir, MNT_DETACH), 0);
    rmdir(dir);
    assert_int_equal(error, ENOSPC);
}

/* Contradictions are found before anything is written. */
static void test_refusals(void **state) {
    struct variant *variant = *state;
    struct play *play = &variant->play;
    struct error err;
    play->config.chunk_bytes = 1000;
    assert_int_equal(engine_open(variant->ops->name, &play->config, &play->engine, &err),
                     ERR_USAGE);
    assert_non_null(strstr(err.text, "--chunk"));
    play->config.chunk_bytes = UINT64_C(1) << 30;
    play->config.ranks = 1000000;
    play->config.queue_depth = 100;
    if (variant->ops->buffer_bytes != NULL) {
        assert_int_equal(engine_open(variant->ops->name, &play->config, &play->engine, &err),
                         ERR_USAGE);
        assert_non_null(strstr(err.text, "queue depth"));
    }
    assert_null(play->engine);
}

#include "tests/contract/engine_reading.h"

#include "tests/contract/engine_compressed.h"

struct rule {
    const char *name;
    void (*check)(void **state);
    bool once; /* does not depend on the way of writing: not run for each of them */
    bool real; /* says something about files: not run for engines that reach none */
};

static const struct rule rules[] = {
    {"bytes and sums", test_bytes_and_sums, false, false},
    {"large chunks", test_large_chunks, false, false},
    {"zero payload", test_zero_payload, false, false},
    {"overwriting in place", test_overwrite, false, false},
    {"literals", test_literal, false, false},
    {"a header and payload", test_header, false, false},
    {"reading back", test_reading, false, false},
    {"reading what was changed", test_reading_damage, false, true},
    {"reading zeros", test_reading_zeros, false, false},
    {"leaving the page cache", test_cold, false, true},
    {"copies into memory", test_copies, false, false},
    {"two folders", test_two_folders, false, false},
    {"copies stand apart", test_copies_apart, false, false},
    {"a format", test_format, false, true},
    {"compressed files", test_compressed, false, true},
    {"compressed files of zeros", test_compressed_zeros, false, true},
    {"overwriting compressed files", test_compressed_overwrite, false, true},
    {"compressed files of a format", test_compressed_format, false, true},
    {"compressed copies", test_compressed_copies, false, true},
    {"compressed copies without a buffer", test_compressed_copies_alone, false, true},
    {"compressed files that were changed", test_compressed_damage, false, true},
    {"a small file beside compressed ones", test_compressed_plain, false, true},
    {"compressed files within a quota", test_compressed_quota, false, true},
    {"memory of a codec", test_codec_memory, true, false},
    {"random jobs", test_random_jobs, false, false},
    {"names", test_names, false, false},
    {"failing opens", test_failing_open, false, true},
    {"space and facts", test_space_and_facts, false, false},
    {"a limit on file sizes", test_size_limit, false, true},
    {"a full drive", test_full_drive, false, true},
    {"pauses", test_pause, true, false},
    {"pauses cancelled", test_pause_cancelled, true, false},
    {"pauses beside writes", test_pause_beside_writes, true, false},
    {"waiting", test_waiting, true, false},
    {"refusals", test_refusals, true, false},
};

static const struct variant ways[] = {
    {.preallocate = true},
    {.direct = IO_DIRECT_OFF, .preallocate = true},
    {.direct = IO_DIRECT_OFF, .dontcache = IO_DONTCACHE_OFF},
    {.preallocate = true, .shim = "quota"},
    {.preallocate = true, .shim = "faults"},
};

enum { VARIANT_LIMIT = 256, TEST_LIMIT = VARIANT_LIMIT * COUNT_OF(rules) };

static struct CMUnitTest make_test(struct variant *variant, const struct rule *rule) {
    char *name;
    const char *shim = variant->shim != NULL ? variant->shim : "none";
    if (asprintf(&name, "%s, %s, direct %d, dontcache %d, preallocate %d, shim %s: %s",
                 variant->ops->name, variant->where, variant->direct, variant->dontcache,
                 variant->preallocate, shim, rule->name) < 0) {
        abort();
    }
    return (struct CMUnitTest){.name = name,
                               .test_func = rule->check,
                               .setup_func = set_up,
                               .teardown_func = tear_down,
                               .initial_state = variant};
}

/* Every engine in every place in every way by every rule that has something to say there. */
static size_t make_tests(struct CMUnitTest *tests, struct variant *variants) {
    const char *disk = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    const char *const places[] = {disk, "/dev/shm"};
    size_t count = 0, test_count = 0;
    for (size_t v = 0; engines[v / COUNT_OF(ways) / COUNT_OF(places)] != NULL; v++) {
        const struct engine_ops *ops = engines[v / COUNT_OF(ways) / COUNT_OF(places)];
        size_t place = v / COUNT_OF(ways) % COUNT_OF(places), way = v % COUNT_OF(ways);
        CHECK(count < VARIANT_LIMIT);
        struct variant *variant = &variants[count++];
        *variant = ways[way];
        variant->ops = ops;
        variant->where = places[place];
        /* A shim does not care where the files lie. */
        bool shim = variant->shim != NULL, first = place == 0 && way == 0;
        for (size_t r = 0; r < COUNT_OF(rules) && !(shim && place == 0); r++) {
            bool fits = ops->needs_folder || !rules[r].real;
            if (fits && (!rules[r].once || shim || first)) {
                tests[test_count++] = make_test(variant, &rules[r]);
            }
        }
    }
    return test_count;
}

int main(void) {
    static struct variant variants[VARIANT_LIMIT];
    static struct CMUnitTest tests[TEST_LIMIT];
    size_t count = make_tests(tests, variants);
    int failed = _cmocka_run_group_tests("engines", tests, count, NULL, NULL);
    for (size_t i = 0; i < count; i++) {
        free((void *)(uintptr_t)tests[i].name);
    }
    return failed;
}
