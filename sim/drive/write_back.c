#include "sim/drive/write_back.h"

enum { MOST_JOINED = 1 << 30 };

void write_back_init(struct write_back *back, uint32_t ranks) {
    *back = (struct write_back){.ranks = mem_new(ranks, sizeof *back->ranks)};
}

void write_back_fini(struct write_back *back) {
    arena_fini(&back->arena);
    mem_free(back->ranks);
}

static struct segment *new_segment(struct write_back *back) {
    struct segment *segment = back->free_segments;
    if (segment != NULL) {
        back->free_segments = segment->next;
    } else {
        segment = arena_new(&back->arena, 1, sizeof *segment);
    }
    *segment = (struct segment){0};
    return segment;
}

static void free_segment(struct write_back *back, struct segment *segment) {
    segment->next = back->free_segments;
    back->free_segments = segment;
}

void write_back_make_ready(struct write_back *back, uint32_t index) {
    struct write_back_rank *rank = &back->ranks[index];
    bool served = back->serving && back->serving_rank == index;
    if (rank->ready || rank->first == NULL || served) {
        return;
    }
    rank->ready = true;
    rank->next_ready = UINT32_MAX;
    if (back->ready_count++ == 0) {
        back->ready_first = index;
    } else {
        back->ranks[back->ready_last].next_ready = index;
    }
    back->ready_last = index;
}

uint32_t write_back_take(struct write_back *back) {
    uint32_t index = back->ready_first;
    back->ready_first = back->ranks[index].next_ready;
    back->ready_count--;
    back->ranks[index].ready = false;
    return index;
}

void write_back_add(struct write_back *back, uint32_t index, struct drive_file *file,
                    uint64_t bytes, struct io_request *request) {
    struct write_back_rank *rank = &back->ranks[index];
    struct segment *segment = new_segment(back);
    segment->file = file;
    segment->bytes = bytes;
    segment->request = request;
    back->waiting_bytes += bytes;
    if (rank->last != NULL) {
        rank->last->next = segment;
    } else {
        rank->first = segment;
    }
    rank->last = segment;
    write_back_make_ready(back, index);
}

bool write_back_join(struct write_back *back, uint32_t rank, const struct drive_file *file,
                     uint64_t bytes) {
    struct segment *last = back->ranks[rank].last;
    if (last == NULL || last->file != file || last->bytes + bytes > MOST_JOINED) {
        return false;
    }
    last->bytes += bytes;
    back->waiting_bytes += bytes;
    return true;
}

void write_back_serve(struct write_back *back, uint32_t rank, uint64_t bytes) {
    back->serving = true;
    back->serving_rank = rank;
    back->serving_bytes = bytes;
}

void write_back_served(struct write_back *back) {
    struct segment *segment = back->ranks[back->serving_rank].first;
    uint64_t bytes = back->serving_bytes < segment->bytes ? back->serving_bytes : segment->bytes;
    segment->bytes -= bytes;
    back->waiting_bytes -= bytes;
    back->serving = false;
}

struct io_request *write_back_settle(struct write_back *back, uint32_t index) {
    struct write_back_rank *rank = &back->ranks[index];
    struct io_request *request = NULL;
    while (request == NULL && rank->first != NULL && rank->first->bytes == 0) {
        struct segment *segment = rank->first;
        rank->first = segment->next;
        if (rank->first == NULL) {
            rank->last = NULL;
        }
        request = segment->request;
        free_segment(back, segment);
    }
    return request;
}

void write_back_drop_file(struct write_back *back, const struct drive_file *file, uint32_t ranks) {
    for (uint32_t i = 0; i < ranks; i++) {
        struct write_back_rank *rank = &back->ranks[i];
        bool served = back->serving && back->serving_rank == i;
        for (struct segment *segment = rank->first; segment != NULL; segment = segment->next) {
            uint64_t keep = served && segment == rank->first ? back->serving_bytes : 0;
            if (segment->file == file && segment->bytes > keep) {
                back->waiting_bytes -= segment->bytes - keep;
                segment->bytes = keep;
            }
        }
    }
}

struct io_request *write_back_drop_rank(struct write_back *back, uint32_t index) {
    struct write_back_rank *rank = &back->ranks[index];
    struct io_request *first = NULL, **end = &first;
    while (rank->first != NULL) {
        struct segment *segment = rank->first;
        rank->first = segment->next;
        back->waiting_bytes -= segment->bytes;
        if (segment->request != NULL) {
            *end = segment->request;
            end = &segment->request->next;
        }
        free_segment(back, segment);
    }
    rank->last = NULL;
    *end = NULL;
    return first;
}
