/* Bytes go through ISA-L; the rest is arithmetic on polynomials over GF(2) modulo
 * x^32 + x^26 + ... + 1. A word holds one with the highest bit as the coefficient of x^0. */
#include "io/crc32.h"

#include <isa-l/crc.h>

static const uint32_t polynomial = 0xedb88320;

/* powers[k] is x^(2^k); squaring the last one gives the first again. */
static const uint32_t powers[32] = {
    0x40000000, 0x20000000, 0x08000000, 0x00800000, 0x00008000, 0xedb88320, 0xb1e6b092, 0xa06a2517,
    0xed627dae, 0x88d14467, 0xd7bbfe6a, 0xec447f11, 0x8e7ea170, 0x6427800e, 0x4d47bae0, 0x09fe548f,
    0x83852d0f, 0x30362f1a, 0x7b5a9cc3, 0x31fec169, 0x9fec022a, 0x6c8dedc4, 0x15d6874d, 0x5fde7a4e,
    0xbad90e37, 0x2e4e5eef, 0x4eaba214, 0xa8a472c0, 0x429a969e, 0x148d302a, 0xc40ba6d0, 0xc4e22c3c,
};

static uint32_t multiply(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (; a != 0; a <<= 1) {
        product ^= a >> 31 != 0 ? b : 0;
        b = b >> 1 ^ ((b & 1) != 0 ? polynomial : 0);
    }
    return product;
}

uint32_t crc32_more(uint32_t crc, const void *bytes, size_t length) {
    return crc32_gzip_refl(crc, bytes, length);
}

/* A byte is x^8, so bit i of the length stands for x^(2^(i + 3)). */
uint32_t crc32_shift(uint32_t crc, uint64_t following) {
    for (unsigned k = 3; following != 0; k++, following >>= 1) {
        if ((following & 1) != 0) {
            crc = multiply(powers[k % 32], crc);
        }
    }
    return crc;
}

uint32_t crc32_zeros(uint64_t length) { return ~crc32_shift(UINT32_MAX, length); }
