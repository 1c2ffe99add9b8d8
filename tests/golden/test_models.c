/* Parameter counts against tests/golden/models.json, whose numbers are published ones. */
#include "base/yaml.h"
#include "models/architecture.h"
#include "models/model_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const must_hold[] = {
    "llama-2-7b",
    "llama-2-13b",
    "llama-2-70b",
    "llama-3.1-8b",
    "llama-3.1-70b",
    "llama-3.1-405b",
    "mistral-7b-v0.1",
    "mixtral-8x7b-v0.1",
    "mixtral-8x22b-v0.1",
    "qwen2.5-72b",
    "qwen3-235b-a22b",
    "deepseek-v3",
    "deepseek-r1",
    "gpt2",
    "gpt2-medium",
    "gpt2-large",
    "gpt3-175b",
    "opt-175b",
    "phi-3-mini-4k",
    "phi-3-medium-4k",
    "grok-1",
    "gpt-oss-20b",
    "gemma-3-27b",
    "llama-4-scout-17b-16e",
};

static const struct yaml_node *read_golden(struct arena *arena) {
    struct yaml_node *root;
    struct error err;
    assert_int_equal(yaml_read_file("tests/golden/models.json", arena, &root, &err), OK);
    return yaml_get(root, "models");
}

static const struct yaml_node *find_entry(const struct yaml_node *models, const char *name) {
    for (uint32_t i = 0; i < models->count; i++) {
        if (strcmp(yaml_get(models->items[i], "name")->text, name) == 0) {
            return models->items[i];
        }
    }
    fail_msg("no golden entry '%s'", name);
    return NULL;
}

/* Of models of text and images the language model counts. */
static uint64_t golden_parameters(const struct yaml_node *entry) {
    const struct yaml_node *text = yaml_get(entry, "text_params");
    uint64_t value;
    const struct yaml_node *node = text != NULL ? text : yaml_get(entry, "params_total");
    assert_int_equal(yaml_count(node, "params", &value, NULL), OK);
    return value;
}

static void hugging_face_configs_give_the_published_counts(void **state) {
    (void)state;
    struct arena arena = {0};
    const struct yaml_node *models = read_golden(&arena);
    for (size_t i = 0; i < sizeof must_hold / sizeof *must_hold; i++) {
        const struct yaml_node *entry = find_entry(models, must_hold[i]);
        struct architecture model = {.name = must_hold[i]};
        struct error err = {0};
        enum status status =
            model_config_read_hugging_face(yaml_get(entry, "hf_config"), &model, &err);
        if (status != OK) {
            fail_msg("%s: %s", must_hold[i], err.text);
        }
        uint64_t expected = golden_parameters(entry), got = architecture_parameters(&model);
        if (got != expected) {
            fail_msg("%s: %llu parameters, golden %llu", must_hold[i], (unsigned long long)got,
                     (unsigned long long)expected);
        }
    }
    arena_fini(&arena);
}

/* The families that every entry of must have: no entry of the golden file is passed over silently.
 */
static void every_transformer_entry_is_covered(void **state) {
    (void)state;
    struct arena arena = {0};
    const struct yaml_node *models = read_golden(&arena);
    int read = 0;
    for (uint32_t i = 0; i < models->count; i++) {
        const struct yaml_node *config = yaml_get(models->items[i], "hf_config");
        const struct yaml_node *type = yaml_get(config, "model_type");
        if (type == NULL || family_find(type->text) == NULL) {
            continue;
        }
        struct architecture model = {0};
        struct error err = {0};
        assert_int_equal(model_config_read_hugging_face(config, &model, &err), OK);
        uint64_t expected = golden_parameters(models->items[i]);
        if (architecture_parameters(&model) != expected) {
            fail_msg("%s: %llu, golden %llu", yaml_get(models->items[i], "name")->text,
                     (unsigned long long)architecture_parameters(&model),
                     (unsigned long long)expected);
        }
        read++;
    }
    assert_true(read >= 25);
    arena_fini(&arena);
}

struct built_in {
    const char *name, *golden;
    uint64_t parameters;
};

static const struct built_in built_ins[] = {
    {"llama-2-7b", "llama-2-7b", 0},        {"llama2-13b", "llama-2-13b", 0},
    {"Llama-2-70B", "llama-2-70b", 0},      {"llama-3.1-8b", "llama-3.1-8b", 0},
    {"llama8b", "llama-3.1-8b", 0},         {"llama-3.1-70b", "llama-3.1-70b", 0},
    {"llama70b", "llama-3.1-70b", 0},       {"llama405b", "llama-3.1-405b", 0},
    {"llama3.1-405b", "llama-3.1-405b", 0}, {"llama-3.1-405b", "llama-3.1-405b", 0},
    {"gpt3-175b", "gpt3-175b", 0},          {"mixtral-8x7b", "mixtral-8x7b-v0.1", 0},
    {"deepseek-v3", "deepseek-v3", 0},      {"qwen2.5-72b", "qwen2.5-72b", 0},
    {"llama3_8b", NULL, 8030261248},        {"llama3-70b", NULL, 69882617856},
    {"llama3_405b", NULL, 405853388800},
};

static void built_in_models_and_aliases_give_the_published_counts(void **state) {
    (void)state;
    struct arena arena = {0};
    const struct yaml_node *models = read_golden(&arena);
    for (size_t i = 0; i < sizeof built_ins / sizeof *built_ins; i++) {
        const struct built_in *row = &built_ins[i];
        struct architecture model;
        struct error err = {0};
        if (architecture_read(row->name, NULL, &arena, &model, &err) != OK) {
            fail_msg("%s", err.text);
        }
        uint64_t expected = row->golden != NULL ? golden_parameters(find_entry(models, row->golden))
                                                : row->parameters;
        if (architecture_parameters(&model) != expected) {
            fail_msg("%s: %llu, expected %llu", row->name,
                     (unsigned long long)architecture_parameters(&model),
                     (unsigned long long)expected);
        }
    }
    arena_fini(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hugging_face_configs_give_the_published_counts),
        cmocka_unit_test(every_transformer_entry_is_covered),
        cmocka_unit_test(built_in_models_and_aliases_give_the_published_counts),
    };
    return cmocka_run_group_tests_name("models", tests, NULL, NULL);
}
