#ifndef CKPTSIM_METRICS_MLPERF_RULES_H
#define CKPTSIM_METRICS_MLPERF_RULES_H

#include "metrics/result.h"

#include <stdio.h>

/* The rules of MLPerf Storage's checkpointing workloads (v2.0 and v3.0, CLOSED division), as far as one
 * machine can check them: each is held against what the run recorded, not against what was asked for.
 * A run is judged where the setting `rules` says mlperf. */

enum rule_verdict { RULE_MET, RULE_NOT_MET, RULE_NOT_CHECKED };

enum { RULE_TEXT = 200, RULES_MAX = 16 };

struct rule_finding {
    const char *rule; /* what is asked for */
    enum rule_verdict verdict;
    char found[RULE_TEXT];
};

bool mlperf_rules_apply(const struct result *result);

/* Fills `findings` (RULES_MAX of them) and returns how many there are. */
size_t mlperf_rules_check(const struct result *result, struct rule_finding *findings);

/* "met", "not met", "not checked". */
const char *rule_verdict_name(enum rule_verdict verdict);

/* Nothing where the rules do not apply. */
void mlperf_rules_report(const struct result *result, FILE *stream);
void mlperf_rules_write_json(const struct result *result, struct json *json, const char *key);

#endif
