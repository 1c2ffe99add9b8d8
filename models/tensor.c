#include "models/tensor.h"

#include <string.h>

const char *tensor_class_name(enum tensor_class class) {
    static const char *const names[] = {"weight", "master", "moment", "other"};
    return names[class];
}

void tensor_name_begin(struct tensor *tensor) { tensor->name[0] = '\0'; }

static void append(struct tensor *tensor, const char *text, size_t length) {
    size_t used = strlen(tensor->name);
    if (used + length < TENSOR_NAME) {
        memcpy(tensor->name + used, text, length);
        tensor->name[used + length] = '\0';
    }
}

void tensor_name_text(struct tensor *tensor, const char *text) {
    append(tensor, text, strlen(text));
}

void tensor_name_number(struct tensor *tensor, uint64_t number) {
    char digits[20];
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    append(tensor, digits + first, sizeof digits - first);
}

void tensor_name_weight(struct tensor *tensor, const char *name, uint64_t layer, uint64_t expert) {
    while (*name != '\0') {
        size_t plain = strcspn(name, "#@");
        append(tensor, name, plain);
        name += plain;
        if (*name != '\0') {
            tensor_name_number(tensor, *name == '#' ? layer : expert);
            name++;
        }
    }
}

void tensor_set_flat(struct tensor *tensor, enum datatype datatype, uint64_t elements) {
    tensor->datatype = datatype;
    tensor->dimensions = 1;
    tensor->shape[0] = tensor->whole[0] = elements;
    tensor->offset[0] = 0;
    tensor_count(tensor);
}

void tensor_count(struct tensor *tensor) {
    tensor->elements = 1;
    for (uint32_t i = 0; i < tensor->dimensions; i++) {
        tensor->elements *= tensor->shape[i];
    }
    tensor->bytes = tensor->elements * datatype_bytes(tensor->datatype);
}
