/* No structure at all: the tensors' bytes one after the other. */
#include "io/format_builder.h"
#include "io/formats.h"

static enum status build(const struct tensor *tensors, uint64_t count,
                         const struct format_options *options, struct format_builder *builder,
                         struct error *err) {
    (void)options, (void)err;
    for (uint64_t i = 0; i < count; i++) {
        builder_payload(builder, &tensors[i], &builder->places[i]);
    }
    return OK;
}

const struct format format_raw = {
    .name = "raw",
    .about = "the tensors' bytes alone",
    .extension = "",
    .build = build,
};
