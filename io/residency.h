#ifndef CKPTSIM_IO_RESIDENCY_H
#define CKPTSIM_IO_RESIDENCY_H

#include <stdint.h>

/* How many bytes of an open file are in the page cache, in whole pages: by cachestat (Linux 6.5), or
 * page by page with mincore where the kernel does not know it. Returns 0 or an errno. */
int residency_bytes(int fd, uint64_t *bytes);

/* The same with mincore alone. */
int residency_bytes_mincore(int fd, uint64_t *bytes);

#endif
