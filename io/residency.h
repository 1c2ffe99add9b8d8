#ifndef CKPTSIM_IO_RESIDENCY_H
#define CKPTSIM_IO_RESIDENCY_H

#include <stdint.h>

/* How many bytes of an open file are in the page cache, in whole pages: by cachestat (Linux 6.5), or
 * page by page with mincore where the kernel does not know it. Returns 0 or an errno: EPERM where the
 * kernel does not tell, which it does only to those who own a file or may write it. */
int residency_bytes(int fd, uint64_t *bytes);

/* The same with mincore alone. */
int residency_bytes_mincore(int fd, uint64_t *bytes);

#endif
