#ifndef CKPTSIM_BASE_PRNG_H
#define CKPTSIM_BASE_PRNG_H

#include <stdint.h>

/* Random numbers of a run come from its seed through these two alone. */

/* splitmix64's finalizer (Steele, Lea, Flood 2014): a bijection that mixes 64 bits well. */
static inline uint64_t prng_mix(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* A sequence: state is any seed, each call returns the next number. */
static inline uint64_t prng_next(uint64_t *state) {
    uint64_t value = prng_mix(*state);
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return value;
}

#endif
