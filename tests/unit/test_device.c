/* Machine, file system, device and drive counters, against trees and log pages made by hand: no
 * machine has all the devices at hand. A tree lives in a temporary folder that stands for "/". */
#include "io/device.h"
#include "io/machine.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

static struct arena arena;
static struct facts facts;
static char root[] = "/tmp/ckptsim_test_XXXXXX";

static int setup(void **state) {
    (void)state;
    facts = (struct facts){.arena = &arena};
    return mkdtemp(strcpy(root, "/tmp/ckptsim_test_XXXXXX")) != NULL ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *ftw) {
    (void)info, (void)kind, (void)ftw;
    return remove(path);
}

static int teardown(void **state) {
    (void)state;
    arena_fini(&arena);
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_parents(char *path) {
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(path, 0755);
        *at = '/';
    }
}

static void put(const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s%s", root, name);
    make_parents(path);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    fputs(text, stream);
    fclose(stream);
}

static void put_link(const char *name, const char *target) {
    char path[512];
    snprintf(path, sizeof path, "%s%s", root, name);
    make_parents(path);
    assert_int_equal(symlink(target, path), 0);
}

/* An NVMe drive 259:0 with a partition 259:1, and a mapped device 252:0 on that partition. */
static void put_nvme(void) {
    put("/sys/devices/nvme0n1/size", "15002931888\n");
    put("/sys/devices/nvme0n1/queue/rotational", "0\n");
    put("/sys/devices/nvme0n1/queue/scheduler", "[none] mq-deadline kyber\n");
    put("/sys/devices/nvme0n1/device/model", "Pascari X200P          \n");
    put("/sys/devices/nvme0n1/stat", "1 2 3 4 5 6 7000 8 9\n");
    put("/sys/devices/nvme0n1/nvme0n1p1/partition", "1\n");
    put("/sys/devices/nvme0n1/nvme0n1p1/stat",
        "       1        2     3    4  5 6  2000 8 9 10 11\n");
    put("/sys/devices/dm-0/slaves/nvme0n1p1", "");
    put("/sys/devices/dm-0/stat", "0 0 0 0 0 0 3 0 0\n");
    put_link("/sys/dev/block/259:0", "../../devices/nvme0n1");
    put_link("/sys/dev/block/259:1", "../../devices/nvme0n1/nvme0n1p1");
    put_link("/sys/dev/block/252:0", "../../devices/dm-0");
    put_link("/sys/class/block/nvme0n1", "../../devices/nvme0n1");
    put_link("/sys/class/block/nvme0n1p1", "../../devices/nvme0n1/nvme0n1p1");
    put_link("/sys/class/block/dm-0", "../../devices/dm-0");
}

static const char *fact(const char *key) {
    const struct fact *found = facts_get(&facts, key);
    return found != NULL ? found->text : NULL;
}

static uint64_t number(const char *key) {
    const struct fact *found = facts_get(&facts, key);
    return found != NULL && found->text == NULL ? found->number : UINT64_MAX;
}

static void a_partition_leads_to_its_drive(void **state) {
    (void)state;
    struct device device;
    put_nvme();
    device_find_number(&device, root, 259, 1);
    assert_true(device.found);
    assert_string_equal(device.name, "nvme0n1p1");
    assert_string_equal(device.disk, "nvme0n1");
    assert_int_equal(device_written_bytes(&device), 2000 * 512);
    device_facts(&device, &facts);
    assert_string_equal(fact("name"), "nvme0n1p1");
    assert_string_equal(fact("disk"), "nvme0n1");
    assert_string_equal(fact("model"), "Pascari X200P");
    assert_int_equal(number("size_bytes"), UINT64_C(7681501126656));
    assert_string_equal(fact("rotational"), "no");
    assert_string_equal(fact("scheduler"), "none");
    assert_null(fact("counters_missing"));
}

static void a_whole_drive_is_its_own_disk(void **state) {
    (void)state;
    struct device device;
    put_nvme();
    device_find_number(&device, root, 259, 0);
    assert_string_equal(device.name, "nvme0n1");
    assert_string_equal(device.disk, "nvme0n1");
    assert_int_equal(device_written_bytes(&device), 7000 * 512);
}

static void a_mapped_device_leads_down(void **state) {
    (void)state;
    struct device device;
    put_nvme();
    device_find_number(&device, root, 252, 0);
    assert_string_equal(device.name, "dm-0");
    assert_string_equal(device.disk, "nvme0n1");
    assert_int_equal(device_written_bytes(&device), 3 * 512);
    /* Two below it: which one the bytes go to cannot be told, so it stays by itself. */
    put("/sys/devices/dm-0/slaves/sdb", "");
    device_find_number(&device, root, 252, 0);
    assert_string_equal(device.disk, "dm-0");
}

static void what_is_missing_has_a_reason(void **state) {
    (void)state;
    struct device device;
    struct nvme_health health;
    put_nvme();
    device_find_number(&device, root, 8, 1);
    assert_false(device.found);
    assert_true(device_written_bytes(&device) == DEVICE_UNKNOWN);
    device_facts(&device, &facts);
    assert_string_equal(fact("counters_missing"), "'/sys/dev/block/8:1' does not exist");
    device_read_health(&device, &health);
    assert_string_equal(health.media_missing, "'/sys/dev/block/8:1' does not exist");
    put("/sys/devices/nvme0n1/stat", "1 2 3\n");
    device_find_number(&device, root, 259, 0);
    assert_true(device_written_bytes(&device) == DEVICE_UNKNOWN);
    facts.count = 0;
    device_facts(&device, &facts);
    assert_string_equal(fact("counters_missing"), "'nvme0n1' has no statistics");
    device_find(&device, root, "/nonexistent");
    assert_string_equal(device.missing, "'/nonexistent' does not exist");
}

static void a_mount_names_its_device(void **state) {
    (void)state;
    struct machine_mount mount;
    char line[512], odd[300], folder[300];
    snprintf(odd, sizeof odd, "%s/a b", root);
    snprintf(folder, sizeof folder, "%s/a b/c", root);
    mkdir(odd, 0755);
    mkdir(folder, 0755);
    snprintf(
        line, sizeof line,
        "0 0 0:2 / / rw - rootfs rootfs rw\n" /* mounted over: the later line is right */
        "1 0 0:99 / / rw,relatime shared:1 - btrfs /dev/nvme0n1p1 rw,compress=zstd\n"
        "not a mount\n"
        "2 1 0:98 / %s/a\\040b rw,noatime shared:2 master:1 - nfs4 server:/x\\040y rw,vers=4\n",
        root);
    put("/proc/self/mountinfo", line);
    assert_true(machine_find_mount(root, folder, &mount));
    assert_string_equal(mount.point, odd);
    assert_string_equal(mount.type, "nfs4");
    assert_string_equal(mount.source, "server:/x y");
    assert_string_equal(mount.options, "rw,noatime");
    assert_string_equal(mount.super_options, "rw,vers=4");
    assert_true(machine_find_mount(root, "/", &mount));
    assert_string_equal(mount.type, "btrfs");
    assert_false(machine_find_mount(root, "/nonexistent/path", &mount));
}

/* A mount that was mounted over lies deeper than the one a path is really on; the number tells. */
static void the_device_number_wins_over_depth(void **state) {
    (void)state;
    struct machine_mount mount;
    struct stat info;
    char line[512];
    assert_int_equal(stat(root, &info), 0);
    snprintf(line, sizeof line,
             "1 0 %u:%u / / rw - right /dev/one rw\n2 1 0:98 / %s rw - hidden none rw\n",
             major(info.st_dev), minor(info.st_dev), root);
    put("/proc/self/mountinfo", line);
    assert_true(machine_find_mount(root, root, &mount));
    assert_string_equal(mount.type, "right");
}

static void facts_of_a_machine(void **state) {
    (void)state;
    put("/proc/cpuinfo",
        "processor\t: 0\nmodel\t\t: 143\nmodel name\t: Gold 6430\nmodel name\t: x\n");
    put("/proc/meminfo", "MemTotal:       32000 kB\nMemFree:  1 kB\n");
    machine_facts(root, &facts);
    assert_string_equal(fact("cpu_model"), "Gold 6430");
    assert_int_equal(number("memory_bytes"), 32000 * 1024);
    assert_non_null(fact("hostname"));
    assert_non_null(fact("kernel"));
    assert_true(number("cpus") >= 1);
    assert_int_equal(strncmp(fact("build"), CKPTSIM_VERSION, strlen(CKPTSIM_VERSION)), 0);
}

static void facts_of_this_file_system(void **state) {
    (void)state;
    machine_file_system_facts("", "/proc", &facts);
    assert_string_equal(fact("type"), "proc");
    assert_string_equal(fact("mount_point"), "/proc");
    facts.count = 0;
    machine_file_system_facts("", root, &facts);
    assert_true(number("size_bytes") > 0 && number("size_bytes") != UINT64_MAX);
    assert_true(number("free_bytes") <= number("size_bytes"));
    struct device device;
    device_find(&device, "", "/proc");
    assert_false(device.found);
    assert_string_equal(device.missing, "proc has no block device");
}

/* 02h: 313 K, 7 % used, 1000 data units. C0h: 2^40 + 5 bytes and the GUID. */
static void fill_logs(uint8_t *smart, uint8_t *ocp) {
    static const uint8_t guid[16] = {0xc5, 0xaf, 0x10, 0x28, 0xea, 0xbf, 0xf2, 0xa4,
                                     0x9c, 0x4f, 0x6f, 0x7c, 0xc9, 0x14, 0xd5, 0xaf};
    memset(smart, 0, NVME_HEALTH_LOG_BYTES);
    memset(ocp, 0, NVME_HEALTH_LOG_BYTES);
    smart[1] = 0x39;
    smart[2] = 0x01;
    smart[5] = 7;
    smart[48] = 0xe8;
    smart[49] = 0x03;
    ocp[0] = 5;
    ocp[5] = 1;
    memcpy(ocp + 496, guid, sizeof guid);
}

static void log_pages(void **state) {
    (void)state;
    uint8_t smart[NVME_HEALTH_LOG_BYTES], ocp[NVME_HEALTH_LOG_BYTES];
    struct nvme_health health = {0};
    fill_logs(smart, ocp);
    assert_true(nvme_health_parse_smart(smart, &health));
    assert_true(nvme_health_parse_ocp(ocp, &health));
    assert_int_equal(health.temperature_kelvin, 313);
    assert_int_equal(health.percentage_used, 7);
    assert_int_equal(health.host_written_bytes, 512000000);
    assert_int_equal(health.media_written_bytes, (UINT64_C(1) << 40) + 5);
}

static void wrong_log_pages(void **state) {
    (void)state;
    uint8_t smart[NVME_HEALTH_LOG_BYTES], ocp[NVME_HEALTH_LOG_BYTES];
    struct nvme_health health = {0};
    fill_logs(smart, ocp);
    for (int i = 0; i < 16; i++) {
        ocp[496 + i] ^= 1;
        assert_false(nvme_health_parse_ocp(ocp, &health));
        assert_string_equal(health.media_missing, "the drive's log page C0h is not the OCP one");
        ocp[496 + i] ^= 1;
    }
    ocp[8] = 1; /* 2^64 and more */
    assert_false(nvme_health_parse_ocp(ocp, &health));
    smart[63] = 1;
    assert_false(nvme_health_parse_smart(smart, &health));
    smart[63] = 0;
    memset(smart + 48, 0xff, 8); /* times 512,000 it does not fit */
    assert_false(nvme_health_parse_smart(smart, &health));
    assert_false(health.smart_known);
}

static struct nvme_health reading(uint64_t host, uint64_t media) {
    return (struct nvme_health){.smart_known = true,
                                .media_known = true,
                                .percentage_used = 3,
                                .temperature_kelvin = 320,
                                .host_written_bytes = host,
                                .media_written_bytes = media};
}

static void a_run_has_its_difference(void **state) {
    (void)state;
    struct nvme_health before = reading(1000000000, 5000000000);
    struct nvme_health after = reading(3000000000, 9600000000);
    device_run_facts(&before, &after, &facts);
    assert_int_equal(number("host_written_bytes"), 2000000000);
    assert_int_equal(number("media_written_bytes"), 4600000000);
    assert_int_equal(number("percentage_used"), 3);
    assert_int_equal(number("temperature_kelvin"), 320);
    assert_null(fact("write_amplification_missing"));
}

static void a_run_without_one_says_why(void **state) {
    (void)state;
    struct nvme_health before = reading(1000, 5000), after = reading(3000, 9600);
    device_run_facts(&before, &after, &facts);
    assert_non_null(strstr(fact("write_amplification_missing"), "less than 1 GB"));
    facts.count = 0;
    device_run_facts(&after, &before, &facts);
    assert_non_null(strstr(fact("write_amplification_missing"), "backwards"));
    facts.count = 0;
    after = reading(UINT64_C(4000000000), 9600);
    after.media_known = false;
    snprintf(after.media_missing, sizeof after.media_missing, "no page");
    device_run_facts(&before, &after, &facts);
    assert_string_equal(fact("write_amplification_missing"), "no page");
    assert_int_equal(number("percentage_used"), 3);
    assert_int_equal(number("host_written_bytes"), UINT64_MAX);
}

static void a_drive_that_cannot_be_opened(void **state) {
    (void)state;
    struct device device = {.root = "", .found = true, .name = "nvme9n9", .disk = "nvme9n9"};
    struct nvme_health health;
    if (access("/dev/nvme9n9", F_OK) == 0) {
        skip();
    }
    device_read_health(&device, &health);
    assert_false(health.smart_known || health.media_known);
    assert_string_equal(health.smart_missing,
                        "cannot open '/dev/nvme9n9': no such file or directory");
    snprintf(device.disk, sizeof device.disk, "vda");
    device_read_health(&device, &health);
    assert_string_equal(health.media_missing, "'vda' is no NVMe drive");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_partition_leads_to_its_drive),
        CASE(a_whole_drive_is_its_own_disk),
        CASE(a_mapped_device_leads_down),
        CASE(what_is_missing_has_a_reason),
        CASE(a_mount_names_its_device),
        CASE(the_device_number_wins_over_depth),
        CASE(facts_of_a_machine),
        CASE(facts_of_this_file_system),
        CASE(log_pages),
        CASE(wrong_log_pages),
        CASE(a_run_has_its_difference),
        CASE(a_run_without_one_says_why),
        CASE(a_drive_that_cannot_be_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
