/* Drive and host files as they are named and written: every built-in, a user's own, mistakes with
 * their places, and a source beside every number. */
#include "support.h"

#include "base/configs.h"
#include "base/names.h"
#include "sim/drive/drive_config.h"
#include "sim/drive/drive_sheet.h"
#include "sim/drive/host_config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OURS "nand: TLC\ncapacity: 4TB\nsequential_write: 5GB/s\n"

static enum status read_text(const char *text, struct arena *arena, struct drive_config *config,
                             struct error *err) {
    char path[] = "/tmp/ckptsim-drive-XXXXXX.yaml";
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    enum status status = drive_config_read(path, NULL, arena, config, err);
    unlink(path);
    return status;
}

static void test_names(void **state) {
    (void)state;
    static const char *const names[][2] = {
        {"x200p-7.68tb", "x200p-7.68tb"},
        {"p5336-122.88tb", "p5336-122.88tb"},
        {"p5336-61.44tb", "p5336-61.44tb"},
        {"6550ion-61.44tb", "6550ion-61.44tb"},
        {"sn861-7.68tb", "sn861-7.68tb"},
        {"ps1010-7.68tb", "ps1010-7.68tb"},
        {"ps1030-12.8tb", "ps1030-12.8tb"},
        {"9550pro-7.68tb", "9550pro-7.68tb"},
        {"9550max-12.8tb", "9550max-12.8tb"},
        {"7600max-6.4tb", "7600max-6.4tb"},
        {"cd9p-r-7.68tb", "cd9p-r-7.68tb"},
        {"cm9-r-15.36tb", "cm9-r-15.36tb"},
        {"X200P-7.68TB", "x200p-7.68tb"},
        {"X200P 7.68 TB", "x200p-7.68tb"},
        {"x200p_7.68", "x200p-7.68tb"},
        {"CD9PR-7.68TB", "cd9p-r-7.68tb"},
        {"D5-P5336-61.44TB", "p5336-61.44tb"},
        {"Pascari X200P 7.68TB", "x200p-7.68tb"},
        {"cm9-r", "cm9-r-15.36tb"},
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct arena arena = {0};
        struct drive_config config;
        struct error err = {.text = ""};
        if (drive_config_read(names[i][0], NULL, &arena, &config, &err) != OK) {
            fail_msg("%s", err.text);
        }
        assert_string_equal(config.name, names[i][1]);
        arena_fini(&arena);
    }
}

static void test_wrong_names(void **state) {
    (void)state;
    static const char *const wrong[][2] = {
        {"x200p", "x200p-1.92tb, x200p-3.84tb, x200p-7.68tb, x200p-15.36tb, x200p-30.72tb"},
        {"D5-P5336", "p5336-61.44tb, p5336-122.88tb"},
        {"x200p-9tb", "unknown capacity; the family has x200p-1.92tb"},
        {"sn816-7.68tb", "nearest: sn861-7.68tb"},
        {"", "nearest"},
        {"/nowhere/drive.yaml", "no such file"},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct arena arena = {0};
        struct drive_config config;
        struct error err = {.text = ""};
        assert_int_equal(drive_config_read(wrong[i][0], NULL, &arena, &config, &err), ERR_USAGE);
        if (strstr(err.text, wrong[i][1]) == NULL) {
            fail_msg("'%s' lacks '%s'", err.text, wrong[i][1]);
        }
        arena_fini(&arena);
    }
}

static void check_drive(const char *name) {
    struct arena arena = {0};
    struct drive_config config;
    struct drive_sheet sheet;
    struct error err = {.text = ""};
    if (drive_config_read(name, NULL, &arena, &config, &err) != OK ||
        drive_sheet_make(&config, DRIVE_AS_MEASURED, &arena, &sheet, &err) != OK ||
        drive_sheet_make(&config, DRIVE_AS_STATED, &arena, &sheet, &err) != OK) {
        fail_msg("%s", err.text);
    }
    assert_string_equal(config.name, name);
    assert_non_null(config.vendor);
    assert_non_null(config.model);
    arena_fini(&arena);
}

static void test_every_drive(void **state) {
    (void)state;
    struct arena arena = {0};
    size_t count;
    const char *const *names = drive_config_names(NULL, &arena, &count);
    assert_true(count >= 30);
    for (size_t i = 0; i < count; i++) {
        check_drive(names[i]);
        for (size_t k = 0; k < i; k++) { /* punctuation alone must not tell two drives apart */
            assert_false(names_equal(names[i], names[k]));
        }
    }
    arena_fini(&arena);
}

/* Keys whose values are words, though digits may be in them. */
static bool is_words_key(const char *key) {
    static const char *const keys[] = {"about", "aliases", "vendor", "model", "sources", "flash"};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (strcmp(keys[i], key) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_number(const struct yaml_node *node) {
    return node->kind == YAML_TEXT && isdigit((unsigned char)node->text[0]);
}

/* A source is a key under `sources` or a sentence. */
static void check_source(const struct yaml_node *root, const struct yaml_node *source) {
    bool named = yaml_get(yaml_get(root, "sources"), source->text) != NULL;
    if (!named && strchr(source->text, ' ') == NULL) {
        fail_msg("%s:%u: '%s' is no source", source->file, source->line, source->text);
    }
}

/* Returns how many numbers the node holds; each must have its source. */
static unsigned walk(const struct yaml_node *root, const struct yaml_node *node) {
    unsigned numbers = 0;
    if (is_number(node)) {
        fail_msg("%s:%u: '%s' has no source", node->file, node->line, node->text);
    }
    if (node->kind == YAML_LIST) {
        assert_int_equal(node->count, 2);
        assert_true(is_number(node->items[0]));
        check_source(root, node->items[1]);
        return 1;
    }
    if (node->kind == YAML_MAP && yaml_get(node, "fitted_to") != NULL) {
        return 1;
    }
    for (uint32_t i = 0; node->kind == YAML_MAP && i < node->count; i++) {
        numbers += is_words_key(node->keys[i]->text) ? 0 : walk(root, node->items[i]);
    }
    return numbers;
}

static void test_every_number_has_a_source(void **state) {
    (void)state;
    unsigned numbers = 0;
    for (const struct config *config = builtin_configs; config->kind != NULL; config++) {
        if (strcmp(config->kind, "drives") == 0 || strcmp(config->kind, "hosts") == 0) {
            struct arena arena = {0};
            struct yaml_node *root;
            struct error err = {.text = ""};
            assert_int_equal(
                yaml_read_text(config->name, config->text, config->length, &arena, &root, &err),
                OK);
            numbers += walk(root, root);
            arena_fini(&arena);
        }
    }
    assert_true(numbers > 300);
}

static void test_own_drive(void **state) {
    (void)state;
    struct arena arena = {0};
    struct drive_config config;
    struct drive_sheet sheet;
    struct error err = {.text = ""};
    assert_int_equal(read_text("vendor: Acme\nmodel: Fast 1\nnand: qlc\ncapacity: 30.72TB\n"
                               "sequential_read: 12GB/s\nsequential_write: 4GB/s\n"
                               "random_read: 2.5M\nrandom_write: 50k\n"
                               "random_write_block: 16KiB\ndrive_writes_per_day: 0.5\n"
                               "active_power: 22W\n",
                               &arena, &config, &err),
                     OK);
    assert_int_equal(config.nand, DRIVE_QLC);
    assert_int_equal(config.capacity_bytes.value, UINT64_C(30720000000000));
    assert_int_equal(config.random_read_iops.value, 2500000);
    assert_int_equal(config.drive_writes_per_day.value, 500000);
    assert_int_equal(config.active_mw.value, 22000);
    assert_null(config.capacity_bytes.source);
    assert_int_equal(config.read_latency_ns.origin, FIGURE_UNKNOWN);
    assert_int_equal(drive_sheet_make(&config, DRIVE_AS_MEASURED, &arena, &sheet, &err), OK);
    assert_int_equal(sheet.drive.read_latency_ns.origin, FIGURE_DEFAULT);
    assert_int_equal(sheet.drive.pcie_generation.value, 5); /* 12 GB/s do not fit into PCIe 4 */
    arena_fini(&arena);
}

static void test_three_forms(void **state) {
    (void)state;
    struct arena arena = {0};
    struct drive_config config;
    struct error err = {.text = ""};
    assert_int_equal(read_text("sources: {sheet: the data sheet}\nnand: TLC\n"
                               "capacity: 4TB\nsequential_write: [5GB/s, sheet]\n"
                               "sequential_read: [7GB/s, \"a letter\"]\n"
                               "superblock: {value: 2GiB, fitted_to: the steps of a fill}\n"
                               "gc_victims: {value: fifo, fitted_to: a trace}\n"
                               "measured: {sequential_write: [4.9GB/s, sheet]}\n",
                               &arena, &config, &err),
                     OK);
    assert_string_equal(config.sequential_write_rate.source, "the data sheet");
    assert_string_equal(config.sequential_read_rate.source, "a letter");
    assert_int_equal(config.sequential_read_rate.origin, FIGURE_SHEET);
    assert_int_equal(config.superblock_bytes.origin, FIGURE_FITTED);
    assert_string_equal(config.superblock_bytes.source, "the steps of a fill");
    assert_int_equal(config.gc_victims.value, 1);
    assert_int_equal(config.measured.sequential_write_rate.origin, FIGURE_MEASURED);
    assert_int_equal(config.measured.sequential_write_rate.value, UINT64_C(4900000000));
    arena_fini(&arena);
}

struct mistake {
    const char *text;
    const char *says[4];
};

static const struct mistake mistakes[] = {
    {OURS "over_provisioning: 0\n", {":4:20: ", "'over_provisioning' is 0", "0.001 to 1"}},
    {OURS "over_provisioning: -7%\n", {":4:20: ", "'-7%'", "0.001 to 1"}},
    {OURS "sequential_read: 0GB/s\n", {":4:18: ", "is 0GB/s", "1 MB/s to 1 TB/s"}},
    {OURS "sequential_read: 7GB\n", {":4:18: ", "'7GB' is not a rate", "8.7GB/s"}},
    {OURS "sequential_raed: 7GB/s\n", {":4:1: ", "'sequential_raed'", "sequential_read"}},
    {OURS "write_amplification: 3\n", {":4:1: ", "unknown key 'write_amplification'"}},
    {OURS "checkpoint_seconds: 466\n", {":4:1: ", "unknown key 'checkpoint_seconds'"}},
    {OURS "measured: {checkpoint: 466s}\n", {":4:12: ", "unknown key 'checkpoint'"}},
    {OURS "measured: 5\n", {":4:11: ", "'measured' must be a map"}},
    {OURS "random_read: -5k\n", {":4:14: ", "'random_read'", "100 /s to 1e+06 k/s"}},
    {OURS "random_read: [5k]\n", {":4:14: ", "VALUE, [VALUE, SOURCE]"}},
    {OURS "random_read: [5k, a, b]\n", {":4:14: ", "VALUE, [VALUE, SOURCE]"}},
    {OURS "random_read: {value: 5k, source: a}\n", {":4:14: ", "fitted_to: TEXT"}},
    {OURS "write_frontiers: 2\n", {":4:18: ", "says what it was fitted to"}},
    {OURS "gc_victims: {value: lru, fitted_to: it}\n", {":4:21: ", "'lru'", "greedy|fifo"}},
    {OURS "read_latency: 60\n", {":4:15: ", "'read_latency' is 60", "1 us to 1 s"}},
    {OURS "indirection_unit: 2MiB\n", {":4:19: ", "512 B to 1 MiB"}},
    {OURS "active_power: lots\n", {":4:15: ", "'lots' is not a number"}},
    {OURS "flash: [1, 2, 3]\n", {":4:8: ", "'flash' must be TEXT"}},
    {OURS "vendor: [a]\n", {":4:9: ", "'vendor' must be a text"}},
    {OURS "sources: 5\n", {":4:10: ", "'sources' must be a map"}},
    {"nand: TLC\ncapacity: 1152921504606846976TB\nsequential_write: 5GB/s\n",
     {":2:11: ", "larger than 2^64-1", "1 MiB to 10 PB"}},
    {"nand: TLC\ncapacity: 20PB\nsequential_write: 5GB/s\n", {":2:11: ", "1 MiB to 10 PB"}},
    {"nand: TLC\ncapacity: 0\nsequential_write: 5GB/s\n", {":2:11: ", "is 0", "1 MiB to 10 PB"}},
    {"nand: TLC\nsequential_write: 5GB/s\n", {":1:1: ", "needs the key 'capacity'"}},
    {"nand: TLC\ncapacity: 4TB\n", {":1:1: ", "needs the key 'sequential_write'"}},
    {"capacity: 4TB\nsequential_write: 5GB/s\n", {":1:1: ", "needs the key 'nand'"}},
    {"nand: MRAM\ncapacity: 4TB\nsequential_write: 5GB/s\n", {":1:7: ", "'MRAM'", "TLC or QLC"}},
    {OURS "capacities: {4TB: {}}\n", {":2:11: ", "'capacity' and 'capacities'"}},
    {"nand: TLC\nsequential_write: 5GB/s\ncapacities: {4TB: , 8TB: }\n",
     {":3:13: ", "one capacity, this one has 2"}},
    {"nand: TLC\nsequential_write: 5GB/s\ncapacities: {big: {}}\n", {":3:", "'capacity'", "10 PB"}},
    {"nand: TLC\nsequential_write: 5GB/s\ncapacities: {4TB: {nand: QLC}}\n",
     {":3:20: ", "unknown key 'nand'"}},
    {"nand: TLC\nsequential_write: 5GB/s\ncapacities: {4TB: {capacity: 5TB}}\n",
     {":3:30: ", "its key is the capacity"}},
    {"nand: TLC\nsequential_write: 5GB/s\ncapacities: {}\n", {":3:13: ", "at least one capacity"}},
    {"- 1\n", {":1:1: ", "must be a map"}},
};

static void test_mistakes(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        struct arena arena = {0};
        struct drive_config config;
        struct error err = {.text = ""};
        assert_int_equal(read_text(mistakes[i].text, &arena, &config, &err), ERR_USAGE);
        for (size_t k = 0; k < COUNT_OF(mistakes[i].says) && mistakes[i].says[k] != NULL; k++) {
            if (strstr(err.text, mistakes[i].says[k]) == NULL) {
                fail_msg("'%s' lacks '%s'", err.text, mistakes[i].says[k]);
            }
        }
        assert_null(strchr(err.text, '\n'));
        arena_fini(&arena);
    }
}

static void write_file(const char *folder, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/drives/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void remove_file(const char *folder, const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/drives/%s", folder, name);
    remove(path);
}

/* A folder of the user's own: it adds families, hides built-in ones, and a damaged file in it
 * stands in nobody's way but its own. */
static void test_config_dir(void **state) {
    (void)state;
    char folder[] = "/tmp/ckptsim-drives-XXXXXX", drives[64];
    assert_non_null(mkdtemp(folder));
    snprintf(drives, sizeof drives, "%s/drives", folder);
    assert_int_equal(mkdir(drives, 0700), 0);
    write_file(folder, "acme.yaml",
               "nand: TLC\nsequential_write: 5GB/s\ncapacities: {4TB: , 8TB: }");
    write_file(folder, "broken.yaml", "nand: {");
    write_file(folder, "x200p.yaml", OURS);
    struct arena arena = {0};
    struct drive_config config;
    struct error err = {.text = ""};
    assert_int_equal(drive_config_read("Acme 8TB", folder, &arena, &config, &err), OK);
    assert_int_equal(config.capacity_bytes.value, UINT64_C(8000000000000));
    assert_int_equal(drive_config_read("x200p", folder, &arena, &config, &err), OK);
    assert_int_equal(config.capacity_bytes.value, UINT64_C(4000000000000));
    assert_int_equal(drive_config_read("x200p-7.68tb", folder, &arena, &config, &err), ERR_USAGE);
    assert_int_equal(drive_config_read("sn861-7.68tb", folder, &arena, &config, &err), OK);
    assert_int_equal(drive_config_read("broken", folder, &arena, &config, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "broken.yaml:"));
    remove_file(folder, "acme.yaml");
    remove_file(folder, "broken.yaml");
    remove_file(folder, "x200p.yaml");
    rmdir(drives);
    rmdir(folder);
    arena_fini(&arena);
}

static void test_hosts(void **state) {
    (void)state;
    struct arena arena = {0};
    struct host_config host;
    struct error err = {.text = ""};
    assert_int_equal(host_config_read("R760-DLIO2", NULL, &arena, &host, &err), OK);
    assert_int_equal(host.rank_write_new_rate.origin, FIGURE_FITTED);
    /* The heavy rank's bytes at these rates take the times that they were fitted to. */
    double bytes = 256320731136.0;
    assert_true(bytes / (double)host.rank_write_new_rate.value - 466 < 0.01);
    assert_true(bytes / (double)host.rank_write_new_rate.value - 466 > -0.01);
    assert_true(bytes / (double)host.rank_write_reused_rate.value - 566 < 0.01);
    assert_true(bytes / (double)host.rank_write_reused_rate.value - 566 > -0.01);
    /* Eight ranks copy side by side at their own rates; memory holds that just so. */
    assert_int_equal(host.rank_copy_rate.origin, FIGURE_SHEET);
    assert_true(8 * host.rank_copy_rate.value <= host.total_copy_rate.value);
    assert_true(host.rank_read_rate.value > host.rank_write_new_rate.value);
    assert_int_equal(host.total_read_rate.origin, FIGURE_UNKNOWN);
    assert_int_equal(host_config_read("ideal", NULL, &arena, &host, &err), OK);
    for (size_t i = 0; i < host_figures_count; i++) {
        assert_int_equal(figure_in(&host_figures[i], &host)->origin, FIGURE_UNKNOWN);
    }
    assert_int_equal(host_config_read("idael", NULL, &arena, &host, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "ideal"));
    arena_fini(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),       cmocka_unit_test(test_wrong_names),
        cmocka_unit_test(test_every_drive), cmocka_unit_test(test_every_number_has_a_source),
        cmocka_unit_test(test_own_drive),   cmocka_unit_test(test_three_forms),
        cmocka_unit_test(test_mistakes),    cmocka_unit_test(test_config_dir),
        cmocka_unit_test(test_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
