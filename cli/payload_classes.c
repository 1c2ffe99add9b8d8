#include "cli/payload_classes.h"

#include "base/names.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>

#define COMPRESSIBLE_MAX 1000.0

/* Published: bf16 weights 1.46, fp32 moments 1.08. Of fp32 copies nothing was published that is known
 * here; they are taken to be as moments are. Random state and the like is small and incompressible. */
static const double published[FORMAT_CLASSES] = {[TENSOR_WEIGHT] = 1.46, [TENSOR_MASTER] = 1.08,
                                                 [TENSOR_MOMENT] = 1.08, [TENSOR_OTHER] = 1};

static enum status parse_ratio(const char *text, double *ratio, struct error *err) {
    if (units_parse_number(text, ratio, err) != OK) {
        return error_wrap(err, "--compressible");
    }
    if (!(*ratio >= 1) || *ratio > COMPRESSIBLE_MAX) {
        return error_set(err, ERR_USAGE, "--compressible: '%s' is not allowed; at least 1 and at most "
                                         "%g is", text, COMPRESSIBLE_MAX);
    }
    return OK;
}

static int find_class(const char *name) {
    for (int i = 0; i < FORMAT_CLASSES; i++) {
        if (strcmp(tensor_class_name((enum tensor_class)i), name) == 0) {
            return i;
        }
    }
    return -1;
}

static enum status parse_pairs(char *rest, struct payload *classes, struct error *err) {
    for (char *pair; (pair = strsep(&rest, ",")) != NULL;) {
        char *value = strchr(pair, '=');
        if (value != NULL) {
            *value++ = '\0';
        }
        int class = find_class(pair);
        if (value == NULL || class < 0) {
            return error_set(err, ERR_USAGE,
                             "--compressible: '%s' is none of a ratio, published, weight=RATIO, "
                             "master=RATIO, moment=RATIO, other=RATIO", pair);
        }
        if (parse_ratio(value, &classes[class].compressible, err) != OK) {
            return err->status;
        }
    }
    return OK;
}

enum status payload_classes_parse(const char *text, const struct payload *base,
                                  struct payload *classes, struct error *err) {
    char copy[256];
    double all = 1;
    if (strlen(text) >= sizeof copy) {
        return error_set(err, ERR_USAGE, "--compressible: longer than %zu characters",
                         sizeof copy - 1);
    }
    bool pairs = strchr(text, '=') != NULL, known = names_equal(text, "published");
    if (!pairs && !known && parse_ratio(text, &all, err) != OK) {
        return err->status;
    }
    for (int i = 0; i < FORMAT_CLASSES; i++) {
        classes[i] = *base;
        classes[i].compressible = known ? published[i] : all;
    }
    return pairs ? parse_pairs(strcpy(copy, text), classes, err) : OK;
}
