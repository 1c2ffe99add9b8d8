/* Payload: which bytes a file holds and what they sum to. Whole blocks of plain random data go
 * through one pass of a kernel; everything else (compressible blocks, a partial last block) is made
 * block by block in a buffer of one block, which stays in the first-level cache.
 *
 * The layout, byte by byte, is in docs/formats.md under "Payload"; a change here is a change there
 * and of the known bytes in tests/unit/test_payload.c. */
#include "io/payload.h"

#include "base/check.h"
#include "base/memory.h"
#include "base/prng.h"
#include "io/crc32.h"
#include "io/payload_kernel.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum {
    /* Under dedupe runs of this many blocks repeat: 576 KiB, which is farther apart than the window
     * of zstd's fast levels, so that a compressor's ratio stays what `compressible` says. */
    DEDUPE_RUN = 144,
    /* What a compressor spends on telling a block's zeros from its random bytes. */
    ZEROS_COST_BYTES = 3,
};

uint64_t payload_stream(const struct payload *payload, uint64_t serial, uint32_t rank,
                        uint64_t file_index) {
    /* 20, 22 and 22 bits: within these no two files share a stream, since prng_mix is one to one;
     * beyond them only chance keeps them apart. */
    uint64_t packed = (serial << 44) ^ ((uint64_t)rank << 22) ^ file_index;
    uint64_t excess = (serial >> 20) ^ ((uint64_t)rank >> 22) ^ (file_index >> 22);
    uint64_t key = prng_mix(payload->seed);
    return prng_mix(packed ^ key ^ (excess != 0 ? prng_mix(key + excess) : 0));
}

/* Which block's content block `index` holds. */
static uint64_t content_of(const struct payload *payload, uint64_t index) {
    if (!(payload->dedupe > 1)) {
        return index;
    }
    uint64_t run = (uint64_t)((double)(index / DEDUPE_RUN) / payload->dedupe);
    return run * DEDUPE_RUN + index % DEDUPE_RUN;
}

/* How many bytes at the start of a block are random; the rest are zero. */
static size_t random_bytes(const struct payload *payload) {
    if (!(payload->compressible > 1)) {
        return PAYLOAD_BLOCK;
    }
    double left = PAYLOAD_BLOCK / payload->compressible - ZEROS_COST_BYTES;
    return left > 1 ? (size_t)lround(left) : 1;
}

static bool is_plain_random(const struct payload *payload) {
    return payload->kind == PAYLOAD_RANDOM && random_bytes(payload) == PAYLOAD_BLOCK;
}

/* Makes one whole block, whatever its kind. */
static void make_block(const struct payload *payload, uint64_t stream, uint64_t index,
                       uint8_t block[PAYLOAD_BLOCK]) {
    if (payload->kind == PAYLOAD_ZERO) {
        memset(block, 0, PAYLOAD_BLOCK);
        return;
    }
    struct payload_run run = {
        .stream = stream, .content = content_of(payload, index), .index = index, .blocks = 1};
    payload_kernel_best()->fill(&run, block);
    size_t random = random_bytes(payload);
    memset(block + random, 0, PAYLOAD_BLOCK - random);
}

/* The sum of a last block of which only length bytes exist: as if zeros followed, and with the
 * length in it so that a file cut within its zeros is seen. */
static uint64_t partial_sum(uint64_t index, const void *bytes, size_t length) {
    uint8_t block[PAYLOAD_BLOCK] = {0};
    memcpy(block, bytes, length);
    return payload_kernel_best()->sum(index, 1, block) + prng_mix(length);
}

/* Zeros need no pass over memory: every lane of every zero block ends at the same hash. */
static uint64_t zeros_sum(uint64_t index, size_t length) {
    uint64_t hash = PAYLOAD_BLOCK, lanes[PAYLOAD_LANES];
    for (int step = 0; step < PAYLOAD_STEPS; step++) {
        hash = (hash << PAYLOAD_ROTATE | hash >> (64 - PAYLOAD_ROTATE)) + PAYLOAD_STEP_KEY;
    }
    for (int lane = 0; lane < PAYLOAD_LANES; lane++) {
        lanes[lane] = hash;
    }
    uint64_t sum = 0;
    for (; length >= PAYLOAD_BLOCK; length -= PAYLOAD_BLOCK) {
        sum += payload_fold(index++, lanes);
    }
    return length == 0 ? sum : sum + payload_fold(index, lanes) + prng_mix(length);
}

/* Blocks of one dedupe run lie side by side, so each run is one call of the kernel. */
static uint64_t fill_random(const struct payload *payload, uint64_t stream, uint64_t index,
                            uint8_t *bytes, size_t blocks, uint32_t *crc) {
    uint64_t sum = 0;
    while (blocks > 0) {
        size_t now = blocks;
        if (payload->dedupe > 1 && now > DEDUPE_RUN - index % DEDUPE_RUN) {
            now = DEDUPE_RUN - index % DEDUPE_RUN;
        }
        struct payload_run run = {
            .stream = stream, .content = content_of(payload, index), .index = index, .blocks = now};
        sum += payload_kernel_fill(payload_kernel_best(), &run, bytes, crc);
        index += now;
        bytes += now * PAYLOAD_BLOCK;
        blocks -= now;
    }
    return sum;
}

static uint64_t fill_mixed(const struct payload *payload, uint64_t stream, uint64_t index,
                           uint8_t *bytes, size_t blocks, uint32_t *crc) {
    const struct payload_kernel *kernel = payload_kernel_best();
    uint64_t sum = 0;
    for (size_t i = 0; i < blocks; i++) {
        make_block(payload, stream, index + i, bytes + i * PAYLOAD_BLOCK);
        sum += kernel->sum(index + i, 1, bytes + i * PAYLOAD_BLOCK);
        if (crc != NULL) {
            *crc = crc32_more(*crc, bytes + i * PAYLOAD_BLOCK, PAYLOAD_BLOCK);
        }
    }
    return sum;
}

uint64_t payload_zeros_sum(uint64_t offset, size_t length) {
    CHECK(offset % PAYLOAD_BLOCK == 0);
    return zeros_sum(offset / PAYLOAD_BLOCK, length);
}

static uint64_t fill(const struct payload *payload, uint64_t stream, uint64_t offset,
                     uint8_t *buffer, size_t length, uint32_t *crc) {
    CHECK(offset % PAYLOAD_BLOCK == 0);
    uint64_t index = offset / PAYLOAD_BLOCK;
    size_t blocks = length / PAYLOAD_BLOCK, rest = length % PAYLOAD_BLOCK;
    uint64_t sum = is_plain_random(payload)
                       ? fill_random(payload, stream, index, buffer, blocks, crc)
                       : fill_mixed(payload, stream, index, buffer, blocks, crc);
    if (rest > 0) {
        uint8_t block[PAYLOAD_BLOCK];
        make_block(payload, stream, index + blocks, block);
        memcpy(buffer + blocks * PAYLOAD_BLOCK, block, rest);
        sum += partial_sum(index + blocks, block, rest);
        if (crc != NULL) {
            *crc = crc32_more(*crc, block, rest);
        }
    }
    return sum;
}

static uint64_t fill_zeros(uint64_t offset, void *buffer, size_t length) {
    memset(buffer, 0, length);
    return payload_zeros_sum(offset, length);
}

uint64_t payload_fill(const struct payload *payload, uint64_t stream, uint64_t offset, void *buffer,
                      size_t length) {
    return payload->kind == PAYLOAD_ZERO ? fill_zeros(offset, buffer, length)
                                         : fill(payload, stream, offset, buffer, length, NULL);
}

uint64_t payload_fill_crc(const struct payload *payload, uint64_t stream, uint64_t offset,
                          void *buffer, size_t length, uint32_t *crc) {
    if (payload->kind == PAYLOAD_ZERO) {
        *crc = crc32_zeros(length);
        return fill_zeros(offset, buffer, length);
    }
    *crc = 0;
    return fill(payload, stream, offset, buffer, length, crc);
}

uint64_t payload_sum(uint64_t offset, const void *buffer, size_t length) {
    CHECK(offset % PAYLOAD_BLOCK == 0);
    uint64_t index = offset / PAYLOAD_BLOCK;
    size_t blocks = length / PAYLOAD_BLOCK, rest = length % PAYLOAD_BLOCK;
    const uint8_t *bytes = buffer;
    uint64_t sum = payload_kernel_best()->sum(index, blocks, bytes);
    if (rest > 0) {
        sum += partial_sum(index + blocks, bytes + blocks * PAYLOAD_BLOCK, rest);
    }
    return sum;
}

static size_t first_difference(const uint8_t *left, const uint8_t *right, size_t length) {
    size_t i = 0;
    while (i < length && left[i] == right[i]) {
        i++;
    }
    return i;
}

size_t payload_compare(const struct payload *payload, uint64_t stream, uint64_t offset,
                       const void *buffer, size_t length) {
    CHECK(offset % PAYLOAD_BLOCK == 0);
    const uint8_t *bytes = buffer;
    uint8_t block[PAYLOAD_BLOCK];
    for (size_t done = 0; done < length; done += PAYLOAD_BLOCK) {
        size_t part = length - done < PAYLOAD_BLOCK ? length - done : PAYLOAD_BLOCK;
        make_block(payload, stream, (offset + done) / PAYLOAD_BLOCK, block);
        if (memcmp(block, bytes + done, part) != 0) {
            return done + first_difference(block, bytes + done, part);
        }
    }
    return length;
}

static uint64_t clock_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

double payload_headroom(const struct payload *payload, size_t chunk_bytes) {
    enum { MEASURE_NS = 20000000, WARM_UP_ROUNDS = 2 };
    void *buffer = mem_new(1, chunk_bytes);
    uint64_t begin_ns = 0, end_ns = 0, bytes = 0;
    for (uint64_t round = 0; end_ns - begin_ns < MEASURE_NS; round++) {
        payload_fill(payload, payload_stream(payload, round, 0, 0), 0, buffer, chunk_bytes);
        end_ns = clock_ns();
        bytes += chunk_bytes;
        if (round < WARM_UP_ROUNDS) {
            begin_ns = end_ns;
            bytes = 0;
        }
    }
    mem_free(buffer);
    return (double)bytes * 1e9 / (double)(end_ns - begin_ns);
}
