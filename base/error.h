#ifndef CKPTSIM_BASE_ERROR_H
#define CKPTSIM_BASE_ERROR_H

/* Errors travel as values. What can fail returns enum status and takes struct error * last; each
 * caller on the way up may add where it was with error_wrap. Only cli/ prints. */

/* The values are the program's exit codes. */
enum status {
    OK = 0,
    ERR_FAILED = 1, /* the run failed: an I/O error, a damaged file */
    ERR_USAGE = 2,  /* the user asked for something impossible; nothing was written */
    ERR_INTERRUPTED = 130, /* stopped by a signal: what there is, is partial */
};

struct error {
    enum status status;
    char text[1024]; /* lower case, no full stop: cannot open '/mnt/x': permission denied */
};

/* Fills err (which may be NULL) and returns status, so that `return error_set(...)` reads well. */
enum status error_set(struct error *err, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "context: " in front of the text that err holds and returns its status (ERR_FAILED where err
 * is NULL). */
enum status error_wrap(struct error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Makes the error that err holds one of this status and returns it. */
enum status error_status(struct error *err, enum status status);

/* The lower-case words of an errno value, in a static table of the C library. */
const char *error_words(int sys_errno);

#endif
