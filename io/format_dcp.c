/* PyTorch's distributed checkpoint: every rank writes files of items, and one file tells where the
 * parts of each tensor lie.
 *
 *   __0_0.distcp   item | zeros up to a block | item ...     an item is what torch.save makes of
 * one
 *   __1_0.distcp   ...                                       tensor, archive and all
 *   .metadata      a pickled Metadata: for each tensor type, shape and parts; for each part file,
 *                  offset and length
 *
 * The last one is made by format_dcp_metadata.c. */
#include "io/format_torch.h"
#include "io/formats.h"

static void put_item(struct format_builder *builder, const struct tensor *tensor,
                     struct format_place *place, const struct format_options *options) {
    struct pickle pickle;
    struct zip zip;
    uint64_t begin = format_round_up(builder->offset, PAYLOAD_BLOCK);
    builder_skip_to(builder, begin);
    pickle_begin(&pickle);
    torch_pickle_tensor(&pickle, tensor, 0);
    pickle_end(&pickle);
    zip_begin(&zip, builder, "archive", torch_entries(1));
    torch_begin(&zip, &pickle, options);
    torch_storage(&zip, tensor, place, 0, options);
    torch_end(&zip);
    place->item_offset = begin;
    place->item_bytes = builder->offset - begin;
    zip_fini(&zip);
    pickle_fini(&pickle);
}

static enum status build(const struct tensor *tensors, uint64_t count,
                         const struct format_options *options, struct format_builder *builder,
                         struct error *err) {
    (void)err;
    for (uint64_t i = 0; i < count; i++) {
        put_item(builder, &tensors[i], &builder->places[i], options);
    }
    return OK;
}

const struct format format_dcp = {
    .name = "dcp",
    .about = "a .distcp file of PyTorch's distributed checkpoint; .metadata goes beside it",
    .extension = ".distcp",
    .reads_items = true,
    .no_codec = "its reader takes items as they are, and zstd is an experiment of late releases of torch",
    .build = build,
};
