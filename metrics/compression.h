#ifndef CKPTSIM_METRICS_COMPRESSION_H
#define CKPTSIM_METRICS_COMPRESSION_H

#include "metrics/result.h"

/* What compression did to a checkpoint or a pass, and whether it or the drive set the pace. All NAN
 * and NULL without a codec. */
struct compression {
    double ratio;                   /* bytes over stored bytes */
    double stored_bytes_per_second; /* that the drive got */
    /* CPU time for compression over what there was for it: the ranks' own times, as far as they find a
     * processor each (min(1, codec_workers / ranks) of them). So many compressors at work at the same
     * time, with a drive that takes no time, would need this part of the time that was taken. */
    double share;
    /* "compression" where the share is half or more, else "drive": what the workers did not spend on
     * compression they spent waiting for the drive, but for payload_share. */
    const char *limit;
};

struct compression compression_of_checkpoint(const struct result *result,
                                             const struct checkpoint_record *record);
struct compression compression_of_pass(const struct result *result,
                                       const struct pass_record *record);

#endif
