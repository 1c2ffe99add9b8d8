#ifndef CKPTSIM_SIM_DRIVE_WRITE_AMPLIFICATION_H
#define CKPTSIM_SIM_DRIVE_WRITE_AMPLIFICATION_H

#include <stdint.h>

/* Write amplification in closed form, for uniform random writes of single units in steady state.
 * fill is the share of the raw capacity that holds live data, in (0, 1): logical / raw. These are
 * for tests, reports and small random writes; what checkpoints cost comes from the FTL. */

/* Victims in the order of writing; also greedy ones among ever larger superblocks. */
double write_amplification_fifo(double fill);

/* Greedy victims among superblocks of so many units. */
double write_amplification_greedy(double fill, uint32_t superblock_units);

/* The fewest valid units among so many superblocks drawn at random. */
double write_amplification_d_choices(double fill, uint32_t superblock_units, double choices);

/* The fill that GC sees of a drive of so few superblocks that those open and in reserve matter. */
double write_amplification_finite_fill(double fill, double superblocks, double kept);

/* The share of logical units that is live when this share of requests trims one live unit. */
double write_amplification_live_share(double trim_share);

/* Units touched by a write of length bytes at a multiple of align bytes, on average. */
double write_amplification_touched_units(double length_bytes, double align_bytes,
                                         double unit_bytes);

/* What random writes of length bytes cost in all: media bytes over host bytes. */
double write_amplification_sub_unit(double gc, double length_bytes, double align_bytes,
                                    double unit_bytes);

#endif
