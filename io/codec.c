/* The zstd codec. Both contexts lie in one piece of memory whose size is known before a run and
 * which libzstd never leaves: a static context reports an error where it would have to allocate.
 * That part of its interface is marked as for static linking, but Debian's library exports it, and
 * it has stayed the same since zstd 1.4. */
#define ZSTD_STATIC_LINKING_ONLY
#include "io/codec.h"

#include "base/check.h"
#include "base/memory.h"
#include "base/units.h"

#include <string.h>
#include <zstd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "frames are little endian");
_Static_assert(ZSTD_COMPRESSBOUND(CODEC_WINDOW_MAX) < UINT32_MAX / 2,
               "a stored window's length fits into 32 bits");

enum {
    MEMORY_ALIGN = 64, /* of contexts: a cache line */
    /* One of 16 magic numbers for skippable frames; the seek table has the one before it. */
    PADDING_MAGIC = 0x184d2a5f,
};

struct skippable_head {
    uint32_t magic, length_bytes; /* without this head */
};

struct codec {
    ZSTD_CCtx *compress;
    ZSTD_DCtx *decompress;
};

/* The choice. */

static bool parse_level(const char *text, int *level) {
    bool negative = text[0] == '-';
    uint64_t value;
    if (units_parse_count(text + negative, &value, NULL) != OK || value == 0 ||
        value > (uint64_t)(negative ? -ZSTD_minCLevel() : CODEC_LEVEL_MAX)) {
        return false;
    }
    *level = negative ? -(int)value : (int)value;
    return true;
}

enum status codec_parse(const char *text, struct codec_choice *choice, struct error *err) {
    static const char with_level[] = "zstd:";
    int level = CODEC_LEVEL_DEFAULT;
    if (strcmp(text, "none") == 0) {
        *choice = (struct codec_choice){.kind = CODEC_NONE};
        return OK;
    }
    if (strncmp(text, with_level, strlen(with_level)) == 0) {
        if (!parse_level(text + strlen(with_level), &level)) {
            return error_set(err, ERR_USAGE,
                             "--codec: '%s' has no level of zstd; 1 to %d is allowed, and -1 to %d "
                             "for more speed",
                             text, CODEC_LEVEL_MAX, ZSTD_minCLevel());
        }
    } else if (strcmp(text, "zstd") != 0) {
        return error_set(err, ERR_USAGE,
                         "--codec: '%s' is not allowed; none, zstd and zstd:LEVEL are", text);
    }
    *choice = (struct codec_choice){.kind = CODEC_ZSTD, .level = level};
    return OK;
}

/* Lengths. */

uint64_t codec_windows(uint64_t raw_bytes, uint64_t chunk_bytes) {
    return raw_bytes == 0 ? 1 : (raw_bytes - 1) / chunk_bytes + 1;
}

static uint64_t round_up(uint64_t value, uint64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

/* A frame that ends less than a head before a block's end takes one more block. */
uint64_t codec_bound(uint64_t raw_bytes) {
    CHECK(raw_bytes <= CODEC_WINDOW_MAX);
    return round_up(ZSTD_compressBound(raw_bytes) + sizeof(struct skippable_head), CODEC_BLOCK);
}

size_t codec_padding_bytes(uint64_t used_bytes) {
    size_t gap = (size_t)(round_up(used_bytes, CODEC_BLOCK) - used_bytes);
    return gap == 0 || gap >= sizeof(struct skippable_head) ? gap : gap + CODEC_BLOCK;
}

static struct skippable_head padding_head(size_t length) {
    return (struct skippable_head){
        .magic = PADDING_MAGIC,
        .length_bytes = (uint32_t)(length - sizeof(struct skippable_head)),
    };
}

void codec_pad(void *padding, size_t length) {
    if (length > 0) {
        struct skippable_head head = padding_head(length);
        memset(padding, 0, length);
        memcpy(padding, &head, sizeof head);
    }
}

bool codec_is_padding(const void *bytes, size_t length) {
    if (length < sizeof(struct skippable_head)) {
        return length == 0;
    }
    struct skippable_head head = padding_head(length);
    const uint8_t *zeros = (const uint8_t *)bytes + sizeof head;
    size_t i = 0;
    while (i < length - sizeof head && zeros[i] == 0) {
        i++;
    }
    return memcmp(bytes, &head, sizeof head) == 0 && i == length - sizeof head;
}

/* Contexts. */

/* libzstd has other parameters for short inputs, and those may take more memory than the ones for
 * long inputs; within a step the longest input takes most. */
static size_t compress_memory_bytes(int level, uint64_t chunk_bytes) {
    static const uint64_t steps[] = {16 * 1024, 128 * 1024, 256 * 1024, CODEC_WINDOW_MAX};
    size_t most = 0;
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        uint64_t longest = steps[i] < chunk_bytes ? steps[i] : chunk_bytes;
        size_t bytes = ZSTD_estimateCCtxSize_usingCParams(ZSTD_getCParams(level, longest, 0));
        CHECK(!ZSTD_isError(bytes));
        most = bytes > most ? bytes : most;
    }
    return round_up(most, MEMORY_ALIGN);
}

static size_t head_memory_bytes(void) { return round_up(sizeof(struct codec), MEMORY_ALIGN); }

static size_t decompress_memory_bytes(void) {
    return round_up(ZSTD_estimateDCtxSize(), MEMORY_ALIGN);
}

uint64_t codec_memory_bytes(int level, uint64_t chunk_bytes) {
    return head_memory_bytes() + compress_memory_bytes(level, chunk_bytes) +
           decompress_memory_bytes();
}

/* A static context begins with all parameters 0, not with libzstd's defaults: without the reset its
 * frames would not name their content's size. */
static void set_parameters(ZSTD_CCtx *compress, int level) {
    size_t codes[] = {
        ZSTD_CCtx_reset(compress, ZSTD_reset_session_and_parameters),
        ZSTD_CCtx_setParameter(compress, ZSTD_c_compressionLevel, level),
        ZSTD_CCtx_setParameter(compress, ZSTD_c_checksumFlag, 1),
    };
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        CHECK(!ZSTD_isError(codes[i]));
    }
}

struct codec *codec_open(int level, uint64_t chunk_bytes) {
    CHECK(chunk_bytes > 0);
    CHECK(chunk_bytes <= CODEC_WINDOW_MAX);
    size_t compress_bytes = compress_memory_bytes(level, chunk_bytes);
    uint64_t memory_bytes = codec_memory_bytes(level, chunk_bytes);
    uint8_t *memory = mem_new(1, memory_bytes);
    memset(memory, 0, memory_bytes); /* no page fault later on */
    struct codec *codec = (struct codec *)memory;
    uint8_t *compress = memory + head_memory_bytes();
    codec->compress = ZSTD_initStaticCCtx(compress, compress_bytes);
    codec->decompress = ZSTD_initStaticDCtx(compress + compress_bytes, decompress_memory_bytes());
    CHECK(codec->compress != NULL);
    CHECK(codec->decompress != NULL);
    set_parameters(codec->compress, level);
    return codec;
}

void codec_close(struct codec *codec) { mem_free(codec); }

/* Windows. */

size_t codec_compress(struct codec *codec, const void *raw, size_t raw_bytes, void *stored,
                      size_t capacity) {
    CHECK(capacity >= codec_bound(raw_bytes));
    size_t frame_bytes = ZSTD_compress2(codec->compress, stored, capacity, raw, raw_bytes);
    CHECK(!ZSTD_isError(frame_bytes)); /* with this capacity only a context too small could fail */
    size_t padding_bytes = codec_padding_bytes(frame_bytes);
    codec_pad((uint8_t *)stored + frame_bytes, padding_bytes);
    return frame_bytes + padding_bytes;
}

static bool begins_zstd(const void *stored, size_t stored_bytes) {
    uint32_t magic = 0;
    if (stored_bytes >= sizeof magic) {
        memcpy(&magic, stored, sizeof magic);
    }
    return magic == ZSTD_MAGICNUMBER;
}

enum status codec_decompress(struct codec *codec, const void *stored, size_t stored_bytes,
                             void *raw, size_t raw_bytes, struct error *err) {
    /* Checked first: libzstd may also know frames of its early versions and skippable ones. */
    if (!begins_zstd(stored, stored_bytes)) {
        return error_set(err, ERR_FAILED, "no zstd frame where one should begin");
    }
    size_t frame_bytes = ZSTD_findFrameCompressedSize(stored, stored_bytes);
    if (ZSTD_isError(frame_bytes)) {
        return error_set(err, ERR_FAILED, "damaged zstd frame: '%s'",
                         ZSTD_getErrorName(frame_bytes));
    }
    if (ZSTD_getFrameContentSize(stored, frame_bytes) != raw_bytes) {
        return error_set(err, ERR_FAILED, "zstd frame does not hold %zu bytes", raw_bytes);
    }
    size_t rest_bytes = stored_bytes - frame_bytes;
    if (rest_bytes != codec_padding_bytes(frame_bytes) ||
        !codec_is_padding((const uint8_t *)stored + frame_bytes, rest_bytes)) {
        return error_set(err, ERR_FAILED, "zstd frame is not followed by padding to a whole block");
    }
    size_t made_bytes = ZSTD_decompressDCtx(codec->decompress, raw, raw_bytes, stored, frame_bytes);
    if (ZSTD_isError(made_bytes)) {
        return error_set(err, ERR_FAILED, "damaged zstd frame: '%s'",
                         ZSTD_getErrorName(made_bytes));
    }
    CHECK(made_bytes == raw_bytes); /* libzstd holds a frame to its content size */
    return OK;
}
