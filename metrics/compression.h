#ifndef CKPTSIM_METRICS_COMPRESSION_H
#define CKPTSIM_METRICS_COMPRESSION_H

#include "metrics/result.h"

/* What compression did to a checkpoint or a pass, and whether it or the drive set the pace. All NAN
 * and NULL without a codec. */
struct compression {
    double ratio;                   /* bytes over stored bytes */
    double stored_bytes_per_second; /* that the drive got */
    /* How long compressing took over the time that workers had for it: the ranks' own times, shared
     * where there are fewer workers than ranks (times codec_workers / ranks). Waiting for a CPU counts,
     * since that is the compressors' too. */
    double share;
    /* "compression" where the share is half or more, else "drive": what workers do not spend on
     * compression they spend waiting in writes and fsync, but for payload_share. */
    const char *limit;
};

struct compression compression_of_checkpoint(const struct result *result,
                                             const struct checkpoint_record *record);
struct compression compression_of_pass(const struct result *result,
                                       const struct pass_record *record);

#endif
