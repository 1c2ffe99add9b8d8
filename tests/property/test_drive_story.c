/* Random stories on small simulated drives of every shape: ranks that write and read files at once,
 * in all modes, with and without sync, until the file system is full and beyond; removing, renaming,
 * pausing and trimming in between. A ledger of file sizes says how many bytes must be free and
 * mapped, the rules of the engine contract are checked at every completion, and the same story told
 * twice is the same to the nanosecond. The seed is printed; SEED=n in the environment repeats it.
 */
#include "tests/unit/drive_play.h"

#include <time.h>

#ifdef __SANITIZE_ADDRESS__
enum { STORIES = 60 };
#else
enum { STORIES = 500 };
#endif

enum { ROUNDS = 12, RANKS_MAX = 6, NAMES = 6, FILES_MAX = 3 };

struct entry {
    char path[PLAY_PATH];
    uint64_t bytes;
    bool exists, broken; /* broken: some write found no room, so it may have a hole */
};

struct story {
    struct play play;
    struct entry entries[RANKS_MAX][NAMES];
    struct play_file scripts[RANKS_MAX][FILES_MAX];
    uint64_t random;
};

static uint64_t pick(struct story *story, uint64_t low, uint64_t high) {
    return low + prng_next(&story->random) % (high - low + 1);
}

static bool one_in(struct story *story, uint64_t n) { return pick(story, 1, n) == 1; }

static uint64_t pick_rate(struct story *story) {
    return one_in(story, 2) ? UINT64_MAX : pick(story, PLAY_GB / 100, 2 * PLAY_GB);
}

static struct drive_engine_config draw_config(struct story *story) {
    uint32_t ranks = (uint32_t)pick(story, 1, RANKS_MAX);
    uint32_t unit = one_in(story, 2) ? PLAY_BLOCK : 4 * PLAY_BLOCK;
    uint64_t units = pick(story, 8, 32), superblocks = pick(story, 20, 60);
    struct drive_engine_config config = play_config(superblocks * units * unit, ranks);
    config.ftl.unit_bytes = unit;
    config.ftl.superblock_bytes = units * unit;
    config.ftl.gc_low = (uint32_t)pick(story, 1, 3);
    config.ftl.handles = (uint32_t)pick(story, 1, 3);
    uint64_t apart = config.ftl.gc_low + 2 * config.ftl.handles + 1;
    config.ftl.raw_bytes = (superblocks + apart + pick(story, 0, 20)) * units * unit;
    config.ftl.gc_frontier = (enum ftl_gc_frontier)pick(story, 0, 2);
    config.rates.link_bytes_per_s = pick(story, PLAY_GB / 100, 4 * PLAY_GB);
    config.rates.program_bytes_per_s = pick(story, PLAY_GB / 100, 4 * PLAY_GB);
    config.host.rank_new_bytes_per_s = pick_rate(story);
    config.host.rank_reused_bytes_per_s = pick_rate(story);
    config.host.total_bytes_per_s = pick_rate(story);
    config.host.rank_read_bytes_per_s = pick_rate(story);
    config.host.total_read_bytes_per_s = pick_rate(story);
    config.rates.read_bytes_per_s = pick(story, PLAY_GB / 100, 4 * PLAY_GB);
    config.rates.nand_read_bytes_per_s = pick(story, PLAY_GB / 100, 4 * PLAY_GB);
    config.rates.read_latency_ns = pick(story, 0, 1000000);
    config.buffered = one_in(story, 2);
    config.host.dirty_limit_bytes =
        one_in(story, 2) ? UINT64_MAX : pick(story, 0, 100) * PLAY_BLOCK;
    config.host.write_back_bytes = pick(story, 1, 64) * PLAY_BLOCK;
    config.placement = (enum placement_policy)pick(story, 0, 3);
    config.discard = (enum drive_discard)pick(story, 0, 2);
    config.commit_ns = one_in(story, 2) ? 0 : pick(story, 1, PLAY_GB / 100);
    config.used_before = one_in(story, 3);
    config.ftl.seed = config.seed = prng_next(&story->random);
    return config;
}

static struct entry *entry_of(struct story *story, uint32_t rank, const char *path) {
    for (int i = 0; i < NAMES; i++) {
        if (strcmp(story->entries[rank][i].path, path) == 0) {
            return &story->entries[rank][i];
        }
    }
    fail_msg("no entry for %s", path);
    return NULL;
}

static void draw_script(struct story *story, uint32_t rank) {
    uint64_t most = story->play.config.capacity_bytes / (2 * story->play.config.ranks);
    size_t count = pick(story, 1, FILES_MAX);
    for (size_t i = 0; i < count; i++) {
        struct entry *entry = &story->entries[rank][pick(story, 0, NAMES - 1)];
        struct play_file *file = &story->scripts[rank][i];
        *file = (struct play_file){.bytes = one_in(story, 4) ? 0 : pick(story, 1, most),
                                   .mode = one_in(story, 2) ? IO_TRUNCATE : IO_OVERWRITE,
                                   .sync = one_in(story, 3)};
        if (one_in(story, 4)) {
            file->mode = IO_READING;
            file->sync = false;
        }
        snprintf(file->path, sizeof file->path, "%s", entry->path);
        for (size_t k = 0; k < i; k++) { /* who writes over a file writes all of it */
            if (file->mode != IO_READING && strcmp(story->scripts[rank][k].path, file->path) == 0) {
                file->mode = IO_TRUNCATE;
            }
        }
        if (file->mode == IO_OVERWRITE && entry->exists && file->bytes < entry->bytes) {
            file->bytes = entry->bytes;
        }
    }
    play_start(&story->play, rank, story->scripts[rank], count);
}

static void keep_books(struct story *story, const struct io_request *io) {
    if (io->op == IO_OPEN && io->error == 0) {
        struct entry *entry = entry_of(story, io->rank, io->file->path);
        entry->bytes = io->file->mode == IO_TRUNCATE || !entry->exists ? 0 : entry->bytes;
        entry->exists = true;
    } else if (io->op == IO_OPEN) {
        assert_true(io->error == ENOENT && io->file->mode == IO_READING);
        assert_false(entry_of(story, io->rank, io->file->path)->exists);
    } else if (io->op == IO_READ) {
        uint64_t size = entry_of(story, io->rank, io->file->path)->bytes;
        uint64_t there = size > io->offset ? size - io->offset : 0;
        assert_true(io->done_bytes == (there < io->length_bytes ? there : io->length_bytes));
        assert_int_equal(io->error, there < io->length_bytes ? ENODATA : 0);
    } else if (io->op == IO_WRITE) {
        struct entry *entry = entry_of(story, io->rank, io->file->path);
        uint64_t end = io->offset + io->length_bytes;
        assert_true(io->error == 0 || io->error == ENOSPC);
        entry->broken = entry->broken || io->error != 0;
        entry->bytes = io->error == 0 && end > entry->bytes ? end : entry->bytes;
    }
}

static void write_files(struct story *story) {
    for (uint32_t rank = 0; rank < story->play.config.ranks; rank++) {
        if (!one_in(story, 4)) {
            draw_script(story, rank);
        }
    }
    while (story->play.under_way > 0) {
        struct play_request *request = play_take(&story->play);
        keep_books(story, &request->io);
        play_go_on(&story->play, request);
    }
}

static void remove_entry(struct story *story, uint32_t rank, struct entry *entry) {
    int error = play_remove(&story->play, rank, entry->path);
    assert_int_equal(error, entry->exists ? 0 : ENOENT);
    entry->exists = entry->broken = false;
    entry->bytes = 0;
}

static void rename_entry(struct story *story, uint32_t rank, struct entry *from, struct entry *to) {
    int error = play_rename(&story->play, rank, from->path, to->path);
    assert_int_equal(error, from->exists ? 0 : ENOENT);
    if (error == 0 && from != to) {
        to->bytes = from->bytes;
        to->exists = true;
        from->bytes = 0;
        from->exists = false;
    }
}

static void look_after_files(struct story *story) {
    for (uint32_t rank = 0; rank < story->play.config.ranks; rank++) {
        for (int i = 0; i < NAMES; i++) {
            struct entry *entry = &story->entries[rank][i];
            if (entry->broken || one_in(story, 12)) {
                remove_entry(story, rank, entry);
            } else if (one_in(story, 12)) {
                rename_entry(story, rank, entry, &story->entries[rank][pick(story, 0, NAMES - 1)]);
            }
        }
    }
}

static uint64_t bytes_in_files(const struct story *story) {
    uint64_t sum = 0;
    for (uint32_t rank = 0; rank < RANKS_MAX; rank++) {
        for (int i = 0; i < NAMES; i++) {
            sum += play_blocks(story->entries[rank][i].bytes);
        }
    }
    return sum;
}

static void check_space(struct story *story) {
    assert_true(play_free(&story->play) ==
                story->play.config.capacity_bytes - bytes_in_files(story));
}

/* With everything written back and all freed space told, just the files are mapped. */
static void check_mapped(struct story *story) {
    struct play *play = &story->play;
    play_pause(play, UINT64_C(1000) * PLAY_GB);
    struct drive_stats stats = play_stats(play);
    uint64_t mapped = stats.ftl.mapped_units * play->config.ftl.unit_bytes;
    uint64_t files = bytes_in_files(story);
    bool exact = play->config.ftl.unit_bytes == PLAY_BLOCK && !play->config.used_before &&
                 play->config.discard == DRIVE_DISCARD_DELETE;
    assert_true(mapped >= files);
    assert_true(!exact || mapped == files);
    assert_true(stats.unit_bytes >= stats.host_bytes / PLAY_BLOCK * PLAY_BLOCK);
}

static uint64_t tell(uint64_t seed) {
    struct story *story = calloc(1, sizeof *story);
    story->random = seed;
    struct drive_engine_config config = draw_config(story);
    play_open(&story->play, &config);
    story->play.chunk_bytes = pick(story, 1, 40) * PLAY_BLOCK;
    story->play.depth = pick(story, 1, 4);
    for (uint32_t rank = 0; rank < RANKS_MAX; rank++) {
        for (uint32_t i = 0; i < NAMES; i++) {
            char *path = story->entries[rank][i].path;
            snprintf(path, PLAY_PATH, "%u/%u", i % 2, rank * NAMES + i);
        }
    }
    for (int round = 0; round < ROUNDS; round++) {
        write_files(story);
        check_space(story);
        look_after_files(story);
        check_space(story);
        if (one_in(story, 3)) {
            drive_engine_trim_free(story->play.engine);
        }
        if (one_in(story, 3)) {
            check_mapped(story);
        }
    }
    check_mapped(story);
    uint64_t log = prng_mix(story->play.log ^ engine_now(story->play.engine));
    play_close(&story->play);
    free(story);
    return log;
}

static void stories(void **state) {
    (void)state;
    const char *given = getenv("SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("# SEED=%llu\n", (unsigned long long)seed);
    for (int i = 0; i < STORIES; i++) {
        uint64_t own = prng_next(&seed), log = tell(own);
        if (i % 8 == 0) {
            assert_true(tell(own) == log);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(stories)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
