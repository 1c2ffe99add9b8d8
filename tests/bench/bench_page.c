/* Small random requests on simulated drives, per second of wall time, beside what is known of MQSim
 * (commit 7ec40e3, 2-core machine, medians of three runs): 85,200 4 KiB writes with garbage
 * collection at 28 % over-provisioning, a drive of 8 GiB; 66,000 to 74,000 4 KiB reads at queue
 * depths 1 to 256.
 *
 *   bench_page
 *
 * Ends with 1 if the writes are not at least ten times as fast. */
#include "base/check.h"
#include "sim/drive/page_ftl.h"
#include "sim/drive/queue_depth.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { RUNS = 3, UNIT = 4096, RAW_UNITS = 1 << 21, SUPERBLOCKS = 1024, DIES = 512 };

static const double mqsim_writes = 85200, mqsim_reads = 74000, bar = 10;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void print_machine(void) {
    struct utsname system;
    char line[256], processor[256] = "unknown processor";
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':') != NULL) {
            snprintf(processor, sizeof processor, "%s", strchr(line, ':') + 2);
            processor[strcspn(processor, "\n")] = '\0';
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    uname(&system);
    printf("machine: %ld x %s, %s %s\n", sysconf(_SC_NPROCESSORS_ONLN), processor, system.sysname,
           system.release);
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *values) {
    qsort(values, RUNS, sizeof *values, by_value);
    return values[RUNS / 2];
}

static void fail(const char *text) {
    fprintf(stderr, "bench_page: %s\n", text);
    exit(1);
}

/* Requests a second from the steady state on; the write amplification shows that it is one. */
static double write_run(uint64_t seed, double *amplification) {
    struct page_ftl_config config = {.logical_units = (uint32_t)(RAW_UNITS / 1.28),
                                     .superblocks = SUPERBLOCKS,
                                     .superblock_units = RAW_UNITS / SUPERBLOCKS,
                                     .unit_bytes = UNIT,
                                     .gc_low = 2,
                                     .seed = seed};
    struct page_ftl *ftl;
    struct error err;
    if (page_ftl_open(&config, &ftl, &err) != OK) {
        fail(err.text);
    }
    struct page_workload workload = {
        .requests = config.logical_units, .length_bytes = UNIT, .align_bytes = UNIT};
    page_ftl_precondition(ftl);
    page_ftl_run(ftl, &workload);
    struct page_ftl_stats before = page_ftl_stats(ftl);
    double begin = seconds();
    workload.requests *= 2;
    page_ftl_run(ftl, &workload);
    double rate = (double)workload.requests / (seconds() - begin);
    struct page_ftl_stats after = page_ftl_stats(ftl);
    page_ftl_close(ftl);
    *amplification = 1 + (double)(after.gc_units - before.gc_units) /
                             (double)(after.host_units - before.host_units);
    return rate;
}

static double read_run(uint32_t depth, uint64_t seed) {
    struct queue_depth_config config = {.drive = {.link_bytes_per_s = UINT64_C(7500000000),
                                                  .command_ps = 1050000,
                                                  .read_delay_ps = 25000000,
                                                  .dies = DIES,
                                                  .planes = 1,
                                                  .channels = 16,
                                                  .channel_bytes_per_s = UINT64_C(1200000000),
                                                  .page_bytes = 16384,
                                                  .read_ps = 75000000},
                                        .jobs = 1,
                                        .depth = depth,
                                        .block_bytes = UNIT,
                                        .requests = 1000000,
                                        .seed = seed};
    struct queue_depth_result result;
    struct error err;
    double begin = seconds();
    if (queue_depth_run(&config, &result, &err) != OK) {
        fail(err.text);
    }
    return (double)config.requests / (seconds() - begin);
}

int main(void) {
    static const uint32_t depths[] = {1, 16, 64, 256};
    double rates[RUNS], amplification = 0;
    print_machine();
    for (int i = 0; i < RUNS; i++) {
        rates[i] = write_run((uint64_t)i + 1, &amplification);
    }
    double writes = median(rates);
    printf("4 KiB random write, 8 GiB raw, spare 28 %%, page by page: %.0f requests/s, write "
           "amplification %.2f; MQSim %.0f; %.1f times\n",
           writes, amplification, mqsim_writes, writes / mqsim_writes);
    for (size_t k = 0; k < COUNT_OF(depths); k++) {
        for (int i = 0; i < RUNS; i++) {
            rates[i] = read_run(depths[k], (uint64_t)i + 1);
        }
        double reads = median(rates);
        printf("4 KiB random read, queue depth %u, %d dies, event by event: %.0f requests/s; MQSim "
               "at most %.0f; %.1f times\n",
               depths[k], DIES, reads, mqsim_reads, reads / mqsim_reads);
    }
    bool met = writes >= bar * mqsim_writes;
    printf("%s writes: %.1f times MQSim's (bar: >= %.0f)\n", met ? "met   " : "MISSED",
           writes / mqsim_writes, bar);
    return met ? 0 : 1;
}
