#ifndef CKPTSIM_IO_FORMAT_TORCH_H
#define CKPTSIM_IO_FORMAT_TORCH_H

#include "io/format_builder.h"
#include "io/format_pickle.h"
#include "io/format_zip.h"

/* What torch.save files and the items of distributed checkpoints have in common. */

/* The number of entries in an archive of this many tensors. */
static inline uint64_t torch_entries(uint64_t tensors) { return tensors + 3; }

/* Pushes a tensor: a call that rebuilds it from the storage of entry data/`key`. */
void torch_pickle_tensor(struct pickle *pickle, const struct tensor *tensor, uint64_t key);

/* The archive up to its storages, one storage, and the rest. */
void torch_begin(struct zip *zip, const struct pickle *pickle,
                 const struct format_options *options);
void torch_storage(struct zip *zip, const struct tensor *tensor, struct format_place *place,
                   uint64_t key, const struct format_options *options);
void torch_end(struct zip *zip);

#endif
