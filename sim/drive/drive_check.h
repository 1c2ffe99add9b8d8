#ifndef CKPTSIM_SIM_DRIVE_DRIVE_CHECK_H
#define CKPTSIM_SIM_DRIVE_DRIVE_CHECK_H

#include "base/error.h"
#include "sim/drive/drive_sheet.h"

/* Is this complete drive possible? ERR_USAGE names the place, the key, its value and what is
 * allowed. Each figure alone is within its limits already; here they are held against each other.
 */
enum status drive_check(const struct drive_sheet *sheet, struct error *err);

#endif
