/* A broken invariant ends the program at once, naming the place: going on would lie about a drive. */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void check_failed(const char *condition, const char *file, int line) {
    fprintf(stderr, "ckptsim: bug: %s:%d: %s does not hold\n", file, line, condition);
    abort();
}
