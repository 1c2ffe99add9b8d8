#include "sim/job/ranks.h"

#include "sim/job/rank_writer.h"

static void end_rank(struct job *job, const struct rank_writer *writer) {
    job->ranks_left--;
    if (job->failure.error == 0 && !job_stopping(job)) {
        recorder_rank_end(job->recorder, writer->rank, writer->end_ns);
    }
}

void ranks_start(struct job *job) {
    job->ranks_left = job->shards->ranks;
    for (uint32_t rank = 0; rank < job->shards->ranks; rank++) {
        if (rank_writer_start(&job->writers[rank], job->checkpoint_start_ns)) {
            end_rank(job, &job->writers[rank]);
        }
    }
}

void ranks_take(struct job *job, struct io_request *request) {
    struct rank_writer *writer = &job->writers[request->rank];
    if (rank_writer_take(writer, request)) {
        end_rank(job, writer);
    }
}

uint32_t ranks_furthest_behind(const struct job *job) {
    uint32_t behind = UINT32_MAX;
    uint64_t most = 0;
    for (uint32_t rank = 0; rank < job->shards->ranks; rank++) {
        uint64_t left = job->shards->shares[rank].bytes - job->writers[rank].bytes;
        if (job->writers[rank].state != RANK_DONE && left > most) {
            most = left;
            behind = rank;
        }
    }
    return behind;
}
