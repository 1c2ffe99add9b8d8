#ifndef CKPTSIM_SIM_DRIVE_QUEUE_PRIVATE_H
#define CKPTSIM_SIM_DRIVE_QUEUE_PRIVATE_H

/* For queue_*.c alone: one simulation, and what its parts ask of each other.
 *
 *   queue_depth.c    requests from station to station, measuring
 *   queue_dies.c     who gets a die, and when
 *   queue_buffer.c   the write buffer and its draining, copies included */

#include "sim/drive/queue_depth.h"
#include "sim/drive/queue_events.h"
#include "sim/drive/queue_latency.h"

#define QUEUE_NONE UINT32_MAX
#define QUEUE_MILLION UINT64_C(1000000)
#define QUEUE_PS_PER_SECOND UINT64_C(1000000000000)

enum queue_event_kind {
    QUEUE_AT_HOST, /* the request leaves this station */
    QUEUE_AT_LINK_IN,
    QUEUE_AT_CONTROLLER,
    QUEUE_DELAYED,
    QUEUE_AT_LINK_OUT,
    QUEUE_BUFFERED,
    QUEUE_PLANE_READ,   /* a plane is done with a part */
    QUEUE_AT_CHANNEL,   /* a part is */
    QUEUE_PROGRAMMABLE, /* a drain has its turn at the programming rate */
    QUEUE_DIE_DONE,     /* with a program or the reading of a copy */
    QUEUE_DIE_READY,    /* its program is suspended */
    QUEUE_KINDS,
};
_Static_assert(QUEUE_KINDS <= 1 << QUEUE_KIND_BITS, "kinds fit into an event's key");

/* One server; who comes first is served first, so that a departure is known on arrival. */
struct queue_fifo {
    uint64_t free_ps, busy_ps;
};

struct queue_list {
    uint32_t first, last;
};

struct queue_request {
    uint64_t begin_ps;
    uint32_t next; /* in the line for the buffer */
    uint32_t job, parts_left;
    bool write;
};

/* The reading of one page of one plane, for a request or a drain. */
struct queue_part {
    uint32_t next, plane;
    uint32_t owner; /* a request, or the number of requests + a drain */
};

/* One program of a die on its way from the buffer, or from other dies, to its die. */
struct queue_drain {
    uint64_t bytes, since_ps; /* since: in the die's line */
    uint64_t copy_read_ps;    /* of a copy that is yet to be read, else 0 */
    uint32_t next, parts_left;
    bool copy;
};

struct queue_plane {
    struct queue_list parts;
    uint32_t running;
};

struct queue_die {
    struct queue_list drains;
    uint32_t running;                       /* drain that has all planes, or QUEUE_NONE */
    uint32_t reading;                       /* planes that read */
    uint32_t waiting;                       /* parts in its planes' lists */
    uint64_t end_ps, left_ps, suspended_ps; /* of the running drain; when and with what left */
    uint32_t suspends, programs;
    bool suspended, ready; /* ready: reads may begin */
    bool event;            /* QUEUE_DIE_DONE is planned, perhaps for an earlier end */
};

/* The time integral of a number, for means. */
struct queue_level {
    uint64_t value, since_ps;
    unsigned __int128 integral;
};

struct queue_buffer {
    uint64_t capacity, used, pending; /* bytes of whole units; pending: not yet on their way */
    uint64_t charge;                  /* of a request */
    uint64_t copy_debt, read_debt, page_debt; /* millionths of bytes, reads, pages */
    uint64_t partial_millionths;              /* page reads before programming, per unit drained */
    struct queue_list line;
    uint32_t next_program, next_copy; /* dies take turns */
    uint32_t free_drain, drains_max;
    struct queue_level level;
};

enum { QUEUE_LOG_STEPS = 256 };

struct queue_sim {
    struct queue_depth_config config;
    struct queue_events events;
    uint64_t now_ps, random, event_count;
    uint64_t logarithms[QUEUE_LOG_STEPS + 1]; /* 2^-32 of -ln(1/2 .. 1) */
    uint32_t request_count, request_parts, drain_parts, next_page;
    uint64_t link_ps, controller_ps, transfer_ps; /* of a request, a request, a part */
    struct queue_request *requests;
    struct queue_part *parts; /* of requests, then of drains */
    struct queue_drain *drains;
    struct queue_fifo *hosts, *channels;
    struct queue_fifo link_in, link_out, controller, programming;
    struct queue_plane *planes;
    struct queue_die *dies;
    struct queue_level busy_planes;
    struct queue_buffer buffer;
    struct queue_latencies *reads, *writes;
    uint64_t finished;
};

/* queue_depth.c */
uint64_t queue_random(struct queue_sim *sim, uint64_t limit);
/* A service of this mean, as the configuration has it. */
uint64_t queue_service(struct queue_sim *sim, uint64_t mean_ps);
/* When an arrival now leaves the station again. */
uint64_t queue_serve(struct queue_sim *sim, struct queue_fifo *fifo, uint64_t mean_ps);
void queue_plan(struct queue_sim *sim, uint64_t at_ps, enum queue_event_kind kind, uint32_t index);
void queue_level_set(struct queue_sim *sim, struct queue_level *level, uint64_t value);
/* bytes at a rate; 0 where there is no limit */
uint64_t queue_transfer_ps(uint64_t bytes, uint64_t bytes_per_s);

/* queue_dies.c */
void queue_dies_open(struct queue_sim *sim);
void queue_dies_close(struct queue_sim *sim);
void queue_dies_read(struct queue_sim *sim, uint32_t part, uint32_t plane);
/* The drain takes all planes: it is programmed, or a copy is read. */
void queue_dies_drain(struct queue_sim *sim, uint32_t drain, uint32_t die);
uint32_t queue_dies_plane_read(struct queue_sim *sim, uint32_t plane); /* the part that is read */
uint32_t queue_dies_done(struct queue_sim *sim, uint32_t die); /* the drain, or QUEUE_NONE */
void queue_dies_ready(struct queue_sim *sim, uint32_t die);

/* queue_buffer.c */
enum status queue_buffer_open(struct queue_sim *sim, struct error *err);
void queue_buffer_close(struct queue_sim *sim);
void queue_buffer_arrive(struct queue_sim *sim, uint32_t request);
void queue_buffer_part_read(struct queue_sim *sim, uint32_t drain);
void queue_buffer_programmable(struct queue_sim *sim, uint32_t drain);
void queue_buffer_die_done(struct queue_sim *sim, uint32_t drain);

/* Lists of indices, linked through `next` of what they index. */
#define QUEUE_LIST_ADD(list, items, index)                                                         \
    do {                                                                                           \
        (items)[index].next = QUEUE_NONE;                                                          \
        if ((list)->first == QUEUE_NONE) {                                                         \
            (list)->first = (index);                                                               \
        } else {                                                                                   \
            (items)[(list)->last].next = (index);                                                  \
        }                                                                                          \
        (list)->last = (index);                                                                    \
    } while (0)

#define QUEUE_LIST_TAKE(list, items)                                                               \
    ({                                                                                             \
        uint32_t taken_ = (list)->first;                                                           \
        (list)->first = (items)[taken_].next;                                                      \
        taken_;                                                                                    \
    })

#endif
