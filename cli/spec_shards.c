#include "cli/spec_shards.h"

#include "base/names.h"
#include "cli/payload_classes.h"

enum status spec_set_codec(struct spec *spec, struct error *err) {
    return codec_parse(spec->codec, &spec->io.codec, err);
}

enum status spec_set_classes(struct spec *spec, struct error *err) {
    struct payload *classes = spec->io.classes;
    const char *ratios = spec->compressible;
    if (names_equal(ratios, "auto")) {
        ratios = spec->io.codec.kind != CODEC_NONE ? "published" : "1";
    }
    bool zero = spec->io.payload.kind == PAYLOAD_ZERO;
    if (zero && (!names_equal(spec->compressible, "auto") || spec->io.payload.dedupe > 1)) {
        return error_set(err, ERR_USAGE, "--payload: 'zero' does not go with --compressible and "
                                         "--dedupe, which are about random payload");
    }
    if (payload_classes_parse(ratios, &spec->io.payload, classes, err) != OK) {
        return err->status;
    }
    spec->io.payload = classes[TENSOR_WEIGHT];
    return OK;
}

enum status spec_shards(const struct spec *spec, const struct payload *classes,
                        enum shards_depth depth, struct arena *arena, struct plan *plan,
                        struct shards *shards, struct error *err) {
    const struct format *format;
    if (plan_build(&spec->plan, arena, plan, err) != OK ||
        shards_format(spec->format, plan->layout, &format, err) != OK ||
        shards_measure(plan, format, classes, depth, arena, shards, err) != OK ||
        shards_compress(shards, &spec->io.codec, spec->io.chunk_bytes, err) != OK) {
        return err->status;
    }
    return OK;
}
