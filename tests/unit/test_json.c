#include "tests/unit/support.h"

#include "base/json.h"
#include "base/yaml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *write_text(const char *text, bool one_line) {
    char *memory = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&memory, &size);
    struct json json = {.stream = stream, .one_line = one_line};
    json_begin_map(&json, NULL);
    json_text(&json, "t", text);
    json_number(&json, "n", 0.1);
    json_number(&json, "nan", NAN);
    json_seconds(&json, "s", UINT64_C(1500000001));
    json_end_map(&json);
    fclose(stream);
    return memory;
}

static void reads_back(void **state) {
    (void)state;
    static const char *const texts[] = {"", "plain", "a \"quoted\" \\ back", "tab\tnew\nline\x01",
                                        "K\xc3\xb6ln \xe2\x96\x88 \xf0\x9f\x98\x80", "null", "1e5"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        char *memory = write_text(texts[i], i % 2 == 0);
        struct arena arena = {0};
        struct yaml_node *root;
        struct error err;
        assert_int_equal(yaml_read_text("j", memory, strlen(memory), &arena, &root, &err), OK);
        assert_string_equal(yaml_get(root, "t")->text, texts[i]);
        assert_string_equal(yaml_get(root, "n")->text, "0.1");
        assert_string_equal(yaml_get(root, "s")->text, "1.500000001");
        assert_true(yaml_is_null(yaml_get(root, "nan")));
        arena_fini(&arena);
        free(memory);
    }
}

static void bytes_that_are_no_text_are_replaced(void **state) {
    (void)state;
    static const char *const bad[] = {"\xff", "a\xc0\xaf", "\xed\xa0\x80", "\xe2\x96", "\xf5\x80\x80\x80"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char *memory = write_text(bad[i], true);
        assert_non_null(strstr(memory, "\xef\xbf\xbd"));
        for (const char *at = memory; *at != '\0'; at += json_utf8_length(at)) {
            assert_true(json_utf8_length(at) > 0);
        }
        free(memory);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_back),
        cmocka_unit_test(bytes_that_are_no_text_are_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
