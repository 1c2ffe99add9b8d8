#include "sim/drive/drive_files.h"

#include "tests/unit/support.h"

#include <stdio.h>
#include <string.h>

enum { MANY = 20000 };

static struct drive_file *make(struct drive_files *files, const char *path, uint64_t size) {
    struct drive_file *file = drive_files_find(files, path, true);
    file->exists = true;
    file->size_bytes = size;
    file->placed.length_bytes = size;
    return file;
}

static void finds_what_was_made(void **state) {
    (void)state;
    struct drive_files files;
    drive_files_init(&files);
    assert_null(drive_files_find(&files, "a", false));
    struct drive_file *a = drive_files_find(&files, "a", true);
    assert_non_null(a);
    assert_string_equal(a->path, "a");
    assert_false(a->exists); /* a name only, until it is opened */
    assert_int_equal(a->size_bytes, 0);
    assert_ptr_equal(drive_files_find(&files, "a", false), a);
    assert_ptr_equal(drive_files_find(&files, "a", true), a);
    assert_ptr_not_equal(drive_files_find(&files, "A", true), a);
    assert_null(drive_files_find(&files, "a/", false));
    drive_files_fini(&files);
}

/* The table grows and forgets nothing, and pointers stay what they were. */
static void grows(void **state) {
    (void)state;
    static struct drive_file *made[MANY];
    struct drive_files files;
    char path[64];
    drive_files_init(&files);
    for (int i = 0; i < MANY; i++) {
        snprintf(path, sizeof path, "folder-%d/file-%d", i % 7, i);
        made[i] = make(&files, path, (uint64_t)i);
    }
    assert_int_equal(files.count, MANY);
    for (int i = 0; i < MANY; i++) {
        snprintf(path, sizeof path, "folder-%d/file-%d", i % 7, i);
        assert_ptr_equal(drive_files_find(&files, path, false), made[i]);
        assert_string_equal(made[i]->path, path);
        assert_int_equal(made[i]->size_bytes, i);
    }
    drive_files_fini(&files);
}

static void files_of_a_folder_share_a_group(void **state) {
    (void)state;
    struct drive_files files;
    drive_files_init(&files);
    uint32_t first = drive_files_find(&files, "ckpt-1/a", true)->placed.group;
    assert_int_equal(drive_files_find(&files, "ckpt-1/b", true)->placed.group, first);
    assert_int_not_equal(drive_files_find(&files, "ckpt-2/a", true)->placed.group, first);
    assert_int_equal(drive_files_find(&files, "a", true)->placed.group,
                     drive_files_find(&files, "b", true)->placed.group);
    drive_files_fini(&files);
}

/* Whoever holds a pointer to a file that is renamed goes on writing the same file. */
static void renames_to_a_new_name(void **state) {
    (void)state;
    struct drive_files files;
    drive_files_init(&files);
    struct drive_file *file = make(&files, "a.tmp", 100);
    file->cursor_bytes = 60;
    struct drive_file *old = drive_files_rename(&files, file, "a");
    if (old != NULL) {
        assert_int_equal(old->size_bytes, 0);
        assert_int_equal(old->placed.length_bytes, 0);
        assert_false(old->exists);
    }
    assert_ptr_equal(drive_files_find(&files, "a", false), file);
    assert_string_equal(file->path, "a");
    assert_true(file->exists);
    assert_int_equal(file->size_bytes, 100);
    assert_int_equal(file->cursor_bytes, 60);
    struct drive_file *gone = drive_files_find(&files, "a.tmp", false);
    assert_true(gone == NULL || !gone->exists);
    drive_files_fini(&files);
}

static void renames_over_a_file(void **state) {
    (void)state;
    struct drive_files files;
    drive_files_init(&files);
    struct drive_file *target = make(&files, "latest", 7);
    for (uint64_t i = 1; i < 50; i++) {
        struct drive_file *file = make(&files, "latest.tmp", i);
        struct drive_file *old = drive_files_rename(&files, file, "latest");
        assert_ptr_equal(old, target); /* the contents that nobody can reach any more */
        assert_int_equal(old->size_bytes, i == 1 ? 7 : i - 1);
        assert_false(old->exists);
        assert_string_equal(old->path, "latest.tmp");
        assert_ptr_equal(drive_files_find(&files, "latest", false), file);
        assert_int_equal(file->size_bytes, i);
        assert_true(file->exists);
        old->size_bytes = old->placed.length_bytes = 0;
        target = file;
    }
    assert_int_equal(files.count, 2);
    drive_files_fini(&files);
}

static void renames_to_itself(void **state) {
    (void)state;
    struct drive_files files;
    drive_files_init(&files);
    struct drive_file *file = make(&files, "a", 100);
    assert_null(drive_files_rename(&files, file, "a"));
    assert_true(file->exists);
    assert_int_equal(file->size_bytes, 100);
    assert_ptr_equal(drive_files_find(&files, "a", false), file);
    drive_files_fini(&files);
}

/* A name that is used again lies in the group of its folder, whatever was renamed before. */
static void a_name_keeps_its_group(void **state) {
    (void)state;
    struct drive_files files;
    drive_files_init(&files);
    struct drive_file *file = make(&files, "x/a", 1);
    uint32_t x = file->placed.group;
    make(&files, "y/a", 1);
    drive_files_rename(&files, file, "y/a");
    assert_int_equal(drive_files_find(&files, "y/a", false)->placed.group, x); /* blocks stay */
    assert_int_equal(drive_files_find(&files, "x/a", true)->placed.group, x);
    drive_files_fini(&files);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_was_made),
        cmocka_unit_test(grows),
        cmocka_unit_test(files_of_a_folder_share_a_group),
        cmocka_unit_test(renames_to_a_new_name),
        cmocka_unit_test(renames_over_a_file),
        cmocka_unit_test(renames_to_itself),
        cmocka_unit_test(a_name_keeps_its_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
