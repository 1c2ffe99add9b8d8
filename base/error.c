#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum status error_set(struct error *err, enum status status, const char *format, ...) {
    if (err == NULL) {
        return status;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    err->status = status;
    return status;
}

enum status error_wrap(struct error *err, const char *format, ...) {
    if (err == NULL) {
        return ERR_FAILED;
    }
    char inner[sizeof err->text];
    snprintf(inner, sizeof inner, "%s", err->text);
    va_list args;
    va_start(args, format);
    int used = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    if (used >= 0 && (size_t)used < sizeof err->text) {
        snprintf(err->text + used, sizeof err->text - (size_t)used, ": %s", inner);
    }
    return err->status;
}

enum status error_status(struct error *err, enum status status) {
    if (err != NULL) {
        err->status = status;
    }
    return status;
}

/* The errnos that a drive, a file system or a permission produces; strerror's wording starts with
 * a capital and is not thread safe. */
const char *error_words(int sys_errno) {
    switch (sys_errno) {
    case EIO: return "input/output error";
    case ENOSPC: return "no space left on device";
    case EDQUOT: return "disk quota exceeded";
    case EFBIG: return "file too large";
    case EACCES: return "permission denied";
    case EPERM: return "operation not permitted";
    case EROFS: return "read-only file system";
    case ENOENT: return "no such file or directory";
    case ENOTDIR: return "not a directory";
    case EISDIR: return "is a directory";
    case ELOOP: return "a symbolic link is in the way";
    case EXDEV: return "path leads out of the folder";
    case EEXIST: return "already exists";
    case ENAMETOOLONG: return "name too long";
    default: {
        const char *name = strerrordesc_np(sys_errno);
        return name != NULL ? name : "unknown error";
    }
    }
}
