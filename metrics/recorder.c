#include "metrics/recorder.h"

#include "base/check.h"

#include <string.h>

void recorder_init(struct recorder *recorder, struct result *result, uint32_t ranks,
                   struct arena *arena) {
    CHECK(ranks > 0);
    *recorder = (struct recorder){.result = result, .ranks = ranks};
    recorder->rank = arena_new(arena, ranks, sizeof *recorder->rank);
}

void recorder_begin(struct recorder *recorder, uint32_t pass, uint32_t checkpoint,
                    uint64_t start_ns) {
    memset(recorder->rank, 0, recorder->ranks * sizeof *recorder->rank);
    for (uint32_t i = 0; i < recorder->ranks; i++) {
        recorder->rank[i].end_ns = start_ns;
    }
    recorder->write_latency = (struct histogram){0};
    recorder->sync_latency = (struct histogram){0};
    recorder->now = (struct checkpoint_record){.pass = pass,
                                               .checkpoint = checkpoint,
                                               .start_ns = start_ns,
                                               .stored_bytes = RESULT_UNKNOWN,
                                               .compress_ns_sum = RESULT_UNKNOWN,
                                               .compress_wall_ns_sum = RESULT_UNKNOWN,
                                               .commit_ns = RESULT_UNKNOWN,
                                               .removal_ns = RESULT_UNKNOWN,
                                               .stall_ns = RESULT_UNKNOWN,
                                               .blocked_ns = RESULT_UNKNOWN,
                                               .copy_wait_ns = RESULT_UNKNOWN,
                                               .copy_lag_ns = RESULT_UNKNOWN,
                                               .copy_ns = RESULT_UNKNOWN,
                                               .used_bytes = RESULT_UNKNOWN,
                                               .total_bytes = RESULT_UNKNOWN,
                                               .device_bytes = RESULT_UNKNOWN};
}

void recorder_request(struct recorder *recorder, uint32_t rank, enum recorder_op op,
                      uint64_t begin_ns, uint64_t end_ns, uint64_t payload_ns, uint64_t bytes) {
    CHECK(rank < recorder->ranks);
    CHECK(end_ns >= begin_ns);
    struct recorder_rank *own = &recorder->rank[rank];
    uint64_t latency_ns = end_ns - begin_ns;
    if (op == RECORDER_WRITE) {
        histogram_add(&recorder->write_latency, latency_ns);
    } else if (op == RECORDER_SYNC) {
        histogram_add(&recorder->sync_latency, latency_ns);
        own->sync_ns += latency_ns;
    }
    own->payload_ns += payload_ns;
    own->bytes += bytes;
    own->end_ns = end_ns > own->end_ns ? end_ns : own->end_ns;
    recorder->now.bytes += bytes;
}

void recorder_compressed(struct recorder *recorder, uint64_t stored_bytes, uint64_t cpu_ns,
                         uint64_t wall_ns) {
    struct checkpoint_record *now = &recorder->now;
    if (now->stored_bytes == RESULT_UNKNOWN) {
        now->stored_bytes = now->compress_ns_sum = now->compress_wall_ns_sum = 0;
    }
    now->stored_bytes += stored_bytes;
    now->compress_ns_sum += cpu_ns;
    now->compress_wall_ns_sum += wall_ns;
}

void recorder_rank_end(struct recorder *recorder, uint32_t rank, uint64_t end_ns) {
    CHECK(rank < recorder->ranks);
    CHECK(end_ns >= recorder->rank[rank].end_ns);
    recorder->rank[rank].end_ns = end_ns;
    recorder->rank[rank].ended = true;
}

/* Who may be the fastest: a rank that wrote something and finished. One with nothing to write would
 * win always and say nothing. */
static bool may_be_fastest(const struct recorder_rank *rank, bool complete) {
    return rank->bytes > 0 && (rank->ended || !complete);
}

static void add_up_ranks(const struct recorder *recorder, bool complete,
                         struct checkpoint_record *record) {
    uint64_t fastest_ns = UINT64_MAX;
    for (uint32_t i = 0; i < recorder->ranks; i++) {
        const struct recorder_rank *rank = &recorder->rank[i];
        uint64_t own_ns = rank->end_ns - record->start_ns;
        if (own_ns > record->duration_ns) {
            record->duration_ns = own_ns;
            record->slowest_rank = i;
        }
        if (own_ns < fastest_ns && may_be_fastest(rank, complete)) {
            fastest_ns = own_ns;
            record->fastest_rank = i;
        }
        record->rank_ns_sum += own_ns;
        record->sync_ns_sum += rank->sync_ns;
        record->payload_ns_sum += rank->payload_ns;
    }
    record->fastest_ns = fastest_ns != UINT64_MAX ? fastest_ns : 0;
    record->rank0_ns = recorder->rank[0].end_ns - record->start_ns;
}

static bool all_ended(const struct recorder *recorder) {
    return recorder_furthest_behind(recorder) == UINT32_MAX;
}

struct checkpoint_record *recorder_end(struct recorder *recorder, bool complete, const char *note) {
    CHECK(!complete || all_ended(recorder));
    struct result *result = recorder->result;
    struct checkpoint_record *record = result_add_checkpoint(result);
    *record = recorder->now;
    record->complete = complete;
    record->note = note != NULL ? arena_text(result->arena, note) : NULL;
    add_up_ranks(recorder, complete, record);
    histogram_merge(&result->write_latency, &recorder->write_latency);
    histogram_merge(&result->sync_latency, &recorder->sync_latency);
    return record;
}

uint64_t recorder_bytes(const struct recorder *recorder) { return recorder->now.bytes; }

uint32_t recorder_furthest_behind(const struct recorder *recorder) {
    uint32_t behind = UINT32_MAX;
    for (uint32_t i = 0; i < recorder->ranks; i++) {
        if (recorder->rank[i].ended) {
            continue;
        }
        if (behind == UINT32_MAX || recorder->rank[i].bytes < recorder->rank[behind].bytes) {
            behind = i;
        }
    }
    return behind;
}
