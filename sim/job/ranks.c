#include "sim/job/ranks.h"

#include "sim/job/rank_writer.h"

static void end_rank(struct job *job, const struct rank_writer *writer) {
    job->ranks_left--;
    if (!job_broken(job)) {
        recorder_rank_end(job->recorder, writer->rank, writer->end_ns);
    }
}

/* What one of the two did may let the other go on: a full snapshot the writer, a buffer given back
 * the snapshot. */
static void go_on(struct job *job, struct rank_writer *writer) {
    if (snapshot_go_on(writer->snapshot)) {
        uint64_t end_ns = writer->snapshot->end_ns;
        job->snapshot_end_ns = end_ns > job->snapshot_end_ns ? end_ns : job->snapshot_end_ns;
        job->snapshots_left--;
    }
    if (rank_writer_go_on(writer)) {
        end_rank(job, writer);
    }
}

void ranks_start(struct job *job) {
    uint32_t ranks = job->shards->ranks;
    job->ranks_left = ranks;
    job->snapshots_left = job->snapshots != NULL ? ranks : 0;
    job->snapshot_end_ns = job->checkpoint_start_ns;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        struct rank_writer *writer = &job->writers[rank];
        if (rank_writer_start(writer, job->checkpoint_start_ns)) {
            end_rank(job, writer);
        }
        if (writer->snapshot != NULL) {
            snapshot_start(writer->snapshot);
            go_on(job, writer);
        }
    }
}

void ranks_take(struct job *job, struct io_request *request) {
    struct rank_writer *writer = &job->writers[request->rank];
    if (request->op == IO_COPY) {
        snapshot_take(writer->snapshot, request);
    } else if (rank_writer_take(writer, request)) {
        end_rank(job, writer);
    }
    if (writer->snapshot != NULL) {
        go_on(job, writer);
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
