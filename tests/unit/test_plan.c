/* Plans of the dlio2 layout to the byte, what the scale keeps, plans of many ranks, and requests
 * that no plan can meet. */
#include "models/digest.h"
#include "models/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

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

static void build(const struct plan_request *request, struct arena *arena, struct plan *plan) {
    struct error err = {0};
    if (plan_build(request, arena, plan, &err) != OK) {
        fail_msg("%s", err.text);
    }
}

static void assert_file(const struct plan *plan, uint32_t rank, uint64_t index, uint32_t checkpoint,
                        const char *path, uint64_t bytes) {
    struct shard_file file;
    plan_file(plan, rank, index, checkpoint, &file);
    assert_string_equal(file.path, path);
    assert_ptr_equal(file.name, file.path);
    assert_int_equal(file.bytes, bytes);
}

static void dlio2_of_the_main_job_is_1636_gb(void **state) {
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct plan_request request = request_of("llama405b", "dlio2", 4, 2, 1);
    build(&request, &arena, &plan);
    assert_int_equal(plan.parameters, UINT64_C(405853388800));
    assert_int_equal(plan.checkpoint_bytes, UINT64_C(1636164354048));
    assert_int_equal(plan.optimizer_bytes, 3 * UINT64_C(405853388800));
    assert_int_equal(plan.model_bytes, plan.checkpoint_bytes - plan.optimizer_bytes);
    assert_int_equal(plan.ranks, 8);
    assert_int_equal(plan.files, 8 * 2 + 4 * 130);
    assert_int_equal(plan.largest_file_bytes, 3 * UINT64_C(405853388800) / 8);
    for (uint32_t rank = 0; rank < 8; rank++) {
        bool heavy = rank % 2 == 0;
        assert_int_equal(plan.shares[rank].bytes,
                         heavy ? UINT64_C(256320731136) : UINT64_C(152720357376));
        assert_int_equal(plan.shares[rank].files, heavy ? 132 : 2);
    }
    assert_file(&plan, 0, 0, 1, "model-1-1-0.pt", 525336576);
    assert_file(&plan, 7, 1, 3, "optimizer-1-3-7.pt", UINT64_C(152195020800));
    assert_file(&plan, 6, 131, 12, "layer-129-1-12-6.pt", 796925952);
    char hex[DIGEST_TEXT];
    assert_true(digest_plan(&plan, 1, hex));
    assert_string_equal(hex, "7675aac6fafcb58461dbd5432b4711fe5b31babfc3c97cc30844d5f0ff837c8c");
    arena_fini(&arena);
}

static void dlio2_without_tensor_parallelism_has_no_extra_layers(void **state) {
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct plan_request request = request_of("llama-2-7b", "dlio2", 0, 0, 0);
    build(&request, &arena, &plan);
    assert_int_equal(plan.ranks, 1);
    assert_int_equal(plan.files, 2 + 32);
    arena_fini(&arena);
}

static void a_subset_writes_what_these_ranks_write_in_the_whole_job(void **state) {
    (void)state;
    struct arena arena = {0};
    struct plan all, some;
    struct plan_request request = request_of("llama405b", "dlio2", 4, 2, 4);
    build(&request, &arena, &all);
    request.subset_ranks = 3;
    build(&request, &arena, &some);
    assert_int_equal(some.ranks, 3);
    uint64_t sum = 0;
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(some.shares[rank].bytes, all.shares[rank].bytes);
        sum += some.shares[rank].bytes;
    }
    assert_int_equal(some.checkpoint_bytes, sum);
    arena_fini(&arena);
}

/* Every file is floored by less than the number of its tensors, which 1,000 bounds here. */
static void scale_keeps_ranks_files_and_proportions(void **state) {
    (void)state;
    static const char *const names[] = {"dlio2", "dlio"};
    for (size_t n = 0; n < 2; n++) {
        struct arena arena = {0};
        struct plan whole, small;
        struct plan_request request = request_of("llama405b", names[n], 4, 2, 1);
        build(&request, &arena, &whole);
        request.scale = 0.001;
        build(&request, &arena, &small);
        assert_int_equal(small.parameters, whole.parameters);
        assert_int_equal(small.ranks, whole.ranks);
        assert_int_equal(small.files, whole.files);
        for (uint32_t rank = 0; rank < whole.ranks; rank++) {
            assert_int_equal(small.shares[rank].files, whole.shares[rank].files);
            for (uint64_t i = 0; i < whole.shares[rank].files; i++) {
                struct shard_file big, little;
                plan_file(&whole, rank, i, 1, &big);
                plan_file(&small, rank, i, 1, &little);
                double expected = (double)big.bytes * request.scale;
                assert_string_equal(big.path, little.path);
                assert_true((double)little.bytes <= expected + 1000);
                assert_true((double)little.bytes >= expected - 10000);
                assert_true(little.bytes > 0);
            }
        }
        arena_fini(&arena);
    }
}

static void the_smallest_scale_leaves_one_element_of_each_tensor(void **state) {
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct plan_request request = request_of("llama405b", "dlio2", 4, 2, 1);
    request.scale = 1e-15;
    build(&request, &arena, &plan);
    assert_int_equal(plan.checkpoint_bytes, 8 * (1 + 3) + 4 * 130);
    arena_fini(&arena);
}

/* Time limits are for release builds; sanitizers slow everything several times. */
static void assert_quick(clock_t begin, double limit_s) {
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    print_message("# %.3f s of CPU\n", seconds);
#ifndef __SANITIZE_ADDRESS__
    assert_true(seconds < limit_s);
#else
    (void)limit_s;
#endif
}

static void sixteen_thousand_ranks_are_quick_and_small(void **state) {
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct plan_request request = request_of("llama405b", "dlio2", 8, 2, 1024);
    clock_t begin = clock();
    build(&request, &arena, &plan);
    assert_quick(begin, 0.1);
    assert_int_equal(plan.ranks, 16384);
    assert_int_equal(plan.files, 1130496);
    assert_int_equal(plan.checkpoint_bytes, UINT64_C(442925083115520));
    assert_true(arena.used_bytes < 2 * 1024 * 1024);
    char hex[DIGEST_TEXT];
    begin = clock();
    assert_true(digest_plan(&plan, 1, hex));
    assert_quick(begin, 2);
    assert_string_equal(hex, "e20e457acee64d21c9eb7d4ecaef987fee5d9d10ac99f8a97e980cda55de00c8");
    arena_fini(&arena);
}

struct refusal {
    const char *model, *layout;
    uint64_t tp, pp, dp, zero, subset;
    double scale;
    const char *says[4];
};

#define UNSET PLAN_ZERO_DEFAULT

static const struct refusal refusals[] = {
    {"llama405b",
     "dlio",
     3,
     0,
     0,
     UNSET,
     0,
     1,
     {"--tp 3", "128 attention heads", "1, 2, 4, 8, 16, 32, 64, 128"}},
    {"llama405b", "dlio2", 256, 0, 0, UNSET, 0, 1, {"--tp 256", "128 attention heads"}},
    {"llama405b", "dlio", 0, 127, 0, UNSET, 0, 1, {"--pp 127", "126 layers", "1 to 126"}},
    {"llama405b", "dlio", 0, 2, 0, 3, 0, 1, {"--zero 3", "--pp 2", "--pp 1"}},
    {"llama405b", "dlio", 0, 0, 0, 4, 0, 1, {"--zero 4", "0, 1, 2 or 3"}},
    {"llama405b", "dlio", 0, 0, 1048577, UNSET, 0, 1, {"--dp 1048577", "1048576"}},
    {"llama405b", "dlio", UINT64_MAX, UINT64_MAX, 0, UNSET, 0, 1, {"--tp", "1048576"}},
    {"llama405b", "dlio", 128, 126, 1048576, UNSET, 0, 1, {"ranks", "at most 1048576"}},
    {"llama405b", "dlio", 4, 0, 0, UNSET, 5, 1, {"--subset 5", "4 ranks", "1 to 4"}},
    {"llama405b", "dlio", 0, 0, 0, UNSET, 0, 0, {"--scale 0", "more than 0"}},
    {"llama405b", "dlio", 0, 0, 0, UNSET, 0, 1.5, {"--scale 1.5", "at most 1"}},
    {"llama405b", "dlio", 0, 0, 0, UNSET, 0, -1, {"--scale -1"}},
    {"llama405b", "dlio3", 0, 0, 0, UNSET, 0, 1, {"--layout 'dlio3'", "dlio2, dlio"}},
    {"llama405x", "dlio", 0, 0, 0, UNSET, 0, 1, {"llama405x", "nearest", "llama3_405b"}},
    {NULL, "dlio", 0, 0, 0, UNSET, 0, 1, {"--model is missing"}},
    {"/nowhere/model.yaml", "dlio", 0, 0, 0, UNSET, 0, 1, {"/nowhere/model.yaml", "no such file"}},
};

static struct plan_request refused_request(const struct refusal *row) {
    struct plan_request request = request_of(row->model, row->layout, row->tp, row->pp, row->dp);
    request.zero_stage = row->zero;
    request.subset_ranks = row->subset;
    request.scale = row->scale;
    return request;
}

static void impossible_requests_say_what_is_allowed(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct error err = {0};
        struct plan_request request = refused_request(&refusals[i]);
        assert_int_equal(plan_build(&request, &arena, &plan, &err), ERR_USAGE);
        for (size_t k = 0; k < 4 && refusals[i].says[k] != NULL; k++) {
            if (strstr(err.text, refusals[i].says[k]) == NULL) {
                fail_msg("'%s' is not in: %s", refusals[i].says[k], err.text);
            }
        }
        arena_fini(&arena);
    }
}

static void not_a_number_is_no_scale(void **state) {
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct error err = {0};
    struct plan_request request = request_of("llama405b", "dlio2", 1, 1, 1);
    request.scale = strtod("nan", NULL);
    assert_int_equal(plan_build(&request, &arena, &plan, &err), ERR_USAGE);
    arena_fini(&arena);
}

static void layouts_are_found_by_name(void **state) {
    (void)state;
    assert_ptr_equal(layout_find("dlio2"), layouts[0]);
    assert_string_equal(layout_find("DLIO")->name, "dlio");
    assert_null(layout_find(""));
    for (size_t i = 0; layouts[i] != NULL; i++) {
        assert_true(strlen(layouts[i]->about) > 0);
        assert_true(strlen(layouts[i]->leaves_out) > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dlio2_of_the_main_job_is_1636_gb),
        cmocka_unit_test(dlio2_without_tensor_parallelism_has_no_extra_layers),
        cmocka_unit_test(a_subset_writes_what_these_ranks_write_in_the_whole_job),
        cmocka_unit_test(scale_keeps_ranks_files_and_proportions),
        cmocka_unit_test(the_smallest_scale_leaves_one_element_of_each_tensor),
        cmocka_unit_test(sixteen_thousand_ranks_are_quick_and_small),
        cmocka_unit_test(impossible_requests_say_what_is_allowed),
        cmocka_unit_test(not_a_number_is_no_scale),
        cmocka_unit_test(layouts_are_found_by_name),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
