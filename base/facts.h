#ifndef CKPTSIM_BASE_FACTS_H
#define CKPTSIM_BASE_FACTS_H

#include "base/json.h"
#include "base/memory.h"

#include <stdint.h>

/* Things found out about the machine, the file system, the device or the engine: names and values
 * in the order they were added. They end up as a map in result.json and as "key value" in text. */

enum { FACTS_LIMIT = 48 };

struct fact {
    const char *key;  /* snake_case, unit at the end: size_bytes */
    const char *text; /* NULL: it is a number */
    uint64_t number;
};

struct facts {
    struct arena *arena;
    uint32_t count;
    struct fact items[FACTS_LIMIT];
};

void facts_text(struct facts *facts, const char *key, const char *text);
void facts_count(struct facts *facts, const char *key, uint64_t number);
/* The fact under key or NULL. */
const struct fact *facts_get(const struct facts *facts, const char *key);
void facts_write_json(const struct facts *facts, struct json *json, const char *key);

#endif
