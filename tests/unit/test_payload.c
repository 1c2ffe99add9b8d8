/* Payload: known bytes, one answer from every kernel, cutting and order do not matter, ratios. */
#include "base/prng.h"
#include "io/crc32.h"
#include "io/payload.h"
#include "io/payload_kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct payload plain = {.seed = 42, .compressible = 1, .dedupe = 1};

static uint64_t rotl29(uint64_t x) { return x << 29 | x >> 35; }

/* The generator and the sum once more, straight from docs/formats.md. */
static uint64_t documented_block(uint64_t stream, uint64_t content, uint64_t index,
                                 uint64_t words[512]) {
    uint64_t sum = 0;
    for (uint64_t l = 0; l < 8; l++) {
        uint64_t s0 = prng_mix(stream + l), s1 = prng_mix(s0 ^ (content * 8 + l)), h = 4096;
        for (uint64_t step = 0; step < 64; step++) {
            uint64_t word = s0 + s1, x = s0 ^ (s0 << 23);
            s0 = s1;
            s1 = x ^ s1 ^ (x >> 18) ^ (s1 >> 5);
            words[step * 8 + l] = word;
            h = rotl29(h ^ word) + UINT64_C(0x9e3779b97f4a7c15);
        }
        sum += prng_mix(h ^ ((index * 8 + l + 1) * UINT64_C(0x9e3779b97f4a7c15)));
    }
    return sum;
}

static void test_known_bytes(void **state) {
    (void)state;
    static const uint8_t first[16] = {0xf2, 0x49, 0x05, 0x35, 0x7b, 0xda, 0x76, 0x45,
                                      0x53, 0x4d, 0x73, 0x08, 0x37, 0x87, 0x96, 0xf2};
    uint8_t block[PAYLOAD_BLOCK];
    uint64_t stream = payload_stream(&plain, 1, 0, 0);
    assert_int_equal(stream, UINT64_C(0x6b074bbc10424e87));
    uint64_t sum = payload_fill(&plain, stream, 0, block, sizeof block);
    assert_memory_equal(block, first, sizeof first);
    assert_int_equal(sum, UINT64_C(0xa05cad556dbf250c));
    sum = payload_fill(&plain, stream, 7 * PAYLOAD_BLOCK, block, 511);
    assert_int_equal(sum, UINT64_C(0x6d46d30832771d9));
}

static void test_as_documented(void **state) {
    (void)state;
    uint64_t words[512];
    uint8_t block[PAYLOAD_BLOCK];
    for (uint64_t index = 0; index < 2000; index += 37) {
        uint64_t sum = documented_block(index * 3, index, index, words);
        assert_int_equal(payload_fill(&plain, index * 3, index * PAYLOAD_BLOCK, block, 4096), sum);
        assert_memory_equal(block, words, sizeof block);
        assert_int_equal(payload_sum(index * PAYLOAD_BLOCK, block, sizeof block), sum);
    }
}

static void test_kernels_agree(void **state) {
    (void)state;
    enum { BLOCKS = 33 };
    static uint8_t left[BLOCKS * PAYLOAD_BLOCK + 1], right[BLOCKS * PAYLOAD_BLOCK + 1];
    struct payload_run run = {.stream = 9, .content = 1000, .index = 5, .blocks = BLOCKS};
    const struct payload_kernel *last = &payload_kernels[payload_kernel_count - 1];
    uint64_t sum = last->fill(&run, left + 1); /* an odd address: no kernel may need alignment */
    for (size_t i = 0; i < payload_kernel_count; i++) {
        const struct payload_kernel *kernel = &payload_kernels[i];
        if (!kernel->usable()) {
            print_message("# kernel %s does not run here\n", kernel->name);
            continue;
        }
        memset(right, 0, sizeof right);
        assert_int_equal(kernel->fill(&run, right + 1), sum);
        assert_memory_equal(left + 1, right + 1, BLOCKS * PAYLOAD_BLOCK);
        assert_int_equal(kernel->sum(5, BLOCKS, left + 1), sum);
        memset(right, 0, sizeof right);
        uint32_t crc = 77;
        assert_int_equal(payload_kernel_fill(kernel, &run, right + 1, &crc), sum);
        assert_memory_equal(left + 1, right + 1, BLOCKS * PAYLOAD_BLOCK);
        assert_int_equal(crc, crc32_more(77, right + 1, BLOCKS * PAYLOAD_BLOCK));
    }
}

static const struct payload kinds[] = {
    {.seed = 1, .compressible = 1, .dedupe = 1},
    {.seed = 1, .compressible = 2.5, .dedupe = 1},
    {.seed = 1, .compressible = 1, .dedupe = 1.5},
    {.seed = 1, .compressible = 3, .dedupe = 4},
    {.kind = PAYLOAD_ZERO, .compressible = 1, .dedupe = 1},
};

/* Any part, in any order, gives the bytes and the sum of the whole. */
static void test_parts(void **state) {
    (void)state;
    enum { LENGTH = 3 * 1024 * 1024 + 4097 };
    uint8_t *whole = malloc(LENGTH), *part = malloc(LENGTH);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        uint64_t stream = payload_stream(&kinds[k], 3, 2, 1), random = k, total = 0;
        uint64_t sum = payload_fill(&kinds[k], stream, 0, whole, LENGTH);
        uint32_t crc = 0, part_crc;
        assert_int_equal(payload_sum(0, whole, LENGTH), sum);
        for (size_t offset = 0, length; offset < LENGTH; offset += length) {
            length = (1 + prng_next(&random) % 300) * PAYLOAD_BLOCK;
            length = length > LENGTH - offset ? LENGTH - offset : length;
            total += payload_fill_crc(&kinds[k], stream, offset, part, length, &part_crc);
            crc ^= crc32_shift(part_crc, LENGTH - offset - length);
            assert_memory_equal(whole + offset, part, length);
            assert_int_equal(payload_compare(&kinds[k], stream, offset, part, length), length);
        }
        assert_int_equal(total, sum);
        assert_int_equal(crc, crc32_more(0, whole, LENGTH));
    }
    free(whole);
    free(part);
}

static void test_odd_lengths(void **state) {
    (void)state;
    static const size_t lengths[] = {0, 1, 511, 4095, 4096, 4097, 12295};
    uint8_t bytes[16384], again[16384];
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            memset(bytes, 0xee, sizeof bytes);
            uint64_t sum = payload_fill(&kinds[k], 5, 4096, bytes, lengths[i]);
            assert_int_equal(bytes[lengths[i]], 0xee);
            assert_int_equal(payload_sum(4096, bytes, lengths[i]), sum);
            uint32_t crc = 5;
            assert_int_equal(payload_fill_crc(&kinds[k], 5, 4096, again, lengths[i], &crc), sum);
            assert_memory_equal(bytes, again, lengths[i]);
            assert_int_equal(crc, crc32_more(0, bytes, lengths[i]));
            payload_fill(&kinds[k], 5, 4096, again, sizeof again);
            assert_memory_equal(bytes, again, lengths[i]);
        }
    }
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(payload_zeros_sum(8192, 4097), payload_sum(8192, bytes, 4097));
    assert_int_equal(payload_sum(0, bytes, 0), 0);
}

static void test_damage_is_seen(void **state) {
    (void)state;
    enum { LENGTH = 3 * PAYLOAD_BLOCK + 100 };
    uint8_t bytes[LENGTH], block[PAYLOAD_BLOCK];
    uint64_t sum = payload_fill(&plain, 5, 0, bytes, LENGTH);
    for (size_t bit = 0; bit < LENGTH * 8; bit += 11) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_not_equal(payload_sum(0, bytes, LENGTH), sum);
        assert_int_equal(payload_compare(&plain, 5, 0, bytes, LENGTH), bit / 8);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    memcpy(block, bytes, sizeof block);
    memcpy(bytes, bytes + PAYLOAD_BLOCK, PAYLOAD_BLOCK);
    memcpy(bytes + PAYLOAD_BLOCK, block, PAYLOAD_BLOCK);
    assert_int_not_equal(payload_sum(0, bytes, LENGTH), sum); /* blocks 0 and 1 changed places */
    memset(bytes, 0, sizeof bytes);
    assert_int_not_equal(payload_sum(0, bytes, 100), payload_sum(0, bytes, 99));
}

static int compare_words(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static size_t count_distinct(uint64_t *keys, size_t count) {
    qsort(keys, count, sizeof keys[0], compare_words);
    size_t distinct = count > 0;
    for (size_t i = 1; i < count; i++) {
        distinct += keys[i] != keys[i - 1];
    }
    return distinct;
}

/* A block by its first words; good enough to tell 2^18 random blocks apart. */
static uint64_t block_key(const struct payload *payload, uint64_t stream, uint64_t index) {
    uint64_t block[PAYLOAD_BLOCK / 8];
    payload_fill(payload, stream, index * PAYLOAD_BLOCK, block, sizeof block);
    return block[0] ^ (block[1] << 1) ^ block[511];
}

/* What a drive may give instead of the data: one byte all over. */
static void test_constant_blocks_differ(void **state) {
    (void)state;
    uint64_t keys[256];
    uint8_t block[PAYLOAD_BLOCK];
    for (int byte = 0; byte < 256; byte++) {
        memset(block, byte, sizeof block);
        keys[byte] = payload_sum(0, block, sizeof block);
    }
    assert_int_equal(count_distinct(keys, 256), 256);
}

static void test_no_two_blocks_equal(void **state) {
    (void)state;
    enum { SIDE = 16, COUNT = SIDE * SIDE * SIDE * SIDE };
    uint64_t *keys = calloc(COUNT, sizeof keys[0]);
    size_t n = 0;
    for (uint64_t serial = 1; serial <= SIDE; serial++) {
        for (uint32_t rank = 0; rank < SIDE; rank++) {
            for (uint64_t file = 0; file < SIDE; file++) {
                uint64_t stream = payload_stream(&plain, serial, rank, file);
                for (uint64_t index = 0; index < SIDE; index++) {
                    keys[n++] = block_key(&plain, stream, index);
                }
            }
        }
    }
    assert_int_equal(count_distinct(keys, n), COUNT);
    free(keys);
}

static void test_streams_differ(void **state) {
    (void)state;
    struct payload other = plain;
    other.seed++;
    uint64_t stream = payload_stream(&plain, 1, 2, 3);
    assert_int_not_equal(stream, payload_stream(&other, 1, 2, 3));
    assert_int_not_equal(stream, payload_stream(&plain, 1 + (1 << 20), 2, 3));
    assert_int_not_equal(payload_stream(&plain, 0, 1, 0), payload_stream(&plain, 0, 0, 1 << 22));
}

static void test_dedupe_ratio(void **state) {
    (void)state;
    static const double ratios[] = {1, 1.3, 2, 3, 7.5};
    enum { BLOCKS = 64 * 1024 };
    uint64_t *keys = calloc(BLOCKS, sizeof keys[0]);
    for (size_t r = 0; r < sizeof ratios / sizeof ratios[0]; r++) {
        struct payload payload = plain;
        payload.dedupe = ratios[r];
        for (uint64_t i = 0; i < BLOCKS; i++) {
            keys[i] = block_key(&payload, 1, i);
        }
        double measured = (double)BLOCKS / (double)count_distinct(keys, BLOCKS);
        assert_true(measured > ratios[r] * 0.99 && measured < ratios[r] * 1.01);
    }
    free(keys);
}

static double zstd_ratio(const struct payload *payload) {
    enum { LENGTH = 8 * 1024 * 1024 };
    char command[128], name[] = "/tmp/ckptsim-test-payload-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    void *bytes = malloc(LENGTH);
    payload_fill(payload, 1, 0, bytes, LENGTH);
    assert_int_equal(write(fd, bytes, LENGTH), LENGTH);
    snprintf(command, sizeof command, "zstd -q -1 -c %s | wc -c", name);
    FILE *pipe = popen(command, "r");
    double left = 0;
    assert_int_equal(fscanf(pipe, "%lf", &left), 1);
    pclose(pipe);
    close(fd);
    unlink(name);
    free(bytes);
    return LENGTH / left;
}

static void test_compress_ratio(void **state) {
    (void)state;
    static const double ratios[] = {1, 1.05, 1.3, 2, 4, 10, 40, 100};
    if (system("zstd --version >/dev/null 2>&1") != 0) {
        print_message("# no zstd here\n");
        skip();
    }
    for (size_t r = 0; r < sizeof ratios / sizeof ratios[0]; r++) {
        struct payload payload = plain;
        payload.compressible = ratios[r];
        double measured = zstd_ratio(&payload);
        if (measured < ratios[r] * 0.97 || measured > ratios[r] * 1.03) {
            fail_msg("zstd -1 makes %.3f of %.3f", measured, ratios[r]);
        }
    }
}

static void test_headroom(void **state) {
    (void)state;
    assert_true(payload_headroom(&plain, 1 << 20) > 1e8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_bytes),
        cmocka_unit_test(test_as_documented),
        cmocka_unit_test(test_kernels_agree),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_odd_lengths),
        cmocka_unit_test(test_damage_is_seen),
        cmocka_unit_test(test_constant_blocks_differ),
        cmocka_unit_test(test_no_two_blocks_equal),
        cmocka_unit_test(test_streams_differ),
        cmocka_unit_test(test_dedupe_ratio),
        cmocka_unit_test(test_compress_ratio),
        cmocka_unit_test(test_headroom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
