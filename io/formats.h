#ifndef CKPTSIM_IO_FORMATS_H
#define CKPTSIM_IO_FORMATS_H

#include "io/format.h"

/* The rows of the registry in format.c; everybody else finds formats by name. */

extern const struct format format_raw;
extern const struct format format_torch;
extern const struct format format_safetensors;
extern const struct format format_dcp;
extern const struct format format_hdf5;

#endif
