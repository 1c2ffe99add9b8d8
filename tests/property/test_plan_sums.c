/* Random small models and parallelisms: what the tensors say adds up to the files, the files to the
 * shares, and the shares to the totals; no two files share a path and no two tensors of a file a
 * name; a run with the same SEED repeats the same cases. */
#include "base/prng.h"
#include "models/digest.h"
#include "models/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { CASES = 400 };

static uint64_t pick(uint64_t *state, uint64_t low, uint64_t high) {
    return low + prng_next(state) % (high - low + 1);
}

/* Sizes that do not divide each other, so that every floor is exercised. */
static void write_model(FILE *file, uint64_t *state, uint64_t tp, uint64_t layers) {
    static const char *const names[] = {"llama", "qwen2",       "mixtral",
                                        "gpt2",  "deepseek_v3", "gemma3_text"};
    uint64_t heads = tp * pick(state, 1, 4);
    fprintf(file, "family: %s\nhidden_size: %llu\nnum_hidden_layers: %llu\n",
            names[pick(state, 0, 5)], (unsigned long long)pick(state, heads, heads + 300),
            (unsigned long long)layers);
    fprintf(file, "intermediate_size: %llu\nvocab_size: %llu\nnum_attention_heads: %llu\n",
            (unsigned long long)pick(state, 1, 999), (unsigned long long)pick(state, 1, 999),
            (unsigned long long)heads);
    fprintf(file, "num_key_value_heads: %llu\n", (unsigned long long)pick(state, 1, heads));
    if (pick(state, 0, 1) == 1) {
        fprintf(file,
                "num_local_experts: %llu\ndecoder_sparse_step: %llu\n"
                "first_k_dense_replace: %llu\nn_shared_experts: %llu\n",
                (unsigned long long)pick(state, 1, 9), (unsigned long long)pick(state, 1, 3),
                (unsigned long long)pick(state, 0, 5), (unsigned long long)pick(state, 0, 2));
    }
    fputs("n_positions: 77\nkv_lora_rank: 13\nqk_nope_head_dim: 7\nqk_rope_head_dim: 5\n"
          "v_head_dim: 11\n",
          file);
}

static int compare_paths(const void *left, const void *right) { return strcmp(left, right); }

static void check_paths(const struct plan *plan) {
    char(*paths)[SHARD_PATH] = calloc(plan->files + 1, sizeof *paths);
    uint64_t count = 0;
    for (uint32_t rank = 0; rank < plan->ranks; rank++) {
        for (uint64_t i = 0; i < plan->shares[rank].files; i++) {
            struct shard_file file;
            plan_file(plan, rank, i, UINT32_MAX, &file);
            strcpy(paths[count++], file.path);
        }
    }
    qsort(paths, count, sizeof *paths, compare_paths);
    for (uint64_t i = 1; i < count; i++) {
        assert_string_not_equal(paths[i - 1], paths[i]);
    }
    free(paths);
}

static void check_sums(const struct plan *plan) {
    uint64_t total = 0, files = 0, model = 0, largest = 0;
    for (uint32_t rank = 0; rank < plan->ranks; rank++) {
        uint64_t bytes = 0;
        for (uint64_t i = 0; i < plan->shares[rank].files; i++) {
            struct shard_file file;
            plan_file(plan, rank, i, 1, &file);
            bytes += file.bytes;
            model += file.bytes - file.optimizer_bytes;
            assert_true(file.kind == SHARD_MODEL || file.optimizer_bytes == file.bytes);
            largest = file.bytes > largest ? file.bytes : largest;
            const char *slash = strrchr(file.path, '/');
            assert_ptr_equal(file.name, slash != NULL ? slash + 1 : file.path);
        }
        assert_int_equal(plan->shares[rank].bytes, bytes);
        total += bytes;
        files += plan->shares[rank].files;
    }
    assert_int_equal(plan->checkpoint_bytes, total);
    assert_int_equal(plan->files, files);
    assert_int_equal(plan->model_bytes, model);
    assert_int_equal(plan->optimizer_bytes, total - model);
    assert_int_equal(plan->largest_file_bytes, largest);
}

static int compare_names(const void *left, const void *right) {
    return strcmp(((const struct tensor *)left)->name, ((const struct tensor *)right)->name);
}

static void check_tensor(const struct tensor *tensor) {
    uint64_t elements = 1;
    assert_true(strlen(tensor->name) > 0 && strlen(tensor->name) + 1 < TENSOR_NAME);
    assert_true(tensor->dimensions <= TENSOR_DIMENSIONS);
    for (uint32_t i = 0; i < tensor->dimensions; i++) {
        elements *= tensor->shape[i];
        assert_true(tensor->offset[i] + tensor->shape[i] <= tensor->whole[i]);
    }
    assert_int_equal(tensor->elements, elements);
    assert_int_equal(tensor->bytes, elements * datatype_bytes(tensor->datatype));
}

static void check_tensors(const struct plan *plan, uint32_t rank, uint64_t index) {
    struct shard_file file;
    plan_file(plan, rank, index, 1, &file);
    uint64_t count = plan_tensors(plan, rank, index), bytes = 0;
    struct tensor *tensors = calloc(count + 1, sizeof *tensors);
    for (uint64_t i = 0; i < count; i++) {
        plan_tensor(plan, rank, index, i, &tensors[i]);
        check_tensor(&tensors[i]);
        bytes += tensors[i].bytes;
    }
    if (bytes != file.bytes) {
        fail_msg("%s of rank %u: %llu bytes, its %llu tensors %llu", file.path, rank,
                 (unsigned long long)file.bytes, (unsigned long long)count,
                 (unsigned long long)bytes);
    }
    qsort(tensors, count, sizeof *tensors, compare_names);
    for (uint64_t i = 1; i < count; i++) {
        assert_string_not_equal(tensors[i - 1].name, tensors[i].name);
    }
    free(tensors);
}

static void check_all_tensors(const struct plan *plan) {
    for (uint32_t rank = 0; rank < plan->ranks; rank++) {
        for (uint64_t i = 0; i < plan->shares[rank].files; i++) {
            check_tensors(plan, rank, i);
        }
    }
}

/* Without splitting, the dlio layout writes every parameter of the model exactly once, and three
 * copies of them with 5 x hidden more each beside it. */
static void check_whole(const struct plan *plan) {
    const struct parallelism *parallelism = &plan->parallelism;
    if (strcmp(plan->layout->name, "dlio") != 0 || parallelism->tp > 1 || plan->scale < 1) {
        return;
    }
    if (parallelism->zero < 3 && plan->ranks == parallelism->pp * parallelism->dp) {
        assert_int_equal(plan->model_bytes, 2 * plan->parameters);
    }
}

static void run_case(uint64_t *state, struct arena *arena) {
    uint64_t tp = pick(state, 1, 4), layers = pick(state, 1, 12);
    char path[] = "/tmp/ckptsim-test-XXXXXX.yaml";
    int fd = mkstemps(path, 5);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    write_model(file, state, tp, layers);
    fclose(file);
    struct plan_request request = {.model = path, .tp = tp, .dp = pick(state, 1, 3)};
    request.zero_stage = pick(state, 0, 3);
    request.pp = request.zero_stage == 3 ? 1 : pick(state, 1, layers);
    request.layout = pick(state, 0, 1) == 0 ? "dlio" : "dlio2";
    request.scale = pick(state, 0, 2) == 0 ? 0.01 : 1;
    uint64_t ranks = request.tp * request.pp * request.dp;
    request.subset_ranks = pick(state, 0, 3) == 0 ? pick(state, 1, ranks) : 0;
    struct plan plan;
    struct error err = {0};
    enum status status = plan_build(&request, arena, &plan, &err);
    unlink(path);
    if (status != OK) {
        fail_msg("%s", err.text);
    }
    check_sums(&plan);
    check_all_tensors(&plan);
    check_paths(&plan);
    check_whole(&plan);
}

/* Sizes that the frameworks' layouts can cut: multiples of tp, and experts of ep. */
static void write_even_model(FILE *file, uint64_t *state, const struct plan_request *request,
                             uint64_t layers) {
    static const char *const names[] = {"llama", "qwen2",       "mixtral", "gpt2",
                                        "opt",   "deepseek_v3", "gpt_oss", "gemma3_text"};
    uint64_t tp = request->tp, heads = tp * pick(state, 1, 4);
    fprintf(file, "family: %s\nhidden_size: %llu\nnum_hidden_layers: %llu\nhead_dim: %llu\n",
            names[pick(state, 0, 7)], (unsigned long long)pick(state, 1, 300),
            (unsigned long long)layers, (unsigned long long)(tp * pick(state, 1, 20)));
    fprintf(file, "intermediate_size: %llu\nvocab_size: %llu\nnum_attention_heads: %llu\n",
            (unsigned long long)(tp * pick(state, 1, 99)), (unsigned long long)pick(state, 1, 999),
            (unsigned long long)heads);
    fprintf(file, "num_key_value_heads: %llu\n", (unsigned long long)(pick(state, 0, 1) ? 1 : tp));
    if (request->ep > 1 || pick(state, 0, 1) == 1) {
        fprintf(file,
                "num_local_experts: %llu\ndecoder_sparse_step: %llu\n"
                "first_k_dense_replace: %llu\nn_shared_experts: %llu\n",
                (unsigned long long)(request->ep * pick(state, 1, 4)),
                (unsigned long long)pick(state, 1, 3), (unsigned long long)pick(state, 0, 5),
                (unsigned long long)pick(state, 0, 2));
    }
    fputs("n_positions: 77\nkv_lora_rank: 13\nqk_nope_head_dim: 7\nqk_rope_head_dim: 5\n"
          "v_head_dim: 11\n",
          file);
    if (pick(state, 0, 1) == 1) {
        fputs("q_lora_rank: 17\n", file);
    }
}

/* A tensor of a checkpoint whose files are parts of whole ones. */
struct piece {
    char name[TENSOR_NAME];
    uint64_t elements, whole, bytes;
    enum tensor_class class;
};

static int compare_pieces(const void *left, const void *right) {
    return strcmp(((const struct piece *)left)->name, ((const struct piece *)right)->name);
}

static struct piece *gather(const struct plan *plan, uint64_t *count) {
    uint64_t room = 0;
    struct piece *pieces = NULL;
    *count = 0;
    for (uint32_t rank = 0; rank < plan->ranks; rank++) {
        for (uint64_t i = 0; i < plan->shares[rank].files; i++) {
            uint64_t tensors = plan_tensors(plan, rank, i);
            room += tensors;
            pieces = realloc(pieces, (room + 1) * sizeof *pieces);
            for (uint64_t k = 0; k < tensors; k++) {
                struct tensor tensor;
                plan_tensor(plan, rank, i, k, &tensor);
                struct piece *piece = &pieces[(*count)++];
                *piece = (struct piece){.elements = tensor.elements,
                                        .whole = 1,
                                        .bytes = tensor.bytes,
                                        .class = tensor.class};
                strcpy(piece->name, tensor.name);
                for (uint32_t d = 0; d < tensor.dimensions; d++) {
                    piece->whole *= tensor.whole[d];
                }
            }
        }
    }
    qsort(pieces, *count, sizeof *pieces, compare_pieces);
    return pieces;
}

/* What a distributed checkpoint's files hold of a tensor is all of it, once; and all weights
 * together are the model's, its vocabulary padded. */
static void check_cover(const struct plan *plan) {
    uint64_t count, weights = 0;
    struct piece *pieces = gather(plan, &count);
    for (uint64_t i = 0; i < count;) {
        uint64_t sum = 0, first = i;
        for (; i < count && strcmp(pieces[i].name, pieces[first].name) == 0; i++) {
            assert_int_equal(pieces[i].whole, pieces[first].whole);
            sum += pieces[i].elements;
        }
        if (sum != pieces[first].whole) {
            fail_msg("%s, %s: %llu of %llu elements", plan->layout->name, pieces[first].name,
                     (unsigned long long)sum, (unsigned long long)pieces[first].whole);
        }
        weights += pieces[first].class == TENSOR_WEIGHT ? pieces[first].whole : 0;
    }
    struct architecture padded = plan->model;
    padded.vocab = plan->vocab;
    if (plan->scale >= 1) {
        assert_int_equal(weights, architecture_parameters(&padded));
    }
    free(pieces);
}

static void pick_parallelism(uint64_t *state, struct plan_request *request, uint64_t layers) {
    const struct layout *layout = layout_find(request->layout);
    unsigned takes = layout->takes;
    request->tp = layout->gathers ? 1 : UINT64_C(1) << pick(state, 0, 2);
    request->dp = UINT64_C(1) << pick(state, 0, 3);
    request->cp = (takes & TAKES_CP) != 0 ? pick(state, 1, 2) : 1;
    request->ep = (takes & TAKES_EP) != 0 ? UINT64_C(1) << pick(state, 0, 2) : 1;
    request->etp = (takes & TAKES_EP) != 0 && pick(state, 0, 1) == 1 ? 1 : 0;
    request->pp = layout->gathers ? 1 : pick(state, 1, layers < 4 ? layers : 4);
    request->vpp = (takes & TAKES_VPP) != 0 && request->pp > 1 ? pick(state, 1, 2) : 1;
    if ((takes & TAKES_UNEVEN) != 0 && request->pp > 1 && pick(state, 0, 2) == 0) {
        request->first_stage_layers = pick(state, 1, layers);
    }
    request->vocab_divisible_by = (takes & TAKES_VOCAB) != 0 ? pick(state, 1, 9) : 0;
    request->zero_stage = pick(state, layout->zero_least, layout->zero_most);
    do {
        request->optimizer = (int)pick(state, 0, OPTIMIZER_COUNT - 1);
    } while (request->optimizer != 0 && (layout->optimizers & 1U << request->optimizer) == 0);
    request->model_datatype =
        request->optimizer == OPTIMIZER_ADAM_FP32 ? 0 : (int)pick(state, 0, DATATYPE_FP32);
}

/* Returns whether the request could be met. */
static bool run_framework_case(const char *layout, uint64_t *state) {
    struct arena arena = {0};
    char path[] = "/tmp/ckptsim-test-XXXXXX.yaml";
    uint64_t layers = pick(state, 1, 12);
    struct plan_request request = {.model = path, .layout = layout};
    pick_parallelism(state, &request, layers);
    request.scale = pick(state, 0, 2) == 0 ? 0.03 : 1;
    FILE *file = fdopen(mkstemps(path, 5), "w");
    assert_non_null(file);
    write_even_model(file, state, &request, layers);
    fclose(file);
    struct plan plan;
    struct error err = {0};
    bool met = plan_build(&request, &arena, &plan, &err) == OK;
    unlink(path);
    if (met) {
        check_sums(&plan);
        check_all_tensors(&plan);
        check_paths(&plan);
        bool distributed = strcmp(layout, "megatron-dist") == 0 || strcmp(layout, "fsdp") == 0;
        if (distributed || strcmp(layout, "hf") == 0) {
            check_cover(&plan);
        }
    } else {
        assert_int_equal(err.status, ERR_USAGE);
        assert_non_null(strstr(err.text, "--"));
    }
    arena_fini(&arena);
    return met;
}

static uint64_t start_seed(void) {
    const char *given = getenv("SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("# SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

static void files_shares_and_totals_agree(void **unused) {
    (void)unused;
    uint64_t state = start_seed();
    for (int i = 0; i < CASES; i++) {
        struct arena arena = {0};
        run_case(&state, &arena);
        arena_fini(&arena);
    }
}

static void frameworks_cover_their_models(void **unused) {
    (void)unused;
    uint64_t state = start_seed();
    for (size_t i = 0; layouts[i] != NULL; i++) {
        int met = 0;
        for (int k = 0; k < CASES && !layouts[i]->flat; k++) {
            met += run_framework_case(layouts[i]->name, &state);
        }
        print_message("# %s: %d of %d built\n", layouts[i]->name, met, CASES);
        assert_true(met > CASES / 20 || layouts[i]->flat);
    }
}

struct huge {
    uint64_t hidden, layers, ffn, vocab;
};

static enum status build_huge(const struct huge *huge, uint64_t dp, struct arena *arena,
                              struct plan *plan, struct error *err) {
    char path[] = "/tmp/ckptsim-test-XXXXXX.yaml";
    FILE *file = fdopen(mkstemps(path, 5), "w");
    assert_non_null(file);
    fprintf(file, "family: llama\nhidden_size: %llu\nnum_hidden_layers: %llu\n",
            (unsigned long long)huge->hidden, (unsigned long long)huge->layers);
    fprintf(file, "intermediate_size: %llu\nvocab_size: %llu\nnum_attention_heads: 1\n",
            (unsigned long long)huge->ffn, (unsigned long long)huge->vocab);
    fclose(file);
    struct plan_request request = {.model = path, .layout = "dlio", .dp = dp, .scale = 1};
    request.zero_stage = 1;
    enum status status = plan_build(&request, arena, plan, err);
    unlink(path);
    return status;
}

/* The same sums in long double, which has no wrap around; heads 1 and kv_heads 1 make Q, K, V and
 * the output projection four squares. */
static void huge_models_are_right_or_refused(void **unused) {
    (void)unused;
    uint64_t state = start_seed();
    int built = 0;
    for (int i = 0; i < CASES; i++) {
        struct huge huge = {.hidden = UINT64_C(1) << pick(&state, 0, 40),
                            .layers = pick(&state, 1, 100000),
                            .ffn = UINT64_C(1) << pick(&state, 0, 40),
                            .vocab = UINT64_C(1) << pick(&state, 0, 40)};
        long double h = huge.hidden, f = huge.ffn;
        long double layer = 2 * h + 4 * h * h + 3 * h * f;
        long double expected = 2 * h * huge.vocab + h + layer * huge.layers;
        uint64_t dp = UINT64_C(1) << pick(&state, 0, 20);
        long double bytes = 2 * expected + 12 * expected + 60 * h * dp;
        struct arena arena = {0};
        struct plan plan;
        struct error err = {0};
        if (build_huge(&huge, dp, &arena, &plan, &err) == OK) {
            built++;
            assert_true((long double)plan.parameters == expected);
            assert_true((long double)plan.model_bytes == 2 * expected);
            assert_true((long double)plan.checkpoint_bytes <= bytes);
            assert_true((long double)plan.checkpoint_bytes > bytes - 12.0L * dp);
        } else {
            assert_non_null(strstr(err.text, "is too large"));
            assert_true(expected >= 0x1p56L || bytes >= 0x1p63L);
        }
        arena_fini(&arena);
    }
    print_message("# %d of %d built\n", built, CASES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_shares_and_totals_agree),
        cmocka_unit_test(frameworks_cover_their_models),
        cmocka_unit_test(huge_models_are_right_or_refused),
    };
    return cmocka_run_group_tests_name("plan_sums", tests, NULL, NULL);
}
