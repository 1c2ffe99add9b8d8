#ifndef CKPTSIM_IO_PAYLOAD_KERNEL_H
#define CKPTSIM_IO_PAYLOAD_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The inner loops of payload, once per instruction set. All of them make the same bytes and the
 * same sums; only io/payload.c and its tests call them. */

enum {
    PAYLOAD_LANES = 8,  /* 64-bit lanes of a block: word w of it belongs to lane w % 8 */
    PAYLOAD_STEPS = 64, /* steps of a block; PAYLOAD_LANES x PAYLOAD_STEPS x 8 bytes are a block */
    PAYLOAD_ROTATE = 29,
    PAYLOAD_FOLD_BYTES = 128,
};

#define PAYLOAD_STEP_KEY UINT64_C(0x9e3779b97f4a7c15)

/* Where a run of whole blocks lies: block i of it has the content of `content + i` and is summed as
 * block `index + i`. The two differ only under dedupe. */
struct payload_run {
    uint64_t stream;
    uint64_t content, index;
    size_t blocks;
};

struct payload_kernel {
    const char *name;
    bool (*usable)(void);
    /* Writes the random blocks of a run and returns their sum. */
    uint64_t (*fill)(const struct payload_run *run, uint8_t *buffer);
    /* The same, with PAYLOAD_FOLD_BYTES that have the run's CRC-32, were that without the ones
     * before and after; NULL where nothing is gained over reading the blocks again. */
    uint64_t (*fill_folded)(const struct payload_run *run, uint8_t *buffer, uint8_t *folded);
    /* The sum of whole blocks in memory, the first one being block `index`. */
    uint64_t (*sum)(uint64_t index, size_t blocks, const uint8_t *buffer);
};

/* The best first; the last one runs everywhere and ends the table. */
extern const struct payload_kernel payload_kernels[];
extern const size_t payload_kernel_count;

const struct payload_kernel *payload_kernel_best(void);

/* Fills a run and returns its sum. crc, unless NULL, goes on over it: from the CRC-32 of what comes
 * before to that of what ends with this run. */
uint64_t payload_kernel_fill(const struct payload_kernel *kernel, const struct payload_run *run,
                             uint8_t *buffer, uint32_t *crc);

/* A block's sum from the eight hash lanes at its end. */
uint64_t payload_fold(uint64_t index, const uint64_t lanes[PAYLOAD_LANES]);

#endif
