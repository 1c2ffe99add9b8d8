/* What compressing does to the files of a plan: names, room, limits. */
#include "tests/unit/support.h"

#include "io/seek_table.h"
#include "sim/job/fill.h"
#include "sim/job/shards.h"

#include <stdio.h>
#include <string.h>

static const struct codec_choice zstd = {CODEC_ZSTD, 1};
static const struct codec_choice none = {CODEC_NONE, 0};

struct fixture {
    struct arena arena;
    struct plan plan;
    struct shards shards;
    struct error err;
};

static void build(struct fixture *fixture, double scale) {
    struct plan_request request = {.model = "llama405b", .layout = "dlio2", .tp = 4, .pp = 2,
                                   .scale = scale, .zero_stage = PLAN_ZERO_DEFAULT};
    assert_int_equal(plan_build(&request, &fixture->arena, &fixture->plan, &fixture->err), OK);
    shards_raw(&fixture->plan, &fixture->arena, &fixture->shards);
}

static void names_and_room(void **state) {
    (void)state;
    struct fixture fixture = {0};
    enum { CHUNK = 16384 };
    build(&fixture, 1e-5);
    struct shards *shards = &fixture.shards;
    uint64_t before = fill_checkpoint_bytes(shards), bytes = shards->checkpoint_bytes, most = 0;
    assert_int_equal(shards_compress(shards, &none, CHUNK, &fixture.err), OK);
    assert_true(shards->most_bytes == bytes && shards_windows(shards, 0) == 0);
    assert_int_equal(shards_compress(shards, &zstd, CHUNK, &fixture.err), OK);
    for (uint32_t rank = 0; rank < shards->ranks; rank++) {
        uint64_t longest = 0;
        for (uint64_t i = 0; i < shards->shares[rank].files; i++) {
            struct shard_file plain, file;
            plan_file(&fixture.plan, rank, i, 1, &plain);
            shards_file(shards, rank, i, 1, &file);
            char name[SHARD_PATH + 4];
            snprintf(name, sizeof name, "%s.zst", plain.path);
            assert_string_equal(file.path, name);
            assert_true(file.bytes == plain.bytes);
            uint64_t windows = codec_windows(file.bytes, CHUNK);
            longest = windows > longest ? windows : longest;
            most += (windows - 1) * codec_bound(CHUNK) +
                    codec_bound(file.bytes - (windows - 1) * CHUNK) +
                    seek_table_tail_bytes(windows);
        }
        assert_true(shards_windows(shards, rank) == longest);
    }
    assert_true(shards->checkpoint_bytes == bytes && shards->most_bytes == most);
    assert_true(fill_checkpoint_bytes(shards) == before - bytes + most);
    arena_fini(&fixture.arena);
}

static void limits(void **state) {
    (void)state;
    struct fixture fixture = {0};
    build(&fixture, 1);
    fixture.plan.scale = 1;
    struct shards *shards = &fixture.shards;
    assert_int_equal(shards_compress(shards, &zstd, 1 << 20, &fixture.err), OK);
    assert_true(shards->memory_bytes > 0 && shards->memory_bytes < 300u << 20);
    assert_int_equal(shards_compress(shards, &zstd, 4096, &fixture.err), ERR_USAGE);
    assert_non_null(strstr(fixture.err.text, "--chunk"));
    arena_fini(&fixture.arena);
    memset(&fixture, 0, sizeof fixture);
    struct plan_request request = {.model = "llama405b", .layout = "dlio2", .scale = 1,
                                   .zero_stage = PLAN_ZERO_DEFAULT};
    assert_int_equal(plan_build(&request, &fixture.arena, &fixture.plan, &fixture.err), OK);
    shards_raw(&fixture.plan, &fixture.arena, &fixture.shards);
    assert_int_equal(shards_compress(&fixture.shards, &zstd, 4096, &fixture.err), ERR_USAGE);
    assert_non_null(strstr(fixture.err.text, "134,217,728 windows"));
    assert_non_null(strstr(fixture.err.text, "KiB is needed"));
    arena_fini(&fixture.arena);
}

/* Every format but raw says why it has none, in words of its own. */
static void formats_say_why(void **state) {
    (void)state;
    struct fixture fixture = {0};
    build(&fixture, 1e-5);
    for (size_t i = 0; formats[i] != NULL; i++) {
        struct shards shards = fixture.shards;
        shards.format = formats[i];
        bool raw = strcmp(formats[i]->name, "raw") == 0;
        assert_int_equal(shards_compress(&shards, &none, 4096, &fixture.err), OK);
        assert_int_equal(shards_compress(&shards, &zstd, 4096, &fixture.err), raw ? OK : ERR_USAGE);
        if (!raw) {
            assert_non_null(strstr(fixture.err.text, formats[i]->name));
            assert_non_null(strstr(fixture.err.text, formats[i]->no_codec));
        }
    }
    arena_fini(&fixture.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_room),
        cmocka_unit_test(limits),
        cmocka_unit_test(formats_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
