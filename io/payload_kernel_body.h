/* The body of one payload kernel; payload_kernel.c includes it once per instruction set, with
 * KERNEL(name) giving the functions their names and VECTOR_BYTES the width of a register. It is a
 * template and not an inline function because GCC splits vectors that are wider than the function's
 * own instruction set before it inlines.
 *
 * A block is 64 steps of 64 bytes. Each of its 8 lanes is a xorshift128+ generator (Vigna 2014,
 * shifts 23, 18, 5) and a hash that takes in the lane's words one by one:
 *
 *   word = s0 + s1                       hash = rotl(hash ^ word, 29) + k
 *   x = s0 ^ (s0 << 23); s0' = s1; s1' = x ^ s1 ^ (x >> 18) ^ (s1 >> 5)
 *
 * Adding k makes the hash carry: without it, 64 rotations of one repeated word (an erased block of
 * ones, say) would add up to nothing.
 *
 * Where KERNEL_FOLD is defined, fill takes the words into a CRC-32 as well, while they are in a
 * register: even and odd steps have a remainder of 64 bytes each, and KERNEL_FOLD(remainder, word)
 * makes of it the remainder 128 bytes further on. The two, side by side, are PAYLOAD_FOLD_BYTES
 * whose CRC-32 (without the ones before and after) is that of the run. This fills the time in which
 * the generator waits for itself, and so costs little. */

enum { KERNEL(parts) = 64 / VECTOR_BYTES, KERNEL(lanes) = VECTOR_BYTES / 8 };
typedef uint64_t KERNEL(vector) __attribute__((vector_size(VECTOR_BYTES)));

/* prng_mix on every lane; a macro because a vector argument would depend on the ABI in force. */
#define KERNEL_MIX(x)                                                                              \
    do {                                                                                           \
        (x) += UINT64_C(0x9e3779b97f4a7c15);                                                       \
        (x) = ((x) ^ ((x) >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);                                  \
        (x) = ((x) ^ ((x) >> 27)) * UINT64_C(0x94d049bb133111eb);                                  \
        (x) ^= (x) >> 31;                                                                          \
    } while (0)

#ifdef KERNEL_FOLD
KERNEL_TARGET static uint64_t KERNEL(fill)(const struct payload_run *run, uint8_t *buffer,
                                           uint8_t folded[PAYLOAD_FOLD_BYTES]) {
    KERNEL(vector) remainder[2] = {{0}};
#else
KERNEL_TARGET static uint64_t KERNEL(fill)(const struct payload_run *run, uint8_t *buffer) {
#endif
    enum { PARTS = KERNEL(parts), LANES = KERNEL(lanes) };
    KERNEL(vector) seed[PARTS], number[PARTS], s0[PARTS], s1[PARTS], hash[PARTS];
    for (int p = 0; p < PARTS; p++) {
        for (int lane = 0; lane < LANES; lane++) {
            uint64_t i = (uint64_t)(p * LANES + lane);
            seed[p][lane] = prng_mix(run->stream + i);
            number[p][lane] = run->content * PAYLOAD_LANES + i;
        }
    }
    uint64_t sum = 0;
    for (size_t block = 0; block < run->blocks; block++) {
#pragma GCC unroll 4
        for (int p = 0; p < PARTS; p++) {
            s0[p] = seed[p];
            s1[p] = seed[p] ^ number[p];
            KERNEL_MIX(s1[p]);
            number[p] += PAYLOAD_LANES;
            hash[p] = (KERNEL(vector)){0} + PAYLOAD_BLOCK;
        }
        for (int step = 0; step < PAYLOAD_STEPS; step += 2) {
#pragma GCC unroll 8
            for (int i = 0; i < 2 * PARTS; i++) {
                int p = i % PARTS;
                KERNEL(vector) word = s0[p] + s1[p];
                KERNEL(vector) x = s0[p] ^ (s0[p] << 23);
                s0[p] = s1[p];
                s1[p] = x ^ s1[p] ^ (x >> 18) ^ (s1[p] >> 5);
                hash[p] ^= word;
                hash[p] = (hash[p] << PAYLOAD_ROTATE) | (hash[p] >> (64 - PAYLOAD_ROTATE));
                hash[p] += PAYLOAD_STEP_KEY;
#ifdef KERNEL_FOLD
                KERNEL_FOLD(remainder[i], word);
#endif
                memcpy(buffer + i * VECTOR_BYTES, &word, VECTOR_BYTES);
            }
            buffer += 128;
        }
        uint64_t lanes[PAYLOAD_LANES];
        memcpy(lanes, hash, sizeof lanes);
        sum += fold(run->index + block, lanes);
    }
#ifdef KERNEL_FOLD
    memcpy(folded, remainder, sizeof remainder);
#endif
    return sum;
}

#ifndef KERNEL_FOLD

KERNEL_TARGET static uint64_t KERNEL(sum)(uint64_t index, size_t blocks, const uint8_t *buffer) {
    enum { PARTS = KERNEL(parts) };
    uint64_t sum = 0;
    for (size_t block = 0; block < blocks; block++) {
        KERNEL(vector) hash[PARTS];
#pragma GCC unroll 4
        for (int p = 0; p < PARTS; p++) {
            hash[p] = (KERNEL(vector)){0} + PAYLOAD_BLOCK;
        }
#pragma GCC unroll 4
        for (int step = 0; step < PAYLOAD_STEPS; step++) {
#pragma GCC unroll 4
            for (int p = 0; p < PARTS; p++) {
                KERNEL(vector) word;
                memcpy(&word, buffer + p * VECTOR_BYTES, VECTOR_BYTES);
                hash[p] ^= word;
                hash[p] = (hash[p] << PAYLOAD_ROTATE) | (hash[p] >> (64 - PAYLOAD_ROTATE));
                hash[p] += PAYLOAD_STEP_KEY;
            }
            buffer += 64;
        }
        uint64_t lanes[PAYLOAD_LANES];
        memcpy(lanes, hash, sizeof lanes);
        sum += fold(index + block, lanes);
    }
    return sum;
}

#endif

#undef KERNEL_FOLD
#undef KERNEL_MIX
#undef KERNEL
#undef KERNEL_TARGET
#undef VECTOR_BYTES
