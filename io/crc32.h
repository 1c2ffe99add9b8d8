#ifndef CKPTSIM_IO_CRC32_H
#define CKPTSIM_IO_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32 as zip files hold it (polynomial 0x04c11db7, bits reflected, ones before and after). The
 * CRC-32 of no bytes is 0. Parts may be made apart and in any order, since with A before B
 *
 *   crc(A B) = crc32_shift(crc(A), length of B) ^ crc(B)
 *
 * so that a whole is the exclusive or, over its parts, of crc32_shift(part, bytes that follow). */

/* Of bytes that follow others whose CRC-32 is given; 0 where there are none. */
uint32_t crc32_more(uint32_t crc, const void *bytes, size_t length);

/* What a part adds to the CRC-32 of a whole in which `following` bytes come after it. */
uint32_t crc32_shift(uint32_t crc, uint64_t following);

/* Of length zero bytes, without reading any. */
uint32_t crc32_zeros(uint64_t length);

#endif
