/* The layouts of frameworks: sizes worked out elsewhere, to the byte; names and folders; markers;
 * optimizers; and requests that cannot be met. */
#include "models/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MOST 16

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

static uint64_t file_bytes(const struct plan *plan, uint32_t rank, uint64_t index) {
    struct shard_file file;
    plan_file(plan, rank, index, 1, &file);
    return file.bytes;
}

static void check_file(const struct plan *plan, uint32_t rank, uint64_t index, const char *path,
                       uint64_t bytes) {
    struct shard_file file;
    plan_file(plan, rank, index, 7, &file);
    assert_string_equal(file.path, path);
    assert_string_equal(file.name, strrchr(path, '/') + 1);
    assert_int_equal(file.bytes, bytes);
}

/* Parameters of one rank of each of some stages, dense and those of experts, in Megatron. */
struct worked {
    const char *model;
    uint64_t tp, pp, dp, ep, etp, first, last;
    uint64_t stages[4], dense[4], experts[4];
};

static const struct worked examples[] = {
    {"llama-3.1-8b", 1, 1, 8, 0, 0, 0, 0, {0}, {8030261248}, {0}},
    {"llama-3.1-70b",
     8,
     4,
     2,
     0,
     0,
     0,
     0,
     {0, 1, 2, 3},
     {2271543296, 2139422720, 2139422720, 2271551488},
     {0}},
    {"llama-3.1-405b",
     8,
     16,
     4,
     0,
     0,
     7,
     7,
     {0, 1, 14, 15},
     {3053682688, 3187933184, 3187933184, 3053699072},
     {0}},
    {"mixtral-8x7b",
     2,
     4,
     8,
     8,
     1,
     0,
     0,
     {0, 1, 2, 3},
     {233635840, 168099840, 168099840, 233639936},
     {1409286144, 1409286144, 1409286144, 1409286144}},
    {"qwen3-235b-a22b", 4, 2, 16, 8, 1, 0, 0, {0}, {1018564352}, {14193524736}},
    {"deepseek-v3", 1, 16, 64, 64, 1, 0, 1, {1}, {931988480}, {704643072}},
    {"gpt3-175b",
     8,
     8,
     1,
     0,
     0,
     0,
     0,
     {0, 1, 6, 7},
     {2822731776, 2718922752, 2718922752, 2797590528},
     {0}},
};

static struct plan_request worked_request(const struct worked *row, const char *layout) {
    struct plan_request request = request_of(row->model, layout, row->tp, row->pp, row->dp);
    request.ep = row->ep;
    request.etp = row->etp;
    request.first_stage_layers = row->first;
    request.last_stage_layers = row->last;
    return request;
}

static void megatron_worked_examples_hold_to_the_byte(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const struct worked *row = &examples[i];
        struct plan_request request = worked_request(row, "megatron");
        struct arena arena = {0};
        struct plan plan;
        build(&request, &arena, &plan);
        for (int k = 0; k < 4 && row->dense[k] > 0; k++) {
            uint32_t rank = (uint32_t)(row->stages[k] * row->tp * row->dp);
            uint64_t parameters = row->dense[k] + row->experts[k];
            assert_int_equal(file_bytes(&plan, rank, 0), 2 * parameters);
            assert_int_equal(file_bytes(&plan, rank, 1), 12 * parameters);
        }
        request.zero_stage = 0;
        build(&request, &arena, &plan);
        assert_int_equal(plan.shares[0].files, 1);
        if (row->stages[0] == 0) {
            assert_int_equal(file_bytes(&plan, 0, 0), 14 * (row->dense[0] + row->experts[0]));
        }
        arena_fini(&arena);
    }
}

/* The distributed optimizer's part of each rank, in bytes: dense and expert parts. */
static void every_rank_of_torch_dist_writes_its_part_of_the_optimizer(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const struct worked *row = &examples[i];
        struct plan_request request = worked_request(row, "torch_dist");
        struct arena arena = {0};
        struct plan plan;
        struct shard_file file;
        build(&request, &arena, &plan);
        uint64_t ep = row->ep > 0 ? row->ep : 1, etp = row->etp > 0 ? row->etp : row->tp;
        uint64_t expert_shards = row->tp * row->dp / (ep * etp);
        for (int k = 0; k < 4 && row->dense[k] > 0; k++) {
            uint32_t rank = (uint32_t)(row->stages[k] * row->tp * row->dp);
            plan_file(&plan, rank, 0, 1, &file);
            assert_int_equal(file.optimizer_bytes,
                             12 * row->dense[k] / row->dp + 12 * row->experts[k] / expert_shards);
        }
        arena_fini(&arena);
    }
}

/* 8.532 GiB a rank of Llama 405B's first stage, 104.7 GiB of Llama 8B, and so on. */
static void whole_checkpoints_are_fourteen_bytes_a_parameter(void **state) {
    (void)state;
    static const struct {
        const char *layout;
        uint64_t bytes;
    } rows[] = {
        {"deepspeed", UINT64_C(14) * 8030261248},
        {"megatron", UINT64_C(14) * 8030261248},
        {"megatron-dist", UINT64_C(14) * 8030261248},
        {"fsdp", UINT64_C(12) * 8030261248 + 4 * (3 + 32 * 9)}, /* and a step each */
        {"hf", UINT64_C(2) * 8030261248},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct plan_request request = request_of("llama-3.1-8b", rows[i].layout, 1, 1, 8);
        build(&request, &arena, &plan);
        assert_int_equal(plan.checkpoint_bytes, rows[i].bytes);
        arena_fini(&arena);
    }
}

/* The files of Llama 3.1 8B's own repository without their headers. */
static void hugging_face_shards_are_those_of_the_repository(void **state) {
    (void)state;
    static const uint64_t published[] = {4976698672, 4999802720, 4915916176, 1168138808};
    struct arena arena = {0};
    struct plan plan;
    struct plan_request request = request_of("llama-3.1-8b", "hf", 0, 0, 3);
    build(&request, &arena, &plan);
    assert_int_equal(plan.shares[0].files, 4);
    assert_int_equal(plan.shares[2].files, 0);
    for (uint64_t i = 0; i < 4; i++) {
        uint64_t header = published[i] - file_bytes(&plan, 0, i);
        uint64_t tensors = plan_tensors(&plan, 0, i);
        assert_int_equal(header % 8, 0);
        assert_true(header > 100 * tensors && header < 130 * tensors + 64);
    }
    check_file(&plan, 0, 1, "checkpoint-7/model-00002-of-00004.safetensors",
               file_bytes(&plan, 0, 1));
    arena_fini(&arena);
}

struct published {
    const char *layout;
    int asked; /* --model-dtype */
    enum datatype weights;
};

/* torch_dtype is the type of a published model, which `hf` writes; training has types of its own.
 */
static void only_hugging_face_follows_the_published_type(void **state) {
    (void)state;
    static const struct published rows[] = {
        {"hf", DATATYPE_UNSET, DATATYPE_FP32},
        {"hf", DATATYPE_FP16, DATATYPE_FP16},
        {"megatron", DATATYPE_UNSET, DATATYPE_BF16},
        {"megatron-dist", DATATYPE_UNSET, DATATYPE_BF16},
        {"deepspeed", DATATYPE_UNSET, DATATYPE_BF16},
        {"fsdp", DATATYPE_UNSET, DATATYPE_FP32},
    };
    char path[] = "/tmp/ckptsim-test-XXXXXX.json";
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    assert_true(dprintf(fd, "{\"model_type\": \"llama\", \"hidden_size\": 64, "
                            "\"num_hidden_layers\": 2, \"intermediate_size\": 128, "
                            "\"vocab_size\": 256, \"num_attention_heads\": 4, "
                            "\"torch_dtype\": \"float32\"}\n") > 0);
    close(fd);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct plan_request request = request_of(path, rows[i].layout, 0, 0, 0);
        request.model_datatype = rows[i].asked;
        build(&request, &arena, &plan);
        assert_int_equal(plan.model_datatype, rows[i].weights);
        if (i == 0) {
            assert_int_equal(plan.checkpoint_bytes, 4 * plan.parameters);
        }
        arena_fini(&arena);
    }
    unlink(path);
}

struct tree {
    const char *model, *layout;
    uint64_t tp, pp, dp, ep, zero, cp;
    const char *files[MOST]; /* rank by rank, a NULL at the end */
    const char *markers[4];
    const char *text; /* of the last marker */
};

static const struct tree trees[] = {
    {"llama-2-7b",
     "megatron",
     2,
     1,
     2,
     0,
     1,
     1,
     {"iter_0000007/mp_rank_00/model_optim_rng.pt", "iter_0000007/mp_rank_00/distrib_optim.pt",
      "iter_0000007/mp_rank_01/model_optim_rng.pt", "iter_0000007/mp_rank_01/distrib_optim.pt"},
     {"latest_checkpointed_iteration.txt"},
     "7"},
    {"llama-2-7b",
     "megatron",
     1,
     2,
     1,
     0,
     0,
     2,
     {"iter_0000007/mp_rank_00_000/model_optim_rng.pt",
      "iter_0000007/mp_rank_00_001/model_optim_rng.pt"},
     {"latest_checkpointed_iteration.txt"},
     "7"},
    {"mixtral",
     "megatron",
     1,
     1,
     2,
     2,
     1,
     1,
     {"iter_0000007/mp_rank_00_000/model_optim_rng.pt",
      "iter_0000007/mp_rank_00_000/distrib_optim.pt",
      "iter_0000007/mp_rank_00_001/model_optim_rng.pt",
      "iter_0000007/mp_rank_00_001/distrib_optim.pt"},
     {"latest_checkpointed_iteration.txt"},
     "7"},
    {"llama-2-7b",
     "megatron-dist",
     1,
     1,
     3,
     0,
     1,
     1,
     {"iter_0000007/__0_0.distcp", "iter_0000007/__1_0.distcp", "iter_0000007/__2_0.distcp"},
     {"iter_0000007/.metadata", "iter_0000007/metadata.json", "latest_checkpointed_iteration.txt"},
     "7"},
    {"llama-2-7b",
     "deepspeed",
     1,
     1,
     2,
     0,
     0,
     1,
     {"global_step7/mp_rank_00_model_states.pt"},
     {"latest"},
     "global_step7"},
    {"llama-2-7b",
     "deepspeed",
     2,
     1,
     2,
     0,
     2,
     1,
     {"global_step7/mp_rank_00_model_states.pt",
      "global_step7/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt",
      "global_step7/mp_rank_01_model_states.pt",
      "global_step7/bf16_zero_pp_rank_0_mp_rank_01_optim_states.pt",
      "global_step7/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt",
      "global_step7/bf16_zero_pp_rank_1_mp_rank_01_optim_states.pt"},
     {"latest"},
     "global_step7"},
    {"opt-175b",
     "deepspeed",
     1,
     1,
     2,
     0,
     3,
     1,
     {"global_step7/zero_pp_rank_0_mp_rank_00_model_states.pt",
      "global_step7/zero_pp_rank_0_mp_rank_00_optim_states.pt",
      "global_step7/zero_pp_rank_1_mp_rank_00_model_states.pt",
      "global_step7/zero_pp_rank_1_mp_rank_00_optim_states.pt"},
     {"latest"},
     "global_step7"},
    {"llama-2-7b",
     "dcp",
     1,
     1,
     2,
     0,
     3,
     1,
     {"step-7/__0_0.distcp", "step-7/__1_0.distcp"},
     {"step-7/.metadata"},
     NULL},
    {"gpt2", "hf", 1, 1, 1, 0, 0, 1, {"checkpoint-7/model.safetensors"}, {NULL}, NULL},
};

struct text {
    struct text_sink sink;
    char text[64];
    uint64_t length;
};

static void keep(struct text_sink *sink, const char *text, uint64_t length) {
    struct text *kept = (struct text *)sink;
    for (uint64_t i = 0; i < length; i++, kept->length++) {
        if (kept->length + 1 < sizeof kept->text) {
            kept->text[kept->length] = text[i];
        }
    }
}

static void check_markers(const struct plan *plan, const struct tree *tree) {
    uint64_t count = plan_markers(plan);
    for (uint64_t i = 0; i < count; i++) {
        struct shard_marker marker;
        struct text kept = {.sink = {keep}};
        plan_marker(plan, i, 7, &marker);
        plan_marker_text(plan, i, 7, &kept.sink);
        assert_string_equal(marker.file.path, tree->markers[i]);
        assert_int_equal(marker.file.kind, SHARD_MARKER);
        assert_int_equal(marker.file.bytes, kept.length);
        assert_true(kept.length > 0);
        if (i == count - 1 && tree->text != NULL) {
            assert_int_equal(marker.role, MARKER_LATEST);
            assert_string_equal(kept.text, tree->text);
        }
    }
    assert_true(count == 4 || tree->markers[count] == NULL);
}

static void trees_and_markers_are_the_frameworks(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        const struct tree *tree = &trees[i];
        struct arena arena = {0};
        struct plan plan;
        struct plan_request request =
            request_of(tree->model, tree->layout, tree->tp, tree->pp, tree->dp);
        request.ep = tree->ep;
        request.cp = tree->cp;
        request.zero_stage = tree->zero;
        build(&request, &arena, &plan);
        int count = 0;
        for (uint32_t rank = 0; rank < plan.ranks; rank++) {
            for (uint64_t k = 0; k < plan.shares[rank].files; k++) {
                assert_non_null(tree->files[count]);
                check_file(&plan, rank, k, tree->files[count++], file_bytes(&plan, rank, k));
            }
        }
        assert_null(tree->files[count]);
        check_markers(&plan, tree);
        arena_fini(&arena);
    }
}

static void deepspeed_pipelines_write_a_file_a_layer(void **state) {
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct plan_request request = request_of("llama-2-7b", "deepspeed", 2, 2, 2);
    build(&request, &arena, &plan);
    uint64_t layer = 2 * (UINT64_C(4096) * 4096 * 2 + UINT64_C(3) * 4096 * 11008 / 2 + 2 * 4096);
    assert_int_equal(plan.shares[0].files, 1 + 16 + 1 + 1);
    check_file(&plan, 0, 0, "global_step7/layer_01-model_00-model_states.pt", 2 * 16000 * 4096);
    check_file(&plan, 1, 1, "global_step7/layer_03-model_01-model_states.pt", layer);
    check_file(&plan, 0, 17, "global_step7/mp_rank_00_model_states.pt", 0);
    assert_int_equal(plan.shares[4].files, 16 + 2 + 1 + 1);
    check_file(&plan, 4, 15, "global_step7/layer_34-model_00-model_states.pt", layer);
    check_file(&plan, 4, 16, "global_step7/layer_36-model_00-model_states.pt", 2 * 4096);
    check_file(&plan, 5, 17, "global_step7/layer_37-model_01-model_states.pt", 2 * 16000 * 4096);
    check_file(&plan, 5, 18, "global_step7/mp_rank_03_model_states.pt", 0);
    assert_int_equal(plan.shares[2].files, 1);
    arena_fini(&arena);
}

static void deepspeed_writes_each_expert_once(void **state) {
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct plan_request request = request_of("mixtral", "deepspeed", 1, 1, 4);
    request.ep = 2;
    build(&request, &arena, &plan);
    uint64_t expert = UINT64_C(2) * 3 * 4096 * 14336;
    assert_int_equal(plan.shares[0].files, 1 + 32 * 4 + 1);
    assert_int_equal(plan.shares[1].files, 32 * 4 + 1);
    assert_int_equal(plan.shares[2].files, 1);
    check_file(&plan, 1, 5, "global_step7/layer_1_expert_5_mp_rank_00_model_states.pt", expert);
    assert_int_equal(file_bytes(&plan, 0, 0), 2 * (UINT64_C(46702792704) - 32 * 8 * expert / 2));
    uint64_t dense = UINT64_C(46702792704) - 32 * 8 * expert / 2;
    assert_int_equal(file_bytes(&plan, 2, 0), 12 * (dense / 4 + 32 * 4 * (expert / 2) / 2));
    arena_fini(&arena);
}

/* 64 x 3 + 5 = 197 parameters among 4 ranks: 2 * ceil(197 / 8) = 50 each with ZeRO 1; with ZeRO 3
 * ceil(192 / 4) + ceil(5 / 4). Buffers go with the model. */
static void deepspeed_pads(void **state) {
    (void)state;
    static const char text[] = "tensors: {a: [64, 3], b: [5]}\nbuffers: {c: [7]}\n";
    char path[] = "/tmp/ckptsim-test-XXXXXX.yaml";
    int fd = mkstemps(path, 5);
    assert_int_equal(write(fd, text, sizeof text - 1), (ssize_t)sizeof text - 1);
    close(fd);
    struct arena arena = {0};
    struct plan plan;
    struct plan_request request = request_of(path, "deepspeed", 1, 1, 4);
    request.zero_stage = 1;
    build(&request, &arena, &plan);
    assert_int_equal(file_bytes(&plan, 0, 0), 2 * 197 + 4 * 7);
    assert_int_equal(file_bytes(&plan, 3, 0), 12 * 50);
    request.zero_stage = 3;
    build(&request, &arena, &plan);
    assert_int_equal(file_bytes(&plan, 2, 0), 4 * 7);
    assert_int_equal(plan_tensors(&plan, 2, 0), 1);
    assert_int_equal(file_bytes(&plan, 2, 1), 12 * (48 + 2));
    unlink(path);
    arena_fini(&arena);
}

/* 4096 rows among 3 ranks: 1366, 1366, 1364. */
static void fsdp_cuts_rows_as_torch_chunk_does(void **state) {
    (void)state;
    static const uint64_t rows[] = {1366, 1366, 1364};
    struct arena arena = {0};
    struct plan plan;
    struct tensor tensor;
    struct plan_request request = request_of("llama-2-7b", "fsdp", 1, 1, 3);
    build(&request, &arena, &plan);
    for (uint32_t rank = 0; rank < 3; rank++) {
        plan_tensor(&plan, rank, 0, 1, &tensor);
        assert_string_equal(tensor.name, "model.layers.0.attention.wq.weight");
        assert_int_equal(tensor.shape[0], rows[rank]);
        assert_int_equal(tensor.shape[1], 4096);
        assert_int_equal(tensor.offset[0], rank * UINT64_C(1366));
        assert_int_equal(tensor.whole[0], 4096);
        assert_int_equal(tensor.datatype, DATATYPE_FP32);
    }
    uint64_t last = plan_tensors(&plan, 1, 0) - 1;
    plan_tensor(&plan, 1, 0, last, &tensor);
    assert_non_null(strstr(tensor.name, ".step"));
    assert_int_equal(tensor.dimensions, 0);
    assert_int_equal(tensor.bytes, 4);
    arena_fini(&arena);
}

/* 32 layers, 2 stages of 2 chunks: stage 0 has layers 0-7 and 16-23. */
static void virtual_stages_go_round(void **state) {
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct tensor tensor;
    struct plan_request request = request_of("llama-2-7b", "megatron", 1, 2, 1);
    request.vpp = 2;
    build(&request, &arena, &plan);
    plan_tensor(&plan, 0, 0, 1 + 8 * 6, &tensor);
    assert_string_equal(tensor.name, "model1.decoder.layers.0.input_layernorm.weight");
    request.layout = "megatron-dist";
    build(&request, &arena, &plan);
    bool found = false;
    for (uint64_t i = 0; i < plan_tensors(&plan, 0, 0); i++) {
        plan_tensor(&plan, 0, 0, i, &tensor);
        found = found || strcmp(tensor.name, "decoder.layers.23.mlp.linear_fc2.weight") == 0;
        assert_null(strstr(tensor.name, ".layers.8."));
    }
    assert_true(found);
    arena_fini(&arena);
}

/* Bytes for each parameter, times 1,000, of Llama 2 7B. */
static void optimizers_have_their_bytes_a_parameter(void **state) {
    (void)state;
    static const struct {
        const char *layout;
        int optimizer, model, moments;
        uint64_t thousandths;
    } rows[] = {
        {"megatron", OPTIMIZER_ADAM, 0, 0, 14000},
        {"megatron", OPTIMIZER_ADAM_FP32, 0, 0, 12000},
        {"megatron", OPTIMIZER_LION, 0, 0, 10000},
        {"megatron", OPTIMIZER_NONE, 0, 0, 2000},
        {"deepspeed", OPTIMIZER_ADAM, DATATYPE_FP16, 0, 14000},
        {"deepspeed", OPTIMIZER_ADAM, DATATYPE_FP32, 0, 16000},
        {"deepspeed", OPTIMIZER_ADAM, 0, DATATYPE_BF16, 10000},
        {"deepspeed", OPTIMIZER_ADAM_8BIT, 0, 0, 8031}, /* 2 + 4 + 1 + 1 + 2 * 4 / 256 */
        {"deepspeed", OPTIMIZER_MUON, 0, 0, 10155},     /* matrices 4 of 8, 3.9 % are others */
        {"fsdp", OPTIMIZER_ADAM, DATATYPE_BF16, 0, 6000},
        {"fsdp", OPTIMIZER_LION, 0, 0, 8000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct plan_request request = request_of("llama-2-7b", rows[i].layout, 1, 1, 1);
        request.optimizer = rows[i].optimizer;
        request.model_datatype = rows[i].model;
        request.optimizer_datatype = rows[i].moments;
        build(&request, &arena, &plan);
        uint64_t thousandths = plan.checkpoint_bytes * 1000 / plan.parameters;
        if (thousandths != rows[i].thousandths) {
            fail_msg("row %zu: %llu", i, (unsigned long long)thousandths);
        }
        arena_fini(&arena);
    }
}

static void scaled_layouts_keep_files_tensors_and_proportions(void **state) {
    (void)state;
    for (size_t i = 0; layouts[i] != NULL; i++) {
        struct arena arena = {0};
        struct plan whole, small;
        struct plan_request request = request_of("llama405b", layouts[i]->name, 1, 1, 8);
        build(&request, &arena, &whole);
        request.scale = 0.001;
        build(&request, &arena, &small);
        for (uint32_t rank = 0; rank < whole.ranks; rank++) {
            assert_int_equal(small.shares[rank].files, whole.shares[rank].files);
            for (uint64_t k = 0; k < whole.shares[rank].files; k++) {
                assert_int_equal(plan_tensors(&small, rank, k), plan_tensors(&whole, rank, k));
                double ratio =
                    (double)file_bytes(&small, rank, k) / (double)(file_bytes(&whole, rank, k) + 1);
                assert_true(ratio < 0.00101 && ratio > 0.0009);
            }
        }
        arena_fini(&arena);
    }
}

struct refusal {
    const char *layout, *model;
    struct plan_request request; /* of its fields those that are not zero */
    const char *says[3];
};

#define ZERO(stage) .zero_stage = (stage)
#define OPEN ZERO(PLAN_ZERO_DEFAULT)

static const struct refusal refusals[] = {
    {"dlio2", "llama405b", {.ep = 2, OPEN}, {"--ep 2", "--layout dlio2"}},
    {"dlio", "llama405b", {.cp = 2, OPEN}, {"--cp 2", "--layout dlio"}},
    {"dlio", "llama405b", {.vpp = 2, OPEN}, {"--vpp 2"}},
    {"dlio", "llama405b", {.vocab_divisible_by = 128, OPEN}, {"--vocab-divisible-by 128"}},
    {"dlio", "llama405b", {.first_stage_layers = 3, OPEN}, {"--first-stage-layers 3"}},
    {"dlio", "llama405b", {.optimizer = OPTIMIZER_LION, OPEN}, {"--optimizer lion", "adam is"}},
    {"dlio2", "llama405b", {.model_datatype = DATATYPE_FP32, OPEN}, {"--model-dtype fp32"}},
    {"megatron", "llama405b", {.pp = 16, OPEN}, {"--pp 16", "126 layers", "--first-stage-layers"}},
    {"megatron", "llama405b", {ZERO(2)}, {"--zero 2", "0 to 1 is"}},
    {"megatron", "llama405b", {.ep = 2, .dp = 2, OPEN}, {"--ep 2", "0 experts"}},
    {"megatron", "mixtral", {.ep = 3, .dp = 3, OPEN}, {"--ep 3", "8 experts", "1, 2, 4, 8"}},
    {"megatron", "mixtral", {.ep = 8, .dp = 4, OPEN}, {"--ep 8", "4 ranks"}},
    {"megatron", "mixtral", {.etp = 2, .dp = 2, OPEN}, {"--etp 2", "--tp 1"}},
    {"megatron", "llama-2-7b", {.vpp = 2, OPEN}, {"--vpp 2", "--pp 2"}},
    {"megatron", "llama-2-7b", {.pp = 2, .vpp = 3, OPEN}, {"--vpp 3", "16"}},
    {"megatron", "llama-2-7b", {.first_stage_layers = 3, OPEN}, {"--first-stage-layers", "--pp 2"}},
    {"megatron", "llama-2-7b", {.pp = 2, .first_stage_layers = 32, OPEN}, {"no layer"}},
    {"megatron", "llama-2-7b", {.optimizer = OPTIMIZER_ADAM_8BIT, OPEN}, {"adam8bit", "lion"}},
    {"megatron", "llama-2-7b", {.optimizer = OPTIMIZER_MUON, OPEN}, {"muon", "--zero 0"}},
    {"megatron", "llama-2-7b", {.optimizer_datatype = DATATYPE_BF16, OPEN}, {"--optimizer-dtype"}},
    {"megatron",
     "llama-2-7b",
     {.optimizer = OPTIMIZER_ADAM_FP32, .model_datatype = DATATYPE_BF16, OPEN},
     {"adam-fp32", "--model-dtype bf16"}},
    {"megatron", "resnet50", {.tp = 2, OPEN}, {"--tp 2", "resnet50-v1.5"}},
    {"deepspeed", "llama-2-7b", {.pp = 2, ZERO(2)}, {"--zero 2", "--pp 2"}},
    {"deepspeed", "llama-2-7b", {.cp = 2, OPEN}, {"--cp 2"}},
    {"deepspeed", "mixtral", {.pp = 2, .ep = 2, .dp = 2, OPEN}, {"--ep 2", "--pp 2"}},
    {"deepspeed", "gpt2", {.tp = 4, .vocab_divisible_by = 1, OPEN}, {NULL}},
    {"fsdp", "gpt2", {.tp = 4, OPEN}, {"--tp 4", "50257", "--vocab-divisible-by"}},
    {"fsdp", "gpt2", {.pp = 2, OPEN}, {"--pp 2", "tied"}},
    {"fsdp", "llama-2-7b", {ZERO(1)}, {"--zero 1", "; 3 is allowed"}},
    {"hf", "llama-2-7b", {.tp = 2, OPEN}, {"--tp 2", "gathers"}},
    {"hf", "llama-2-7b", {.optimizer = OPTIMIZER_ADAM, OPEN}, {"--optimizer adam", "none"}},
};

static void what_cannot_be_is_refused_in_one_line(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct error err = {0};
        struct plan_request request = refusals[i].request;
        request.model = refusals[i].model;
        request.layout = refusals[i].layout;
        request.scale = 1;
        enum status status = plan_build(&request, &arena, &plan, &err);
        if (refusals[i].says[0] == NULL) {
            assert_int_equal(status, OK);
        } else if (status != ERR_USAGE) {
            fail_msg("row %zu was not refused", i);
        }
        for (size_t k = 0; k < 3 && refusals[i].says[k] != NULL; k++) {
            if (strstr(err.text, refusals[i].says[k]) == NULL) {
                fail_msg("'%s' is not in: %s", refusals[i].says[k], err.text);
            }
        }
        assert_null(strchr(err.text, '\n'));
        arena_fini(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(megatron_worked_examples_hold_to_the_byte),
        cmocka_unit_test(every_rank_of_torch_dist_writes_its_part_of_the_optimizer),
        cmocka_unit_test(whole_checkpoints_are_fourteen_bytes_a_parameter),
        cmocka_unit_test(hugging_face_shards_are_those_of_the_repository),
        cmocka_unit_test(only_hugging_face_follows_the_published_type),
        cmocka_unit_test(trees_and_markers_are_the_frameworks),
        cmocka_unit_test(deepspeed_pipelines_write_a_file_a_layer),
        cmocka_unit_test(deepspeed_writes_each_expert_once),
        cmocka_unit_test(deepspeed_pads),
        cmocka_unit_test(fsdp_cuts_rows_as_torch_chunk_does),
        cmocka_unit_test(virtual_stages_go_round),
        cmocka_unit_test(optimizers_have_their_bytes_a_parameter),
        cmocka_unit_test(scaled_layouts_keep_files_tensors_and_proportions),
        cmocka_unit_test(what_cannot_be_is_refused_in_one_line),
    };
    return cmocka_run_group_tests_name("layouts", tests, NULL, NULL);
}
