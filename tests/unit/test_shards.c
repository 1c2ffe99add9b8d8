#include "tests/unit/support.h"

#include "sim/job/shards.h"

#include <stdlib.h>
#include <string.h>

struct made {
    struct arena arena;
    struct plan plan;
    struct shards shards;
    struct payload classes[FORMAT_CLASSES];
    struct error err;
};

static int make(void **state) {
    struct made *made = calloc(1, sizeof *made);
    for (int i = 0; i < FORMAT_CLASSES; i++) {
        made->classes[i] = (struct payload){.seed = 1, .compressible = 1, .dedupe = 1};
    }
    *state = made;
    return 0;
}

static int drop(void **state) {
    struct made *made = *state;
    arena_fini(&made->arena);
    free(made);
    return 0;
}

static void plan_of(struct made *made, const char *layout, uint64_t tp, uint64_t dp) {
    struct plan_request request = {.model = "llama-3.1-8b", .layout = layout, .tp = tp, .dp = dp,
                                   .scale = 1e-4, .zero_stage = PLAN_ZERO_DEFAULT};
    if (plan_build(&request, &made->arena, &made->plan, &made->err) != OK) {
        fail_msg("%s", made->err.text);
    }
}

static void measure(struct made *made, const char *name, enum shards_depth depth) {
    const struct format *format;
    if (shards_format(name, made->plan.layout, &format, &made->err) != OK ||
        shards_measure(&made->plan, format, made->classes, depth, &made->arena, &made->shards,
                       &made->err) != OK) {
        fail_msg("%s", made->err.text);
    }
}

static void raw_is_the_plan(void **state) {
    struct made *made = *state;
    plan_of(made, "dlio2", 4, 1);
    measure(made, "auto", SHARDS_CONTENTS);
    assert_string_equal(made->shards.format->name, "raw");
    assert_int_equal(made->shards.checkpoint_bytes, made->plan.checkpoint_bytes);
    assert_int_equal(made->shards.memory_bytes, 0);
    assert_null(shards_content(&made->shards, 1, 0));
    for (uint32_t rank = 0; rank < made->plan.ranks; rank++) {
        struct shard_file file, own;
        plan_file(&made->plan, rank, 0, 3, &file);
        shards_file(&made->shards, rank, 0, 3, &own);
        assert_string_equal(own.path, file.path);
        assert_int_equal(own.bytes, file.bytes);
    }
}

/* Sizes alone and contents agree, and add up. */
static void sizes_add_up(void **state) {
    struct made *made = *state;
    static const char *const cases[][2] = {{"dlio2", "torch"},    {"dlio2", "hdf5"},
                                           {"megatron", "auto"},  {"megatron-dist", "auto"},
                                           {"deepspeed", "auto"}, {"fsdp", "auto"},
                                           {"hf", "auto"},        {"hf", "raw"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool gathers = strcmp(cases[i][0], "hf") == 0;
        plan_of(made, cases[i][0], gathers ? 1 : 2, 2);
        measure(made, cases[i][1], SHARDS_SIZES);
        struct shards sizes = made->shards;
        assert_null(sizes.formats);
        measure(made, cases[i][1], SHARDS_CONTENTS);
        assert_int_equal(sizes.checkpoint_bytes, made->shards.checkpoint_bytes);
        uint64_t sum = 0;
        for (uint32_t rank = 0; rank < made->shards.ranks; rank++) {
            uint64_t share = 0;
            for (uint64_t k = 0; k < made->shards.shares[rank].files; k++) {
                struct shard_file file, other;
                shards_file(&made->shards, rank, k, 2, &file);
                shards_file(&sizes, rank, k, 2, &other);
                assert_int_equal(file.bytes, other.bytes);
                const struct format_file *content = shards_content(&made->shards, rank, k);
                assert_true(content == NULL || content->size_bytes == file.bytes);
                assert_true(content == NULL || content->crc_count <= made->shards.most_crcs);
                share += file.bytes;
            }
            assert_int_equal(share, made->shards.shares[rank].bytes);
            sum += share;
        }
        assert_int_equal(sum, made->shards.checkpoint_bytes);
        assert_true(sum >= made->plan.checkpoint_bytes);
        assert_true(made->shards.memory_bytes > 0 || strcmp(made->shards.format->name, "raw") == 0);
    }
}

static void extensions(void **state) {
    struct made *made = *state;
    static const char *const cases[][3] = {{"dlio2", "torch", ".pt"},
                                           {"dlio2", "safetensors", ".safetensors"},
                                           {"dlio", "hdf5", ".h5"},
                                           {"dlio", "dcp", ".distcp"},
                                           {"fsdp", "raw", ".distcp"},
                                           {"hf", "raw", ".safetensors"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        plan_of(made, cases[i][0], 1, 1);
        measure(made, cases[i][1], SHARDS_SIZES);
        struct shard_file file;
        shards_file(&made->shards, 0, 0, 1, &file);
        const char *dot = strrchr(file.path, '.');
        assert_non_null(dot);
        assert_string_equal(dot, cases[i][2]);
        assert_null(strstr(file.path, ".pt."));
        assert_string_equal(file.name, strrchr(file.path, '/') != NULL ? strrchr(file.path, '/') + 1
                                                                       : file.path);
    }
}

/* Raw files whose classes of tensors compress differently are looked into, on a real drive. */
static void classes_of_raw_files(void **state) {
    struct made *made = *state;
    plan_of(made, "dlio", 1, 1);
    made->classes[TENSOR_MOMENT].compressible = 1.08;
    measure(made, "raw", SHARDS_SIZES);
    assert_null(shards_content(&made->shards, 0, 0));
    measure(made, "raw", SHARDS_CONTENTS);
    assert_non_null(shards_content(&made->shards, 0, 0));
    assert_int_equal(made->shards.checkpoint_bytes, made->plan.checkpoint_bytes);
}

struct kept {
    struct text_sink sink;
    uint64_t length;
    char bytes[16];
};

static void keep(struct text_sink *sink, const char *text, uint64_t length) {
    struct kept *kept = (struct kept *)sink;
    for (uint64_t i = 0; i < length; i++, kept->length++) {
        if (kept->length < sizeof kept->bytes) {
            kept->bytes[kept->length] = text[i];
        }
    }
}

/* The text of each marker has the length that is told, and DCP's metadata is a pickle. */
static void markers(void **state) {
    struct made *made = *state;
    static const char *const layouts_of[] = {"megatron", "megatron-dist", "deepspeed", "fsdp", "hf"};
    for (size_t i = 0; i < 2 * sizeof layouts_of / sizeof layouts_of[0]; i++) {
        const char *layout = layouts_of[i / 2];
        plan_of(made, layout, 1, 2);
        measure(made, i % 2 == 0 ? "auto" : "raw", SHARDS_CONTENTS);
        uint64_t bytes = 0;
        for (uint64_t k = 0; k < shards_markers(&made->shards); k++) {
            struct shard_marker marker;
            struct kept kept = {.sink = {keep}};
            shards_marker(&made->shards, k, 1, &marker);
            shards_marker_text(&made->shards, k, 1, &kept.sink);
            assert_int_equal(kept.length, marker.file.bytes);
            bytes += marker.file.bytes;
            bool dcp = strcmp(made->shards.format->name, "dcp") == 0;
            if (marker.role == MARKER_METADATA) {
                assert_true((memcmp(kept.bytes, "\x80\x02", 2) == 0) == dcp);
            }
        }
        assert_int_equal(bytes, made->shards.marker_bytes);
    }
}

static void refusals(void **state) {
    struct made *made = *state;
    const struct format *format;
    plan_of(made, "hf", 1, 1);
    assert_int_equal(shards_format("torch", made->plan.layout, &format, &made->err), ERR_USAGE);
    assert_non_null(strstr(made->err.text, "safetensors, raw and auto are allowed"));
    assert_int_equal(shards_format("tar", made->plan.layout, &format, &made->err), ERR_USAGE);
    assert_non_null(strstr(made->err.text, "list formats"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(raw_is_the_plan, make, drop),
        cmocka_unit_test_setup_teardown(sizes_add_up, make, drop),
        cmocka_unit_test_setup_teardown(extensions, make, drop),
        cmocka_unit_test_setup_teardown(classes_of_raw_files, make, drop),
        cmocka_unit_test_setup_teardown(markers, make, drop),
        cmocka_unit_test_setup_teardown(refusals, make, drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
