#include "io/content.h"

static struct format_source source_of(const struct engine_config *config,
                                      const struct io_file *file) {
    return (struct format_source){.stream = file->stream, .classes = config->classes};
}

uint64_t content_make(const struct engine_config *config, const struct io_request *request,
                      void *buffer) {
    const struct io_file *file = request->file;
    if (file->format == NULL) {
        return payload_fill(&config->payload, file->stream, request->offset, buffer,
                            request->length_bytes);
    }
    struct format_source source = source_of(config, file);
    return format_fill(file->format, &source, file->crcs, request->offset, buffer,
                       request->length_bytes);
}

size_t content_right(const struct engine_config *config, const struct io_request *request,
                     const void *bytes, size_t length) {
    const struct io_file *file = request->file;
    if (file->format == NULL) {
        return payload_compare(&config->payload, file->stream, request->offset, bytes, length);
    }
    struct format_source source = source_of(config, file);
    return format_compare(file->format, &source, request->offset, bytes, length);
}
