#ifndef CKPTSIM_SIM_DRIVE_RANK_TRANSFERS_H
#define CKPTSIM_SIM_DRIVE_RANK_TRANSFERS_H

#include "io/engine.h"
#include "sim/drive/flow.h"

#include <stdbool.h>
#include <stdint.h>

/* Requests of ranks as transfers of bytes: those of one rank one after the other, ranks side by
 * side, as fluids (flow.h). A request moves as many bytes as its done_bytes says when it is added.
 */

struct rank_lane {
    struct io_request *head, *tail; /* the head flows */
    struct flow flow;
    bool flowing; /* also without a head: what was dropped flows on, for nobody */
};

struct rank_transfers {
    struct flow_set flows;
    struct rank_lane *lanes;
};

/* Limits of one rank by class, in bytes/s. */
void rank_transfers_init(struct rank_transfers *transfers, const uint64_t limits[FLOW_CLASSES],
                         uint32_t ranks);
void rank_transfers_fini(struct rank_transfers *transfers);

void rank_transfers_add(struct rank_transfers *transfers, struct io_request *request,
                        uint64_t now_ns);
/* A request whose bytes have moved; its rank's next one flows from now on. NULL where there is
 * none. */
struct io_request *rank_transfers_take_ended(struct rank_transfers *transfers, uint64_t now_ns);
/* Everything of a rank, in order, linked by next; it is to be failed. */
struct io_request *rank_transfers_drop(struct rank_transfers *transfers, uint32_t rank);

#endif
