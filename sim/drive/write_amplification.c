/* Closed forms of write amplification. A victim that still holds j of its N units gains N - j, so
 * that A = N / (N - j) throughout; the forms differ in how stale a victim becomes.
 *
 * They iterate by halving an interval: sixty steps give all the digits a double has. */
#include "sim/drive/write_amplification.h"

#include "base/check.h"

#include <math.h>

enum { HALVINGS = 80 };

/* Principal branch of the Lambert function, w exp(w) = z, for z in [-1/e, 0): it rises with w. */
static double lambert_w0(double z) {
    double low = -1, high = 0;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        if (middle * exp(middle) < z) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (low + high) / 2;
}

/* Desnoyers, "Analytic modeling of SSD write performance", SYSTOR 2012; the same result in Xiang
 * and Kurkoski, arXiv 1110.4245: with a = raw / logical, A = a / (a + W0(-a exp(-a))). */
double write_amplification_fifo(double fill) {
    CHECK(fill > 0 && fill < 1);
    double a = 1 / fill;
    return a / (a + lambert_w0(-a * exp(-a)));
}

/* 1/(x+1) + ... + 1/units, x between two whole numbers taking its share of the term it cuts. */
static double harmonic_above(double x, uint32_t units) {
    double sum = 0;
    for (uint32_t i = units; i > 0 && i > x; i--) {
        sum += (i - x < 1 ? i - x : 1) / i;
    }
    return sum;
}

/* Desnoyers, SYSTOR 2012: a superblock spends a time in proportion to 1/i with i valid units, from
 * N down to the x + 1 at which it is collected. The raw to logical ratio that this makes is
 * N / (N - x) * (1/(x+1) + ... + 1/N); x is found from it. */
double write_amplification_greedy(double fill, uint32_t superblock_units) {
    CHECK(fill > 0 && fill < 1);
    double n = superblock_units, low = 0, high = n;
    for (int i = 0; i < HALVINGS; i++) {
        double x = (low + high) / 2;
        if (n / (n - x) * harmonic_above(x, superblock_units) > 1 / fill) {
            low = x;
        } else {
            high = x;
        }
    }
    return n / (n - (low + high) / 2);
}

/* The units with i valid ones lose one at the rate flow * i, and all that arrive from above leave
 * either so or as victims. The victim among d draws has at least i valid with probability T^d, T
 * being the share of superblocks with i or more. So flow * i * p = 1 - (T_above + p)^d, which has
 * one root p. Returns the mean of valid units. */
static double d_choices_mean(double flow, uint32_t units, double choices) {
    double above = 0, mean = 0;
    for (uint32_t i = units; i > 0 && above < 1; i--) {
        double low = 0, high = 1 - above;
        for (int step = 0; step < HALVINGS / 2; step++) {
            double p = (low + high) / 2;
            if (flow * i * p > 1 - pow(above + p, choices)) {
                high = p;
            } else {
                low = p;
            }
        }
        above += low;
        mean += low * i;
    }
    return mean;
}

/* Van Houdt, "A mean field model for a class of garbage collection algorithms in flash-based solid
 * state drives", SIGMETRICS 2013: the fixed point of its equations. Units die at one rate, flow per
 * unit and collection; N - j die per collection, so that A = 1 / (flow * fill). */
double write_amplification_d_choices(double fill, uint32_t superblock_units, double choices) {
    CHECK(fill > 0 && fill < 1);
    double low = 0, high = 1 / fill; /* of flow; a larger one leaves fewer units valid */
    for (int i = 0; i < HALVINGS / 2; i++) {
        double flow = (low + high) / 2;
        if (d_choices_mean(flow, superblock_units, choices) > fill * superblock_units) {
            low = flow;
        } else {
            high = flow;
        }
    }
    return 2 / ((low + high) * fill);
}

/* Open and reserved superblocks hold no victims: as if the drive were smaller by them. */
double write_amplification_finite_fill(double fill, double superblocks, double kept) {
    CHECK(kept >= 0 && kept < superblocks);
    return fill * superblocks / (superblocks - kept);
}

/* Frankie, Hughes and Kreutz-Delgado, arXiv 1208.1794: as many units are trimmed as writes find
 * dead, (1 - q)(1 - live) = q. */
double write_amplification_live_share(double trim_share) {
    CHECK(trim_share >= 0 && trim_share < 0.5);
    return (1 - 2 * trim_share) / (1 - trim_share);
}

/* Of the unit / align places where a write may begin, length / align - 1 make it cross into one
 * more unit. A write aligned to units touches only whole ones. */
double write_amplification_touched_units(double length_bytes, double align_bytes,
                                         double unit_bytes) {
    CHECK(length_bytes > 0 && align_bytes > 0 && unit_bytes > 0);
    if (align_bytes >= unit_bytes) {
        return ceil(length_bytes / unit_bytes);
    }
    return 1 + (length_bytes - align_bytes) / unit_bytes;
}

double write_amplification_sub_unit(double gc, double length_bytes, double align_bytes,
                                    double unit_bytes) {
    double touched = write_amplification_touched_units(length_bytes, align_bytes, unit_bytes);
    return gc * touched * unit_bytes / length_bytes;
}
