#include "io/format_pickle.h"

#include "base/check.h"

#include <string.h>

enum {
    BATCH = 1000, /* items that Python's pickler sets at once */
    OP_PROTOCOL = 0x80,
    OP_STOP = '.',
    OP_GLOBAL = 'c',
    OP_TEXT = 'X',
    OP_EMPTY_DICT = '}',
    OP_EMPTY_LIST = ']',
    OP_TUPLE = 't',
    OP_TUPLE_1 = 0x85, /* and of 2 and 3 values after it */
    OP_CALL = 'R',
    OP_NEW_OBJECT = 0x81,
    OP_SET_ITEM = 's',
    OP_SET_ITEMS = 'u',
    OP_APPEND = 'a',
    OP_APPENDS = 'e',
    OP_PUT = 'q',
    OP_PUT_LONG = 'r',
    OP_FETCH = 'h',
    OP_FETCH_LONG = 'j',
    OP_NUMBER_1 = 'K',
    OP_NUMBER_2 = 'M',
    OP_NUMBER_4 = 'J', /* signed */
    OP_NUMBER_LONG = 0x8a,
};

static void op(struct pickle *pickle, int opcode) {
    bytes_add_number(&pickle->bytes, (uint64_t)opcode, 1);
}

/* An opcode whose argument takes one byte where it fits, and four with the other opcode. */
static void op_index(struct pickle *pickle, int short_op, int long_op, uint32_t index) {
    op(pickle, index <= UINT8_MAX ? short_op : long_op);
    bytes_add_number(&pickle->bytes, index, index <= UINT8_MAX ? 1 : 4);
}

static uint32_t memoize(struct pickle *pickle) {
    op_index(pickle, OP_PUT, OP_PUT_LONG, pickle->memo_count);
    return pickle->memo_count++;
}

void pickle_begin(struct pickle *pickle) {
    *pickle = (struct pickle){0};
    op(pickle, OP_PROTOCOL);
    op(pickle, 2);
}

void pickle_end(struct pickle *pickle) { op(pickle, OP_STOP); }

void pickle_fini(struct pickle *pickle) { bytes_fini(&pickle->bytes); }

void pickle_do(struct pickle *pickle, enum pickle_op opcode) { op(pickle, (int)opcode); }

/* A long is as short as it can be with its highest bit clear, since that bit is the sign. */
static void long_number(struct pickle *pickle, uint64_t number) {
    size_t size = 4;
    while (number >> (8 * size - 1) != 0 && size < sizeof number) {
        size++;
    }
    bool is_signed = number >> (8 * size - 1) != 0;
    op(pickle, OP_NUMBER_LONG);
    bytes_add_number(&pickle->bytes, is_signed ? size + 1 : size, 1);
    bytes_add_number(&pickle->bytes, number, size);
    bytes_add_repeated(&pickle->bytes, 0, is_signed ? 1 : 0);
}

void pickle_number(struct pickle *pickle, uint64_t number) {
    if (number <= UINT8_MAX) {
        op(pickle, OP_NUMBER_1);
        bytes_add_number(&pickle->bytes, number, 1);
    } else if (number <= UINT16_MAX) {
        op(pickle, OP_NUMBER_2);
        bytes_add_number(&pickle->bytes, number, 2);
    } else if (number <= INT32_MAX) {
        op(pickle, OP_NUMBER_4);
        bytes_add_number(&pickle->bytes, number, 4);
    } else {
        long_number(pickle, number);
    }
}

void pickle_fetch(struct pickle *pickle, uint32_t memo) {
    op_index(pickle, OP_FETCH, OP_FETCH_LONG, memo);
}

uint32_t pickle_text(struct pickle *pickle, const char *text) {
    op(pickle, OP_TEXT);
    bytes_add_number(&pickle->bytes, strlen(text), 4);
    bytes_add_text(&pickle->bytes, text);
    return memoize(pickle);
}

uint32_t pickle_empty_dict(struct pickle *pickle) {
    op(pickle, OP_EMPTY_DICT);
    return memoize(pickle);
}

uint32_t pickle_empty_list(struct pickle *pickle) {
    op(pickle, OP_EMPTY_LIST);
    return memoize(pickle);
}

uint32_t pickle_tuple(struct pickle *pickle, uint32_t count) {
    CHECK(count > 0);
    op(pickle, count <= 3 ? OP_TUPLE_1 + (int)count - 1 : OP_TUPLE);
    return memoize(pickle);
}

void pickle_number_tuple(struct pickle *pickle, const uint64_t *numbers, uint32_t count) {
    if (count == 0) {
        pickle_do(pickle, PICKLE_EMPTY_TUPLE);
        return;
    }
    if (count > 3) {
        pickle_do(pickle, PICKLE_MARK);
    }
    for (uint32_t i = 0; i < count; i++) {
        pickle_number(pickle, numbers[i]);
    }
    pickle_tuple(pickle, count);
}

uint32_t pickle_call(struct pickle *pickle) {
    op(pickle, OP_CALL);
    return memoize(pickle);
}

uint32_t pickle_new_object(struct pickle *pickle) {
    op(pickle, OP_NEW_OBJECT);
    return memoize(pickle);
}

bool pickle_fetch_named(struct pickle *pickle, const char *name) {
    for (uint32_t i = 0; i < pickle->named_count; i++) {
        if (strcmp(pickle->named[i].name, name) == 0) {
            pickle_fetch(pickle, pickle->named[i].memo);
            return true;
        }
    }
    return false;
}

void pickle_name(struct pickle *pickle, const char *name, uint32_t memo) {
    CHECK(pickle->named_count < PICKLE_NAMED_MAX);
    pickle->named[pickle->named_count].name = name;
    pickle->named[pickle->named_count++].memo = memo;
}

void pickle_global(struct pickle *pickle, const char *module_newline_name) {
    if (!pickle_fetch_named(pickle, module_newline_name)) {
        op(pickle, OP_GLOBAL);
        bytes_add_text(&pickle->bytes, module_newline_name);
        bytes_add_text(&pickle->bytes, "\n");
        pickle_name(pickle, module_newline_name, memoize(pickle));
    }
}

void pickle_constant(struct pickle *pickle, const char *text) {
    if (!pickle_fetch_named(pickle, text)) {
        pickle_name(pickle, text, pickle_text(pickle, text));
    }
}

void pickle_begin_item(struct pickle *pickle, uint64_t i, uint64_t count) {
    if (count > 1 && i % BATCH == 0) {
        pickle_do(pickle, PICKLE_MARK);
    }
}

static void end_item(struct pickle *pickle, uint64_t i, uint64_t count, int one, int many) {
    if (count == 1) {
        op(pickle, one);
    } else if (i == count - 1 || i % BATCH == BATCH - 1) {
        op(pickle, many);
    }
}

/* After a full batch Python looks for more, and where the dict ends there sets a batch of none. */
void pickle_end_dict_item(struct pickle *pickle, uint64_t i, uint64_t count) {
    end_item(pickle, i, count, OP_SET_ITEM, OP_SET_ITEMS);
    if (i == count - 1 && count % BATCH == 0) {
        pickle_do(pickle, PICKLE_MARK);
        op(pickle, OP_SET_ITEMS);
    }
}

void pickle_end_list_item(struct pickle *pickle, uint64_t i, uint64_t count) {
    end_item(pickle, i, count, OP_APPEND, OP_APPENDS);
}
