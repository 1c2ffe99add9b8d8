#ifndef CKPTSIM_CLI_VALIDATE_TABLES_H
#define CKPTSIM_CLI_VALIDATE_TABLES_H

#include "base/error.h"
#include "base/memory.h"

/* The other two tables of `ckptsim validate`, printed to standard output. */

/* Every drive's data sheet beside the model. */
enum status validate_sheets(const char *config_dir, struct arena *arena, struct error *err);

/* The reviews' small random requests beside the model. */
enum status validate_points(const char *config_dir, struct arena *arena, struct error *err);

#endif
