/* The seek table: finding, its documented bytes, damage, and whole files that the zstd command
 * takes. */
#include "base/prng.h"
#include "io/codec.h"
#include "io/payload.h"
#include "io/seek_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A table of windows of 64 KiB and a shorter last one, of changing stored lengths. */
static void make_table(struct seek_table *table, uint64_t count, struct arena *arena) {
    uint64_t random = count;
    seek_table_init(table, count, arena);
    for (uint64_t i = 0; i < count; i++) {
        seek_table_add(table, (1 + prng_next(&random) % 16) * CODEC_BLOCK,
                       i == count - 1 ? 65000 : 65536);
    }
}

static uint64_t file_bytes_of(const struct seek_table *table) {
    return table->points[table->count].stored_offset + seek_table_tail_bytes(table->count);
}

static void test_find(void **state) {
    (void)state;
    struct arena arena = {0};
    struct seek_table table;
    for (uint64_t count = 1; count < 40; count++) {
        make_table(&table, count, &arena);
        for (uint64_t i = 0; i < count; i++) {
            uint64_t begin = table.points[i].raw_offset;
            assert_int_equal(begin, i * 65536);
            assert_int_equal(seek_table_find(&table, begin), i);
            assert_int_equal(seek_table_find(&table, begin + seek_table_raw_bytes(&table, i) - 1),
                             i);
        }
        assert_int_equal(seek_table_find(&table, (count - 1) * 65536 + 65000), count);
        assert_int_equal(seek_table_find(&table, UINT64_MAX), count);
    }
    seek_table_clear(&table);
    assert_int_equal(table.count, 0);
    assert_int_equal(seek_table_find(&table, 0), 0);
    seek_table_add(&table, CODEC_BLOCK, 0); /* an empty file's window */
    assert_int_equal(seek_table_find(&table, 0), 1);
    arena_fini(&arena);
}

static uint32_t number(const uint8_t *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* Read once more, straight from the format's description. */
static void test_as_documented(void **state) {
    (void)state;
    static const uint64_t counts[] = {1, 2, 508, 509, 510, 511, 1000};
    struct arena arena = {0};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        struct seek_table table;
        make_table(&table, counts[c], &arena);
        uint64_t tail_bytes = seek_table_tail_bytes(counts[c]), stored = 0, raw = 0;
        uint8_t *tail = malloc(tail_bytes);
        seek_table_write(&table, tail);
        const uint8_t *end = tail + tail_bytes, *head = end - 9 - 8 * counts[c] - 8;
        assert_int_equal(tail_bytes % CODEC_BLOCK, 0);
        assert_int_equal(number(end - 4), 0x8f92eab1);
        assert_int_equal(end[-5], 0);
        assert_int_equal(number(end - 9), counts[c]);
        assert_int_equal(number(head), 0x184d2a5e);
        assert_int_equal(number(head + 4), 8 * counts[c] + 9);
        for (uint64_t i = 0; i < counts[c]; i++) {
            assert_int_equal(table.points[i].stored_offset, stored);
            assert_int_equal(table.points[i].raw_offset, raw);
            stored += number(head + 8 + 8 * i);
            raw += number(head + 12 + 8 * i);
        }
        assert_int_equal(raw, (counts[c] - 1) * 65536 + 65000);
        assert_int_equal(stored, file_bytes_of(&table) - (uint64_t)(end - head));
        assert_true(codec_is_padding(tail, (size_t)(head - tail)));
        free(tail);
    }
    arena_fini(&arena);
}

/* Reads as from a file: the footer first, then a tail of the measured length from the file's end,
 * where the file has that much. Each copy lies alone in its memory. */
static enum status read_back(const uint8_t *tail, uint64_t tail_bytes, uint64_t file_bytes,
                             struct arena *arena, struct seek_table *table) {
    struct error err = {0};
    uint64_t measured_bytes = 0;
    enum status status = ERR_FAILED;
    uint8_t *footer = malloc(SEEK_TABLE_FOOTER);
    memcpy(footer, tail + tail_bytes - SEEK_TABLE_FOOTER, SEEK_TABLE_FOOTER);
    if (seek_table_measure(footer, file_bytes, &measured_bytes, &err) == OK) {
        assert_true(measured_bytes <= file_bytes);
        uint64_t have_bytes = measured_bytes < tail_bytes ? measured_bytes : tail_bytes;
        uint8_t *copy = calloc(1, measured_bytes); /* zeros stand for the windows before it */
        memcpy(copy + measured_bytes - have_bytes, tail + tail_bytes - have_bytes, have_bytes);
        status = seek_table_read(copy, measured_bytes, file_bytes, arena, table, &err);
        free(copy);
    }
    assert_int_equal(err.status, status);
    free(footer);
    return status;
}

/* What must hold of every table that was read, right or not. */
static void check_table(const struct seek_table *table, uint64_t file_bytes) {
    assert_true(table->count > 0 && table->count <= table->limit);
    assert_int_equal(file_bytes_of(table), file_bytes);
    for (uint64_t i = 0; i < table->count; i++) {
        assert_true(seek_table_stored_bytes(table, i) > 0);
        assert_true(seek_table_raw_bytes(table, i) <= CODEC_WINDOW_MAX);
        assert_int_equal(table->points[i].stored_offset % CODEC_BLOCK, 0);
    }
}

static void test_read_back(void **state) {
    (void)state;
    static const uint64_t counts[] = {1, 2, 3, 507, 508, 509, 510, 511, 512, 513, 100000};
    struct arena arena = {0};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        struct seek_table table, read;
        make_table(&table, counts[c], &arena);
        uint64_t tail_bytes = seek_table_tail_bytes(counts[c]);
        uint8_t *tail = malloc(tail_bytes);
        seek_table_write(&table, tail);
        assert_int_equal(read_back(tail, tail_bytes, file_bytes_of(&table), &arena, &read), OK);
        assert_int_equal(read.count, table.count);
        assert_memory_equal(read.points, table.points, (table.count + 1) * sizeof table.points[0]);
        check_table(&read, file_bytes_of(&table));
        free(tail);
    }
    arena_fini(&arena);
}

/* Any single flipped bit outside raw lengths is seen, and those are seen by the frames. */
static void test_flipped_bits(void **state) {
    (void)state;
    enum { COUNT = 5, ENTRIES = 8 * COUNT + 9 };
    struct arena arena = {0};
    struct seek_table table, read;
    make_table(&table, COUNT, &arena);
    uint64_t tail_bytes = seek_table_tail_bytes(COUNT), file_bytes = file_bytes_of(&table);
    uint8_t *tail = malloc(tail_bytes);
    seek_table_write(&table, tail);
    for (uint64_t bit = 0; bit < tail_bytes * 8; bit++) {
        struct arena reading = {0};
        tail[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (read_back(tail, tail_bytes, file_bytes, &reading, &read) == OK) {
            uint64_t at = bit / 8 - (tail_bytes - ENTRIES);
            assert_true(bit / 8 >= tail_bytes - ENTRIES && at < 8 * COUNT && at % 8 >= 4);
            check_table(&read, file_bytes);
        }
        tail[bit / 8] ^= (uint8_t)(1 << bit % 8);
        arena_fini(&reading);
    }
    free(tail);
    arena_fini(&arena);
}

static void test_noise(void **state) {
    (void)state;
    struct arena arena = {0};
    uint64_t random = 11, taken = 0;
    for (int round = 0; round < 3000; round++) {
        struct seek_table table, read;
        struct arena reading = {0};
        make_table(&table, 1 + prng_next(&random) % 600, &arena);
        uint64_t tail_bytes = seek_table_tail_bytes(table.count);
        uint64_t file_bytes = file_bytes_of(&table);
        uint8_t *tail = malloc(tail_bytes);
        seek_table_write(&table, tail);
        for (uint64_t n = prng_next(&random) % 4; n > 0; n--) {
            tail[tail_bytes - 1 - prng_next(&random) % (table.count * 8 + 40)] =
                (uint8_t)prng_next(&random);
        }
        if (prng_next(&random) % 4 == 0) { /* the count alone, as large as the file could hold */
            uint32_t count = (uint32_t)(prng_next(&random) % (file_bytes / CODEC_BLOCK + 2));
            memcpy(tail + tail_bytes - SEEK_TABLE_FOOTER, &count, sizeof count);
        }
        if (read_back(tail, tail_bytes, file_bytes, &reading, &read) == OK) {
            check_table(&read, file_bytes);
            taken++;
        }
        assert_true(reading.used_bytes <= file_bytes);
        free(tail);
        arena_fini(&reading);
        arena_fini(&arena);
    }
    assert_true(taken > 0);
}

static void test_cut_files(void **state) {
    (void)state;
    enum { COUNT = 600 };
    struct arena arena = {0};
    struct seek_table table, read;
    make_table(&table, COUNT, &arena);
    uint64_t tail_bytes = seek_table_tail_bytes(COUNT), file_bytes = file_bytes_of(&table);
    uint8_t *tail = malloc(tail_bytes);
    seek_table_write(&table, tail);
    for (uint64_t cut = 1; cut <= tail_bytes - SEEK_TABLE_FOOTER; cut++) {
        assert_int_not_equal(read_back(tail, tail_bytes - cut, file_bytes - cut, &arena, &read),
                             OK);
    }
    /* A good tail at the end of another file. */
    static const int64_t others[] = {-CODEC_BLOCK, -1, 1, CODEC_BLOCK};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_not_equal(
            read_back(tail, tail_bytes, file_bytes + (uint64_t)others[i], &arena, &read), OK);
    }
    for (uint64_t bytes = 0; bytes < tail_bytes + COUNT * CODEC_BLOCK; bytes += 1000) {
        assert_int_not_equal(read_back(tail, tail_bytes, bytes, &arena, &read), OK);
    }
    free(tail);
    arena_fini(&arena);
}

/* Whole files. */

struct whole {
    uint8_t *raw, *stored;
    uint64_t raw_bytes, stored_bytes;
};

enum { CHUNK = 256 * 1024 };

static void make_whole(struct whole *whole, double compressible, uint64_t raw_bytes, int level) {
    struct payload payload = {.seed = 2, .compressible = compressible, .dedupe = 1};
    struct arena arena = {0};
    struct seek_table table;
    struct codec *codec = codec_open(level, CHUNK);
    uint64_t windows = codec_windows(raw_bytes, CHUNK), room = codec_bound(CHUNK);
    seek_table_init(&table, windows, &arena);
    *whole = (struct whole){.raw = malloc(raw_bytes + 1),
                            .stored = malloc(windows * room + seek_table_tail_bytes(windows)),
                            .raw_bytes = raw_bytes};
    payload_fill(&payload, 1, 0, whole->raw, raw_bytes);
    for (uint64_t i = 0; i < windows; i++) {
        uint64_t left = raw_bytes - i * CHUNK, length = left < CHUNK ? left : CHUNK;
        size_t stored = codec_compress(codec, whole->raw + i * CHUNK, length,
                                       whole->stored + table.points[i].stored_offset, room);
        seek_table_add(&table, stored, length);
    }
    whole->stored_bytes = file_bytes_of(&table);
    seek_table_write(&table, whole->stored + table.points[windows].stored_offset);
    codec_close(codec);
    arena_fini(&arena);
}

static void free_whole(struct whole *whole) {
    free(whole->raw);
    free(whole->stored);
}

/* Single windows by way of the file's own table. */
static void test_windows_of_a_file(void **state) {
    (void)state;
    struct arena arena = {0};
    struct whole whole;
    struct seek_table table;
    make_whole(&whole, 1.46, 9 * CHUNK + 12345, 3);
    assert_int_equal(
        read_back(whole.stored, whole.stored_bytes, whole.stored_bytes, &arena, &table), OK);
    assert_int_equal(table.points[table.count].raw_offset, whole.raw_bytes);
    struct codec *codec = codec_open(3, CHUNK);
    uint8_t *back = malloc(CHUNK);
    for (uint64_t offset = 777; offset < whole.raw_bytes; offset += 100000) {
        uint64_t i = seek_table_find(&table, offset), begin = table.points[i].raw_offset;
        assert_true(begin <= offset && offset < begin + seek_table_raw_bytes(&table, i));
        assert_int_equal(codec_decompress(codec, whole.stored + table.points[i].stored_offset,
                                          seek_table_stored_bytes(&table, i), back,
                                          seek_table_raw_bytes(&table, i), NULL),
                         OK);
        assert_memory_equal(back, whole.raw + begin, seek_table_raw_bytes(&table, i));
    }
    free(back);
    codec_close(codec);
    free_whole(&whole);
    arena_fini(&arena);
}

static void save(char *name, const void *bytes, size_t length) {
    strcpy(name, "/tmp/ckptsim-test-seek-table-XXXXXX");
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), length);
    close(fd);
}

/* 0 where `zstd` takes the file and makes the raw bytes of it. */
static int zstd_takes(const struct whole *whole) {
    char raw[64], stored[64], command[256];
    save(raw, whole->raw, whole->raw_bytes);
    save(stored, whole->stored, whole->stored_bytes);
    snprintf(command, sizeof command, "zstd -tq <%s 2>/dev/null && zstd -dcq <%s | cmp -s - %s",
             stored, stored, raw);
    int code = system(command);
    unlink(raw);
    unlink(stored);
    return code;
}

static void test_zstd_takes_files(void **state) {
    (void)state;
    static const double ratios[] = {1, 1.08, 1.46, 3};
    static const uint64_t lengths[] = {0, 1, CHUNK - 1, CHUNK, 4 * CHUNK, 7 * CHUNK + 54321};
    if (system("zstd --version >/dev/null 2>&1") != 0) {
        print_message("# no zstd here\n");
        skip();
    }
    for (size_t r = 0; r < sizeof ratios / sizeof ratios[0]; r++) {
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            struct whole whole;
            make_whole(&whole, ratios[r], lengths[i], r % 2 == 0 ? 1 : 3);
            assert_int_equal(zstd_takes(&whole), 0);
            if (lengths[i] > CHUNK) {
                whole.stored[CHUNK / 4] ^= 1; /* within the first frame */
                assert_int_not_equal(zstd_takes(&whole), 0);
            }
            free_whole(&whole);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_as_documented),
        cmocka_unit_test(test_read_back),
        cmocka_unit_test(test_flipped_bits),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_cut_files),
        cmocka_unit_test(test_windows_of_a_file),
        cmocka_unit_test(test_zstd_takes_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
