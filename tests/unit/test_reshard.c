/* Who reads what: plans of reading back, shifted and by one reader for each group; and reading by
 * another parallelism, held against a twin that looks at every element. The twin knows where each
 * element of each tensor lies in the old files; then every element of every tensor that a new rank
 * holds must be in what it reads. A run with the same SEED repeats the same cases. */
#include "tests/unit/support.h"

#include "base/prng.h"
#include "sim/job/reshard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NAMES = 4096, CASES = 150 };

static const struct payload classes[FORMAT_CLASSES];
static char model_path[64];

/* One whole tensor: for each of its elements the file and the byte it is at, file + 1 or 0. */
struct whole {
    char name[TENSOR_NAME];
    uint64_t shape[TENSOR_DIMENSIONS], elements;
    uint64_t *file, *at;
};

struct twin {
    struct whole wholes[NAMES];
    size_t count;
};

static struct whole *find(struct twin *twin, const struct tensor *tensor, bool add) {
    for (size_t i = 0; i < twin->count; i++) {
        if (strcmp(twin->wholes[i].name, tensor->name) == 0) {
            return &twin->wholes[i];
        }
    }
    if (!add) {
        return NULL;
    }
    assert_true(twin->count < NAMES);
    struct whole *whole = &twin->wholes[twin->count++];
    strcpy(whole->name, tensor->name);
    whole->elements = 1;
    for (uint32_t i = 0; i < tensor->dimensions; i++) {
        whole->shape[i] = tensor->whole[i];
        whole->elements *= tensor->whole[i];
    }
    whole->file = calloc(whole->elements, sizeof *whole->file);
    whole->at = calloc(whole->elements, sizeof *whole->at);
    return whole;
}

/* The number in the whole of element `n` of a block, counted row by row. UINT64_MAX beyond it. */
static uint64_t in_whole(const struct tensor *tensor, const uint64_t *shape, uint64_t n) {
    uint64_t place[TENSOR_DIMENSIONS], number = 0;
    for (uint32_t i = tensor->dimensions; i-- > 0;) {
        place[i] = tensor->offset[i] + n % tensor->shape[i];
        n /= tensor->shape[i];
    }
    for (uint32_t i = 0; i < tensor->dimensions; i++) {
        if (place[i] >= shape[i]) {
            return UINT64_MAX;
        }
        number = number * shape[i] + place[i];
    }
    return number;
}

static void learn(struct twin *twin, const struct shards *shards) {
    uint64_t file = 0;
    for (uint32_t rank = 0; rank < shards->ranks; rank++) {
        for (uint64_t i = 0; i < shards->shares[rank].files; i++, file++) {
            const struct format_file *content = shards_content(shards, rank, i);
            uint64_t at = 0;
            for (uint64_t k = 0; k < plan_tensors(shards->plan, rank, i); k++) {
                struct tensor tensor;
                plan_tensor(shards->plan, rank, i, k, &tensor);
                uint64_t begin = content != NULL ? content->places[k].offset : at;
                at += tensor.bytes;
                struct whole *whole = tensor.elements > 0 ? find(twin, &tensor, true) : NULL;
                for (uint64_t n = 0; n < tensor.elements; n++) {
                    uint64_t number = in_whole(&tensor, whole->shape, n);
                    assert_true(number < whole->elements);
                    assert_true(whole->file[number] == 0); /* each is written once */
                    whole->file[number] = file + 1;
                    whole->at[number] = begin + n * datatype_bytes(tensor.datatype);
                }
            }
        }
    }
}

static void forget(struct twin *twin) {
    for (size_t i = 0; i < twin->count; i++) {
        free(twin->wholes[i].file);
        free(twin->wholes[i].at);
    }
    free(twin);
}

static bool reads(const struct read_plan *plan, uint32_t rank, uint64_t file, uint64_t at,
                  uint64_t bytes) {
    for (uint64_t i = plan->first[rank]; i < plan->first[rank + 1]; i++) {
        const struct read_range *range = &plan->ranges[i];
        if (range->file == file && at >= range->offset &&
            at + bytes <= range->offset + range->length_bytes) {
            return true;
        }
    }
    return false;
}

/* Every element that a rank holds and the old files have. */
static void check_rank(struct twin *twin, const struct plan *to, const struct read_plan *plan,
                       uint32_t rank, uint32_t reader) {
    for (uint64_t k = 0; k < plan_held(to, rank); k++) {
        struct tensor tensor;
        plan_held_tensor(to, rank, k, &tensor);
        struct whole *whole = tensor.elements > 0 ? find(twin, &tensor, false) : NULL;
        assert_true(tensor.elements == 0 || whole != NULL);
        for (uint64_t n = 0; n < tensor.elements; n++) {
            uint64_t number = in_whole(&tensor, whole->shape, n);
            if (number == UINT64_MAX) {
                continue; /* padding of the new parallelism alone */
            }
            assert_true(whole->file[number] > 0);
            if (!reads(plan, reader, whole->file[number] - 1, whole->at[number],
                       datatype_bytes(tensor.datatype))) {
                fail_msg("rank %u does not read element %llu of %s", rank, (unsigned long long)n,
                         tensor.name);
            }
        }
    }
}

/* Sorted, in whole blocks, apart from each other, within their files; and the sums. */
static void check_ranges(const struct read_plan *plan, const struct read_files *files) {
    uint64_t bytes = 0;
    for (uint32_t rank = 0; rank < plan->ranks; rank++) {
        uint64_t own = 0;
        for (uint64_t i = plan->first[rank]; i < plan->first[rank + 1]; i++) {
            const struct read_range *range = &plan->ranges[i];
            uint64_t end = range->offset + range->length_bytes;
            assert_int_equal(range->offset % PAYLOAD_BLOCK, 0);
            assert_true(end <= files->sizes[range->file]);
            assert_true(end % PAYLOAD_BLOCK == 0 || end == files->sizes[range->file]);
            if (i > plan->first[rank]) {
                const struct read_range *before = range - 1;
                assert_true(before->file < range->file ||
                            (before->file == range->file &&
                             before->offset + before->length_bytes < range->offset));
            }
            own += range->length_bytes;
        }
        assert_true(own == plan->rank_bytes[rank]);
        bytes += own;
    }
    assert_true(bytes == plan->bytes);
    assert_true(plan->needed_bytes <= bytes);
    assert_true(plan->distinct_bytes <= bytes);
}

struct fixture {
    struct arena arena;
    struct plan from, to;
    struct shards shards;
    struct read_files files;
    struct read_plan plan;
    struct error err;
};

static struct plan_request request_of(const char *model, const char *layout, uint64_t tp,
                                      uint64_t pp, uint64_t dp) {
    return (struct plan_request){.model = model,
                                 .layout = layout,
                                 .tp = tp,
                                 .pp = pp,
                                 .dp = dp,
                                 .zero_stage = PLAN_ZERO_DEFAULT,
                                 .scale = 1};
}

static enum status make(struct fixture *fixture, const struct plan_request *from,
                        struct plan_request to, const char *format, enum readers readers) {
    *fixture = (struct fixture){0};
    to.reads = true;
    struct arena *arena = &fixture->arena;
    if (plan_build(from, arena, &fixture->from, &fixture->err) != OK ||
        plan_build(&to, arena, &fixture->to, &fixture->err) != OK ||
        shards_measure(&fixture->from, format_find(format), classes, SHARDS_CONTENTS, arena,
                       &fixture->shards, &fixture->err) != OK) {
        return fixture->err.status;
    }
    read_files_of(&fixture->shards, arena, &fixture->files);
    return reshard_plan(&fixture->shards, &fixture->files, &fixture->to, readers, arena,
                        &fixture->plan, &fixture->err);
}

static void check(struct fixture *fixture, enum readers readers) {
    struct twin *twin = calloc(1, sizeof *twin);
    learn(twin, &fixture->shards);
    check_ranges(&fixture->plan, &fixture->files);
    for (uint32_t rank = 0; rank < fixture->to.ranks; rank++) {
        uint32_t reader = readers == READERS_ALL ? rank : plan_group_leader(&fixture->to, rank);
        check_rank(twin, &fixture->to, &fixture->plan, rank, reader);
        if (reader != rank) {
            assert_int_equal(fixture->plan.rank_bytes[rank], 0);
        }
    }
    forget(twin);
}

static void good(const struct plan_request *from, struct plan_request to, const char *format,
                 enum readers readers) {
    struct fixture fixture;
    if (make(&fixture, from, to, format, readers) != OK) {
        fail_msg("%s", fixture.err.text);
    }
    check(&fixture, readers);
    arena_fini(&fixture.arena);
}

static void refused(const struct plan_request *from, struct plan_request to, const char *format,
                    const char *words) {
    struct fixture fixture;
    assert_int_equal(make(&fixture, from, to, format, READERS_ALL), ERR_USAGE);
    if (strstr(fixture.err.text, words) == NULL) {
        fail_msg("'%s' is not in '%s'", words, fixture.err.text);
    }
    arena_fini(&fixture.arena);
}

/* Fewer and more ranks, in either direction, with and without containers. */
static void data_parallel(void **state) {
    static const uint64_t sizes[][2] = {{4, 2}, {2, 8}, {3, 5}, {1, 7}, {8, 1}, {4, 4}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct plan_request from = request_of(model_path, "fsdp", 1, 1, sizes[i][0]);
        struct plan_request to = request_of(model_path, "fsdp", 1, 1, sizes[i][1]);
        good(&from, to, "dcp", READERS_ALL);
        good(&from, to, "raw", READERS_ALL);
        good(&from, to, "raw", READERS_ONE_PER_DP);
    }
}

static void tensor_parallel(void **state) {
    (void)state;
    struct plan_request from = request_of(model_path, "fsdp", 2, 1, 2);
    good(&from, request_of(model_path, "fsdp", 4, 1, 1), "dcp", READERS_ALL);
    good(&from, request_of(model_path, "fsdp", 1, 2, 3), "raw", READERS_ALL);
    from = request_of(model_path, "hf", 1, 1, 1);
    good(&from, request_of(model_path, "hf", 4, 1, 1), "safetensors", READERS_ALL);
    good(&from, request_of(model_path, "hf", 2, 2, 2), "raw", READERS_ALL);
    good(&from, request_of(model_path, "hf", 2, 2, 2), "raw", READERS_ONE_PER_DP);
    from = request_of(model_path, "megatron-dist", 2, 1, 2);
    from.zero_stage = 0;
    struct plan_request to = request_of(model_path, "megatron-dist", 4, 1, 1);
    to.zero_stage = 0;
    good(&from, to, "dcp", READERS_ALL);
    to.tp = 1;
    to.pp = 2;
    good(&from, to, "raw", READERS_ALL);
}

/* 501 words are padded to 512 for one rank and to 1,024 for eight: what both have is read. */
static void padded_vocabulary(void **state) {
    (void)state;
    struct plan_request from = request_of(model_path, "megatron-dist", 1, 1, 1);
    struct plan_request to = request_of(model_path, "megatron-dist", 8, 1, 1);
    from.zero_stage = to.zero_stage = 0;
    struct fixture fixture;
    assert_int_equal(make(&fixture, &from, to, "raw", READERS_ALL), OK);
    assert_int_equal(fixture.from.vocab, 512);
    assert_int_equal(fixture.to.vocab, 1024);
    check(&fixture, READERS_ALL);
    arena_fini(&fixture.arena);
}

/* A part of a bucket says which bucket it is of, so the ranks it is divided among may be others;
 * but not which weights are in it, so that nothing else may change. */
static void buckets(void **state) {
    (void)state;
    struct plan_request from = request_of(model_path, "megatron-dist", 2, 1, 4);
    good(&from, request_of(model_path, "megatron-dist", 2, 1, 2), "dcp", READERS_ALL);
    good(&from, request_of(model_path, "megatron-dist", 2, 1, 8), "raw", READERS_ONE_PER_DP);
    refused(&from, request_of(model_path, "megatron-dist", 4, 1, 2), "dcp",
            "one buffer cannot be divided otherwise");
}

static void layouts_that_cannot(void **state) {
    static const char *const names[] = {"dlio", "dlio2", "megatron", "deepspeed"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct plan_request from = request_of(model_path, names[i], 2, 1, 2);
        refused(&from, request_of(model_path, names[i], 1, 1, 2), "raw",
                "megatron-dist, fsdp, hf can");
    }
    struct plan_request from = request_of(model_path, "fsdp", 1, 1, 4);
    from.subset_ranks = 2;
    refused(&from, request_of(model_path, "fsdp", 1, 1, 2), "raw",
            "which rank 0 would need, the checkpoint");
}

/* How little is read. Rows that are cut are one run of bytes; a reader of dcp takes whole items. */
static void how_much(void **state) {
    (void)state;
    struct plan_request from = request_of(model_path, "hf", 1, 1, 1);
    struct fixture fixture;
    assert_int_equal(
        make(&fixture, &from, request_of(model_path, "hf", 1, 1, 3), "safetensors", READERS_ALL),
        OK);
    assert_true(fixture.plan.needed_bytes == 3 * fixture.from.checkpoint_bytes);
    assert_true(fixture.plan.distinct_bytes <= fixture.shards.checkpoint_bytes);
    arena_fini(&fixture.arena);
    assert_int_equal(make(&fixture, &from, request_of(model_path, "hf", 1, 1, 3), "safetensors",
                          READERS_ONE_PER_DP),
                     OK);
    assert_true(fixture.plan.bytes <= fixture.shards.checkpoint_bytes);
    arena_fini(&fixture.arena);
    from = request_of("llama-3.1-8b", "fsdp", 1, 1, 2);
    struct plan_request to = request_of("llama-3.1-8b", "fsdp", 1, 1, 8);
    assert_int_equal(make(&fixture, &from, to, "raw", READERS_ALL), OK);
    uint64_t slack = 2 * PAYLOAD_BLOCK * 8 * 1200; /* both ends of each range */
    assert_true(fixture.plan.bytes < fixture.from.checkpoint_bytes + slack);
    assert_true(fixture.plan.needed_bytes >= fixture.from.checkpoint_bytes);
    arena_fini(&fixture.arena);
    assert_int_equal(make(&fixture, &from, to, "dcp", READERS_ALL), OK);
    assert_true(fixture.plan.bytes > 39 * (fixture.from.checkpoint_bytes / 10)); /* four times */
    arena_fini(&fixture.arena);
}

/* Each rank of a scaled model rounds for itself, so wholes differ; then everything is still read.
 */
static void scaled(void **state) {
    static const uint64_t new_tp[] = {1, 2, 4, 8};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(new_tp); i++) {
        struct plan_request from = request_of("llama-3.1-8b", "fsdp", 2, 1, 2);
        struct plan_request to = request_of("llama-3.1-8b", "fsdp", new_tp[i], 1, 1);
        from.scale = to.scale = 1e-4;
        struct fixture fixture;
        assert_int_equal(make(&fixture, &from, to, "raw", READERS_ALL), OK);
        check_ranges(&fixture.plan, &fixture.files);
        assert_true(fixture.plan.distinct_bytes == fixture.shards.checkpoint_bytes);
        arena_fini(&fixture.arena);
    }
}

static uint64_t pick(uint64_t *state, uint64_t low, uint64_t high) {
    return low + prng_next(state) % (high - low + 1);
}

static void random_cases(void **state) {
    static const char *const names[] = {"fsdp", "hf", "megatron-dist"};
    static const char *const own[] = {"dcp", "safetensors", "dcp"};
    (void)state;
    const char *given = getenv("SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    uint64_t random = seed, done = 0;
    printf("# SEED=%llu\n", (unsigned long long)seed);
    for (int i = 0; i < CASES; i++) {
        size_t layout = pick(&random, 0, 2);
        struct plan_request requests[2];
        for (int k = 0; k < 2; k++) {
            bool gathered = layout == 1 && k == 0;
            requests[k] = request_of(model_path, names[layout],
                                     gathered ? 1 : UINT64_C(1) << pick(&random, 0, 2),
                                     gathered ? 1 : pick(&random, 1, 2), pick(&random, 1, 5));
            if (layout != 1 && pick(&random, 0, 1) == 1) {
                requests[k].ep = pick(&random, 1, 2);
            }
            if (layout == 2) {
                requests[k].zero_stage = 0;
            }
        }
        const char *format = pick(&random, 0, 1) == 0 ? "raw" : own[layout];
        enum readers readers = pick(&random, 0, 1) == 0 ? READERS_ALL : READERS_ONE_PER_DP;
        struct fixture fixture;
        enum status status = make(&fixture, &requests[0], requests[1], format, readers);
        if (status == OK) {
            done++;
            check(&fixture, readers);
        } else { /* a parallelism that does not go with the model, never a tensor that is not found
                  */
            assert_null(strstr(fixture.err.text, "--reshard: of"));
        }
        arena_fini(&fixture.arena);
    }
    assert_true(done > CASES / 3);
}

/* Reading back. */

static void reading_back(void **state) {
    struct fixture fixture = {0};
    struct plan_request request = request_of("llama-2-7b", "dlio", 2, 1, 3);
    (void)state;
    request.scale = 1e-4;
    request.zero_stage = 1; /* so that every rank writes something */
    assert_int_equal(plan_build(&request, &fixture.arena, &fixture.from, &fixture.err), OK);
    shards_raw(&fixture.from, &fixture.arena, &fixture.shards);
    read_files_of(&fixture.shards, &fixture.arena, &fixture.files);
    const struct read_files *files = &fixture.files;
    struct read_plan *plan = &fixture.plan;
    for (uint64_t shift = 0; shift < 6; shift++) {
        read_plan_back(files, &fixture.from, READERS_ALL, shift, &fixture.arena, plan);
        check_ranges(plan, files);
        assert_int_equal(plan->bytes, fixture.from.checkpoint_bytes);
        assert_int_equal(plan->distinct_bytes, plan->bytes);
        assert_int_equal(plan->file_count, fixture.from.files);
        for (uint32_t rank = 0; rank < 6; rank++) {
            uint32_t writer = (uint32_t)((rank + shift) % 6);
            assert_int_equal(plan->rank_bytes[rank], fixture.from.shares[writer].bytes);
            assert_int_equal(plan->ranges[plan->first[rank]].file, files->first[writer]);
        }
    }
    read_plan_back(files, &fixture.from, READERS_ONE_PER_DP, 0, &fixture.arena, plan);
    check_ranges(plan, files);
    assert_int_equal(plan->bytes, fixture.from.checkpoint_bytes);
    for (uint32_t rank = 0; rank < 6; rank++) { /* DLIO counts rank = dp * 2 + tp here */
        uint64_t want = rank >= 2 ? 0
                                  : fixture.from.shares[rank].bytes +
                                        fixture.from.shares[rank + 2].bytes +
                                        fixture.from.shares[rank + 4].bytes;
        assert_int_equal(plan->rank_bytes[rank], want);
    }
    arena_fini(&fixture.arena);
}

static void group_leaders(void **state) {
    struct arena arena = {0};
    struct plan plan;
    struct plan_request request = request_of(model_path, "fsdp", 2, 2, 3);
    (void)state;
    assert_int_equal(plan_build(&request, &arena, &plan, NULL), OK);
    static const uint32_t leaders[] = {0, 1, 0, 1, 0, 1, 6, 7, 6, 7, 6, 7};
    for (uint32_t rank = 0; rank < 12; rank++) {
        assert_int_equal(plan_group_leader(&plan, rank), leaders[rank]);
    }
    arena_fini(&arena);
}

static int write_model(void **state) {
    (void)state;
    snprintf(model_path, sizeof model_path, "/tmp/ckptsim-reshard-%ld.yaml", (long)getpid());
    FILE *file = fopen(model_path, "w");
    assert_non_null(file);
    fputs("family: mixtral\nhidden_size: 24\nnum_hidden_layers: 2\nintermediate_size: 16\n"
          "vocab_size: 504\nnum_attention_heads: 8\nnum_key_value_heads: 4\nnum_local_experts: 2\n",
          file);
    return fclose(file);
}

static int remove_model(void **state) {
    (void)state;
    return unlink(model_path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_parallel),
        cmocka_unit_test(tensor_parallel),
        cmocka_unit_test(padded_vocabulary),
        cmocka_unit_test(buckets),
        cmocka_unit_test(layouts_that_cannot),
        cmocka_unit_test(how_much),
        cmocka_unit_test(scaled),
        cmocka_unit_test(random_cases),
        cmocka_unit_test(reading_back),
        cmocka_unit_test(group_leaders),
    };
    return cmocka_run_group_tests(tests, write_model, remove_model);
}
