/* A line is kept as the rank and index of its file and made anew whenever its text is needed: that
 * is cheaper than to fetch it from a large table far away in memory. Lines are sorted by sixteen
 * bytes at a time, as numbers, and those equal in these by the next sixteen: the multikey quicksort
 * of Bentley and Sedgewick (1997), in place. */
#include "models/digest.h"

#include "base/check.h"
#include "base/prng.h"
#include "models/shard_name.h"

#include <openssl/evp.h>
#include <stdio.h>

enum { PIECE = 16 };

struct line {
    uint64_t high, low; /* the piece that decides now, its first byte on top */
    uint32_t rank, index;
};

struct sorter {
    const struct plan *plan;
    uint32_t checkpoint;
};

/* Turns the path of a file into its line "name bytes\n", at file->name, with zeros behind it up to
 * a whole piece, at least one. Returns the line's length. */
static size_t write_line(const struct sorter *sorter, const struct line *line,
                         struct shard_file *file) {
    plan_file(sorter->plan, line->rank, line->index, sorter->checkpoint, file);
    size_t begin = (size_t)(file->name - file->path);
    struct shard_name name = {.file = file, .used = begin + strlen(file->name)};
    shard_name_text(&name, " ");
    shard_name_number(&name, file->bytes);
    shard_name_text(&name, "\n");
    CHECK(name.used + PIECE <= SHARD_PATH);
    memset(file->path + name.used, 0, PIECE);
    return name.used - begin;
}

static void load_piece(const struct sorter *sorter, struct line *line, size_t offset) {
    struct shard_file file;
    uint64_t piece[2];
    write_line(sorter, line, &file);
    memcpy(piece, file.name + offset, PIECE);
    line->high = be64toh(piece[0]);
    line->low = be64toh(piece[1]);
}

static int compare(const struct line *a, const struct line *b) {
    if (a->high != b->high) {
        return a->high < b->high ? -1 : 1;
    }
    return a->low < b->low ? -1 : a->low > b->low;
}

static void swap(struct line *a, struct line *b) {
    struct line old = *a;
    *a = *b;
    *b = old;
}

/* The pivot's place is drawn, so that no order of files is a bad one. Equal lines end together: the
 * zero byte in their last piece stops the recursion. */
static void sort_lines(const struct sorter *sorter, struct line *lines, uint64_t count,
                       size_t offset) {
    while (count > 1) {
        struct line pivot = lines[prng_mix(count) % count];
        uint64_t less = 0, at = 0, more = count;
        while (at < more) {
            int order = compare(&lines[at], &pivot);
            if (order < 0) {
                swap(&lines[less++], &lines[at++]);
            } else if (order > 0) {
                swap(&lines[at], &lines[--more]);
            } else {
                at++;
            }
        }
        sort_lines(sorter, lines, less, offset);
        if (more - less > 1 && (pivot.low & 0xff) != 0) {
            for (uint64_t i = less; i < more; i++) {
                load_piece(sorter, &lines[i], offset + PIECE);
            }
            sort_lines(sorter, lines + less, more - less, offset + PIECE);
        }
        lines += more;
        count -= more;
    }
}

static void hash_lines(const struct sorter *sorter, const struct line *lines, uint64_t count,
                       char hex[DIGEST_TEXT]) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    CHECK(context != NULL);
    int started = EVP_DigestInit_ex(context, EVP_sha256(), NULL);
    CHECK(started == 1);
    for (uint64_t i = 0; i < count; i++) {
        struct shard_file file;
        size_t length = write_line(sorter, &lines[i], &file);
        EVP_DigestUpdate(context, file.name, length);
    }
    EVP_DigestFinal_ex(context, digest, &size);
    EVP_MD_CTX_free(context);
    CHECK(2 * size + 1 == DIGEST_TEXT);
    for (unsigned i = 0; i < size; i++) {
        snprintf(hex + 2 * (size_t)i, 3, "%02x", digest[i]);
    }
}

bool digest_plan(const struct plan *plan, uint32_t checkpoint, char hex[DIGEST_TEXT]) {
    hex[0] = '\0';
    if (plan->files > DIGEST_FILES_LIMIT) {
        return false;
    }
    struct sorter sorter = {.plan = plan, .checkpoint = checkpoint};
    struct line *lines = mem_new(plan->files, sizeof *lines);
    uint64_t count = 0;
    for (uint32_t rank = 0; rank < plan->ranks; rank++) {
        for (uint32_t i = 0; i < plan->shares[rank].files; i++) {
            lines[count] = (struct line){.rank = rank, .index = i};
            load_piece(&sorter, &lines[count++], 0);
        }
    }
    sort_lines(&sorter, lines, count, 0);
    hash_lines(&sorter, lines, count, hex);
    mem_free(lines);
    return true;
}

struct model_digest {
    EVP_MD_CTX *context;
};

static void add_number(struct model_digest *digest, uint64_t number) {
    char text[24];
    int length = snprintf(text, sizeof text, " %llu", (unsigned long long)number);
    EVP_DigestUpdate(digest->context, text, (size_t)length);
}

static void add_weight(struct model_digest *digest, const struct weight *weight) {
    EVP_DigestUpdate(digest->context, weight->name, strlen(weight->name));
    for (uint32_t i = 0; i < weight->dimensions; i++) {
        add_number(digest, weight->shape[i]);
    }
}

static void add_parts(struct model_digest *digest, const struct architecture *model) {
    for (enum model_part part = 0; part < PART_COUNT; part++) {
        struct weight weights[PART_WEIGHTS];
        size_t count = part == PART_GIVEN ? 0
                                          : weight_list(model, part, STYLE_HUGGING_FACE, weights);
        add_number(digest, part);
        for (size_t i = 0; i < count; i++) {
            add_weight(digest, &weights[i]);
            add_number(digest, weight_copies(&weights[i], model));
        }
    }
}

void digest_model(const struct architecture *model, char hex[DIGEST_MODEL_TEXT]) {
    struct model_digest digest = {.context = EVP_MD_CTX_new()};
    CHECK(digest.context != NULL);
    int started = EVP_DigestInit_ex(digest.context, EVP_sha256(), NULL);
    CHECK(started == 1);
    if (model->family != NULL) {
        add_parts(&digest, model);
    }
    for (uint32_t i = 0; i < model->given.count; i++) {
        add_weight(&digest, &model->given.weights[i]);
    }
    for (uint64_t layer = 0; layer < model->layers; layer++) {
        add_number(&digest, architecture_layer(model, layer));
    }
    const struct raw_sizes *raw = &model->raw;
    add_number(&digest, raw->model_bytes);
    for (uint32_t i = 0; i < raw->layer_count; i++) {
        add_number(&digest, raw->layer_bytes[i]);
    }
    for (uint32_t i = 0; i < raw->group_count; i++) {
        add_number(&digest, raw->group_bytes[i]);
    }
    unsigned char bytes[EVP_MAX_MD_SIZE];
    EVP_DigestFinal_ex(digest.context, bytes, NULL);
    EVP_MD_CTX_free(digest.context);
    for (unsigned i = 0; i < DIGEST_MODEL_TEXT / 2; i++) {
        snprintf(hex + 2 * (size_t)i, 3, "%02x", bytes[i]);
    }
}
