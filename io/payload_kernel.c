/* Payload's inner loops compiled for each instruction set, and the choice among them at run time.
 * The choice is made by a call rather than by the loader, because the loader would make it before a
 * sanitizer is ready. */
#include "io/payload_kernel.h"

#include "base/prng.h"
#include "io/crc32.h"
#include "io/payload.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* What is read again right after it was made: it must fit into a first-level cache. */
enum { CACHED_BLOCKS = 4 };

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

/* x^(1024 + 32) and x^(1024 - 32) modulo the polynomial of CRC-32, bits reflected, one place
 * further left because the product of two reflected words is: what moves each half of 128 bits on
 * by 128 bytes (Gopal et al., Fast CRC Computation Using PCLMULQDQ, 2009). */
#define FOLD_LOW 0x1e88ef372
#define FOLD_HIGH 0x14a7fe880

#define KERNEL_FOLD(remainder, word)                                                               \
    do {                                                                                           \
        const __m512i keys = {FOLD_LOW, FOLD_HIGH, FOLD_LOW, FOLD_HIGH,                            \
                              FOLD_LOW, FOLD_HIGH, FOLD_LOW, FOLD_HIGH};                           \
        __m512i low = _mm512_clmulepi64_epi128((__m512i)(remainder), keys, 0x00);                  \
        __m512i high = _mm512_clmulepi64_epi128((__m512i)(remainder), keys, 0x11);                 \
        (remainder) = (avx512_vector)_mm512_ternarylogic_epi64(low, high, (__m512i)(word), 0x96);  \
    } while (0)
#define KERNEL_TARGET __attribute__((target("avx512f,avx512dq,avx512vl,vpclmulqdq")))
#define KERNEL(name) folding_##name
#define VECTOR_BYTES 64
#include "io/payload_kernel_body.h"

static bool folding_usable(void) { return avx512_usable() && __builtin_cpu_supports("vpclmulqdq"); }

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
    {"avx512 and vpclmulqdq", folding_usable, avx512_fill, folding_fill, avx512_sum},
    {"avx512", avx512_usable, avx512_fill, NULL, avx512_sum},
    {"avx2", avx2_usable, avx2_fill, NULL, avx2_sum},
#endif
    {"plain", always, plain_fill, NULL, plain_sum},
};
const size_t payload_kernel_count = sizeof payload_kernels / sizeof payload_kernels[0];

const struct payload_kernel *payload_kernel_best(void) {
    size_t i = 0;
    while (!payload_kernels[i].usable()) {
        i++;
    }
    return &payload_kernels[i];
}

/* The CRC-32 of a run from what its kernel left of it. The two differ by what the ones before and
 * after the bytes add, which depends on their number alone. */
static uint32_t unfold(const uint8_t folded[PAYLOAD_FOLD_BYTES], uint64_t run_bytes) {
    uint32_t crc = crc32_more(0, folded, PAYLOAD_FOLD_BYTES);
    return crc ^ crc32_zeros(PAYLOAD_FOLD_BYTES) ^ crc32_zeros(run_bytes);
}

/* Where the kernel does not fold, some blocks at a time are read again while the first-level cache
 * holds them. */
static uint64_t fill_and_read(const struct payload_kernel *kernel, struct payload_run run,
                              uint8_t *bytes, uint32_t *crc) {
    uint64_t sum = 0;
    for (size_t left = run.blocks; left > 0; left -= run.blocks) {
        run.blocks = left < CACHED_BLOCKS ? left : CACHED_BLOCKS;
        sum += kernel->fill(&run, bytes);
        *crc = crc32_more(*crc, bytes, run.blocks * PAYLOAD_BLOCK);
        run.content += run.blocks;
        run.index += run.blocks;
        bytes += run.blocks * PAYLOAD_BLOCK;
    }
    return sum;
}

uint64_t payload_kernel_fill(const struct payload_kernel *kernel, const struct payload_run *run,
                             uint8_t *bytes, uint32_t *crc) {
    if (crc == NULL) {
        return kernel->fill(run, bytes);
    }
    if (kernel->fill_folded == NULL) {
        return fill_and_read(kernel, *run, bytes, crc);
    }
    uint8_t folded[PAYLOAD_FOLD_BYTES];
    uint64_t sum = kernel->fill_folded(run, bytes, folded);
    uint64_t run_bytes = run->blocks * PAYLOAD_BLOCK;
    *crc = crc32_shift(*crc, run_bytes) ^ unfold(folded, run_bytes);
    return sum;
}
