/* Requests on their way from station to station. A station with one server that takes who comes
 * first needs no queue: as events come in the order of time, the departure of an arrival is known
 * at once. */
#include "sim/drive/queue_depth.h"

#include "base/check.h"
#include "base/memory.h"
#include "base/prng.h"
#include "sim/drive/queue_private.h"

#include <math.h>

enum { REQUESTS_MAX = 65536, PERMILLE = 1000, WARM_UP_ROUNDS = 8, FILL_ROUNDS_MAX = 64 };

static const char *const station_names[QUEUE_STATIONS] = {
    [QUEUE_HOST] = "host CPU",           [QUEUE_LINK_IN] = "link in",
    [QUEUE_CONTROLLER] = "controller",   [QUEUE_BUFFER] = "write buffer",
    [QUEUE_PROGRAMMING] = "programming", [QUEUE_DIES] = "dies",
    [QUEUE_CHANNELS] = "channels",       [QUEUE_LINK_OUT] = "link out",
};

const char *queue_station_name(enum queue_station station) {
    CHECK(station < QUEUE_STATIONS);
    return station_names[station];
}

uint64_t queue_random(struct queue_sim *sim, uint64_t limit) {
    return (uint64_t)((unsigned __int128)prng_next(&sim->random) * limit >> 64);
}

uint64_t queue_transfer_ps(uint64_t bytes, uint64_t bytes_per_s) {
    if (bytes_per_s == 0) {
        return 0;
    }
    return (uint64_t)((unsigned __int128)bytes * QUEUE_PS_PER_SECOND / bytes_per_s);
}

/* -ln(u) of a uniform u, times the mean: as many ln 2 as u has leading zeros, and the rest from a
 * table between whose steps a straight line is 2 millionths off at most. */
static uint64_t exponential(struct queue_sim *sim, uint64_t mean_ps) {
    static const uint64_t ln2 = UINT64_C(2977044472); /* in 2^-32 */
    uint64_t u = prng_next(&sim->random) | 1;
    uint32_t zeros = (uint32_t)__builtin_clzll(u);
    uint64_t fraction = u << zeros << 1; /* behind the leading one */
    const uint64_t *step = &sim->logarithms[fraction >> 56];
    uint64_t between = fraction << 8 >> 32;
    uint64_t logarithm = step[0] - ((step[0] - step[1]) * between >> 32);
    return (uint64_t)((unsigned __int128)mean_ps * (zeros * ln2 + logarithm) >> 32);
}

uint64_t queue_service(struct queue_sim *sim, uint64_t mean_ps) {
    return sim->config.service == QUEUE_EXPONENTIAL ? exponential(sim, mean_ps) : mean_ps;
}

uint64_t queue_serve(struct queue_sim *sim, struct queue_fifo *fifo, uint64_t mean_ps) {
    uint64_t begin = fifo->free_ps > sim->now_ps ? fifo->free_ps : sim->now_ps;
    uint64_t service = queue_service(sim, mean_ps);
    fifo->busy_ps += service;
    fifo->free_ps = begin + service;
    return fifo->free_ps;
}

void queue_plan(struct queue_sim *sim, uint64_t at_ps, enum queue_event_kind kind, uint32_t index) {
    queue_events_add(&sim->events, at_ps, kind, index);
}

void queue_level_set(struct queue_sim *sim, struct queue_level *level, uint64_t value) {
    level->integral += (unsigned __int128)level->value * (sim->now_ps - level->since_ps);
    level->since_ps = sim->now_ps;
    level->value = value;
}

static void to_controller(struct queue_sim *sim, uint32_t request) {
    uint64_t ps = sim->requests[request].write ? sim->config.drive.command_ps : sim->controller_ps;
    queue_plan(sim, queue_serve(sim, &sim->controller, ps), QUEUE_AT_CONTROLLER, request);
}

static void from_host(struct queue_sim *sim, uint32_t request) {
    if (sim->requests[request].write && sim->link_ps > 0) {
        queue_plan(sim, queue_serve(sim, &sim->link_in, sim->link_ps), QUEUE_AT_LINK_IN, request);
    } else {
        to_controller(sim, request);
    }
}

static void submit(struct queue_sim *sim, uint32_t index) {
    struct queue_request *request = &sim->requests[index];
    request->begin_ps = sim->now_ps;
    request->write = sim->config.write_permille == PERMILLE ||
                     (sim->config.write_permille > 0 &&
                      queue_random(sim, PERMILLE) < sim->config.write_permille);
    if (sim->config.host_ps > 0) {
        uint64_t at_ps = queue_serve(sim, &sim->hosts[request->job], sim->config.host_ps);
        queue_plan(sim, at_ps, QUEUE_AT_HOST, index);
    } else {
        from_host(sim, index);
    }
}

/* Data in sequence lies in stripes that load all channels alike: of dies that do not fill a last
 * row of channels none is among them. */
static uint32_t stripe_planes(const struct queue_drive *drive) {
    bool rows = drive->channels > 0 && drive->dies >= drive->channels;
    return (rows ? drive->dies / drive->channels * drive->channels : drive->dies) * drive->planes;
}

/* Parts lie on planes that follow each other, so that they are read at the same time. */
static void read_parts(struct queue_sim *sim, uint32_t request) {
    const struct queue_drive *drive = &sim->config.drive;
    uint32_t planes = sim->config.sequential ? stripe_planes(drive) : drive->dies * drive->planes;
    uint32_t plane = sim->config.sequential ? sim->next_page : (uint32_t)queue_random(sim, planes);
    sim->requests[request].parts_left = sim->request_parts;
    for (uint32_t i = 0; i < sim->request_parts; i++) {
        queue_dies_read(sim, request * sim->request_parts + i, plane);
        plane = plane + 1 < planes ? plane + 1 : 0;
    }
    sim->next_page = plane;
}

static void to_flash(struct queue_sim *sim, uint32_t request) {
    if (sim->requests[request].write) {
        queue_buffer_arrive(sim, request);
    } else {
        read_parts(sim, request);
    }
}

static void from_controller(struct queue_sim *sim, uint32_t request) {
    const struct queue_drive *drive = &sim->config.drive;
    uint64_t ps = sim->requests[request].write ? drive->write_delay_ps : drive->read_delay_ps;
    if (ps > 0) {
        queue_plan(sim, sim->now_ps + ps, QUEUE_DELAYED, request);
    } else {
        to_flash(sim, request);
    }
}

static void complete(struct queue_sim *sim, uint32_t index) {
    const struct queue_request *request = &sim->requests[index];
    struct queue_latencies *latencies = request->write ? sim->writes : sim->reads;
    queue_latencies_add(latencies, sim->now_ps - request->begin_ps);
    sim->finished++;
    submit(sim, index);
}

static void part_transferred(struct queue_sim *sim, uint32_t part) {
    uint32_t owner = sim->parts[part].owner;
    if (owner >= sim->request_count) {
        queue_buffer_part_read(sim, owner - sim->request_count);
    } else if (--sim->requests[owner].parts_left == 0) {
        uint64_t at_ps = queue_serve(sim, &sim->link_out, sim->link_ps);
        queue_plan(sim, at_ps, QUEUE_AT_LINK_OUT, owner);
    }
}

static void part_read(struct queue_sim *sim, uint32_t part) {
    const struct queue_drive *drive = &sim->config.drive;
    if (sim->transfer_ps == 0) {
        part_transferred(sim, part);
        return;
    }
    uint32_t die = sim->parts[part].plane / drive->planes;
    struct queue_fifo *channel = &sim->channels[die % drive->channels];
    queue_plan(sim, queue_serve(sim, channel, sim->transfer_ps), QUEUE_AT_CHANNEL, part);
}

static void die_done(struct queue_sim *sim, uint32_t die) {
    uint32_t drain = queue_dies_done(sim, die);
    if (drain != QUEUE_NONE) {
        queue_buffer_die_done(sim, drain);
    }
}

static void step(struct queue_sim *sim) {
    struct queue_event event = queue_events_take(&sim->events);
    uint32_t index = queue_event_index(event);
    sim->now_ps = event.at_ps;
    sim->event_count++;
    switch ((enum queue_event_kind)queue_event_kind(event)) {
    case QUEUE_AT_HOST: from_host(sim, index); break;
    case QUEUE_AT_LINK_IN: to_controller(sim, index); break;
    case QUEUE_AT_CONTROLLER: from_controller(sim, index); break;
    case QUEUE_DELAYED: to_flash(sim, index); break;
    case QUEUE_AT_LINK_OUT: complete(sim, index); break;
    case QUEUE_BUFFERED: complete(sim, index); break;
    case QUEUE_PLANE_READ: part_read(sim, queue_dies_plane_read(sim, index)); break;
    case QUEUE_AT_CHANNEL: part_transferred(sim, index); break;
    case QUEUE_PROGRAMMABLE: queue_buffer_programmable(sim, index); break;
    case QUEUE_DIE_DONE: die_done(sim, index); break;
    case QUEUE_DIE_READY: queue_dies_ready(sim, index); break;
    case QUEUE_KINDS: CHECK(false); break;
    }
}

static enum status check_config(const struct queue_depth_config *config, struct error *err) {
    const struct queue_drive *drive = &config->drive;
    uint64_t requests = (uint64_t)config->jobs * config->depth;
    if (requests == 0 || requests > REQUESTS_MAX || config->block_bytes == 0 ||
        config->write_permille > PERMILLE || config->requests == 0) {
        return error_set(err, ERR_USAGE, "%u jobs with %u requests of %llu bytes is not possible",
                         config->jobs, config->depth, (unsigned long long)config->block_bytes);
    }
    uint64_t planes = (uint64_t)drive->dies * drive->planes;
    if (planes == 0 || drive->page_bytes == 0 || drive->read_ps == 0 || planes > QUEUE_INDEX_MAX) {
        return error_set(err, ERR_USAGE, "a drive of %u dies with %u planes is not possible",
                         drive->dies, drive->planes);
    }
    uint64_t parts = (config->block_bytes + drive->page_bytes - 1) / drive->page_bytes;
    if (parts > planes || parts * requests > QUEUE_INDEX_MAX / 2) {
        return error_set(err, ERR_USAGE, "requests of %llu bytes are too large",
                         (unsigned long long)config->block_bytes);
    }
    return OK;
}

static void fill_logarithms(struct queue_sim *sim) {
    for (uint32_t i = 0; i <= QUEUE_LOG_STEPS; i++) {
        double u = 0.5 + 0.5 * i / QUEUE_LOG_STEPS;
        sim->logarithms[i] = (uint64_t)(-log(u) * 4294967296.0 + 0.5);
    }
}

static uint64_t smaller(uint64_t left, uint64_t right) { return left < right ? left : right; }

static void set_times(struct queue_sim *sim) {
    const struct queue_drive *drive = &sim->config.drive;
    uint64_t block = sim->config.block_bytes;
    uint64_t bytes_ps = queue_transfer_ps(block, drive->read_bytes_per_s);
    sim->link_ps = queue_transfer_ps(block, drive->link_bytes_per_s);
    sim->controller_ps = bytes_ps > drive->command_ps ? bytes_ps : drive->command_ps;
    if (drive->channels > 0) {
        uint64_t part = smaller(block, drive->page_bytes);
        sim->transfer_ps = queue_transfer_ps(part, drive->channel_bytes_per_s);
    }
    sim->request_parts = (uint32_t)((block + drive->page_bytes - 1) / drive->page_bytes);
}

static void open_parts(struct queue_sim *sim) {
    uint32_t of_requests = sim->request_count * sim->request_parts;
    uint32_t of_drains = sim->buffer.drains_max * sim->drain_parts;
    sim->parts = mem_new((size_t)of_requests + of_drains, sizeof *sim->parts);
    for (uint32_t i = 0; i < of_requests; i++) {
        sim->parts[i].owner = i / sim->request_parts;
    }
    for (uint32_t i = 0; i < of_drains; i++) {
        sim->parts[of_requests + i].owner = sim->request_count + i / sim->drain_parts;
    }
    /* Each has one event at a time, a die two. */
    queue_events_init(&sim->events, sim->request_count + of_requests + of_drains +
                                        sim->buffer.drains_max + 2 * sim->config.drive.dies);
}

static enum status open_sim(struct queue_sim *sim, struct error *err) {
    sim->random = sim->config.seed;
    sim->request_count = sim->config.jobs * sim->config.depth;
    set_times(sim);
    enum status status = queue_buffer_open(sim, err);
    if (status != OK) {
        return status;
    }
    fill_logarithms(sim);
    sim->requests = mem_new(sim->request_count, sizeof *sim->requests);
    sim->hosts = mem_new(sim->config.jobs, sizeof *sim->hosts);
    sim->channels = mem_new(sim->config.drive.channels + 1, sizeof *sim->channels);
    sim->reads = mem_new(1, sizeof *sim->reads);
    sim->writes = mem_new(1, sizeof *sim->writes);
    queue_dies_open(sim);
    open_parts(sim);
    return OK;
}

static void close_sim(struct queue_sim *sim) {
    queue_events_fini(&sim->events);
    queue_dies_close(sim);
    queue_buffer_close(sim);
    mem_free(sim->parts);
    mem_free(sim->writes);
    mem_free(sim->reads);
    mem_free(sim->channels);
    mem_free(sim->hosts);
    mem_free(sim->requests);
}

/* Work that was done until now, of what was taken on: the server has worked without a pause on what
 * is not done yet. */
static uint64_t worked_ps(const struct queue_sim *sim, const struct queue_fifo *fifo) {
    return fifo->busy_ps - (fifo->free_ps > sim->now_ps ? fifo->free_ps - sim->now_ps : 0);
}

static unsigned __int128 worked_all_ps(const struct queue_sim *sim, const struct queue_fifo *fifos,
                                       uint32_t count) {
    unsigned __int128 sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += worked_ps(sim, &fifos[i]);
    }
    return sum;
}

struct work {
    unsigned __int128 ps[QUEUE_STATIONS]; /* since the start, of all servers of a station */
};

static struct work work_until_now(struct queue_sim *sim) {
    queue_level_set(sim, &sim->busy_planes, sim->busy_planes.value);
    queue_level_set(sim, &sim->buffer.level, sim->buffer.level.value);
    return (struct work){{
        [QUEUE_HOST] = worked_all_ps(sim, sim->hosts, sim->config.jobs),
        [QUEUE_LINK_IN] = worked_ps(sim, &sim->link_in),
        [QUEUE_CONTROLLER] = worked_ps(sim, &sim->controller),
        [QUEUE_BUFFER] = sim->buffer.level.integral,
        [QUEUE_PROGRAMMING] = worked_ps(sim, &sim->programming),
        [QUEUE_DIES] = sim->busy_planes.integral,
        [QUEUE_CHANNELS] = worked_all_ps(sim, sim->channels, sim->config.drive.channels),
        [QUEUE_LINK_OUT] = worked_ps(sim, &sim->link_out),
    }};
}

static void set_utilization(const struct queue_sim *sim, const struct work *begin,
                            const struct work *end, struct queue_depth_result *result) {
    const struct queue_drive *drive = &sim->config.drive;
    const uint64_t servers[QUEUE_STATIONS] = {
        sim->config.jobs, 1, 1, sim->buffer.capacity, 1, (uint64_t)drive->dies * drive->planes,
        drive->channels,  1};
    for (int i = 0; i < QUEUE_STATIONS; i++) {
        unsigned __int128 most = (unsigned __int128)servers[i] * result->elapsed_ps;
        uint32_t share = most > 0 ? (uint32_t)((end->ps[i] - begin->ps[i]) * PERMILLE / most) : 0;
        result->utilization_permille[i] = share;
        if (i != QUEUE_BUFFER && share > result->utilization_permille[result->bottleneck]) {
            result->bottleneck = (enum queue_station)i;
        }
    }
}

/* Time that the requests under way have spent so far. */
static uint64_t ages_ps(const struct queue_sim *sim) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < sim->request_count; i++) {
        sum += sim->now_ps - sim->requests[i].begin_ps;
    }
    return sum;
}

/* Requests that end while it measures bring their whole latency; what of it lay before is taken off
 * again, and the age of those still under way is added. */
static void measure(struct queue_sim *sim, struct queue_depth_result *result) {
    *sim->reads = *sim->writes = (struct queue_latencies){.count = 0};
    struct work begin = work_until_now(sim);
    uint64_t begin_ps = sim->now_ps, ages_before = ages_ps(sim);
    uint64_t events_before = sim->event_count;
    sim->finished = 0;
    while (sim->finished < sim->config.requests || sim->now_ps == begin_ps) {
        step(sim);
    }
    struct work end = work_until_now(sim);
    result->requests = sim->finished;
    result->elapsed_ps = sim->now_ps - begin_ps;
    result->events = sim->event_count - events_before;
    result->residence_ps = sim->reads->sum_ps + sim->writes->sum_ps + ages_ps(sim) - ages_before;
    result->reads = queue_latencies_result(sim->reads);
    result->writes = queue_latencies_result(sim->writes);
    unsigned __int128 per_second = (unsigned __int128)result->requests * QUEUE_PS_PER_SECOND;
    result->iops = (uint64_t)((per_second + result->elapsed_ps / 2) / result->elapsed_ps);
    result->bytes_per_s = (uint64_t)(per_second * sim->config.block_bytes / result->elapsed_ps);
    set_utilization(sim, &begin, &end, result);
}

static void run_until_finished(struct queue_sim *sim, uint64_t requests) {
    while (sim->finished < requests) {
        step(sim);
    }
}

/* The buffer takes bursts at the link's rate: what it delivers in the end shows once it is full, or
 * no longer fills. */
static void fill_buffer(struct queue_sim *sim) {
    const struct queue_buffer *buffer = &sim->buffer;
    for (int i = 0; i < FILL_ROUNDS_MAX && buffer->line.first == QUEUE_NONE; i++) {
        uint64_t before = buffer->used, requests = buffer->capacity / buffer->charge;
        uint64_t end = sim->finished + requests * PERMILLE / sim->config.write_permille;
        while (sim->finished < end && buffer->line.first == QUEUE_NONE) {
            step(sim);
        }
        if (buffer->used < before + buffer->capacity / FILL_ROUNDS_MAX) {
            return;
        }
    }
}

/* While the buffer filled, copying lagged behind: as many requests as two rounds of all drains take
 * until both are mixed evenly. */
static uint64_t drained_requests(const struct queue_sim *sim) {
    const struct queue_drive *drive = &sim->config.drive;
    uint64_t bytes = 2 * sim->buffer.drains_max * drive->program_bytes;
    uint64_t programmed = sim->buffer.charge * (QUEUE_MILLION + drive->copied_millionths);
    return (uint64_t)((unsigned __int128)bytes * QUEUE_MILLION / programmed);
}

static void warm_up(struct queue_sim *sim) {
    for (uint32_t i = 0; i < sim->request_count; i++) {
        sim->requests[i].job = i / sim->config.depth;
        submit(sim, i);
    }
    uint64_t rounds = (uint64_t)WARM_UP_ROUNDS * sim->request_count;
    run_until_finished(sim, rounds);
    if (sim->config.write_permille > 0) {
        fill_buffer(sim);
        run_until_finished(sim, sim->finished + rounds + drained_requests(sim));
    }
}

enum status queue_depth_run(const struct queue_depth_config *config,
                            struct queue_depth_result *result, struct error *err) {
    enum status status = check_config(config, err);
    if (status != OK) {
        return status;
    }
    struct queue_sim *sim = mem_new(1, sizeof *sim);
    sim->config = *config;
    status = open_sim(sim, err);
    if (status == OK) {
        warm_up(sim);
        *result = (struct queue_depth_result){.requests = 0};
        measure(sim, result);
        close_sim(sim);
    }
    mem_free(sim);
    return status;
}
