/* Faults are decided as requests go in, on the loop's thread, so that the same job meets the same
 * faults. A request that fails never reaches the inner engine, except for a short write, of which
 * half does. */
#include "io/shim_faults.h"

#include "base/check.h"
#include "base/memory.h"
#include "base/prng.h"
#include "base/units.h"
#include "io/shim.h"

#include <errno.h>
#include <string.h>

enum { RULE_LIMIT = 16, RULES_TEXT = 1024 };

#define DRAIN "drain-" /* before an operation: of the second folder */

enum fault_when { FAULT_ALWAYS, FAULT_AFTER, FAULT_AT, FAULT_RATE };

enum { FAULT_NONE = 0, FAULT_SHORT = -1 }; /* beside errnos */

struct fault_rule {
    int op; /* enum io_op */
    uint8_t tier;
    int error;
    enum fault_when when;
    uint64_t number; /* bytes of FAULT_AFTER, count of FAULT_AT */
    double rate;
};

/* A write under way of which the inner engine sees a part. */
struct fault_cut {
    struct io_request *request;
    uint64_t length_bytes; /* as it was asked for */
};

struct shim_faults {
    struct shim shim;
    uint32_t rule_count;
    struct fault_rule rules[RULE_LIMIT];
    uint64_t seen[2][IO_OP_COUNT]; /* requests of each operation, by tier */
    uint64_t written_bytes[2];
    uint64_t random;
    uint64_t cut_count, cut_limit; /* at most every rank's queue */
    struct fault_cut *cuts;
};

/* Reading the rules. */

struct fault_word {
    const char *word;
    int value;
};

static const struct fault_word op_words[] = {
    {"open", IO_OPEN},   {"write", IO_WRITE},   {"read", IO_READ},     {"copy", IO_COPY},
    {"sync", IO_SYNC},   {"close", IO_CLOSE},   {"remove", IO_REMOVE}, {"rename", IO_RENAME},
    {"sync-dir", IO_SYNC_DIR},
};

static const struct fault_word fault_words[] = {
    {"eio", EIO},     {"enospc", ENOSPC}, {"edquot", EDQUOT}, {"efbig", EFBIG},
    {"erofs", EROFS}, {"eacces", EACCES}, {"enoent", ENOENT}, {"short", FAULT_SHORT},
};

static enum status parse_word(const char *text, const struct fault_word *words, size_t count,
                              int *value, struct error *err) {
    char known[128] = "";
    for (size_t i = 0; i < count; i++) {
        if (text != NULL && strcmp(text, words[i].word) == 0) {
            *value = words[i].value;
            return OK;
        }
        strcat(strcat(known, i == 0 ? "" : ", "), words[i].word);
    }
    return error_set(err, ERR_USAGE, "'%s' is none of %s", text == NULL ? "" : text, known);
}

static enum status parse_when(char *text, struct fault_rule *rule, struct error *err) {
    char *value = text == NULL ? NULL : strchr(text, '=');
    if (text == NULL) {
        rule->when = FAULT_ALWAYS;
        return OK;
    }
    if (value != NULL) {
        *value++ = '\0';
        if (strcmp(text, "after") == 0) {
            rule->when = FAULT_AFTER;
            return units_parse_size(value, &rule->number, err);
        }
        if (strcmp(text, "at") == 0) {
            rule->when = FAULT_AT;
            return units_parse_count(value, &rule->number, err);
        }
        if (strcmp(text, "rate") == 0) {
            rule->when = FAULT_RATE;
            return units_parse_number(value, &rule->rate, err);
        }
    }
    return error_set(err, ERR_USAGE, "'%s' is none of after=SIZE, at=N, rate=P", text);
}

static enum status parse_rule(char *text, struct fault_rule *rule, struct error *err) {
    char *rest = text;
    const char *op = strsep(&rest, ":"), *error = strsep(&rest, ":");
    char *when = strsep(&rest, ":");
    rule->tier = op != NULL && strncmp(op, DRAIN, strlen(DRAIN)) == 0;
    op += rule->tier ? strlen(DRAIN) : 0;
    enum status status = parse_word(op, op_words, COUNT_OF(op_words), &rule->op, err);
    if (status == OK) {
        status = parse_word(error, fault_words, COUNT_OF(fault_words), &rule->error, err);
    }
    if (status == OK) {
        status = parse_when(when, rule, err);
    }
    if (status == OK && rest != NULL) {
        status = error_set(err, ERR_USAGE, "'%s' is too much; OP:ERROR:WHEN is a whole rule", rest);
    }
    if (status == OK && rule->error == FAULT_SHORT && rule->op != IO_WRITE) {
        status = error_set(err, ERR_USAGE, "only a write can be 'short'");
    }
    if (status == OK && rule->when == FAULT_AT && rule->number == 0) {
        status = error_set(err, ERR_USAGE, "at=0: the first request is at=1");
    }
    if (status == OK && rule->when == FAULT_RATE && rule->rate > 1) {
        status = error_set(err, ERR_USAGE, "a rate is a probability from 0 to 1");
    }
    return status;
}

static enum status parse_rules(const char *text, struct fault_rule *rules, uint32_t *count,
                               struct error *err) {
    char copy[RULES_TEXT];
    if (strlen(text) >= sizeof copy) {
        return error_set(err, ERR_USAGE, "--faults: longer than %d characters", RULES_TEXT - 1);
    }
    char *rest = strcpy(copy, text);
    *count = 0;
    for (char *rule; (rule = strsep(&rest, ",")) != NULL;) {
        char shown[RULES_TEXT];
        strcpy(shown, rule);
        if (*count == RULE_LIMIT) {
            return error_set(err, ERR_USAGE, "--faults: more than %d rules", RULE_LIMIT);
        }
        rules[*count] = (struct fault_rule){0};
        if (parse_rule(rule, &rules[*count], err) != OK) {
            return error_wrap(err, "--faults: '%s'", shown);
        }
        ++*count;
    }
    return OK;
}

enum status shim_faults_check(const char *rules, struct error *err) {
    struct fault_rule parsed[RULE_LIMIT];
    uint32_t count;
    return parse_rules(rules, parsed, &count, err);
}

/* Applying them. */

static bool applies(struct shim_faults *faults, const struct fault_rule *rule,
                    const struct io_request *request) {
    uint8_t tier = io_request_tier(request);
    if (rule->op != (int)request->op || rule->tier != tier) {
        return false;
    }
    uint64_t reach = faults->written_bytes[tier];
    switch (rule->when) {
    case FAULT_ALWAYS: return true;
    case FAULT_AT: return faults->seen[tier][request->op] == rule->number;
    case FAULT_RATE: return (double)(prng_next(&faults->random) >> 11) * 0x1p-53 < rule->rate;
    case FAULT_AFTER: break;
    }
    return request->op == IO_WRITE ? reach + request->length_bytes > rule->number
                                   : reach >= rule->number;
}

static int fault_of(struct shim_faults *faults, const struct io_request *request) {
    faults->seen[io_request_tier(request)][request->op]++;
    for (uint32_t i = 0; i < faults->rule_count; i++) {
        if (applies(faults, &faults->rules[i], request)) {
            return faults->rules[i].error;
        }
    }
    return FAULT_NONE;
}

/* Half of it in whole blocks; a write of one block is refused whole. */
static void cut_short(struct shim_faults *faults, struct io_request *request) {
    uint64_t half = request->length_bytes / 2 / PAYLOAD_BLOCK * PAYLOAD_BLOCK;
    if (half == 0) {
        shim_answer(&faults->shim, request, EIO);
        request->short_write = true;
        return;
    }
    CHECK(faults->cut_count < faults->cut_limit);
    faults->cuts[faults->cut_count++] = (struct fault_cut){request, request->length_bytes};
    request->length_bytes = half;
    engine_submit(faults->shim.inner, request);
}

static void faults_submit(struct engine *engine, struct io_request *request) {
    struct shim_faults *faults = (struct shim_faults *)engine;
    int fault = fault_of(faults, request);
    if (fault == FAULT_SHORT) {
        cut_short(faults, request);
        return;
    }
    if (fault != FAULT_NONE) {
        shim_answer(&faults->shim, request, fault);
        return;
    }
    if (request->op == IO_WRITE) {
        faults->written_bytes[io_request_tier(request)] += request->length_bytes;
    }
    engine_submit(faults->shim.inner, request);
}

/* Gives a write that was cut its length back and says how it went. */
static void settle_cut(struct shim_faults *faults, struct io_request *request) {
    for (uint64_t i = 0; i < faults->cut_count; i++) {
        if (faults->cuts[i].request != request) {
            continue;
        }
        request->length_bytes = faults->cuts[i].length_bytes;
        if (request->error == 0) {
            if (request->literal == NULL && request->memory == NULL) {
                request->file->sum -= request->sum; /* counted as if it were whole */
            }
            request->error = EIO;
            request->short_write = true;
        }
        faults->cuts[i] = faults->cuts[--faults->cut_count];
        return;
    }
}

static struct io_request *faults_wait(struct engine *engine, uint64_t timeout_ns) {
    struct shim_faults *faults = (struct shim_faults *)engine;
    struct io_request *request = shim_wait(engine, timeout_ns);
    if (request != NULL && faults->cut_count > 0) {
        settle_cut(faults, request);
    }
    return request;
}

static void faults_close(struct engine *engine) {
    struct shim_faults *faults = (struct shim_faults *)engine;
    engine_close(faults->shim.inner);
    mem_free(faults->cuts);
    mem_free(faults);
}

enum status shim_faults_open(const struct engine_config *config, struct engine *inner,
                             struct engine **engine, struct error *err) {
    struct shim_faults *faults = mem_new(1, sizeof *faults);
    enum status status = parse_rules(config->faults, faults->rules, &faults->rule_count, err);
    if (status != OK) {
        mem_free(faults);
        return status;
    }
    faults->random = prng_mix(config->seed);
    faults->cut_limit = config->ranks * config->queue_depth;
    faults->cuts = mem_new(faults->cut_limit, sizeof faults->cuts[0]);
    shim_init(&faults->shim, inner);
    faults->shim.ops.submit = faults_submit;
    faults->shim.ops.wait = faults_wait;
    faults->shim.ops.close = faults_close;
    *engine = &faults->shim.base;
    return OK;
}
