#ifndef CKPTSIM_BASE_CHECK_H
#define CKPTSIM_BASE_CHECK_H

/* CHECK(condition) guards against our own bugs, never against bad input. It stays on in release
 * builds, holds one condition and no side effect. */

_Noreturn void check_failed(const char *condition, const char *file, int line);

#define CHECK(condition) ((condition) ? (void)0 : check_failed(#condition, __FILE__, __LINE__))

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
