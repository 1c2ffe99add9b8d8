#ifndef CKPTSIM_IO_FORMAT_PICKLE_H
#define CKPTSIM_IO_FORMAT_PICKLE_H

#include "io/format.h"
#include "io/format_bytes.h"

/* Writes pickles of protocol 2 as Python's own pickler does: values are put on a stack, and each
 * object made of them is numbered (memoized), so that it can be fetched where it comes again. */

enum { PICKLE_NAMED_MAX = 64 };

struct pickle {
    struct format_bytes bytes;
    uint32_t memo_count;
    uint32_t named_count;
    struct {
        const char *name;
        uint32_t memo;
    } named[PICKLE_NAMED_MAX];
};

void pickle_begin(struct pickle *pickle);
void pickle_end(struct pickle *pickle); /* bytes hold the whole pickle */
void pickle_fini(struct pickle *pickle);

/* What is pushed or done without a number. */
enum pickle_op {
    PICKLE_MARK = '(',
    PICKLE_NONE = 'N',
    PICKLE_FALSE = 0x89,
    PICKLE_EMPTY_TUPLE = ')',
    PICKLE_PERSISTENT_ID = 'Q', /* the object that the tuple on top stands for */
    PICKLE_BUILD = 'b',         /* the state on top goes into the object below */
};
void pickle_do(struct pickle *pickle, enum pickle_op op);
void pickle_number(struct pickle *pickle, uint64_t number);
void pickle_fetch(struct pickle *pickle, uint32_t memo);

/* What is pushed with a number, which is returned. */
uint32_t pickle_text(struct pickle *pickle, const char *text);
uint32_t pickle_empty_dict(struct pickle *pickle);
uint32_t pickle_empty_list(struct pickle *pickle);
/* A tuple of the top `count` values; above 3, of all values from the mark on. */
uint32_t pickle_tuple(struct pickle *pickle, uint32_t count);
void pickle_number_tuple(struct pickle *pickle, const uint64_t *numbers, uint32_t count);
uint32_t pickle_call(struct pickle *pickle); /* callable and argument tuple are on the stack */
uint32_t pickle_new_object(struct pickle *pickle); /* likewise a class and an empty tuple */

/* The same object at every place: made where it comes first and fetched from then on. The texts
 * must live as long as the pickle. */
void pickle_global(struct pickle *pickle, const char *module_newline_name);
void pickle_constant(struct pickle *pickle, const char *text);

/* For objects of other kinds: true where one of this name was fetched. If not, the caller makes it
 * and gives its number the name. */
bool pickle_fetch_named(struct pickle *pickle, const char *name);
void pickle_name(struct pickle *pickle, const char *name, uint32_t memo);

/* Around item i of a dict or list of count items: key and value, or a value. */
void pickle_begin_item(struct pickle *pickle, uint64_t i, uint64_t count);
void pickle_end_dict_item(struct pickle *pickle, uint64_t i, uint64_t count);
void pickle_end_list_item(struct pickle *pickle, uint64_t i, uint64_t count);

#endif
