/* Restores on an engine in memory: cold first, then all ranks at once; what is recorded, what is
 * found wrong, and how they end. */
#include "tests/unit/support.h"

#include "base/units.h"
#include "sim/job/restore.h"
#include "tests/unit/fake_engine.h"

enum { CHUNK = 16384, DEPTH = 3, RANKS = 4 };

struct bench {
    struct restore_source source;
    struct arena arena;
    struct plan plan;
    struct shards shards;
    struct read_files files;
    struct read_plan read_plan;
    struct manifest manifest;
    struct fake_engine *fake;
    struct restore_config config;
    struct engine_config io;
    struct result result;
    struct restore restore;
    struct error err;
    volatile sig_atomic_t stop;
    uint64_t told;     /* restores that `each` was told of */
    uint64_t bad_take; /* the source fails at this one, from 1 */
    bool named;        /* it has no manifest: shards name the files */
};

static enum status take(struct restore_source *source, uint64_t nth,
                        struct restore_checkpoint *checkpoint, struct error *err) {
    struct bench *bench = (struct bench *)source;
    if (nth + 1 == bench->bad_take) {
        return error_set(err, ERR_FAILED, "its manifest is gone");
    }
    *checkpoint = (struct restore_checkpoint){
        .number = 5, .serial = 9, .manifest = bench->named ? NULL : &bench->manifest};
    return OK;
}

static void tell(void *context, const struct read_record *record) {
    struct bench *bench = context;
    (void)record;
    bench->told++;
}

static void make_manifest(struct bench *bench) {
    const struct shards *shards = &bench->shards;
    bench->manifest.head.files = shards->files;
    bench->manifest.entries =
        arena_new(&bench->arena, shards->files, sizeof(struct manifest_entry));
    uint64_t nth = 0;
    for (uint32_t rank = 0; rank < shards->ranks; rank++) {
        for (uint64_t i = 0; i < shards->shares[rank].files; i++, nth++) {
            struct shard_file file;
            shards_file(shards, rank, i, 5, &file);
            bench->manifest.entries[nth] =
                (struct manifest_entry){.rank = rank,
                                        .index = i,
                                        .bytes = file.bytes,
                                        .sum = file.bytes,
                                        .has_sum = true,
                                        .path = arena_text(&bench->arena, file.path)};
            struct fake_file *there = &bench->fake->files[bench->fake->file_count++];
            snprintf(there->path, sizeof there->path, "%s", file.path);
            there->size = file.bytes;
        }
    }
}

/* Four ranks with files of some KB to some hundred KB. */
static int make_bench(void **state) {
    struct bench *bench = calloc(1, sizeof *bench);
    struct plan_request request = {.model = "llama-2-7b",
                                   .layout = "dlio2",
                                   .tp = 2,
                                   .pp = 2,
                                   .scale = 4e-4,
                                   .zero_stage = PLAN_ZERO_DEFAULT};
    assert_int_equal(plan_build(&request, &bench->arena, &bench->plan, &bench->err), OK);
    assert_int_equal(bench->plan.ranks, RANKS);
    shards_raw(&bench->plan, &bench->arena, &bench->shards);
    read_files_of(&bench->shards, &bench->arena, &bench->files);
    read_plan_back(&bench->files, &bench->plan, READERS_ALL, 0, &bench->arena, &bench->read_plan);
    bench->source.take = take;
    bench->config = (struct restore_config){.reads = 2, .verify = true, .cold = true};
    bench->io = (struct engine_config){.ranks = RANKS,
                                       .chunk_bytes = CHUNK,
                                       .queue_depth = DEPTH,
                                       .payload = {.seed = 1, .compressible = 1, .dedupe = 1}};
    bench->fake = fake_open(UINT64_C(1) << 40);
    bench->fake->stop = &bench->stop;
    bench->result.arena = &bench->arena;
    make_manifest(bench);
    *state = bench;
    return 0;
}

static int drop_bench(void **state) {
    struct bench *bench = *state;
    fake_close(bench->fake);
    result_fini(&bench->result);
    arena_fini(&bench->arena);
    free(bench);
    return 0;
}

static size_t count_events(const struct bench *bench, enum io_op op) {
    size_t count = 0;
    for (size_t i = 0; i < bench->fake->log_count; i++) {
        count += bench->fake->log[i].op == op && bench->fake->log[i].error == 0;
    }
    return count;
}

static enum status run(struct bench *bench) {
    bench->restore = (struct restore){.config = &bench->config,
                                      .io = &bench->io,
                                      .plan = &bench->read_plan,
                                      .files = &bench->files,
                                      .shards = &bench->shards,
                                      .source = &bench->source,
                                      .engine = &bench->fake->base,
                                      .result = &bench->result,
                                      .arena = &bench->arena,
                                      .stop = &bench->stop,
                                      .observer = {.context = bench},
                                      .each = tell};
    restore_init(&bench->restore);
    size_t used = bench->arena.used_bytes;
    enum status status = restore_run(&bench->restore, &bench->err);
    if (status == OK && bench->stop == 0) {
        assert_int_equal(bench->arena.used_bytes, used); /* nothing is allocated while it runs */
    }
    assert_int_equal(count_events(bench, IO_OPEN), count_events(bench, IO_CLOSE));
    assert_int_equal(bench->fake->pending_count, 0);
    return status;
}

/* Every file is dropped before the barrier; then every rank reads its files from front to back. */
static void cold_then_read(void **state) {
    struct bench *bench = *state;
    uint64_t files = bench->plan.files, cold = 0, read_bytes[RANKS] = {0};
    bench->config.reads = 1;
    assert_int_equal(run(bench), OK);
    const struct read_record *record = &bench->result.reads[0];
    assert_int_equal(count_events(bench, IO_COLD), files);
    assert_int_equal(count_events(bench, IO_OPEN), 2 * files);
    const struct fake_event *last = NULL;
    for (size_t i = 0; i < bench->fake->log_count; i++) {
        const struct fake_event *event = &bench->fake->log[i];
        cold += event->op == IO_COLD;
        if (event->op == IO_READ) {
            assert_int_equal(cold, files);
            assert_true(event->begin_ns >= record->start_ns);
            assert_int_equal(event->offset % CHUNK, 0);
            assert_true(event->length <= CHUNK);
            assert_true(event->check);
            read_bytes[event->rank] += event->length;
            last = event;
        }
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        assert_int_equal(read_bytes[rank], bench->shards.shares[rank].bytes);
    }
    assert_int_equal(bench->fake->most_writes, DEPTH);
    assert_int_equal(record->bytes, bench->plan.checkpoint_bytes);
    assert_int_equal(record->duration_ns, last->end_ns - record->start_ns);
    assert_int_equal(record->slowest_rank, last->rank);
    assert_true(record->complete && record->verified && !record->cached);
    assert_int_equal(record->cached_bytes, 0);
    assert_int_equal(record->checkpoint, 5);
    assert_int_equal(record->verify_ns_sum, 100 * bench->fake->reads);
    assert_int_equal(bench->result.read_latency.count, bench->fake->reads);
}

/* Nothing is dropped and nothing is claimed of the cache where there is none. */
static void without_cache(void **state) {
    struct bench *bench = *state;
    bench->config.cold = bench->config.verify = false;
    bench->named = true;
    bench->fake->no_sums = true;
    assert_int_equal(run(bench), OK);
    assert_int_equal(bench->result.read_count, 2);
    assert_int_equal(count_events(bench, IO_COLD), 0);
    for (size_t i = 0; i < bench->fake->log_count; i++) {
        assert_false(bench->fake->log[i].check);
    }
    const struct read_record *record = &bench->result.reads[1];
    assert_true(record->complete && !record->verified && !record->cached);
    assert_true(record->cached_bytes == RESULT_UNKNOWN);
    assert_int_equal(record->verify_ns_sum, 0);
}

/* More than a thousandth is noticeable; less is not. */
static void what_was_cached(void **state) {
    struct bench *bench = *state;
    uint64_t files = bench->plan.files, bytes = bench->plan.checkpoint_bytes;
    bench->config.reads = 1;
    bench->fake->resident_bytes = bytes / 1000 / files;
    assert_int_equal(run(bench), OK);
    assert_int_equal(bench->result.reads[0].cached_bytes, files * (bytes / 1000 / files));
    assert_false(bench->result.reads[0].cached);
    bench->fake->resident_bytes++;
    assert_int_equal(run(bench), OK);
    assert_true(bench->result.reads[1].cached);
    assert_true(bench->result.reads[1].complete);
}

static void has(const char *text, const char *words) {
    if (text == NULL || strstr(text, words) == NULL) {
        fail_msg("'%s' is not in '%s'", words, text);
    }
}

static void failed(struct bench *bench, const char *words) {
    assert_int_equal(run(bench), ERR_FAILED);
    assert_int_equal(bench->result.outcome, RESULT_FAILED);
    has(bench->err.text, words);
    has(bench->err.text, "restore 1 of checkpoint 5: ");
    assert_int_equal(bench->result.read_count, 1); /* the second is not begun */
    assert_false(bench->result.reads[0].complete);
    has(bench->result.reads[0].note, words);
    assert_int_equal(bench->told, 1);
}

static void wrong_bytes(void **state) {
    struct bench *bench = *state;
    bench->fake->fail_read = 20;
    bench->fake->fail_errno = EBADMSG;
    bench->fake->right_bytes = 77;
    failed(bench, ": not the bytes that were written (EBADMSG)");
    size_t reads = 0;
    for (size_t i = 0; i < bench->fake->log_count; i++) { /* the 20th, and where it went wrong */
        const struct fake_event *event = &bench->fake->log[i];
        reads += event->op == IO_READ;
        if (event->op == IO_READ && reads == 20) {
            char words[300], at[UNITS_TEXT];
            snprintf(words, sizeof words, "read '%s' at byte %s: ", event->path,
                     units_grouped(event->offset + 77, at));
            has(bench->err.text, words);
            break;
        }
    }
}

static void too_short(void **state) {
    struct bench *bench = *state;
    bench->fake->fail_read = 3;
    bench->fake->fail_errno = ENODATA;
    failed(bench, ": the file ends too early (ENODATA)");
}

static void io_error(void **state) {
    struct bench *bench = *state;
    bench->fake->fail_read = 3;
    bench->fake->fail_errno = EIO;
    failed(bench, "(EIO)");
}

static void not_there(void **state) {
    struct bench *bench = *state;
    bench->manifest.entries[7].path = "nowhere";
    failed(bench, "open 'nowhere': no such file or directory (ENOENT)");
    assert_int_equal(count_events(bench, IO_READ), 0);
}

static void wrong_checksum(void **state) {
    struct bench *bench = *state;
    bench->manifest.entries[6].sum++;
    char words[300];
    snprintf(words, sizeof words, "read '%s' at byte 0: the checksum of the whole file differs",
             bench->manifest.entries[6].path);
    failed(bench, words);
}

/* Of a part of a file no checksum is known. */
static void part_of_a_file(void **state) {
    struct bench *bench = *state;
    uint64_t first[] = {0, 3, 3, 3, 3}, files[] = {0, 1}, rank_bytes[RANKS] = {0};
    struct read_range ranges[] = {{0, 4096, 4096}, {0, 12288, 8192}, {1, 0, 4096}};
    assert_true(bench->files.sizes[0] > 20480 && bench->files.sizes[1] > 4096);
    bench->read_plan = (struct read_plan){.ranks = RANKS,
                                          .first = first,
                                          .ranges = ranges,
                                          .rank_bytes = rank_bytes,
                                          .bytes = 16384,
                                          .files = files,
                                          .file_count = 2,
                                          .file_bytes = 1 << 20};
    rank_bytes[0] = 16384;
    bench->manifest.entries[0].sum = bench->manifest.entries[1].sum = 0;
    bench->config.reads = 1;
    assert_int_equal(run(bench), OK);
    assert_int_equal(count_events(bench, IO_READ), 3);
    assert_int_equal(count_events(bench, IO_COLD), 2);
    assert_int_equal(count_events(bench, IO_OPEN), 4); /* two to cool, two to read */
    assert_int_equal(bench->result.reads[0].bytes, 16384);
    assert_int_equal(bench->result.reads[0].fastest_rank, 0); /* the others read nothing */
}

static void no_manifest(void **state) {
    struct bench *bench = *state;
    bench->bad_take = 2;
    assert_int_equal(run(bench), ERR_FAILED);
    has(bench->err.text, "restore 2 of checkpoint 5: its manifest is gone");
    assert_int_equal(bench->result.read_count, 1);
    assert_true(bench->result.reads[0].complete);
}

static void interrupted(void **state) {
    struct bench *bench = *state;
    bench->fake->stop_read = 11;
    assert_int_equal(run(bench), OK);
    assert_int_equal(bench->result.outcome, RESULT_INTERRUPTED);
    has(bench->result.outcome_text, "interrupted in restore 1 of 2");
    assert_int_equal(bench->result.read_count, 1);
    assert_false(bench->result.reads[0].complete);
    assert_string_equal(bench->result.reads[0].note, "interrupted");
}

/* The n-th file of another rank: its own bytes are not what is compared with. */
static void shifted(void **state) {
    struct bench *bench = *state;
    read_plan_back(&bench->files, &bench->plan, READERS_ALL, 1, &bench->arena, &bench->read_plan);
    bench->config.reads = 1;
    assert_int_equal(run(bench), OK);
    for (size_t i = 0; i < bench->fake->log_count; i++) {
        const struct fake_event *event = &bench->fake->log[i];
        bool own = false;
        uint64_t to = bench->files.first[event->rank + 1];
        for (uint64_t k = bench->files.first[event->rank]; k < to; k++) {
            own = own || strcmp(bench->manifest.entries[k].path, event->path) == 0;
        }
        assert_false(event->op == IO_READ && own);
    }
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make_bench, drop_bench)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(cold_then_read), CASE(without_cache), CASE(what_was_cached), CASE(wrong_bytes),
        CASE(too_short),      CASE(io_error),      CASE(not_there),       CASE(wrong_checksum),
        CASE(part_of_a_file), CASE(no_manifest),   CASE(interrupted),     CASE(shifted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
