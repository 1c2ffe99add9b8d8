#ifndef CKPTSIM_MODELS_MEGATRON_BUFFER_H
#define CKPTSIM_MODELS_MEGATRON_BUFFER_H

#include "models/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* The buffers of Megatron's distributed optimizer: the weights of one chunk of a pipeline stage,
 * dense ones and experts apart, laid end to end and divided among data parallel ranks. */

enum { MEGATRON_BUCKETS = 3 };

struct megatron_bucket {
    uint64_t elements; /* up to the end of the last weight */
    uint64_t padded;   /* to what data parallel ranks divide evenly */
};

struct megatron_buffer {
    struct megatron_bucket buckets[MEGATRON_BUCKETS];
    uint32_t count;    /* zero: the chunk has no such weights */
    uint64_t elements; /* of all buckets, without their padding */
};

struct megatron_buffer megatron_buffer(const struct plan *plan, uint64_t stage, uint64_t chunk,
                                       bool expert);

/* What both layouts of Megatron refuse; distributed: its optimizer is. ERR_USAGE. */
enum status megatron_check(const struct plan *plan, bool distributed, struct error *err);

#endif
