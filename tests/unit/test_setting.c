#include "tests/unit/support.h"

#include "base/setting.h"

#include <string.h>

struct sample {
    bool flag, on;
    uint64_t count, size, pause;
    double fill;
    int choice, direct;
    const char *text;
};

#define F(m) offsetof(struct sample, m)

static const struct setting_row rows[] = {
    {.name = "flag", .type = SETTING_FLAG, .field = F(flag), .fallback = "false", .commands = 1},
    {.name = "on", .type = SETTING_FLAG, .field = F(on), .fallback = "true", .commands = 1},
    {.name = "queue-depth", .type = SETTING_COUNT, .field = F(count), .fallback = "2", .minimum = 1,
     .maximum = 64, .commands = 1, .placeholder = "N"},
    {.name = "chunk", .type = SETTING_SIZE, .field = F(size), .fallback = "8MiB", .commands = 1,
     .placeholder = "SIZE"},
    {.name = "interval", .type = SETTING_DURATION, .field = F(pause), .commands = 1,
     .placeholder = "TIME"},
    {.name = "fill", .type = SETTING_NUMBER, .field = F(fill), .fallback = "full", .maximum = 1,
     .choices = "full", .commands = 1, .placeholder = "F"},
    {.name = "fsync", .type = SETTING_CHOICE, .field = F(choice), .choices = "none|file|checkpoint",
     .fallback = "file", .commands = 1},
    {.name = "direct", .type = SETTING_CHOICE, .field = F(direct), .choices = "auto|on|off",
     .fallback = "auto", .when_bare = "on", .commands = 1},
    {.name = "text", .type = SETTING_TEXT, .field = F(text), .commands = 1, .placeholder = "T"},
    {.name = "other", .type = SETTING_TEXT, .field = F(text), .commands = 2, .placeholder = "T"},
};

static enum status parse(struct sample *sample, struct settings *settings, struct arena *arena,
                         struct error *err, int argc, const char *const *argv) {
    const char *positionals[16];
    size_t count;
    *sample = (struct sample){0};
    settings_init(settings, rows, COUNT_OF(rows), 1, sample, arena);
    enum status status =
        settings_parse(settings, argc, (char *const *)argv, positionals, &count, err);
    return status;
}

#define PARSE(...)                                                                                \
    parse(&sample, &settings, &arena, &err, (int)COUNT_OF(((const char *const[]){__VA_ARGS__})),  \
          (const char *const[]){__VA_ARGS__})

static void takes_every_form(void **state) {
    (void)state;
    struct sample sample;
    struct settings settings;
    struct arena arena = {0};
    struct error err = {0};
    assert_int_equal(PARSE("--flag", "--no-on", "--queue-depth", "4", "--chunk=1MiB", "--interval",
                           "5s", "--fill", "88%", "--fsync=none", "--direct", "--text", "x"),
                     OK);
    assert_true(sample.flag && !sample.on);
    assert_true(sample.count == 4 && sample.size == 1 << 20 && sample.pause == 5000000000);
    assert_true(sample.fill == 0.88 && sample.choice == 0 && sample.direct == 1);
    assert_string_equal(sample.text, "x");
    assert_string_equal(settings_value(&settings, "chunk")->origin, "command line");
    assert_int_equal(PARSE("--no-direct"), OK);
    assert_int_equal(sample.direct, 2);
    assert_true(sample.on && sample.count == 2 && sample.size == 8 << 20 && sample.fill == 1);
    assert_int_equal(PARSE("--queue_depth=8"), OK);
    assert_true(sample.count == 8);
    arena_fini(&arena);
}

static void says_what_is_wrong(void **state) {
    (void)state;
    struct sample sample;
    struct settings settings;
    struct arena arena = {0};
    struct error err = {0};
    assert_int_equal(PARSE("--queue-depht", "4"), ERR_USAGE);
    assert_non_null(strstr(err.text, "unknown option '--queue-depht'; nearest: queue-depth"));
    assert_int_equal(PARSE("--queue-depth", "0"), ERR_USAGE);
    assert_string_equal(err.text, "--queue-depth: '0' is too small; at least 1 is allowed");
    assert_int_equal(PARSE("--queue-depth", "65"), ERR_USAGE);
    assert_string_equal(err.text, "--queue-depth: '65' is too large; 1 to 64 is allowed");
    assert_int_equal(PARSE("--chunk", "12Q"), ERR_USAGE);
    assert_non_null(strstr(err.text, "--chunk: '12Q' has an unknown unit 'Q'"));
    assert_int_equal(PARSE("--fsync", "never"), ERR_USAGE);
    assert_string_equal(err.text, "--fsync: 'never' is not allowed; none|file|checkpoint is");
    assert_int_equal(PARSE("--chunk"), ERR_USAGE);
    assert_int_equal(PARSE("--other", "x"), ERR_USAGE);
    assert_int_equal(PARSE("-x"), ERR_USAGE);
    assert_int_equal(PARSE("--fill", "120%"), ERR_USAGE);
    arena_fini(&arena);
}

static void command_line_wins_over_yaml(void **state) {
    (void)state;
    struct sample sample;
    struct settings settings;
    struct arena arena = {0};
    struct error err = {0};
    struct yaml_node *root;
    static const char text[] = "about: \"x\"\nchunk: 1MiB\nqueue_depth: 9\n";
    assert_int_equal(PARSE("--chunk", "2MiB"), OK);
    assert_int_equal(yaml_read_text("w.yaml", text, strlen(text), &arena, &root, &err), OK);
    assert_int_equal(settings_read_yaml(&settings, root, &err), OK);
    assert_true(sample.size == 2 << 20 && sample.count == 9);
    assert_string_equal(settings_value(&settings, "queue-depth")->origin, "w.yaml:3");
    static const char bad[] = "chunk: 1MiB\n chnk: 1\n";
    static const char unknown[] = "text: a\nchnk: 1\n";
    assert_int_equal(yaml_read_text("b.yaml", bad, strlen(bad), &arena, &root, &err), ERR_USAGE);
    assert_int_equal(yaml_read_text("u.yaml", unknown, strlen(unknown), &arena, &root, &err), OK);
    assert_int_equal(settings_read_yaml(&settings, root, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "u.yaml:2:1: unknown key 'chnk'; nearest: chunk"));
    static const char value[] = "fsync: often\n";
    assert_int_equal(yaml_read_text("v.yaml", value, strlen(value), &arena, &root, &err), OK);
    assert_int_equal(settings_read_yaml(&settings, root, &err), ERR_USAGE);
    assert_string_equal(err.text,
                        "v.yaml:1:8: 'fsync': 'often' is not allowed; none|file|checkpoint is");
    arena_fini(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_every_form),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(command_line_wins_over_yaml),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
