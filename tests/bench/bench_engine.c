/* Writes as many files as there are writers through the engine contract, syncs and closes them, and
 * prints what it took. Compared with other tools by tests/bench/run.
 *
 *   bench_engine ENGINE DIR --writers N --size BYTES --chunk BYTES --depth N --direct 0|1|2
 *                [--dontcache 0|1] [--no-sync]
 *
 *   wall_s=... cpu_s=... opened_cpu_s=... direct=on dontcache=off huge_pages=...
 *
 * cpu_s is the whole process, from its start on; wall_s runs from the first open to the last close.
 */
#include "base/check.h"
#include "base/memory.h"
#include "base/units.h"
#include "io/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct bench {
    struct engine *engine;
    struct engine_config config;
    uint64_t size_bytes;
    struct bench_writer *writers;
};

enum bench_step { BENCH_OPEN, BENCH_WRITE, BENCH_SYNC, BENCH_CLOSE, BENCH_DONE };

struct bench_writer {
    struct io_file file;
    char path[32];
    enum bench_step step;
    uint64_t next_offset;
    uint64_t under_way;
    struct io_request *slots;
};

static void fail(const char *text) {
    fprintf(stderr, "bench_engine: %s\n", text);
    exit(1);
}

static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void submit(struct bench *bench, struct bench_writer *writer, struct io_request *slot,
                   enum io_op op) {
    *slot = (struct io_request){.op = op, .file = &writer->file};
    slot->rank = (uint32_t)(writer - bench->writers);
    if (op == IO_WRITE) {
        uint64_t left = bench->size_bytes - writer->next_offset;
        slot->offset = writer->next_offset;
        slot->length_bytes = left < bench->config.chunk_bytes ? left : bench->config.chunk_bytes;
        writer->next_offset += slot->length_bytes;
    }
    writer->under_way++;
    engine_submit(bench->engine, slot);
}

/* What a writer does once `slot` is free; false when it has nothing more to do with it. */
static void advance(struct bench *bench, struct bench_writer *writer, struct io_request *slot) {
    if (writer->step == BENCH_WRITE && writer->next_offset < bench->size_bytes) {
        submit(bench, writer, slot, IO_WRITE);
        return;
    }
    if (writer->under_way > 0) {
        return;
    }
    writer->step++;
    if (writer->step == BENCH_SYNC && !bench->config.sync) {
        writer->step++;
    }
    switch (writer->step) {
    case BENCH_WRITE:
        for (uint64_t i = 0; i < bench->config.queue_depth; i++) {
            if (writer->next_offset < bench->size_bytes) {
                submit(bench, writer, &writer->slots[i], IO_WRITE);
            }
        }
        break;
    case BENCH_SYNC: submit(bench, writer, slot, IO_SYNC); break;
    case BENCH_CLOSE: submit(bench, writer, slot, IO_CLOSE); break;
    case BENCH_OPEN:
    case BENCH_DONE: break;
    }
}

static void start_writers(struct bench *bench) {
    for (uint32_t i = 0; i < bench->config.ranks; i++) {
        struct bench_writer *writer = &bench->writers[i];
        snprintf(writer->path, sizeof writer->path, "shard-%u", i);
        writer->file.path = writer->path;
        writer->file.size_bytes = bench->size_bytes;
        writer->file.stream = payload_stream(&bench->config.payload, 1, i, 0);
        writer->slots = mem_new(bench->config.queue_depth, sizeof writer->slots[0]);
        submit(bench, writer, &writer->slots[0], IO_OPEN);
    }
}

static double run(struct bench *bench) {
    uint64_t begin_ns = engine_now(bench->engine);
    start_writers(bench);
    uint64_t left = bench->config.ranks;
    while (left > 0) {
        struct io_request *request = engine_wait(bench->engine, NS_PER_SECOND);
        if (request == NULL) {
            continue;
        }
        if (request->error != 0) {
            fail(error_words(request->error));
        }
        struct bench_writer *writer = &bench->writers[request->rank];
        writer->under_way--;
        advance(bench, writer, request);
        left -= writer->step == BENCH_DONE;
    }
    return (double)(engine_now(bench->engine) - begin_ns) / 1e9;
}

static void remove_files(const struct bench *bench) {
    for (uint32_t i = 0; i < bench->config.ranks; i++) {
        folder_remove(bench->config.folder, bench->writers[i].path);
        mem_free(bench->writers[i].slots);
    }
    mem_free(bench->writers);
}

static uint64_t option(int argc, char **argv, const char *name, uint64_t fallback) {
    for (int i = 3; i + 1 < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return strtoull(argv[i + 1], NULL, 10);
        }
    }
    return fallback;
}

static const char *fact_text(const struct facts *facts, const char *key) {
    const struct fact *fact = facts_get(facts, key);
    return fact == NULL || fact->text == NULL ? "-" : fact->text;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fail("bench_engine ENGINE DIR [--writers N] [--size BYTES] ...");
    }
    struct arena arena = {0};
    struct folder folder;
    struct error err;
    if (folder_create(argv[2], "bench", &arena, &folder, &err) != OK) {
        fail(err.text);
    }
    struct bench bench = {.size_bytes = option(argc, argv, "--size", UINT64_C(1) << 29)};
    bench.config = (struct engine_config){
        .ranks = (uint32_t)option(argc, argv, "--writers", 8),
        .chunk_bytes = option(argc, argv, "--chunk", 8 << 20),
        .queue_depth = option(argc, argv, "--depth", 2),
        .direct = (int)option(argc, argv, "--direct", IO_DIRECT_AUTO),
        .dontcache = (int)option(argc, argv, "--dontcache", IO_DONTCACHE_AUTO),
        .preallocate = option(argc, argv, "--preallocate", 1) != 0,
        .sync = option(argc, argv, "--sync", 1) != 0,
        .payload = {.seed = option(argc, argv, "--seed", 1), .compressible = 1, .dedupe = 1},
        .folder = &folder,
    };
    bench.writers = mem_new(bench.config.ranks, sizeof bench.writers[0]);
    if (engine_open(argv[1], &bench.config, &bench.engine, &err) != OK) {
        folder_remove_self(&folder);
        fail(err.text);
    }
    double opened_cpu = cpu_seconds();
    double wall = run(&bench);
    struct facts facts = {.arena = &arena};
    bench.engine->ops->facts(bench.engine, &facts);
    engine_close(bench.engine);
    printf("wall_s=%.4f cpu_s=%.4f opened_cpu_s=%.4f direct=%s dontcache=%s huge_pages=%s\n", wall,
           cpu_seconds(), opened_cpu, fact_text(&facts, "direct"), fact_text(&facts, "dontcache"),
           fact_text(&facts, "huge_pages"));
    remove_files(&bench);
    folder_remove_self(&folder);
    arena_fini(&arena);
    return 0;
}
