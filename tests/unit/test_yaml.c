#include "tests/unit/support.h"

#include "base/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum status read_text(const char *text, struct arena *arena, struct yaml_node **root,
                             struct error *err) {
    return yaml_read_text("t.yaml", text, strlen(text), arena, root, err);
}

static void reads_yaml_and_json(void **state) {
    (void)state;
    struct arena arena = {0};
    struct yaml_node *root;
    assert_int_equal(read_text("a: 1\nb: [x, 'y z', {c: true}]\n", &arena, &root, NULL), OK);
    assert_int_equal(root->kind, YAML_MAP);
    uint64_t value;
    assert_int_equal(yaml_count(yaml_get(root, "a"), "a", &value, NULL), OK);
    assert_true(value == 1);
    const struct yaml_node *list = yaml_get(root, "b");
    assert_int_equal(list->count, 3);
    assert_string_equal(list->items[1]->text, "y z");
    assert_true(list->items[1]->quoted);
    bool flag;
    assert_int_equal(yaml_bool(yaml_get(list->items[2], "c"), "c", &flag, NULL), OK);
    assert_true(flag);
    assert_int_equal(list->line, 2);
    assert_int_equal(list->column, 4);
    assert_int_equal(read_text("{\"a\":[1,2],\"b\":null,\n\"c\":\"\\u0041\\/\"}", &arena, &root, NULL),
                     OK);
    assert_true(yaml_is_null(yaml_get(root, "b")));
    assert_string_equal(yaml_get(root, "c")->text, "A/");
    arena_fini(&arena);
}

static void refuses(const char *text, const char *needle) {
    struct arena arena = {0};
    struct yaml_node *root = NULL;
    struct error err = {0};
    assert_int_equal(read_text(text, &arena, &root, &err), ERR_USAGE);
    assert_null(root);
    if (strstr(err.text, needle) == NULL) {
        fail_msg("'%s' lacks '%s'", err.text, needle);
    }
    arena_fini(&arena);
}

static void refuses_what_would_be_misread(void **state) {
    (void)state;
    refuses("", "empty");
    refuses("a: 1\na: 2\n", "t.yaml:2:1: key 'a' is given twice");
    refuses("a: &x 1\nb: *x\n", "t.yaml:2:4: aliases");
    refuses("a: 1\n---\nb: 2\n", "second document");
    refuses("a: [1,\n", "t.yaml:");
    refuses("? [a]\n: 1\n", "a key must be plain text");
    refuses("a: \"x\\0y\"\n", "zero byte");
    refuses("a: \xff\xfe\n", "not valid YAML");
}

static void bounds_depth_and_size(void **state) {
    (void)state;
    enum { LEVELS = 100000 };
    char *deep = malloc(LEVELS + 1);
    memset(deep, '[', LEVELS);
    deep[LEVELS] = '\0';
    refuses(deep, "t.yaml:1:65: nested deeper than the 64 levels");
    free(deep);

    char path[] = "/tmp/ckptsim-yaml-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(ftruncate(fd, 1 << 30), 0); /* 1 GB, sparse */
    close(fd);
    struct arena arena = {0};
    struct yaml_node *root;
    struct error err = {0};
    assert_int_equal(yaml_read_file(path, &arena, &root, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "at most 67108864 are allowed"));
    assert_true(arena.used_bytes < 4096);
    unlink(path);
    assert_int_equal(yaml_read_file("/nowhere.yaml", &arena, &root, &err), ERR_USAGE);
    assert_int_equal(yaml_read_file("/tmp", &arena, &root, &err), ERR_USAGE);
    assert_int_equal(yaml_read_file("/dev/zero", &arena, &root, &err), ERR_USAGE);
    arena_fini(&arena);
}

static void typed_reads_name_their_place(void **state) {
    (void)state;
    struct arena arena = {0};
    struct yaml_node *root;
    struct error err;
    uint64_t value;
    double number;
    assert_int_equal(read_text("a: -1\nb: x\nc: [1]\nd: 1e3\n", &arena, &root, NULL), OK);
    assert_int_equal(yaml_count(yaml_get(root, "a"), "a", &value, &err), ERR_USAGE);
    assert_string_equal(err.text, "t.yaml:1:4: 'a': '-1' is not a whole number");
    assert_int_equal(yaml_count(yaml_get(root, "c"), "c", &value, &err), ERR_USAGE);
    assert_int_equal(yaml_number(yaml_get(root, "b"), "b", &number, &err), ERR_USAGE);
    assert_int_equal(yaml_number(yaml_get(root, "d"), "d", &number, &err), OK);
    assert_true(number == 1000);
    arena_fini(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_yaml_and_json),
        cmocka_unit_test(refuses_what_would_be_misread),
        cmocka_unit_test(bounds_depth_and_size),
        cmocka_unit_test(typed_reads_name_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
