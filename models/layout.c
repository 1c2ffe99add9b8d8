#include "models/layout.h"

#include "base/names.h"

_Static_assert(SHARD_PATH > 100, "the longest name of a layout, with 20 digits a number, must fit");

const struct layout *const layouts[] = {
    &layout_dlio2,     &layout_dlio, &layout_megatron, &layout_megatron_dist,
    &layout_deepspeed, &layout_fsdp, &layout_hf,       NULL};

const struct layout *layout_find(const char *name) {
    for (size_t i = 0; layouts[i] != NULL; i++) {
        const char *alias = layouts[i]->alias;
        if (names_equal(layouts[i]->name, name) || (alias != NULL && names_equal(alias, name))) {
            return layouts[i];
        }
    }
    return NULL;
}
