#include "metrics/result.h"

#include "base/check.h"

#include <math.h>

uint32_t result_pass_count(const struct result *result) {
    uint32_t passes = 0;
    for (uint32_t i = 0; i < result->checkpoint_count; i++) {
        passes = result->checkpoints[i].pass > passes ? result->checkpoints[i].pass : passes;
    }
    return passes;
}

static double seconds(uint64_t ns) { return (double)ns / 1e9; }

/* Pass 0 stands for all of them. */
static bool counts(const struct checkpoint_record *checkpoint, uint32_t pass) {
    return checkpoint->complete && (pass == 0 || checkpoint->pass == pass);
}

static uint64_t add_known(uint64_t sum, uint64_t value) {
    return sum == RESULT_UNKNOWN || value == RESULT_UNKNOWN ? RESULT_UNKNOWN : sum + value;
}

struct pass_sums {
    uint64_t rank0_ns, sync_ns;
    uint64_t stall_ns, blocked_ns; /* RESULT_UNKNOWN where one of them is */
    uint64_t waited_ns;            /* ranks did not compute */
    uint64_t copied_bytes, copy_ns, lag_ns, lags; /* of those with a copy; with a known lag */
    uint64_t copy_wait_ns;         /* RESULT_UNKNOWN where one of them is */
};

static uint64_t or_zero(uint64_t ns) { return ns == RESULT_UNKNOWN ? 0 : ns; }

/* What ranks wait for: the copy and what holds up the next checkpoint, or else all of it. */
static uint64_t waited_ns(const struct checkpoint_record *checkpoint) {
    uint64_t for_copies = or_zero(checkpoint->copy_wait_ns);
    if (checkpoint->stall_ns != RESULT_UNKNOWN) {
        return checkpoint->stall_ns + or_zero(checkpoint->blocked_ns) + for_copies;
    }
    return checkpoint->duration_ns + or_zero(checkpoint->commit_ns) +
           or_zero(checkpoint->removal_ns) + for_copies;
}

static void note_blocked(const struct checkpoint_record *checkpoint, struct pass_record *record) {
    uint64_t ns = checkpoint->blocked_ns;
    if (ns != RESULT_UNKNOWN && ns > 0) {
        record->blocked++;
        record->blocked_ns_max = ns > record->blocked_ns_max ? ns : record->blocked_ns_max;
    }
}

static void add_copy(const struct checkpoint_record *checkpoint, struct pass_record *record,
                     struct pass_sums *sums) {
    if (checkpoint->copy_ns == RESULT_UNKNOWN) {
        return;
    }
    record->copied++;
    sums->copied_bytes += checkpoint->bytes;
    sums->copy_ns += checkpoint->copy_ns;
    sums->lag_ns += or_zero(checkpoint->copy_lag_ns);
    sums->lags += checkpoint->copy_lag_ns != RESULT_UNKNOWN;
}

static void add_up(const struct result *result, struct pass_record *record,
                   struct pass_sums *sums) {
    for (uint32_t i = 0; i < result->checkpoint_count; i++) {
        const struct checkpoint_record *checkpoint = &result->checkpoints[i];
        bool of_pass = record->pass == 0 || checkpoint->pass == record->pass;
        record->broken += of_pass && !checkpoint->complete;
        if (!counts(checkpoint, record->pass)) {
            continue;
        }
        uint64_t ns = checkpoint->duration_ns;
        record->min_ns = record->checkpoints == 0 || ns < record->min_ns ? ns : record->min_ns;
        record->max_ns = ns > record->max_ns ? ns : record->max_ns;
        record->checkpoints++;
        record->bytes += checkpoint->bytes;
        record->duration_ns_sum += ns;
        record->device_bytes = add_known(record->device_bytes, checkpoint->device_bytes);
        record->stored_bytes = add_known(record->stored_bytes, checkpoint->stored_bytes);
        record->compress_ns_sum = add_known(record->compress_ns_sum, checkpoint->compress_ns_sum);
        record->compress_wall_ns_sum =
            add_known(record->compress_wall_ns_sum, checkpoint->compress_wall_ns_sum);
        record->rank_ns_sum += checkpoint->rank_ns_sum;
        sums->rank0_ns += checkpoint->rank0_ns;
        sums->sync_ns += checkpoint->sync_ns_sum;
        sums->stall_ns = add_known(sums->stall_ns, checkpoint->stall_ns);
        sums->blocked_ns = add_known(sums->blocked_ns, checkpoint->blocked_ns);
        sums->waited_ns += waited_ns(checkpoint);
        sums->copy_wait_ns = add_known(sums->copy_wait_ns, checkpoint->copy_wait_ns);
        add_copy(checkpoint, record, sums);
        note_blocked(checkpoint, record);
    }
}

static double variance(const struct result *result, const struct pass_record *record) {
    double sum = 0;
    for (uint32_t i = 0; i < result->checkpoint_count; i++) {
        if (counts(&result->checkpoints[i], record->pass)) {
            double off = seconds(result->checkpoints[i].duration_ns) - record->mean_seconds;
            sum += off * off;
        }
    }
    return sum / record->checkpoints;
}

/* The mean of the last quarter against the first quarter's; a quarter is at least one checkpoint.
 */
static double drift(const struct result *result, const struct pass_record *record) {
    uint32_t quarter = record->checkpoints / 4 > 0 ? record->checkpoints / 4 : 1;
    uint32_t at = 0;
    double first = 0, last = 0;
    for (uint32_t i = 0; i < result->checkpoint_count; i++) {
        const struct checkpoint_record *checkpoint = &result->checkpoints[i];
        if (!counts(checkpoint, record->pass)) {
            continue;
        }
        first += at < quarter ? seconds(checkpoint->duration_ns) : 0;
        last += at >= record->checkpoints - quarter ? seconds(checkpoint->duration_ns) : 0;
        at++;
    }
    return record->checkpoints >= 2 ? last / first - 1 : NAN;
}

static double share(double part, double whole) { return whole > 0 ? part / whole : NAN; }

static double known_seconds(uint64_t ns) { return ns == RESULT_UNKNOWN ? NAN : seconds(ns); }

/* Without an interval ranks of a synchronous run do nothing else, and the share says nothing. */
static double idle_share(const struct result *result, const struct pass_record *record,
                         const struct pass_sums *sums) {
    double waited = seconds(sums->waited_ns);
    double computed = seconds(result->plan.interval_ns) * record->checkpoints;
    bool told = result->plan.interval_ns > 0 || sums->stall_ns != RESULT_UNKNOWN;
    return told ? share(waited, waited + computed) : NAN;
}

static void describe(const struct result *result, uint32_t pass, struct pass_record *record) {
    struct pass_sums sums = {0};
    *record = (struct pass_record){.pass = pass,
                                   .mean_seconds = NAN,
                                   .stdev_seconds = NAN,
                                   .rank0_mean_seconds = NAN,
                                   .bytes_per_second = NAN,
                                   .against_pass1 = NAN,
                                   .drift = NAN,
                                   .sync_share = NAN,
                                   .stall_seconds = NAN,
                                   .blocked_seconds = NAN,
                                   .copy_lag_seconds = NAN,
                                   .copy_rate = NAN,
                                   .copy_wait_seconds = NAN,
                                   .idle_share = NAN};
    add_up(result, record, &sums);
    if (record->checkpoints == 0) {
        record->device_bytes = record->stored_bytes = RESULT_UNKNOWN;
        record->compress_ns_sum = record->compress_wall_ns_sum = RESULT_UNKNOWN;
        return;
    }
    record->mean_seconds = seconds(record->duration_ns_sum) / record->checkpoints;
    record->stdev_seconds = sqrt(variance(result, record));
    record->rank0_mean_seconds = seconds(sums.rank0_ns) / record->checkpoints;
    record->bytes_per_second = share((double)record->bytes, seconds(record->duration_ns_sum));
    record->drift = drift(result, record);
    record->sync_share = share((double)sums.sync_ns, (double)record->rank_ns_sum);
    record->stall_seconds = known_seconds(sums.stall_ns) / record->checkpoints;
    record->blocked_seconds = known_seconds(sums.blocked_ns) / record->checkpoints;
    record->copied = sums.copy_wait_ns == RESULT_UNKNOWN ? RESULT_UNKNOWN : record->copied;
    record->copy_wait_seconds = known_seconds(sums.copy_wait_ns) / record->checkpoints;
    record->copy_lag_seconds = share(seconds(sums.lag_ns), (double)sums.lags);
    record->copy_rate = share((double)sums.copied_bytes, seconds(sums.copy_ns));
    record->idle_share = idle_share(result, record, &sums);
}

void result_pass(const struct result *result, uint32_t pass, struct pass_record *record) {
    CHECK(pass >= 1);
    describe(result, pass, record);
    struct pass_record first;
    describe(result, 1, &first);
    record->against_pass1 = share(record->mean_seconds, first.mean_seconds) - 1;
}

void result_all_passes(const struct result *result, struct pass_record *record) {
    describe(result, 0, record);
}

const char *result_kind_name(enum result_kind kind) {
    return kind == RESULT_SIMULATED ? "simulated" : "measured";
}

const char *result_outcome_name(enum result_outcome outcome) {
    static const char *const names[] = {
        [RESULT_RUNNING] = "running",       [RESULT_COMPLETE] = "complete",
        [RESULT_DRIVE_FULL] = "drive_full", [RESULT_INTERRUPTED] = "interrupted",
        [RESULT_FAILED] = "failed",
    };
    CHECK((size_t)outcome < COUNT_OF(names));
    return names[outcome];
}

bool result_partial(const struct result *result) {
    return result->outcome != RESULT_COMPLETE && result->outcome != RESULT_DRIVE_FULL;
}

struct checkpoint_record *result_add_checkpoint(struct result *result) {
    if (result->checkpoint_count == result->checkpoint_capacity) {
        uint32_t capacity = result->checkpoint_capacity == 0 ? 64 : result->checkpoint_capacity * 2;
        result->checkpoints =
            mem_resize(result->checkpoints, capacity, sizeof *result->checkpoints);
        result->checkpoint_capacity = capacity;
    }
    struct checkpoint_record *record = &result->checkpoints[result->checkpoint_count++];
    *record = (struct checkpoint_record){.removal_ns = RESULT_UNKNOWN,
                                          .stall_ns = RESULT_UNKNOWN,
                                          .blocked_ns = RESULT_UNKNOWN,
                                          .copy_wait_ns = RESULT_UNKNOWN,
                                          .copy_lag_ns = RESULT_UNKNOWN,
                                          .copy_ns = RESULT_UNKNOWN};
    return record;
}

struct read_record *result_add_read(struct result *result) {
    if (result->read_count == result->read_capacity) {
        uint32_t capacity = result->read_capacity == 0 ? 64 : result->read_capacity * 2;
        result->reads = mem_resize(result->reads, capacity, sizeof *result->reads);
        result->read_capacity = capacity;
    }
    struct read_record *record = &result->reads[result->read_count++];
    *record = (struct read_record){0};
    return record;
}

void result_fini(struct result *result) {
    mem_free(result->reads);
    result->reads = NULL;
    result->read_count = result->read_capacity = 0;
    mem_free(result->checkpoints);
    result->checkpoints = NULL;
    result->checkpoint_count = result->checkpoint_capacity = 0;
}
