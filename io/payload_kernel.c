/* Payload's inner loops compiled for each instruction set, and the choice among them at run time.
 * The choice is made by a call rather than by the loader, because the loader would make it before a
 * sanitizer is ready. */
#include "io/payload_kernel.h"

#include "base/prng.h"
#include "io/payload.h"

#include <string.h>

_Static_assert(PAYLOAD_LANES *PAYLOAD_STEPS * 8 == PAYLOAD_BLOCK, "steps fill a block");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are stored little endian");

/* Lanes are mixed apart and added, so that the eight mixes overlap in the processor. The lane's
 * number counts over the whole file: equal blocks at two places get two sums. */
static inline uint64_t fold(uint64_t index, const uint64_t lanes[PAYLOAD_LANES]) {
    uint64_t sum = 0;
    for (uint64_t lane = 0; lane < PAYLOAD_LANES; lane++) {
        uint64_t place = (index * PAYLOAD_LANES + lane + 1) * UINT64_C(0x9e3779b97f4a7c15);
        sum += prng_mix(lanes[lane] ^ place);
    }
    return sum;
}

uint64_t payload_fold(uint64_t index, const uint64_t lanes[PAYLOAD_LANES]) {
    return fold(index, lanes);
}

static bool always(void) { return true; }

#if defined(__x86_64__)
#define KERNEL_TARGET __attribute__((target("avx512f,avx512dq,avx512vl")))
#define KERNEL(name) avx512_##name
#define VECTOR_BYTES 64
#include "io/payload_kernel_body.h"

static bool avx512_usable(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

#define KERNEL_TARGET __attribute__((target("avx2")))
#define KERNEL(name) avx2_##name
#define VECTOR_BYTES 32
#include "io/payload_kernel_body.h"

static bool avx2_usable(void) { return __builtin_cpu_supports("avx2"); }
#endif

#define KERNEL_TARGET
#define KERNEL(name) plain_##name
#define VECTOR_BYTES 16
#include "io/payload_kernel_body.h"

const struct payload_kernel payload_kernels[] = {
#if defined(__x86_64__)
    {"avx512", avx512_usable, avx512_fill, avx512_sum},
    {"avx2", avx2_usable, avx2_fill, avx2_sum},
#endif
    {"plain", always, plain_fill, plain_sum},
};
const size_t payload_kernel_count = sizeof payload_kernels / sizeof payload_kernels[0];

const struct payload_kernel *payload_kernel_best(void) {
    size_t i = 0;
    while (!payload_kernels[i].usable()) {
        i++;
    }
    return &payload_kernels[i];
}
