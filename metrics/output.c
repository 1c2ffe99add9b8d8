#include "metrics/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static enum status fail(const char *what, const char *path, int sys_errno, struct error *err) {
    return error_set(err, ERR_FAILED, "cannot %s '%s': %s", what, path, error_words(sys_errno));
}

int output_sync_folder_of(const char *path) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        snprintf(folder, sizeof folder, ".");
    } else {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path + 1), path);
    }
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    int sys_errno = fsync(fd) != 0 ? errno : 0;
    close(fd);
    /* Some network file systems cannot sync a folder; the file itself is synced all the same. */
    return sys_errno == EINVAL || sys_errno == ENOTSUP ? 0 : sys_errno;
}

/* Writes and syncs the temporary file; 0 or an errno. */
static int fill(FILE *stream, const struct result *result, output_writer *writer) {
    errno = 0;
    writer(result, stream);
    if (fflush(stream) != 0 || ferror(stream)) {
        return errno != 0 ? errno : EIO;
    }
    return fsync(fileno(stream)) != 0 ? errno : 0;
}

enum status output_write(const char *path, const struct result *result, output_writer *writer,
                         struct error *err) {
    char temporary[PATH_MAX];
    int length = snprintf(temporary, sizeof temporary, "%s.tmp", path);
    if (length < 0 || (size_t)length >= sizeof temporary) {
        return fail("write", path, ENAMETOOLONG, err);
    }
    FILE *stream = fopen(temporary, "we");
    if (stream == NULL) {
        return fail("write", temporary, errno, err);
    }
    int sys_errno = fill(stream, result, writer);
    if (fclose(stream) != 0 && sys_errno == 0) {
        sys_errno = errno;
    }
    if (sys_errno == 0 && rename(temporary, path) != 0) {
        sys_errno = errno;
    }
    if (sys_errno != 0) {
        unlink(temporary); /* a failed removal leaves a .tmp file, which no reader looks at */
        return fail("write", path, sys_errno, err);
    }
    sys_errno = output_sync_folder_of(path);
    return sys_errno == 0 ? OK : fail("sync the folder of", path, sys_errno, err);
}
