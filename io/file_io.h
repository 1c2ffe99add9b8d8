#ifndef CKPTSIM_IO_FILE_IO_H
#define CKPTSIM_IO_FILE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifndef RWF_DONTCACHE /* since Linux 6.14 */
#define RWF_DONTCACHE 0x80
#endif

/* Positioned reads and writes of open files, without the calls that a signal ended. */

/* Until length bytes are there or the file ends; bytes or a negative errno. */
ssize_t file_read(int fd, void *bytes, size_t length, uint64_t offset);

/* One write with RWF_ flags: what the kernel took, or a negative errno. */
ssize_t file_write(int fd, const void *bytes, size_t length, uint64_t offset, int flags);

#endif
