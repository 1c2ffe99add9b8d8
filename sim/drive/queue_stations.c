#include "sim/drive/queue_stations.h"

#include "base/check.h"

#include <math.h>

enum { PS_PER_NS = 1000, RATED_BYTES = 4096, SUSPENDS_MAX = 8 };

#define MILLION 1e6
#define PS_PER_SECOND 1e12
/* To stop a program takes 20 to 50 us. */
#define SUSPEND_PS UINT64_C(30000000)

/* The measured figure where the sheet is as measured and has one. */
static uint64_t either(const struct drive_sheet *sheet, const struct figure *stated,
                       const struct figure *measured) {
    bool use = sheet->basis == DRIVE_AS_MEASURED && measured->origin != FIGURE_UNKNOWN;
    return use ? measured->value : stated->value;
}

static double transfer_ps(double bytes, uint64_t bytes_per_s) {
    return bytes / (double)bytes_per_s * PS_PER_SECOND;
}

/* What a channel delivers with parity, commands and decoding is its share of the sequential read
 * rate and a tenth: with that, reads of 16 and 64 KiB, one at a time, take what reviews of three
 * drives measured, within 12 %; at the rate of the bare interface they would be up to 40 % faster.
 */
static uint64_t channel_rate(const struct drive_sheet *sheet) {
    const struct drive_config *drive = &sheet->drive;
    uint64_t share = sheet->read_rate.value / drive->channels.value * 11 / 10;
    return share < drive->channel_rate.value ? share : drive->channel_rate.value;
}

static uint64_t left(double latency_ps, double used_ps) {
    return latency_ps > used_ps ? (uint64_t)(latency_ps - used_ps + 0.5) : 0;
}

/* Of a page's units of a victim, any is valid with the victim's share of valid ones; the page is
 * read unless none is. */
static double copy_pages_per_unit(const struct drive_config *drive, double amplification) {
    double units = (double)drive->page_bytes.value / (double)drive->indirection_unit_bytes.value;
    if (units <= 1) {
        return 1 / units;
    }
    double valid = 1 - 1 / amplification;
    return valid > 0 ? (1 - pow(1 - valid, units)) / (units * valid) : 1;
}

/* A program holds whole units. */
static void set_programs(const struct drive_sheet *sheet, struct queue_drive *stations) {
    const struct drive_config *drive = &sheet->drive;
    uint64_t unit = drive->indirection_unit_bytes.value;
    uint64_t bytes = drive->planes.value * drive->page_bytes.value * sheet->bits_per_cell.value;
    stations->program_bytes = bytes < unit ? unit : bytes / unit * unit;
    double share = (double)stations->program_bytes / (double)bytes;
    stations->program_ps =
        (uint64_t)(share * (double)(drive->program_time_ns.value * PS_PER_NS) + 0.5);
    uint64_t block = drive->planes.value * drive->erase_block_bytes.value;
    stations->programs_per_erase =
        (uint32_t)(block > stations->program_bytes ? block / stations->program_bytes : 1);
    stations->erase_ps = drive->erase_time_ns.value * PS_PER_NS;
}

static void set_delays(const struct drive_sheet *sheet, uint64_t host_ps,
                       struct queue_drive *stations) {
    const struct drive_config *drive = &sheet->drive;
    uint64_t read_ns = either(sheet, &drive->read_latency_ns, &drive->measured.read_latency_ns);
    uint64_t write_ns = either(sheet, &drive->write_latency_ns, &drive->measured.write_latency_ns);
    double link_ps = transfer_ps(RATED_BYTES, sheet->link_rate.value);
    double common_ps = (double)host_ps + (double)stations->command_ps + link_ps;
    double flash_ps =
        (double)stations->read_ps + transfer_ps(RATED_BYTES, stations->channel_bytes_per_s);
    stations->read_delay_ps = left((double)(read_ns * PS_PER_NS), common_ps + flash_ps);
    stations->write_delay_ps = left((double)(write_ns * PS_PER_NS), common_ps);
}

void queue_stations(const struct drive_sheet *sheet, double amplification, uint64_t host_ps,
                    struct queue_drive *stations) {
    CHECK(amplification >= 1);
    const struct drive_config *drive = &sheet->drive;
    uint64_t iops = either(sheet, &drive->random_read_iops, &drive->measured.random_read_iops);
    *stations = (struct queue_drive){
        .link_bytes_per_s = sheet->link_rate.value,
        .command_ps = (uint64_t)(PS_PER_SECOND / (double)iops + 0.5),
        .read_bytes_per_s = sheet->read_rate.value,
        .dies = (uint32_t)drive->dies.value,
        .planes = (uint32_t)drive->planes.value,
        .channels = (uint32_t)drive->channels.value,
        .channel_bytes_per_s = channel_rate(sheet),
        .page_bytes = drive->page_bytes.value,
        .read_ps = drive->read_time_ns.value * PS_PER_NS,
        .program_bytes_per_s = drive->program_rate.value,
        .buffer_bytes = drive->write_buffer_bytes.value,
        .unit_bytes = (uint32_t)drive->indirection_unit_bytes.value,
        .copied_millionths = (uint64_t)((amplification - 1) * MILLION + 0.5),
        .copy_pages_millionths =
            (uint64_t)(copy_pages_per_unit(drive, amplification) * MILLION + 0.5),
        .suspend_ps = SUSPEND_PS,
        .suspends_max = SUSPENDS_MAX,
    };
    set_programs(sheet, stations);
    set_delays(sheet, host_ps, stations);
}
