/* Shard names share long beginnings, so comparing whole lines while sorting would read the same
 * bytes over and over. Instead eight bytes of every line are sorted at a time, as numbers, and only
 * lines equal in these are sorted by the next eight. */
#include "models/digest.h"

#include "base/check.h"
#include "models/shard_name.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIECE = 8, LINE_ROOM = SHARD_PATH + 32 };

struct line {
    uint64_t piece; /* the eight bytes that decide now, the first one on top */
    uint64_t start;
};

struct lines {
    char *text; /* lines that end in '\n' and then zeros up to a whole piece */
    uint64_t used, room;
    struct line *items;
    uint64_t count;
};

static void grow(struct lines *lines) {
    if (lines->room - lines->used < LINE_ROOM) {
        uint64_t more = lines->room / 4 + (UINT64_C(1) << 20);
        lines->text = mem_resize(lines->text, lines->room + more, 1);
        lines->room += more;
    }
}

static void add_line(struct lines *lines, const struct shard_file *file) {
    struct shard_file line;
    struct shard_name name = {.file = &line};
    shard_name_text(&name, file->name);
    shard_name_text(&name, " ");
    shard_name_number(&name, file->bytes);
    shard_name_text(&name, "\n");
    grow(lines);
    lines->items[lines->count++].start = lines->used;
    memcpy(lines->text + lines->used, line.path, name.used);
    uint64_t end = lines->used + name.used;
    lines->used = (end + PIECE) / PIECE * PIECE;
    memset(lines->text + end, 0, lines->used - end);
}

static int compare_pieces(const void *left, const void *right) {
    const struct line *a = left, *b = right;
    return a->piece < b->piece ? -1 : a->piece > b->piece;
}

static void load_pieces(struct lines *lines, uint64_t first, uint64_t count, uint64_t offset) {
    for (uint64_t i = first; i < first + count; i++) {
        uint64_t piece;
        memcpy(&piece, lines->text + lines->items[i].start + offset, PIECE);
        lines->items[i].piece = be64toh(piece);
    }
}

/* Equal lines end together: the zero that fills the last piece stops the recursion, which is as
 * deep as a line has pieces. */
static void sort_lines(struct lines *lines, uint64_t first, uint64_t count, uint64_t offset) {
    load_pieces(lines, first, count, offset);
    qsort(lines->items + first, count, sizeof *lines->items, compare_pieces);
    for (uint64_t begin = first, end; begin < first + count; begin = end) {
        uint64_t piece = lines->items[begin].piece;
        for (end = begin + 1; end < first + count && lines->items[end].piece == piece;) {
            end++;
        }
        if (end - begin > 1 && (piece & 0xff) != 0) {
            sort_lines(lines, begin, end - begin, offset + PIECE);
        }
    }
}

static void hash_lines(const struct lines *lines, char hex[DIGEST_TEXT]) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    CHECK(context != NULL);
    CHECK(EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1);
    for (uint64_t i = 0; i < lines->count; i++) {
        const char *line = lines->text + lines->items[i].start;
        EVP_DigestUpdate(context, line, strlen(line));
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
    struct lines lines = {.items = mem_new(plan->files, sizeof *lines.items)};
    for (uint32_t rank = 0; rank < plan->ranks; rank++) {
        for (uint64_t i = 0; i < plan->shares[rank].files; i++) {
            struct shard_file file;
            plan_file(plan, rank, i, checkpoint, &file);
            add_line(&lines, &file);
        }
    }
    if (lines.count > 0) {
        sort_lines(&lines, 0, lines.count, 0);
    }
    hash_lines(&lines, hex);
    mem_free(lines.text);
    mem_free(lines.items);
    return true;
}
