#include "sim/drive/drive_reads.h"

#include "base/check.h"

void drive_reads_init(struct drive_reads *reads, const struct drive_engine_config *config) {
    *reads = (struct drive_reads){.config = config};
    /* What is read has no classes, whatever the file was before it was written. */
    uint64_t limits[FLOW_CLASSES] = {[FLOW_NEW] = config->host.rank_read_bytes_per_s};
    uint32_t readers = config->readers > config->ranks ? config->readers : config->ranks;
    rank_transfers_init(&reads->transfers, limits, readers);
}

void drive_reads_fini(struct drive_reads *reads) { rank_transfers_fini(&reads->transfers); }

void drive_reads_add(struct drive_reads *reads, struct io_request *request, uint64_t now_ns) {
    CHECK(request->done_bytes > 0);
    CHECK(reads->config->rates.read_bytes_per_s > 0);
    CHECK(reads->config->rates.nand_read_bytes_per_s > 0);
    rank_transfers_add(&reads->transfers, request, now_ns);
}

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

static uint64_t most_bytes_per_s(const struct drive_reads *reads,
                                 const struct station_use *writing) {
    const struct drive_rates *rates = &reads->config->rates;
    uint64_t most = smaller(reads->config->host.total_read_bytes_per_s, rates->link_bytes_per_s);
    most = smaller(most, station_read_rate(rates->read_bytes_per_s, writing->controller));
    return smaller(most, station_read_rate(rates->nand_read_bytes_per_s, writing->nand));
}

uint64_t drive_reads_share(struct drive_reads *reads, const struct station_use *writing) {
    if (flow_count(&reads->transfers.flows) == 0) {
        return STATION_WHOLE;
    }
    flow_share(&reads->transfers.flows, most_bytes_per_s(reads, writing));
    uint64_t total = flow_total_rate(&reads->transfers.flows);
    const struct drive_rates *rates = &reads->config->rates;
    uint64_t controller = station_part(total, rates->read_bytes_per_s);
    uint64_t nand = station_part(total, rates->nand_read_bytes_per_s);
    return smaller(station_writing_speed(writing->controller, controller),
                   station_writing_speed(writing->nand, nand));
}

uint64_t drive_reads_next_ns(const struct drive_reads *reads, uint64_t now_ns) {
    uint64_t flow_ns = flow_next_ns(&reads->transfers.flows);
    uint64_t due_ns = reads->due_first != NULL ? reads->due_first->end_ns - now_ns : UINT64_MAX;
    return smaller(flow_ns, due_ns);
}

void drive_reads_advance(struct drive_reads *reads, uint64_t ns) {
    const struct flow_set *flows = &reads->transfers.flows;
    uint64_t wanted = smaller(flow_wanted_rate(flows), reads->config->host.total_read_bytes_per_s);
    bool host_sets_pace = flow_count(flows) > 0 && flow_total_rate(flows) >= wanted;
    reads->host_busy_ns += host_sets_pace ? ns : 0;
    flow_advance(&reads->transfers.flows, ns);
}

/* The latency is the same for all, so they come back in the order in which they moved. */
static void append_due(struct drive_reads *reads, struct io_request *request, uint64_t now_ns) {
    reads->bytes += request->done_bytes;
    request->end_ns = now_ns + reads->config->rates.read_latency_ns;
    request->next = NULL;
    if (reads->due_last != NULL) {
        reads->due_last->next = request;
    } else {
        reads->due_first = request;
    }
    reads->due_last = request;
}

struct io_request *drive_reads_take_done(struct drive_reads *reads, uint64_t now_ns) {
    struct io_request *request;
    while ((request = rank_transfers_take_ended(&reads->transfers, now_ns)) != NULL) {
        append_due(reads, request, now_ns);
    }
    request = reads->due_first;
    if (request == NULL || request->end_ns > now_ns) {
        return NULL;
    }
    reads->due_first = request->next;
    if (reads->due_first == NULL) {
        reads->due_last = NULL;
    }
    return request;
}

void drive_reads_stats(const struct drive_reads *reads, struct drive_stats *stats) {
    const struct drive_rates *rates = &reads->config->rates;
    stats->read_bytes = reads->bytes;
    stats->read_busy_ns[DRIVE_STATION_HOST] = reads->host_busy_ns;
    if (reads->bytes > 0) { /* a drive that is never read need not say how fast it would be */
        stats->read_busy_ns[DRIVE_STATION_LINK] =
            flow_time_ns(reads->bytes, rates->link_bytes_per_s);
        stats->read_busy_ns[DRIVE_STATION_CONTROLLER] =
            flow_time_ns(reads->bytes, rates->read_bytes_per_s);
        stats->read_busy_ns[DRIVE_STATION_NAND] =
            flow_time_ns(reads->bytes, rates->nand_read_bytes_per_s);
    }
}
