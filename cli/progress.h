#ifndef CKPTSIM_CLI_PROGRESS_H
#define CKPTSIM_CLI_PROGRESS_H

#include "sim/job/job.h"

#include <stdbool.h>

/* One line on a terminal, redrawn a few times a second: pass, checkpoint, bytes, GB/s now and mean,
 * time left, fill level, the rank furthest behind. It goes to standard error and is gone when
 * something else is printed. */

struct progress {
    bool on;                      /* standard error is a terminal */
    bool shown;
    uint64_t checkpoints_per_pass; /* estimate */
    uint64_t written_bytes;       /* by checkpoints that ended in this process */
    uint64_t written_ns;          /* their durations */
    uint64_t done;                /* checkpoints that ended, earlier process included */
    uint64_t last_bytes, last_ns; /* of the last draw, for the rate now */
    double now_rate;
};

void progress_draw(struct progress *progress, const struct job_progress *job);
/* Takes the line away so that other text can be printed. */
void progress_clear(struct progress *progress);
void progress_read(struct progress *progress, const struct read_record *record);
void progress_checkpoint(struct progress *progress, const struct checkpoint_record *record);

#endif
