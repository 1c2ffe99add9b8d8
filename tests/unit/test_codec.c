/* The codec: choices, round trips at every length and level within promised memory, padding, and
 * that damage is an error and never wrong bytes. */
#include "base/prng.h"
#include "io/codec.h"
#include "io/payload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CHUNK = 1 << 20 };

/* Whether the text is taken; the choice is left as it was where not. */
static bool parses(const char *text, struct codec_choice *choice) {
    struct error err = {0};
    struct codec_choice before = *choice;
    if (codec_parse(text, choice, &err) == OK) {
        return true;
    }
    assert_int_equal(err.status, ERR_USAGE);
    assert_non_null(strstr(err.text, "--codec: '"));
    assert_memory_equal(choice, &before, sizeof before);
    return false;
}

static void test_choices(void **state) {
    (void)state;
    static const char *const wrong[] = {"",
                                        "zst",
                                        "zstd:",
                                        "zstd:0",
                                        "zstd:20",
                                        "zstd:-0",
                                        "zstd:3x",
                                        "zstd: 3",
                                        "zstd:--1",
                                        "zstd:+1",
                                        "zstd:1.5",
                                        "ZSTD",
                                        "none:1",
                                        "zstd3",
                                        "zstd:-",
                                        "zstd:-999999999999999999999",
                                        "zstd:-131073"};
    struct codec_choice choice;
    memset(&choice, 0x11, sizeof choice);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        if (parses(wrong[i], &choice)) {
            fail_msg("'%s' was taken", wrong[i]);
        }
    }
    assert_true(parses("none", &choice));
    assert_int_equal(choice.kind, CODEC_NONE);
    assert_true(parses("zstd", &choice));
    assert_int_equal(choice.kind, CODEC_ZSTD);
    assert_int_equal(choice.level, CODEC_LEVEL_DEFAULT);
    assert_true(parses("zstd:19", &choice));
    assert_int_equal(choice.level, 19);
    assert_true(parses("zstd:-5", &choice));
    assert_int_equal(choice.level, -5);
}

static void test_windows(void **state) {
    (void)state;
    assert_int_equal(codec_windows(0, CHUNK), 1);
    assert_int_equal(codec_windows(1, CHUNK), 1);
    assert_int_equal(codec_windows(CHUNK, CHUNK), 1);
    assert_int_equal(codec_windows(CHUNK + 1, CHUNK), 2);
    assert_int_equal(codec_windows(UINT64_MAX, 4096), UINT64_C(1) << 52);
}

static void test_padding(void **state) {
    (void)state;
    uint8_t bytes[2 * CODEC_BLOCK + 1];
    for (uint64_t used = 3 * CODEC_BLOCK; used <= 4 * CODEC_BLOCK; used++) {
        size_t length = codec_padding_bytes(used);
        assert_int_equal((used + length) % CODEC_BLOCK, 0);
        assert_true(length == 0 || (length >= 8 && length < CODEC_BLOCK + 8));
        memset(bytes, 0xee, sizeof bytes);
        codec_pad(bytes, length);
        assert_int_equal(bytes[length], 0xee);
        assert_true(codec_is_padding(bytes, length));
        assert_false(length > 0 && codec_is_padding(bytes, length - 1));
        for (size_t i = 0; i < length; i += i < 16 ? 1 : 501) {
            bytes[i] ^= 0x10;
            assert_false(codec_is_padding(bytes, length));
            bytes[i] ^= 0x10;
        }
    }
}

/* One window there and back; both buffers have exactly the room that is asked for, so that the
 * sanitizer sees a byte too many. Returns the stored length. */
static size_t round_trip(struct codec *codec, const struct payload *payload, size_t length) {
    size_t capacity = codec_bound(length);
    uint8_t *raw = malloc(length + 1), *back = malloc(length + 1), *stored = malloc(capacity);
    struct error err = {0};
    payload_fill(payload, 7, 0, raw, length);
    size_t stored_bytes = codec_compress(codec, raw, length, stored, capacity);
    assert_int_equal(stored_bytes % CODEC_BLOCK, 0);
    assert_true(stored_bytes > 0 && stored_bytes <= capacity);
    memset(back, 0xee, length + 1);
    if (codec_decompress(codec, stored, stored_bytes, back, length, &err) != OK) {
        fail_msg("%zu bytes: %s", length, err.text);
    }
    assert_memory_equal(raw, back, length);
    assert_int_equal(back[length], 0xee);
    free(raw);
    free(back);
    free(stored);
    return stored_bytes;
}

static const double ratios[] = {1, 1.08, 1.46, 3};

static void test_round_trips(void **state) {
    (void)state;
    static const size_t lengths[] = {0,     1,     511,   4095,   4096,   4097,   16383,     16384,
                                     16385, 65536, 99999, 131072, 131073, 262145, CHUNK - 1, CHUNK};
    struct codec *codec = codec_open(1, CHUNK);
    for (size_t r = 0; r < sizeof ratios / sizeof ratios[0]; r++) {
        struct payload payload = {.seed = 3, .compressible = ratios[r], .dedupe = 1};
        size_t stored_bytes = 0;
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            stored_bytes = round_trip(codec, &payload, lengths[i]);
        }
        double ratio = (double)CHUNK / (double)stored_bytes;
        if (ratio < ratios[r] * 0.97 || ratio > ratios[r] * 1.03) {
            fail_msg("level 1 makes %.3f of %.3f", ratio, ratios[r]);
        }
    }
    codec_close(codec);
}

/* Frames of every length around a block's end: each takes the padding that fits it. */
static void test_every_padding(void **state) {
    (void)state;
    struct payload payload = {.seed = 3, .compressible = 1, .dedupe = 1};
    struct codec *codec = codec_open(1, 16384);
    for (size_t length = 2 * CODEC_BLOCK - 64; length < 2 * CODEC_BLOCK + 8; length++) {
        round_trip(codec, &payload, length);
    }
    codec_close(codec);
}

/* The promised memory is enough at each level, whatever the lengths and their order; a context that
 * wanted more would end the program. */
static void test_memory_is_enough(void **state) {
    (void)state;
    static const uint64_t chunks[] = {4096, 20480, 131072, 262144, 266240, CHUNK};
    struct payload payload = {.seed = 5, .compressible = 1.46, .dedupe = 1};
    for (int level = -7; level <= CODEC_LEVEL_MAX; level++) {
        uint64_t random = (uint64_t)(level + 100);
        for (size_t c = 0; c < sizeof chunks / sizeof chunks[0] && level != 0; c++) {
            struct codec *codec = codec_open(level, chunks[c]);
            round_trip(codec, &payload, chunks[c]);
            for (int i = 0; i < 4; i++) {
                round_trip(codec, &payload, prng_next(&random) % (chunks[c] + 1) >> (i * 3));
            }
            round_trip(codec, &payload, chunks[c]);
            codec_close(codec);
        }
    }
}

/* libzstd lets go of memory that is too much for very many inputs in a row; this one must not. */
static void test_large_after_many_small(void **state) {
    (void)state;
    struct payload payload = {.seed = 5, .compressible = 1.08, .dedupe = 1};
    struct codec *codec = codec_open(3, CHUNK);
    for (int i = 0; i < 300; i++) {
        round_trip(codec, &payload, 100);
    }
    round_trip(codec, &payload, CHUNK);
    codec_close(codec);
}

static void test_same_frames(void **state) {
    (void)state;
    struct payload payload = {.seed = 9, .compressible = 1.46, .dedupe = 1};
    size_t capacity = codec_bound(CHUNK);
    uint8_t *raw = malloc(CHUNK), *left = malloc(capacity), *right = malloc(capacity);
    struct codec *one = codec_open(3, CHUNK), *other = codec_open(3, CHUNK);
    round_trip(other, &payload, 5000); /* what came before leaves no trace */
    payload_fill(&payload, 1, 0, raw, CHUNK);
    size_t left_bytes = codec_compress(one, raw, CHUNK, left, capacity);
    assert_int_equal(codec_compress(other, raw, CHUNK, right, capacity), left_bytes);
    assert_memory_equal(left, right, left_bytes);
    codec_close(one);
    codec_close(other);
    free(raw);
    free(left);
    free(right);
}

/* Decompresses a copy that lies alone in its memory; true where the very bytes come out. */
static bool is_good(struct codec *codec, const uint8_t *stored, size_t stored_bytes,
                    const uint8_t *raw, size_t raw_bytes) {
    uint8_t *copy = malloc(stored_bytes + 1), *back = malloc(raw_bytes + 1);
    struct error err = {0};
    memcpy(copy, stored, stored_bytes);
    enum status status = codec_decompress(codec, copy, stored_bytes, back, raw_bytes, &err);
    if (status == OK) {
        assert_memory_equal(back, raw, raw_bytes);
    } else {
        assert_int_equal(status, ERR_FAILED);
        assert_int_not_equal(err.text[0], '\0');
    }
    free(copy);
    free(back);
    return status == OK;
}

static void test_damage_is_seen(void **state) {
    (void)state;
    enum { LENGTH = 3 * 4096 + 100, CAPACITY = 32768 };
    uint8_t raw[LENGTH + 1] = {0}, stored[CAPACITY];
    struct codec *codec = codec_open(1, CHUNK);
    for (size_t r = 0; r < sizeof ratios / sizeof ratios[0]; r++) {
        struct payload payload = {.seed = 3, .compressible = ratios[r], .dedupe = 1};
        payload_fill(&payload, 1, 0, raw, LENGTH);
        size_t stored_bytes = codec_compress(codec, raw, LENGTH, stored, CAPACITY), unseen = 0;
        assert_true(is_good(codec, stored, stored_bytes, raw, LENGTH));
        for (size_t bit = 0; bit < stored_bytes * 8; bit += bit < 512 ? 1 : 13) {
            stored[bit / 8] ^= (uint8_t)(1 << bit % 8);
            unseen += is_good(codec, stored, stored_bytes, raw, LENGTH);
            stored[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        assert_true(unseen <= 8); /* a head has bits without a meaning */
        for (size_t cut = 0; cut < stored_bytes; cut += cut < 64 ? 1 : 97) {
            assert_false(is_good(codec, stored, cut, raw, LENGTH));
        }
        assert_false(is_good(codec, stored, stored_bytes, raw, LENGTH - 1));
        assert_false(is_good(codec, stored, stored_bytes, raw, LENGTH + 1));
        memset(stored + stored_bytes, 0, CODEC_BLOCK);
        assert_false(is_good(codec, stored, stored_bytes + CODEC_BLOCK, raw, LENGTH));
    }
    codec_close(codec);
}

/* What a drive may give instead: zeros, padding, another window, noise behind a good beginning. */
static void test_other_bytes(void **state) {
    (void)state;
    enum { LENGTH = 8192, CAPACITY = 16384 };
    uint8_t raw[LENGTH], stored[CAPACITY] = {0};
    struct payload payload = {.seed = 3, .compressible = 3, .dedupe = 1};
    struct codec *codec = codec_open(1, CHUNK);
    payload_fill(&payload, 1, 0, raw, LENGTH);
    assert_false(is_good(codec, stored, CODEC_BLOCK, raw, LENGTH));
    codec_pad(stored, CODEC_BLOCK);
    assert_false(is_good(codec, stored, CODEC_BLOCK, raw, LENGTH));
    assert_false(is_good(codec, stored, CODEC_BLOCK, raw, 0));
    for (uint64_t seed = 1; seed < 300; seed++) {
        uint64_t random = seed;
        size_t stored_bytes = codec_compress(codec, raw, LENGTH, stored, CAPACITY);
        for (size_t i = 6 + seed % 60; i < stored_bytes; i++) {
            stored[i] = (uint8_t)prng_next(&random);
        }
        assert_false(is_good(codec, stored, stored_bytes, raw, LENGTH));
    }
    codec_close(codec);
}

/* Padding that is well made, but a block longer than it has to be. */
static void test_long_padding(void **state) {
    (void)state;
    enum { LENGTH = 100, STORED = CODEC_BLOCK, CAPACITY = 4 * CODEC_BLOCK };
    uint8_t raw[LENGTH], stored[CAPACITY];
    struct payload payload = {.seed = 3, .compressible = 1, .dedupe = 1};
    struct codec *codec = codec_open(1, CHUNK);
    payload_fill(&payload, 1, 0, raw, LENGTH);
    assert_int_equal(codec_compress(codec, raw, LENGTH, stored, CAPACITY), STORED);
    size_t frame_bytes = LENGTH;
    while (!codec_is_padding(stored + frame_bytes, STORED - frame_bytes)) {
        frame_bytes++;
        assert_true(frame_bytes < 200);
    }
    assert_true(is_good(codec, stored, STORED, raw, LENGTH));
    codec_pad(stored + frame_bytes, STORED + CODEC_BLOCK - frame_bytes);
    assert_false(is_good(codec, stored, STORED + CODEC_BLOCK, raw, LENGTH));
    codec_close(codec);
}

static void test_memory_figures(void **state) {
    (void)state;
    assert_true(codec_memory_bytes(1, 8 << 20) < UINT64_C(4) << 20);
    assert_true(codec_memory_bytes(1, 4096) < codec_memory_bytes(1, 8 << 20));
    assert_true(codec_memory_bytes(19, 8 << 20) < UINT64_C(128) << 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_padding),
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_every_padding),
        cmocka_unit_test(test_memory_is_enough),
        cmocka_unit_test(test_large_after_many_small),
        cmocka_unit_test(test_same_frames),
        cmocka_unit_test(test_damage_is_seen),
        cmocka_unit_test(test_other_bytes),
        cmocka_unit_test(test_long_padding),
        cmocka_unit_test(test_memory_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
