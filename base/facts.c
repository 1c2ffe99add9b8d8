#include "base/facts.h"

#include "base/check.h"

#include <string.h>

void facts_text(struct facts *facts, const char *key, const char *text) {
    CHECK(facts->count < FACTS_LIMIT);
    facts->items[facts->count++] =
        (struct fact){.key = arena_text(facts->arena, key), .text = arena_text(facts->arena, text)};
}

void facts_count(struct facts *facts, const char *key, uint64_t number) {
    CHECK(facts->count < FACTS_LIMIT);
    facts->items[facts->count++] =
        (struct fact){.key = arena_text(facts->arena, key), .number = number};
}

const struct fact *facts_get(const struct facts *facts, const char *key) {
    for (uint32_t i = 0; i < facts->count; i++) {
        if (strcmp(facts->items[i].key, key) == 0) {
            return &facts->items[i];
        }
    }
    return NULL;
}

void facts_write_json(const struct facts *facts, struct json *json, const char *key) {
    json_begin_map(json, key);
    for (uint32_t i = 0; i < facts->count; i++) {
        const struct fact *fact = &facts->items[i];
        if (fact->text != NULL) {
            json_text(json, fact->key, fact->text);
        } else {
            json_count(json, fact->key, fact->number);
        }
    }
    json_end_map(json);
}
