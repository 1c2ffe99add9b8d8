#ifndef CKPTSIM_SIM_DRIVE_FTL_SPAN_H
#define CKPTSIM_SIM_DRIVE_FTL_SPAN_H

#include <stdint.h>

/* The units that bytes [offset, offset + length) touch. Those they cover only in part must be read
 * before they can be written: at most the first and the last. */
struct ftl_span {
    uint64_t first_unit, units, partial_units;
};

static inline struct ftl_span ftl_span(uint64_t offset, uint64_t length, uint32_t unit_bytes) {
    if (length == 0) {
        return (struct ftl_span){.first_unit = offset / unit_bytes};
    }
    uint64_t end = offset + length, last = (end - 1) / unit_bytes;
    struct ftl_span span = {.first_unit = offset / unit_bytes};
    span.units = last - span.first_unit + 1;
    uint64_t head = offset % unit_bytes != 0, tail = end % unit_bytes != 0;
    span.partial_units = span.units == 1 ? (head | tail) : head + tail;
    return span;
}

#endif
