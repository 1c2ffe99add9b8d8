#ifndef CKPTSIM_SIM_DRIVE_TWO_DRIVES_H
#define CKPTSIM_SIM_DRIVE_TWO_DRIVES_H

#include "io/engine.h"

/* Two simulated drives behind one engine, in one virtual time: requests of tier 0 go to the first, those
 * of tier 1 to the second. They share nothing but the clock; what lies between them (a network, say) is
 * not simulated beyond what the host's rates allow each of them. Space and facts are the first one's. */

/* Both are drives of drive_engine_open that nothing was submitted to, and are closed with it. */
struct engine *two_drives_open(struct engine *first, struct engine *second);

#endif
