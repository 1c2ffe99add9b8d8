/* The dlio layout against tests/golden/dlio_shards.json, which was made by running DLIO: totals,
 * bytes of every rank, names and bytes of files, and the digest over all of them. */
#include "base/yaml.h"
#include "models/digest.h"
#include "models/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char small_yaml[] =
    "model:\n  name: llama_s\n  type: transformer\n  model_datatype: fp16\n"
    "  optimizer_datatype: fp32\n  num_layers: 12\n"
    "  parallelism: {tensor: 4, pipeline: 2, zero_stage: 1}\n"
    "  transformer: {vocab_size: 32000, hidden_size: 1024, ffn_hidden_size: 2816,\n"
    "                num_attention_heads: 16, num_kv_heads: 16}\n"
    "framework: pytorch\nworkflow: {checkpoint: True}\n";

static const char llnl_yaml[] =
    "model:\n  name: megatron_deepspeed\n  type: megatron_deepspeed\n"
    "  optimization_groups: [1009254400, 865075200, 793600]\n  num_layers: 40\n"
    "  parallelism:\n    pipeline: 8\n    tensor: 4\n    zero_stage: 1\n"
    "  layer_parameters: [52583936, 209715200]\n"
    "framework: pytorch\ndataset: {format: mmap_indexed_binary}\n";

struct source {
    const char *prefix, *model, *yaml;
};

static const struct source sources[] = {
    {"llama_7b", "llama-2-7b", NULL},
    {"llama_8b", "llama3_8b", NULL},
    {"llama_70b", "llama3_70b", NULL},
    {"llama_405b", "llama3_405b", NULL},
    {"mlps_llama3_8b", "llama3_8b", NULL},
    {"mlps_llama3_70b", "llama3_70b", NULL},
    {"mlps_llama3_405b", "llama3_405b", NULL},
    {"llama_s", NULL, small_yaml},
    {"megatron", NULL, llnl_yaml},
};

static const struct source *find_source(const char *key) {
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (strncmp(sources[i].prefix, key, strlen(sources[i].prefix)) == 0) {
            return &sources[i];
        }
    }
    fail_msg("no model for golden entry '%s'", key);
    return NULL;
}

static uint64_t count_of(const struct yaml_node *entry, const char *key) {
    uint64_t value;
    assert_non_null(yaml_get(entry, key));
    assert_int_equal(yaml_count(yaml_get(entry, key), key, &value, NULL), OK);
    return value;
}

static void write_yaml(const char *text, char path[32]) {
    strcpy(path, "/tmp/ckptsim-test-XXXXXX.yaml");
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void build(const char *key, const struct yaml_node *entry, struct arena *arena,
                  struct plan *plan) {
    const struct source *source = find_source(key);
    uint64_t world = count_of(entry, "world");
    struct plan_request request = {.model = source->model,
                                   .layout = "dlio",
                                   .tp = count_of(entry, "tp"),
                                   .pp = count_of(entry, "pp"),
                                   .dp = count_of(entry, "dp"),
                                   .zero_stage = count_of(entry, "zero"),
                                   .scale = 1};
    request.subset_ranks = world < request.tp * request.pp * request.dp ? world : 0;
    char path[32] = "";
    if (source->yaml != NULL) {
        write_yaml(source->yaml, path);
        request.model = path;
    }
    struct error err = {0};
    enum status status = plan_build(&request, arena, plan, &err);
    if (path[0] != '\0') {
        unlink(path);
    }
    if (status != OK) {
        fail_msg("%s: %s", key, err.text);
    }
}

static void check_totals(const struct yaml_node *entry, const struct plan *plan) {
    const struct yaml_node *ranks = yaml_get(entry, "per_rank_bytes");
    assert_int_equal(plan->parameters, count_of(entry, "params"));
    assert_int_equal(plan->checkpoint_bytes, count_of(entry, "total_bytes"));
    assert_int_equal(plan->model_bytes, count_of(entry, "model_bytes"));
    assert_int_equal(plan->optimizer_bytes, count_of(entry, "optim_bytes"));
    assert_int_equal(plan->files, count_of(entry, "n_files"));
    assert_int_equal(plan->ranks, ranks->count);
    for (uint32_t i = 0; i < ranks->count; i++) {
        uint64_t bytes;
        assert_int_equal(yaml_count(ranks->items[i], "bytes", &bytes, NULL), OK);
        assert_int_equal(plan->shares[i].bytes, bytes);
    }
}

static void check_tensors(const struct yaml_node *entry, const struct plan *plan) {
    uint64_t count = 0;
    for (uint32_t rank = 0; rank < plan->ranks; rank++) {
        for (uint64_t i = 0; i < plan->shares[rank].files; i++) {
            count += plan_tensors(plan, rank, i);
        }
    }
    assert_int_equal(count, count_of(entry, "n_tensors"));
}

/* The golden file lists some or all files, ranks in order, each in the order of writing. */
static void check_files(const struct yaml_node *entry, const struct plan *plan) {
    const struct yaml_node *files = yaml_get(entry, "files");
    uint64_t index = 0, last_rank = UINT64_MAX;
    for (uint32_t i = 0; i < files->count; i++) {
        uint64_t rank = count_of(files->items[i], "rank");
        index = rank == last_rank ? index + 1 : 0;
        last_rank = rank;
        struct shard_file file;
        plan_file(plan, (uint32_t)rank, index, 7, &file);
        assert_string_equal(file.name, yaml_get(files->items[i], "name")->text);
        assert_int_equal(file.bytes, count_of(files->items[i], "bytes"));
        char path[SHARD_PATH + 32];
        snprintf(path, sizeof path, "global_epoch1_step7/%s", file.name);
        assert_string_equal(file.path, path);
    }
}

static void every_golden_config_matches(void **state) {
    (void)state;
    struct arena arena = {0};
    struct yaml_node *root;
    struct error err = {0};
    assert_int_equal(yaml_read_file("tests/golden/dlio_shards.json", &arena, &root, &err), OK);
    assert_true(root->count >= 21);
    for (uint32_t i = 0; i < root->count; i++) {
        const struct yaml_node *entry = root->items[i];
        struct plan plan;
        print_message("# %s\n", root->keys[i]->text);
        build(root->keys[i]->text, entry, &arena, &plan);
        check_totals(entry, &plan);
        check_files(entry, &plan);
        check_tensors(entry, &plan);
        char hex[DIGEST_TEXT];
        assert_true(digest_plan(&plan, 1, hex));
        assert_string_equal(hex, yaml_get(entry, "sha256_all_files")->text);
    }
    arena_fini(&arena);
}

/* Totals and file counts of the CLOSED division, as its result files publish them. */
static void mlperf_defaults_give_the_published_sizes(void **state) {
    (void)state;
    static const struct {
        const char *model;
        uint64_t bytes, files, ranks;
    } rows[] = {
        {"llama3_8b", UINT64_C(112425623552), 16, 8},
        {"llama3_70b", UINT64_C(978406572032), 128, 64},
        {"llama3_405b", UINT64_C(5682508791808), 1544, 512},
        {"llama3_1t", UINT64_C(16564174094592), 2072, 1024},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct error err = {0};
        struct plan_request request = {
            .model = rows[i].model, .layout = "dlio", .zero_stage = PLAN_ZERO_DEFAULT, .scale = 1};
        assert_int_equal(plan_build(&request, &arena, &plan, &err), OK);
        assert_int_equal(plan.checkpoint_bytes, rows[i].bytes);
        assert_int_equal(plan.files, rows[i].files);
        assert_int_equal(plan.ranks, rows[i].ranks);
        arena_fini(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_golden_config_matches),
        cmocka_unit_test(mlperf_defaults_give_the_published_sizes),
    };
    return cmocka_run_group_tests_name("dlio_shards", tests, NULL, NULL);
}
