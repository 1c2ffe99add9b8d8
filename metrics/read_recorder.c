#include "metrics/read_recorder.h"

#include "base/check.h"

#include <string.h>

void read_recorder_init(struct read_recorder *recorder, struct result *result, uint32_t ranks,
                        struct arena *arena) {
    CHECK(ranks > 0);
    *recorder = (struct read_recorder){.result = result, .ranks = ranks};
    recorder->rank = arena_new(arena, ranks, sizeof *recorder->rank);
}

void read_recorder_begin(struct read_recorder *recorder, const struct read_record *record) {
    memset(recorder->rank, 0, recorder->ranks * sizeof *recorder->rank);
    for (uint32_t i = 0; i < recorder->ranks; i++) {
        recorder->rank[i].end_ns = record->start_ns;
    }
    recorder->now = *record;
}

void read_recorder_reached(struct read_recorder *recorder, uint32_t rank, uint64_t end_ns) {
    CHECK(rank < recorder->ranks);
    struct read_recorder_rank *own = &recorder->rank[rank];
    own->end_ns = end_ns > own->end_ns ? end_ns : own->end_ns;
}

void read_recorder_request(struct read_recorder *recorder, uint32_t rank, uint64_t begin_ns,
                           uint64_t end_ns, uint64_t verify_ns, uint64_t bytes) {
    CHECK(end_ns >= begin_ns);
    read_recorder_reached(recorder, rank, end_ns);
    struct read_recorder_rank *own = &recorder->rank[rank];
    histogram_add(&recorder->result->read_latency, end_ns - begin_ns);
    own->verify_ns += verify_ns;
    own->bytes += bytes;
    recorder->now.bytes += bytes;
}

/* A rank with nothing to read would be the fastest always and say nothing. */
static void add_up_ranks(const struct read_recorder *recorder, struct read_record *record) {
    uint64_t fastest_ns = UINT64_MAX;
    for (uint32_t i = 0; i < recorder->ranks; i++) {
        const struct read_recorder_rank *rank = &recorder->rank[i];
        uint64_t own_ns = rank->end_ns - record->start_ns;
        if (own_ns > record->duration_ns) {
            record->duration_ns = own_ns;
            record->slowest_rank = i;
        }
        if (own_ns < fastest_ns && rank->bytes > 0) {
            fastest_ns = own_ns;
            record->fastest_rank = i;
        }
        record->rank_ns_sum += own_ns;
        record->verify_ns_sum += record->verified ? rank->verify_ns : 0;
    }
    record->fastest_ns = fastest_ns != UINT64_MAX ? fastest_ns : 0;
    record->rank0_ns = recorder->rank[0].end_ns - record->start_ns;
}

struct read_record *read_recorder_end(struct read_recorder *recorder, bool complete,
                                      const char *note) {
    struct result *result = recorder->result;
    struct read_record *record = result_add_read(result);
    *record = recorder->now;
    record->complete = complete;
    record->note = note != NULL ? arena_text(result->arena, note) : NULL;
    add_up_ranks(recorder, record);
    return record;
}

uint64_t read_recorder_bytes(const struct read_recorder *recorder) { return recorder->now.bytes; }
