#include "tests/unit/support.h"

#include "io/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    char dir[64];
    struct arena arena;
    struct folder folder;
    struct error err;
};

static int make_place(void **state) {
    struct place *place = calloc(1, sizeof *place);
    strcpy(place->dir, "/tmp/ckptsim-folder-XXXXXX");
    assert_non_null(mkdtemp(place->dir));
    *state = place;
    return 0;
}

static int drop_place(void **state) {
    struct place *place = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", place->dir);
    int code = system(command);
    arena_fini(&place->arena);
    free(place);
    return code;
}

static char *at(struct place *place, const char *path) {
    return arena_printf(&place->arena, "%s/%s", place->dir, path);
}

static enum status create(struct place *place, const char *run) {
    return folder_create(place->dir, run, &place->arena, &place->folder, &place->err);
}

static void comes_and_goes(void **state) {
    struct place *place = *state;
    assert_int_equal(create(place, "run1"), OK);
    assert_int_equal(access(at(place, "ckptsim/.ckptsim"), F_OK), 0);
    struct folder second;
    assert_int_equal(folder_create(place->dir, "run2", &place->arena, &second, &place->err),
                     ERR_USAGE);
    assert_non_null(strstr(place->err.text, "in use"));
    int fd = folder_open_file(&place->folder, "a/b/c", O_WRONLY | O_CREAT);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(folder_rename(&place->folder, "a/b/c", "a/b/d"), 0);
    assert_int_equal(folder_remove(&place->folder, "a/b/c"), ENOENT);
    assert_int_equal(folder_remove(&place->folder, "a/b/d"), 0);
    assert_int_not_equal(access(at(place, "ckptsim/a"), F_OK), 0); /* its folders went with it */
    assert_int_equal(folder_remove_self(&place->folder), 0);
    assert_int_not_equal(access(at(place, "ckptsim"), F_OK), 0);
}

static void keeps_what_others_made(void **state) {
    struct place *place = *state;
    assert_int_equal(create(place, "run1"), OK);
    int fd = open(at(place, "ckptsim/mine"), O_WRONLY | O_CREAT, 0600);
    close(fd);
    assert_int_equal(folder_remove_self(&place->folder), ENOTEMPTY);
    assert_int_equal(access(at(place, "ckptsim/.ckptsim"), F_OK), 0);
    assert_int_equal(create(place, "run2"), ERR_USAGE);
    assert_non_null(strstr(place->err.text, "holds files of an earlier run (run1)"));
    assert_int_equal(folder_open(place->dir, &place->arena, &place->folder, &place->err), OK);
    assert_string_equal(place->folder.run_id, "run1");
    folder_close(&place->folder);
    assert_int_equal(folder_open(at(place, "ckptsim"), &place->arena, &place->folder, &place->err),
                     OK);
    folder_close(&place->folder);
}

static void refuses_foreign_folders(void **state) {
    struct place *place = *state;
    assert_int_equal(mkdir(at(place, "ckptsim"), 0700), 0);
    int fd = open(at(place, "ckptsim/mine"), O_WRONLY | O_CREAT, 0600);
    close(fd);
    assert_int_equal(create(place, "run1"), ERR_USAGE);
    assert_non_null(strstr(place->err.text, "not marked"));
    assert_int_equal(access(at(place, "ckptsim/.ckptsim"), F_OK), -1);
    unlink(at(place, "ckptsim/mine"));
    rmdir(at(place, "ckptsim"));
    assert_int_equal(symlink("/tmp", at(place, "ckptsim")), 0);
    assert_int_equal(create(place, "run1"), ERR_USAGE);
    assert_non_null(strstr(place->err.text, "a file or a link has that name"));
    unlink(at(place, "ckptsim"));
    fd = open(at(place, "ckptsim"), O_WRONLY | O_CREAT, 0600);
    close(fd);
    assert_int_equal(create(place, "run1"), ERR_USAGE);
    assert_int_equal(folder_create("/nowhere/at/all", "r", &place->arena, &place->folder,
                                   &place->err), ERR_USAGE);
}

static void follows_no_link(void **state) {
    struct place *place = *state;
    assert_int_equal(create(place, "run1"), OK);
    int fd = open(at(place, "victim"), O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "precious", 8), 8);
    close(fd);
    assert_int_equal(symlink("../victim", at(place, "ckptsim/link")), 0);
    assert_int_equal(symlink("..", at(place, "ckptsim/up")), 0);
    assert_int_equal(folder_open_file(&place->folder, "link", O_WRONLY | O_TRUNC), -ELOOP);
    assert_int_equal(folder_open_file(&place->folder, "up/victim", O_WRONLY | O_TRUNC), -ELOOP);
    assert_int_equal(folder_open_file(&place->folder, "../victim", O_WRONLY | O_TRUNC), -EXDEV);
    assert_int_equal(folder_open_file(&place->folder, "/etc/passwd", O_RDONLY), -EXDEV);
    assert_int_equal(folder_open_file(&place->folder, "up/new", O_WRONLY | O_CREAT), -ELOOP);
    assert_int_equal(folder_remove(&place->folder, "link"), ENOTSUP);
    assert_int_equal(folder_remove(&place->folder, "up/victim"), ENOTDIR); /* a link is none */
    assert_int_equal(folder_remove(&place->folder, "../victim"), EXDEV);
    assert_int_equal(mkfifo(at(place, "ckptsim/pipe"), 0600), 0);
    assert_true(folder_open_file(&place->folder, "pipe", O_RDONLY) < 0);
    struct stat info;
    assert_int_equal(stat(at(place, "victim"), &info), 0);
    assert_int_equal(info.st_size, 8);
    folder_close(&place->folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(comes_and_goes, make_place, drop_place),
        cmocka_unit_test_setup_teardown(keeps_what_others_made, make_place, drop_place),
        cmocka_unit_test_setup_teardown(refuses_foreign_folders, make_place, drop_place),
        cmocka_unit_test_setup_teardown(follows_no_link, make_place, drop_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
