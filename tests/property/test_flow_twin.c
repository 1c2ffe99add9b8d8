/* Shared transfers against a twin that keeps every flow by itself: at each event it works out anew
 * what a max-min fair share of every flow is, and moves each flow's own bytes. Random classes,
 * limits, sizes, totals and moments to add; ends, their order and what is left are compared. The
 * seed is printed; SEED=n in the environment repeats it. */
#include "base/prng.h"
#include "sim/drive/flow.h"
#include "tests/unit/support.h"

#include <stdlib.h>
#include <time.h>

#ifdef __SANITIZE_ADDRESS__
enum { STORIES = 400 };
#else
enum { STORIES = 4000 };
#endif

enum { MOST = 24, STEPS = 120, NANO = 1000000000 };

struct twin_flow {
    struct flow flow;
    bool active;
    enum flow_class class;
    __int128 left; /* nanobytes; below zero when the step was longer than it took */
    uint64_t sequence;
};

struct twin {
    struct flow_set set;
    struct twin_flow flows[MOST];
    uint64_t limits[FLOW_CLASSES], sequence;
};

static uint64_t pick(uint64_t *random, uint64_t low, uint64_t high) {
    return low + prng_next(random) % (high - low + 1);
}

/* Small numbers to meet ties, large ones to meet roundings, and none at all. */
static uint64_t pick_rate(uint64_t *random) {
    switch (pick(random, 0, 3)) {
    case 0: return pick(random, 1, 8);
    case 1: return pick(random, 1, 1000000);
    case 2: return pick(random, 1, UINT64_C(20000000000));
    default: return UINT64_MAX;
    }
}

static uint64_t pick_bytes(uint64_t *random) {
    switch (pick(random, 0, 3)) {
    case 0: return pick(random, 0, 4);
    case 1: return pick(random, 1, 8) * 4096;
    default: return pick(random, 1, UINT64_C(1) << 40);
    }
}

/* What all flows would move if none got more than `level`, nor more than its limit. */
static unsigned __int128 moved_at(const struct twin *twin, uint64_t level) {
    unsigned __int128 sum = 0;
    for (int i = 0; i < MOST; i++) {
        if (twin->flows[i].active) {
            uint64_t limit = twin->limits[twin->flows[i].class];
            sum += limit < level ? limit : level;
        }
    }
    return sum;
}

/* The water level: the highest that the total allows. */
static uint64_t fair_level(const struct twin *twin, uint64_t total) {
    uint64_t low = 0, high = UINT64_MAX;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2 + 1;
        if (moved_at(twin, middle) <= total) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* Rates are whole bytes per second, so a share may be off by what was left over in rounding. */
static void check_rates(const struct twin *twin, uint64_t total) {
    uint64_t level = fair_level(twin, total);
    unsigned __int128 sum = 0;
    for (int i = 0; i < MOST; i++) {
        const struct twin_flow *flow = &twin->flows[i];
        if (!flow->active) {
            continue;
        }
        uint64_t limit = twin->limits[flow->class], fair = limit < level ? limit : level;
        uint64_t rate = twin->set.clocks[flow->class].rate_bytes_per_s;
        assert_true(rate <= limit);
        assert_true(rate >= fair);
        assert_true(rate - fair <= MOST);
        sum += rate;
    }
    assert_true(sum <= total);
    assert_true((uint64_t)sum == flow_total_rate(&twin->set));
}

static uint64_t rate_of(const struct twin *twin, const struct twin_flow *flow) {
    return twin->set.clocks[flow->class].rate_bytes_per_s;
}

static uint64_t next_ns(const struct twin *twin) {
    unsigned __int128 next = UINT64_MAX;
    for (int i = 0; i < MOST; i++) {
        const struct twin_flow *flow = &twin->flows[i];
        if (!flow->active) {
            continue;
        }
        uint64_t rate = rate_of(twin, flow);
        if (flow->left <= 0) {
            next = 0;
        } else if (rate > 0) {
            unsigned __int128 ns = ((unsigned __int128)flow->left + rate - 1) / rate;
            next = ns < next ? ns : next;
        }
    }
    return (uint64_t)next;
}

static void advance(struct twin *twin, uint64_t ns) {
    flow_advance(&twin->set, ns);
    for (int i = 0; i < MOST; i++) {
        if (twin->flows[i].active) {
            twin->flows[i].left -= (__int128)rate_of(twin, &twin->flows[i]) * ns;
        }
    }
}

/* Among ended flows: new files first, then who ended first, then who was added first. */
static struct twin_flow *ended_first(struct twin *twin) {
    struct twin_flow *first = NULL;
    for (int i = 0; i < MOST; i++) {
        struct twin_flow *flow = &twin->flows[i];
        if (!flow->active || flow->left > 0) {
            continue;
        }
        bool earlier = first == NULL || flow->class < first->class ||
                       (flow->class == first->class && flow->left < first->left) ||
                       (flow->class == first->class && flow->left == first->left &&
                        flow->sequence < first->sequence);
        first = earlier ? flow : first;
    }
    return first;
}

static void take_ended(struct twin *twin) {
    for (;;) {
        struct twin_flow *expected = ended_first(twin);
        struct flow *ended = flow_take_ended(&twin->set);
        assert_ptr_equal(ended, expected != NULL ? &expected->flow : NULL);
        if (expected == NULL) {
            return;
        }
        assert_ptr_equal(ended->owner, expected);
        expected->active = false;
    }
}

static void add_some(struct twin *twin, uint64_t *random) {
    for (uint64_t count = pick(random, 0, 4); count > 0; count--) {
        struct twin_flow *flow = &twin->flows[pick(random, 0, MOST - 1)];
        if (flow->active) {
            continue;
        }
        uint64_t bytes = pick_bytes(random);
        flow->class = (enum flow_class)pick(random, 0, FLOW_CLASSES - 1);
        flow->left = (__int128)bytes * NANO;
        flow->sequence = twin->sequence++;
        flow->active = true;
        flow->flow.owner = flow;
        flow_add(&twin->set, &flow->flow, flow->class, bytes);
    }
}

static void compare(const struct twin *twin) {
    uint32_t count = 0;
    unsigned __int128 wanted = 0;
    for (int i = 0; i < MOST; i++) {
        const struct twin_flow *flow = &twin->flows[i];
        if (flow->active) {
            __int128 left = flow->left > 0 ? (flow->left + NANO - 1) / NANO : 0;
            assert_true(flow_left(&twin->set, &flow->flow) == (uint64_t)left);
            wanted += twin->limits[flow->class];
            count++;
        }
    }
    assert_int_equal(flow_count(&twin->set), count);
    assert_true(flow_wanted_rate(&twin->set) ==
                (wanted < UINT64_MAX ? (uint64_t)wanted : UINT64_MAX));
    assert_true(flow_next_ns(&twin->set) == next_ns(twin));
}

static void run_story(uint64_t *random) {
    struct twin twin = {.limits = {pick_rate(random), pick_rate(random)}};
    flow_set_init(&twin.set, twin.limits, MOST);
    uint64_t total = pick_rate(random);
    for (int i = 0; i < STEPS; i++) {
        add_some(&twin, random);
        total = pick(random, 0, 7) == 0 ? pick_rate(random) - 1 : total;
        flow_share(&twin.set, total);
        check_rates(&twin, total);
        compare(&twin);
        uint64_t ns = next_ns(&twin);
        if (ns != UINT64_MAX) { /* to the next end, or stopped on the way by something else */
            advance(&twin, pick(random, 0, 2) == 0 ? pick(random, 0, ns) : ns);
        }
        take_ended(&twin);
    }
    flow_set_fini(&twin.set);
}

static void fluid_equals_flow_by_flow(void **state) {
    (void)state;
    const char *given = getenv("SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("# SEED=%llu\n", (unsigned long long)seed);
    for (int i = 0; i < STORIES; i++) {
        run_story(&seed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(fluid_equals_flow_by_flow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
