#ifndef CKPTSIM_SIM_DRIVE_QUEUE_STATIONS_H
#define CKPTSIM_SIM_DRIVE_QUEUE_STATIONS_H

#include "sim/drive/drive_sheet.h"
#include "sim/drive/queue_depth.h"

#include <stdint.h>

/* The stations of a drive, from its sheet. Two times are fitted to the sheet, as nothing else tells
 * them: a command takes the controller as long as the rate of small random reads says, and what
 * the stations leave of the latency of one request alone is the fixed delay. Both are the
 * measured ones where the sheet is as measured. Of the channels only the sum is known.
 *
 * amplification: bytes programmed per byte of whole units, so at least 1. host_ps: what the host's
 * CPU takes per request, which is part of the latencies. */
void queue_stations(const struct drive_sheet *sheet, double amplification, uint64_t host_ps,
                    struct queue_drive *stations);

#endif
