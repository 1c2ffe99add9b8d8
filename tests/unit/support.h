#ifndef CKPTSIM_TESTS_SUPPORT_H
#define CKPTSIM_TESTS_SUPPORT_H

/* What every test program includes: cmocka in the order it needs, and COUNT_OF. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#include <cmocka.h>

#include "base/check.h"

#endif
