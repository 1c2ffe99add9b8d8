/* What the main job on a simulated drive costs: the reviews' job (three passes of 1.6 TB
 * checkpoints, 88 % full) on drives of 7.68 to 245.76 TB, written by 8 to 4096 ranks. Each case is
 * a process of its own, so that its memory can be told.
 *
 *   bench_drive [DRIVE]     one drive alone
 *
 * Wall and CPU seconds of everything from the plan to the last pass; peak MB of the process;
 * requests that the drive was given; runs of the drive's map at the end, superblocks collected.
 * Ends with 1 if a bar is missed: 122.88 TB by 8 ranks under 2 s and 300 MB, by 512 ranks under 6
 * s. */
#include "base/check.h"
#include "io/shim.h"
#include "sim/drive/drive_build.h"
#include "sim/job/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECKPOINT_BYTES 1636164354048.0

struct split {
    uint64_t tp, pp, dp;
};

struct bar {
    const char *drive;
    uint32_t ranks;
    double seconds, megabytes;
};

/* What a case tells its parent. */
struct cost {
    double wall_s, cpu_s, peak_mb, host_tb, amplification;
    uint64_t requests, runs, victims;
    uint32_t ranks, checkpoints;
};

struct counter {
    struct shim shim;
    uint64_t requests;
};

static const char *const drives[] = {"x200p-7.68tb", "p5336-61.44tb", "p5336-122.88tb",
                                     "lc9-245.76tb"};
static const struct split splits[] = {{4, 2, 1}, {8, 8, 1}, {8, 64, 1}, {8, 64, 8}};
static const struct bar bars[] = {{"p5336-122.88tb", 8, 2, 300}, {"p5336-122.88tb", 512, 6, 300}};

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void must(enum status status, const struct error *err) {
    if (status != OK) {
        fprintf(stderr, "bench_drive: %s\n", err->text);
        exit(2);
    }
}

static void count_submit(struct engine *engine, struct io_request *request) {
    struct counter *counter = (struct counter *)engine;
    counter->requests++;
    engine_submit(counter->shim.inner, request);
}

/* The same checkpoint, whatever number of ranks it is spread over. */
static void make_plan(const struct split *row, struct arena *arena, struct plan *plan) {
    struct plan_request request = {.model = "llama405b",
                                   .layout = "dlio2",
                                   .tp = row->tp,
                                   .pp = row->pp,
                                   .dp = row->dp,
                                   .scale = 1,
                                   .zero_stage = PLAN_ZERO_DEFAULT};
    struct error err = {0};
    must(plan_build(&request, arena, plan, &err), &err);
    request.scale = CHECKPOINT_BYTES / (double)plan->checkpoint_bytes;
    if (request.scale < 1) {
        must(plan_build(&request, arena, plan, &err), &err);
    }
}

static struct engine *open_drive(const char *name, uint32_t ranks, struct arena *arena) {
    struct drive_config drive = {0};
    struct drive_sheet sheet;
    struct host_config host;
    struct drive_engine_config config;
    struct engine *engine;
    struct error err = {0};
    must(drive_config_read(name, NULL, arena, &drive, &err), &err);
    must(drive_sheet_make(&drive, DRIVE_AS_MEASURED, arena, &sheet, &err), &err);
    must(host_config_read("r760-dlio2", NULL, arena, &host, &err), &err);
    struct drive_choices choices = {.placement = PLACEMENT_EXT4,
                                    .buffered = true,
                                    .used_before = true,
                                    .ranks = ranks,
                                    .memory_limit_bytes = UINT64_C(2) << 30,
                                    .seed = 1};
    drive_build(&sheet, &host, &choices, arena, &config);
    must(drive_engine_open(&config, &engine, &err), &err);
    return engine;
}

static void run_case(const char *drive, const struct split *row, struct cost *cost) {
    struct arena arena = {0};
    struct plan plan;
    struct shards shards;
    struct result result = {.arena = &arena};
    struct recorder recorder;
    struct counter counter = {0};
    struct drive_stats stats;
    struct error err = {0};
    double begin = now_s();
    make_plan(row, &arena, &plan);
    shards_raw(&plan, &arena, &shards);
    struct engine *engine = open_drive(drive, plan.ranks, &arena);
    shim_init(&counter.shim, engine);
    counter.shim.ops.submit = count_submit;
    struct job_config config = {.fill = {.share = 0.88}, .passes = 3};
    struct engine_config io = {.ranks = plan.ranks,
                               .chunk_bytes = UINT64_C(1) << 30,
                               .queue_depth = 2,
                               .payload = {.compressible = 1, .dedupe = 1}};
    struct job job = {.config = &config,
                      .io = &io,
                      .shards = &shards,
                      .engine = &counter.shim.base,
                      .recorder = &recorder,
                      .arena = &arena,
                      .run_id = "bench"};
    recorder_init(&recorder, &result, plan.ranks, &arena);
    job_init(&job);
    must(job_run(&job, &err), &err);
    job_fini(&job);
    drive_engine_stats(engine, &stats);
    *cost = (struct cost){.wall_s = now_s() - begin,
                          .requests = counter.requests,
                          .runs = stats.ftl.runs,
                          .victims = stats.ftl.victims,
                          .host_tb = (double)stats.host_bytes / 1e12,
                          .ranks = plan.ranks,
                          .amplification = (double)(stats.unit_bytes + stats.gc_bytes) /
                                           (double)stats.host_bytes,
                          .checkpoints = result.checkpoint_count};
    engine_close(engine);
    result_fini(&result);
    arena_fini(&arena);
}

/* In a child, whose peak memory is its own. */
static struct cost measure(const char *drive, const struct split *row) {
    int channel[2];
    struct cost cost = {0};
    struct rusage usage;
    int status;
    if (pipe(channel) != 0) {
        perror("bench_drive: pipe");
        exit(2);
    }
    pid_t child = fork();
    if (child == 0) {
        run_case(drive, row, &cost);
        _exit(write(channel[1], &cost, sizeof cost) == sizeof cost ? 0 : 2);
    }
    close(channel[1]);
    bool told = child > 0 && read(channel[0], &cost, sizeof cost) == sizeof cost;
    close(channel[0]);
    if (!told || wait4(child, &status, 0, &usage) != child || status != 0) {
        fprintf(stderr, "bench_drive: %s failed\n", drive);
        exit(2);
    }
    cost.cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    cost.peak_mb = (double)usage.ru_maxrss * 1024 / 1e6;
    return cost;
}

/* CPU seconds: others may use the machine at the same time. */
static bool meets(const char *drive, const struct cost *cost) {
    for (size_t i = 0; i < COUNT_OF(bars); i++) {
        bool own = strcmp(bars[i].drive, drive) == 0 && bars[i].ranks == cost->ranks;
        if (own && (cost->cpu_s > bars[i].seconds || cost->peak_mb > bars[i].megabytes)) {
            printf("  MISSED: at most %.0f s and %.0f MB\n", bars[i].seconds, bars[i].megabytes);
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv) {
    bool good = true;
    printf("%-16s %5s %6s %8s %7s %7s %8s %10s %9s %8s %6s\n", "drive", "ranks", "ckpts", "TB",
           "wall s", "CPU s", "peak MB", "requests", "runs", "victims", "WA");
    for (size_t i = 0; i < COUNT_OF(drives); i++) {
        for (size_t k = 0; k < COUNT_OF(splits); k++) {
            if (argc > 1 && strcmp(argv[1], drives[i]) != 0) {
                continue;
            }
            struct cost cost = measure(drives[i], &splits[k]);
            printf("%-16s %5u %6u %8.1f %7.2f %7.2f %8.0f %10llu %9llu %8llu %6.3f\n", drives[i],
                   cost.ranks, cost.checkpoints, cost.host_tb, cost.wall_s, cost.cpu_s,
                   cost.peak_mb, (unsigned long long)cost.requests, (unsigned long long)cost.runs,
                   (unsigned long long)cost.victims, cost.amplification);
            fflush(stdout);
            good = meets(drives[i], &cost) && good;
        }
    }
    return good ? 0 : 1;
}
