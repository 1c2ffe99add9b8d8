#ifndef CKPTSIM_IO_MEMORY_LIMIT_H
#define CKPTSIM_IO_MEMORY_LIMIT_H

#include <stdint.h>

/* Bytes of memory that this process may still take: what the machine has free, within the limits of
 * its control group and of its address space, less a tenth to live on. UINT64_MAX where nothing is
 * known. */
uint64_t memory_limit_available(void);

#endif
