#include "metrics/compression.h"

#include <math.h>

static const double limiting_share = 0.5;

static double ratio(double part, double whole) { return whole > 0 ? part / whole : NAN; }

/* Workers for each rank. */
static double workers_per_rank(const struct result_plan *plan) {
    return plan->codec_workers < plan->ranks
               ? (double)plan->codec_workers / (double)plan->ranks
               : 1;
}

static struct compression describe(const struct result *result, uint64_t bytes,
                                   uint64_t stored_bytes, uint64_t wall_ns, uint64_t rank_ns,
                                   uint64_t duration_ns) {
    struct compression compression = {NAN, NAN, NAN, NULL};
    if (stored_bytes == RESULT_UNKNOWN || wall_ns == RESULT_UNKNOWN) {
        return compression;
    }
    compression.ratio = ratio((double)bytes, (double)stored_bytes);
    compression.stored_bytes_per_second = ratio((double)stored_bytes, (double)duration_ns / 1e9);
    compression.share =
        ratio((double)wall_ns, (double)rank_ns * workers_per_rank(&result->plan));
    if (isfinite(compression.share)) {
        compression.limit = compression.share >= limiting_share ? "compression" : "drive";
    }
    return compression;
}

struct compression compression_of_checkpoint(const struct result *result,
                                             const struct checkpoint_record *record) {
    return describe(result, record->bytes, record->stored_bytes, record->compress_wall_ns_sum,
                    record->rank_ns_sum, record->duration_ns);
}

struct compression compression_of_pass(const struct result *result,
                                       const struct pass_record *record) {
    return describe(result, record->bytes, record->stored_bytes, record->compress_wall_ns_sum,
                    record->rank_ns_sum, record->duration_ns_sum);
}
