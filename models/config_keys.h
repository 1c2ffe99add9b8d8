#ifndef CKPTSIM_MODELS_CONFIG_KEYS_H
#define CKPTSIM_MODELS_CONFIG_KEYS_H

#include "base/yaml.h"

#include <stddef.h>
#include <stdint.h>

/* The keys of a config map as rows: name, field, limits. */

enum config_key_type {
    KEY_COUNT,    /* uint64_t, minimum to maximum */
    KEY_BOOL,     /* bool */
    KEY_DATATYPE, /* enum datatype, by its name */
    KEY_TEXT,     /* const char * */
    KEY_OTHER,    /* the caller reads it; the row only says that it is allowed */
};

struct config_key {
    const char *key;
    enum config_key_type type;
    size_t field; /* offset in the caller's struct */
    uint64_t minimum, maximum;
};

/* Sets the field of every key of the map that has a row, null values left out. Keys without a row
 * are passed over. */
enum status config_keys_read(const struct yaml_node *map, const struct config_key *rows,
                             size_t count, void *target, struct error *err);

/* An error at the first key that has no row, with the nearest ones. */
enum status config_keys_refuse(const struct yaml_node *map, const struct config_key *rows,
                               size_t count, struct error *err);

#endif
