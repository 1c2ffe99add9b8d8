/* DIR/ckptsim and everything in it. The marker comes first and goes last, so a folder that ckptsim
 * made is known as such at every moment; the flock on the marker ends with the process, however it
 * ends. Every path is resolved by the kernel beneath the folder's descriptor. */
#include "io/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MARKER_HEAD "ckptsim folder 1\nrun "

enum { PATH_LIMIT = 512, MARKER_LIMIT = 256 };

static int open_beneath(int dir_fd, const char *path, int flags, mode_t mode) {
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC | O_NOFOLLOW),
        .mode = (flags & O_CREAT) != 0 ? mode : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    long fd;
    do {
        fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof how);
    } while (fd < 0 && (errno == EINTR || errno == EAGAIN));
    return fd < 0 ? -errno : (int)fd;
}

/* Splits "a/b/c" into an open descriptor of "a/b" and the name "c"; the caller closes *parent_fd
 * unless it is the folder's own. */
static int open_parent(const struct folder *folder, const char *path, int *parent_fd,
                       const char **name) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        *parent_fd = folder->fd;
        *name = path;
        return 0;
    }
    char parent[PATH_LIMIT];
    size_t length = (size_t)(slash - path);
    if (length >= sizeof parent) {
        return ENAMETOOLONG;
    }
    memcpy(parent, path, length);
    parent[length] = '\0';
    int fd = open_beneath(folder->fd, parent, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0) {
        return -fd;
    }
    *parent_fd = fd;
    *name = slash + 1;
    return 0;
}

static void close_parent(const struct folder *folder, int parent_fd) {
    if (parent_fd != folder->fd) {
        close(parent_fd);
    }
}

/* Makes each missing folder on the way to the last part of path. */
static int make_parents(const struct folder *folder, const char *path) {
    char part[PATH_LIMIT];
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        size_t length = (size_t)(slash - path);
        if (length >= sizeof part) {
            return ENAMETOOLONG;
        }
        memcpy(part, path, length);
        part[length] = '\0';
        int parent_fd;
        const char *name;
        int error = open_parent(folder, part, &parent_fd, &name);
        if (error != 0) {
            return error;
        }
        error = mkdirat(parent_fd, name, 0755) == 0 || errno == EEXIST ? 0 : errno;
        close_parent(folder, parent_fd);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

int folder_open_file(const struct folder *folder, const char *path, int flags) {
    int fd = open_beneath(folder->fd, path, flags | O_NONBLOCK, 0644);
    if (fd == -ENOENT && (flags & O_CREAT) != 0 && strchr(path, '/') != NULL) {
        int error = make_parents(folder, path);
        if (error != 0) {
            return -error;
        }
        fd = open_beneath(folder->fd, path, flags | O_NONBLOCK, 0644);
    }
    if (fd < 0) {
        return fd;
    }
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(fd);
        return -ENOTSUP; /* a device, a pipe: nothing that we made */
    }
    /* O_NONBLOCK kept the open of a pipe from hanging; on a file it would make io_uring say EAGAIN. */
    int set = fcntl(fd, F_GETFL);
    if (set < 0 || fcntl(fd, F_SETFL, set & ~O_NONBLOCK) != 0) {
        int error = errno;
        close(fd);
        return -error;
    }
    return fd;
}

int folder_remove_dir(const struct folder *folder, const char *path) {
    int parent_fd;
    const char *name;
    int error = open_parent(folder, path, &parent_fd, &name);
    if (error == 0) {
        error = unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 ? 0 : errno;
        close_parent(folder, parent_fd);
    }
    return error;
}

/* Folders that we made for shards go with their last file. */
static void remove_empty_parents(const struct folder *folder, const char *path) {
    char parent[PATH_LIMIT];
    snprintf(parent, sizeof parent, "%s", path);
    for (char *slash; (slash = strrchr(parent, '/')) != NULL;) {
        *slash = '\0';
        if (folder_remove_dir(folder, parent) != 0) {
            return; /* not empty yet, or not ours to judge */
        }
    }
}

int folder_remove(const struct folder *folder, const char *path) {
    int parent_fd;
    const char *name;
    int error = open_parent(folder, path, &parent_fd, &name);
    if (error != 0) {
        return error;
    }
    struct stat info;
    if (fstatat(parent_fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        error = errno;
    } else if (!S_ISREG(info.st_mode)) {
        error = ENOTSUP;
    } else {
        error = unlinkat(parent_fd, name, 0) == 0 ? 0 : errno;
    }
    close_parent(folder, parent_fd);
    if (error == 0 && name != path) {
        remove_empty_parents(folder, path);
    }
    return error;
}

int folder_rename(const struct folder *folder, const char *from, const char *to) {
    int from_fd, to_fd;
    const char *from_name, *to_name;
    int error = open_parent(folder, from, &from_fd, &from_name);
    if (error != 0) {
        return error;
    }
    error = open_parent(folder, to, &to_fd, &to_name);
    if (error == 0) {
        error = renameat(from_fd, from_name, to_fd, to_name) == 0 ? 0 : errno;
        close_parent(folder, to_fd);
    }
    close_parent(folder, from_fd);
    return error;
}

int folder_sync_dir(const struct folder *folder, const char *path) {
    int fd = open_beneath(folder->fd, path[0] == '\0' ? "." : path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0) {
        return -fd;
    }
    int error = fsync(fd) == 0 ? 0 : errno;
    close(fd);
    return error;
}

struct name_list {
    const char **names;
    size_t count, capacity;
};

static int compare_names(const void *left, const void *right) {
    const char *const *a = left, *const *b = right;
    return strcmp(*a, *b);
}

static int collect_names(int folder_fd, struct arena *arena, struct name_list *list) {
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        int error = errno;
        if (fd >= 0) {
            close(fd);
        }
        return error;
    }
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, FOLDER_MARKER) == 0) {
            continue;
        }
        if (list->count == list->capacity) {
            list->capacity = list->capacity == 0 ? 64 : list->capacity * 2;
            list->names = mem_resize(list->names, list->capacity, sizeof *list->names);
        }
        list->names[list->count++] = arena_text(arena, name);
    }
    closedir(dir);
    return 0;
}

int folder_list(const struct folder *folder, struct arena *arena,
                void (*visit)(void *context, const char *name), void *context) {
    struct name_list list = {0};
    int error = collect_names(folder->fd, arena, &list);
    if (error == 0 && list.count > 0) {
        qsort(list.names, list.count, sizeof *list.names, compare_names);
    }
    for (size_t i = 0; error == 0 && i < list.count; i++) {
        visit(context, list.names[i]);
    }
    mem_free(list.names);
    return error;
}

int folder_space(const struct folder *folder, uint64_t *free_bytes, uint64_t *total_bytes) {
    struct statvfs info;
    if (fstatvfs(folder->fd, &info) != 0) {
        return errno;
    }
    *free_bytes = (uint64_t)info.f_bavail * info.f_frsize;
    *total_bytes = (uint64_t)info.f_blocks * info.f_frsize;
    return 0;
}

static enum status open_dir(const char *dir, int *fd, struct error *err) {
    *fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0) {
        return error_set(err, ERR_USAGE, "--dir: cannot open '%s': %s; an existing folder is needed",
                         dir, error_words(errno));
    }
    return OK;
}

static enum status write_marker(struct folder *folder, const char *run_id, struct error *err) {
    char text[MARKER_LIMIT];
    int length = snprintf(text, sizeof text, MARKER_HEAD "%s\n", run_id);
    int fd = open_beneath(folder->fd, FOLDER_MARKER, O_RDWR | O_CREAT, 0644);
    if (fd < 0) {
        return error_set(err, ERR_USAGE, "--dir: cannot mark '%s': %s", folder->path,
                         error_words(-fd));
    }
    folder->marker_fd = fd;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        return error_set(err, ERR_USAGE, "--dir: '%s' is in use by another ckptsim", folder->path);
    }
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)length, 0) != length || fsync(fd) != 0 ||
        fsync(folder->fd) != 0) {
        return error_set(err, ERR_FAILED, "cannot mark '%s': %s", folder->path,
                         error_words(errno));
    }
    snprintf(folder->run_id, sizeof folder->run_id, "%s", run_id);
    return OK;
}

/* Opens and locks the marker of a folder and reads the run from it; ENOENT text where not marked. */
static enum status read_marker(struct folder *folder, struct error *err) {
    int fd = open_beneath(folder->fd, FOLDER_MARKER, O_RDONLY, 0); /* it may lie on a read-only mount */
    if (fd < 0 && fd != -ENOENT) {
        return error_set(err, ERR_USAGE, "--dir: cannot open '%s/%s': %s", folder->path,
                         FOLDER_MARKER, error_words(-fd));
    }
    if (fd < 0) {
        return error_set(err, ERR_USAGE,
                         "--dir: '%s' is not marked as a folder of ckptsim (no %s in it)",
                         folder->path, FOLDER_MARKER);
    }
    folder->marker_fd = fd;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        return error_set(err, ERR_USAGE, "--dir: '%s' is in use by another ckptsim", folder->path);
    }
    char text[MARKER_LIMIT] = {0};
    size_t head = strlen(MARKER_HEAD);
    ssize_t got = pread(fd, text, sizeof text - 1, 0);
    if (got > 0 && (size_t)got > head && memcmp(text, MARKER_HEAD, head) == 0) {
        size_t length = strcspn(text + head, "\n");
        length = length < FOLDER_RUN_ID ? length : FOLDER_RUN_ID - 1;
        memcpy(folder->run_id, text + head, length);
        folder->run_id[length] = '\0';
    } /* else: killed while marking; nothing else can be in it yet, run_id stays empty */
    return OK;
}

static bool is_empty(const struct folder *folder) {
    struct name_list list = {0};
    struct arena arena = {0};
    int error = collect_names(folder->fd, &arena, &list);
    mem_free(list.names);
    arena_fini(&arena);
    return error == 0 && list.count == 0;
}

/* What is at DIR/ckptsim already decides whether it may be taken over. */
static enum status take_over(struct folder *folder, const char *run_id, struct error *err) {
    struct stat info;
    if (fstatat(folder->fd, FOLDER_MARKER, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        if (!is_empty(folder)) {
            return error_set(err, ERR_USAGE,
                             "--dir: '%s' exists, is not marked as a folder of ckptsim and is not "
                             "empty; another folder is needed",
                             folder->path);
        }
        return write_marker(folder, run_id, err);
    }
    if (read_marker(folder, err) != OK) {
        return err->status;
    }
    if (!is_empty(folder)) {
        return error_set(err, ERR_USAGE,
                         "--dir: '%s' holds files of an earlier run (%s); go on with it by "
                         "--resume RESULTS-DIR, or remove them by `ckptsim clean DIR`",
                         folder->path, folder->run_id[0] != '\0' ? folder->run_id : "unfinished");
    }
    close(folder->marker_fd);
    folder->marker_fd = -1;
    folder->created = true;
    return write_marker(folder, run_id, err);
}

enum status folder_create(const char *dir, const char *run_id, struct arena *arena,
                          struct folder *folder, struct error *err) {
    int dir_fd;
    enum status status = open_dir(dir, &dir_fd, err);
    if (status != OK) {
        return status;
    }
    struct folder made = {.fd = -1, .marker_fd = -1};
    struct stat info;
    if (fstatat(dir_fd, FOLDER_MARKER, &info, AT_SYMLINK_NOFOLLOW) == 0) {
        close(dir_fd);
        return error_set(err, ERR_USAGE, "--dir: '%s' is a folder of ckptsim's own, whose files it "
                                         "removes; another folder is needed", dir);
    }
    made.path = arena_printf(arena, "%s/" FOLDER_NAME, dir);
    made.created = mkdirat(dir_fd, FOLDER_NAME, 0755) == 0;
    if (!made.created && errno != EEXIST) {
        status = error_set(err, ERR_USAGE, "--dir: cannot make '%s': %s", made.path,
                           error_words(errno));
        goto done;
    }
    made.fd = openat(dir_fd, FOLDER_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (made.fd < 0) {
        status = error_set(err, ERR_USAGE, "--dir: '%s' is not a folder of ckptsim: %s", made.path,
                           errno == ENOTDIR || errno == ELOOP ? "a file or a link has that name"
                                                              : error_words(errno));
        goto done;
    }
    status = made.created ? write_marker(&made, run_id, err) : take_over(&made, run_id, err);
done:
    if (status != OK && made.created) { /* a full disk must not leave half a folder */
        unlinkat(made.fd, FOLDER_MARKER, 0);
        unlinkat(dir_fd, FOLDER_NAME, AT_REMOVEDIR);
    }
    close(dir_fd);
    if (status != OK) {
        folder_close(&made);
        return status;
    }
    *folder = made;
    return OK;
}

enum status folder_open(const char *dir, struct arena *arena, struct folder *folder,
                        struct error *err) {
    struct folder found = {.fd = -1, .marker_fd = -1, .path = arena_text(arena, dir)};
    enum status status = open_dir(dir, &found.fd, err);
    if (status != OK) {
        return status;
    }
    struct stat info;
    if (fstatat(found.fd, FOLDER_MARKER, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        int inner = openat(found.fd, FOLDER_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner >= 0) {
            close(found.fd);
            found.fd = inner;
            found.path = arena_printf(arena, "%s/" FOLDER_NAME, dir);
        }
    }
    status = read_marker(&found, err);
    if (status != OK) {
        folder_close(&found);
        return status;
    }
    found.created = true;
    *folder = found;
    return OK;
}

void folder_close(struct folder *folder) {
    if (folder->marker_fd >= 0) {
        close(folder->marker_fd);
    }
    if (folder->fd >= 0) {
        close(folder->fd);
    }
    folder->fd = folder->marker_fd = -1;
}

/* Removes the folder by its usual name, if that name still means this folder. */
static int remove_from_parent(const struct folder *folder) {
    int parent_fd = openat(folder->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent_fd < 0) {
        return errno;
    }
    struct stat own, named;
    int error = 0;
    if (fstat(folder->fd, &own) != 0 ||
        fstatat(parent_fd, FOLDER_NAME, &named, AT_SYMLINK_NOFOLLOW) != 0) {
        error = errno;
    } else if (own.st_ino != named.st_ino || own.st_dev != named.st_dev) {
        error = EXDEV;
    } else if (unlinkat(parent_fd, FOLDER_NAME, AT_REMOVEDIR) != 0) {
        error = errno;
    }
    close(parent_fd);
    return error;
}

int folder_remove_self(struct folder *folder) {
    int error = is_empty(folder) ? 0 : ENOTEMPTY;
    if (error == 0 && unlinkat(folder->fd, FOLDER_MARKER, 0) != 0) {
        error = errno;
    }
    if (error == 0 && folder->created) {
        error = remove_from_parent(folder);
    }
    folder_close(folder);
    return error;
}
