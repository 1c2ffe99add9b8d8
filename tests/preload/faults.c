/* System calls that fail, come up short, take long or end the process, by rules from the
 * environment:
 *
 *   CKPTSIM_FAULTS='CALL:ACTION[:path=TEXT][:skip=N][:times=N] RULE ...'
 *
 *   CALL    write (pwrite and its kin), log (write), fsync (fdatasync too), rename, unlink,
 *           fallocate, truncate, statvfs, change (all that change names or bytes)
 *   ACTION  an errno (EIO, ENOSPC, EINTR, ...), short (half of a write is taken), sleep=MS (then
 *           the call is made), kill (SIGKILL before the call), room=BYTES (what statvfs says)
 *   path    only where the path holds this text; of a descriptor as /proc says
 *   skip    the first N calls that match go through; times: only so many are hit
 *
 * What io_uring does by itself is not seen here. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { RULES = 16, TEXT = 256 };

enum action { ERRNO, SHORT, SLEEP, KILL, ROOM };

struct rule {
    char call[16];
    enum action action;
    unsigned long long number; /* errno, ms, bytes */
    char path[TEXT];
    long skip, times; /* times below 0: no limit */
    atomic_long seen;
};

static struct rule rules[RULES];
static int rule_count;

static const struct {
    const char *name;
    int number;
} errnos[] = {{"EIO", EIO},     {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EINTR", EINTR},
              {"EROFS", EROFS}, {"EACCES", EACCES}, {"EINVAL", EINVAL}, {"EAGAIN", EAGAIN}};

static void die(const char *what) {
    fprintf(stderr, "faults.so: bad rule: %s\n", what);
    _exit(99);
}

static void read_action(struct rule *rule, const char *text) {
    if (strcmp(text, "short") == 0) {
        rule->action = SHORT;
    } else if (strcmp(text, "kill") == 0) {
        rule->action = KILL;
    } else if (sscanf(text, "sleep=%llu", &rule->number) == 1) {
        rule->action = SLEEP;
    } else if (sscanf(text, "room=%llu", &rule->number) == 1) {
        rule->action = ROOM;
    } else {
        rule->action = ERRNO;
        for (size_t i = 0; i < sizeof errnos / sizeof errnos[0]; i++) {
            if (strcmp(errnos[i].name, text) == 0) {
                rule->number = (unsigned long long)errnos[i].number;
            }
        }
        if (rule->number == 0) {
            die(text);
        }
    }
}

static void read_rule(char *text) {
    if (rule_count == RULES) {
        die("too many");
    }
    struct rule *rule = &rules[rule_count++];
    rule->times = -1;
    char *rest = text;
    for (int part = 0; rest != NULL; part++) {
        char *word = strsep(&rest, ":");
        if (part == 0) {
            snprintf(rule->call, sizeof rule->call, "%s", word);
        } else if (part == 1) {
            read_action(rule, word);
        } else if (strncmp(word, "path=", 5) == 0) {
            snprintf(rule->path, sizeof rule->path, "%s", word + 5);
        } else if (sscanf(word, "skip=%ld", &rule->skip) != 1 &&
                   sscanf(word, "times=%ld", &rule->times) != 1) {
            die(word);
        }
    }
}

__attribute__((constructor)) static void read_rules(void) {
    const char *given = getenv("CKPTSIM_FAULTS");
    if (given == NULL) {
        return;
    }
    char *text = strdup(given), *rest = text;
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        if (word[0] != '\0') {
            read_rule(word);
        }
    }
    free(text);
}

static const char *path_of(int fd, char *buffer) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, buffer, TEXT * 4 - 1);
    buffer[length > 0 ? length : 0] = '\0';
    return buffer;
}

static bool hits(struct rule *rule, const char *call, bool changes, const char *path) {
    if (strcmp(rule->call, call) != 0 && !(changes && strcmp(rule->call, "change") == 0)) {
        return false;
    }
    if (strstr(path, rule->path) == NULL) {
        return false;
    }
    long nth = atomic_fetch_add(&rule->seen, 1) - rule->skip;
    return nth >= 0 && (rule->times < 0 || nth < rule->times);
}

/* The rule that replaces the call, or NULL: it is to be made. */
static const struct rule *judge(const char *call, bool changes, const char *path) {
    for (int i = 0; i < rule_count; i++) {
        struct rule *rule = &rules[i];
        if (!hits(rule, call, changes, path)) {
            continue;
        }
        if (rule->action == KILL) {
            kill(getpid(), SIGKILL);
        }
        if (rule->action != SLEEP) {
            return rule;
        }
        struct timespec time = {.tv_sec = (time_t)(rule->number / 1000),
                                .tv_nsec = (long)(rule->number % 1000) * 1000000};
        nanosleep(&time, NULL);
    }
    return NULL;
}

static const struct rule *judge_fd(const char *call, bool changes, int fd) {
    char buffer[TEXT * 4];
    return rule_count == 0 ? NULL : judge(call, changes, path_of(fd, buffer));
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Half, in whole blocks where there is more than one. */
static size_t half(size_t length) {
    return length >= 8192 ? length / 8192 * 4096 : length / 2;
}

static ssize_t fail(const struct rule *rule) {
    errno = (int)rule->number;
    return -1;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
    const struct rule *rule = judge_fd("write", true, fd);
    if (rule != NULL && rule->action == ERRNO) {
        return fail(rule);
    }
    return REAL(pwrite)(fd, bytes, rule != NULL ? half(length) : length, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
    return pwrite(fd, bytes, length, offset);
}

static ssize_t write_vector(int fd, const struct iovec *vector, int count, off_t offset,
                            int flags) {
    const struct rule *rule = judge_fd("write", true, fd);
    if (rule != NULL && rule->action == ERRNO) {
        return fail(rule);
    }
    struct iovec first = vector[0];
    if (rule != NULL) {
        first.iov_len = half(first.iov_len);
        vector = &first;
        count = 1;
    }
    return REAL(pwritev2)(fd, vector, count, offset, flags);
}

ssize_t pwritev2(int fd, const struct iovec *vector, int count, off_t offset, int flags) {
    return write_vector(fd, vector, count, offset, flags);
}

ssize_t pwritev64v2(int fd, const struct iovec *vector, int count, off64_t offset, int flags) {
    return write_vector(fd, vector, count, offset, flags);
}

ssize_t pwritev(int fd, const struct iovec *vector, int count, off_t offset) {
    return write_vector(fd, vector, count, offset, 0);
}

ssize_t pwritev64(int fd, const struct iovec *vector, int count, off64_t offset) {
    return write_vector(fd, vector, count, offset, 0);
}

ssize_t write(int fd, const void *bytes, size_t length) {
    const struct rule *rule = judge_fd("log", true, fd);
    if (rule != NULL && rule->action == ERRNO) {
        return fail(rule);
    }
    return REAL(write)(fd, bytes, rule != NULL ? half(length) : length);
}

int fsync(int fd) {
    const struct rule *rule = judge_fd("fsync", false, fd);
    return rule != NULL ? (int)fail(rule) : REAL(fsync)(fd);
}

int fdatasync(int fd) {
    const struct rule *rule = judge_fd("fsync", false, fd);
    return rule != NULL ? (int)fail(rule) : REAL(fdatasync)(fd);
}

int rename(const char *from, const char *to) {
    const struct rule *rule = judge("rename", true, to);
    return rule != NULL ? (int)fail(rule) : REAL(rename)(from, to);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to) {
    const struct rule *rule = judge("rename", true, to);
    return rule != NULL ? (int)fail(rule) : REAL(renameat)(from_fd, from, to_fd, to);
}

int unlinkat(int fd, const char *path, int flags) {
    const struct rule *rule = judge("unlink", true, path);
    return rule != NULL ? (int)fail(rule) : REAL(unlinkat)(fd, path, flags);
}

int fallocate(int fd, int mode, off_t offset, off_t length) {
    const struct rule *rule = judge_fd("fallocate", true, fd);
    return rule != NULL ? (int)fail(rule) : REAL(fallocate)(fd, mode, offset, length);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t length) {
    return fallocate(fd, mode, offset, length);
}

int ftruncate(int fd, off_t length) {
    const struct rule *rule = judge_fd("truncate", true, fd);
    return rule != NULL ? (int)fail(rule) : REAL(ftruncate)(fd, length);
}

int ftruncate64(int fd, off64_t length) {
    return ftruncate(fd, length);
}

static int space(const struct rule *rule, struct statvfs *info, int result) {
    if (result == 0 && rule != NULL) {
        info->f_frsize = info->f_bsize = 4096;
        info->f_blocks = info->f_bfree = info->f_bavail = rule->number / 4096;
    }
    return result;
}

int statvfs(const char *path, struct statvfs *info) {
    return space(judge("statvfs", false, path), info, REAL(statvfs)(path, info));
}

int fstatvfs(int fd, struct statvfs *info) {
    return space(judge_fd("statvfs", false, fd), info, REAL(fstatvfs)(fd, info));
}
