/* What a request leaves open is resolved here, and what cannot be is refused: one line that names
 * the setting, its value and what is allowed. */
#include "models/plan_check.h"

#include "base/check.h"
#include "models/grid.h"

#include <stdio.h>

enum { ALLOWED_TEXT = 160 };

typedef unsigned long long ull; /* what printf takes */

static uint64_t first_given(uint64_t request, uint64_t config) {
    return request > 0 ? request : config > 0 ? config : 1;
}

static enum status check_sizes(const struct parallelism *parallelism, struct error *err) {
    const struct {
        const char *name;
        uint64_t value;
    } sizes[] = {{"tp", parallelism->tp},  {"pp", parallelism->pp}, {"dp", parallelism->dp},
                 {"cp", parallelism->cp},  {"ep", parallelism->ep}, {"etp", parallelism->etp},
                 {"vpp", parallelism->vpp}};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        if (sizes[i].value > RANKS_LIMIT) {
            return error_set(err, ERR_USAGE, "--%s %llu is too large; 1 to %d is allowed",
                             sizes[i].name, (ull)sizes[i].value, RANKS_LIMIT);
        }
    }
    return OK;
}

static enum status resolve_sizes(const struct plan_request *request, struct plan *plan,
                                 struct error *err) {
    static const struct parallelism nothing = {0};
    bool gathered = plan->layout->gathers && !request->reads;
    const struct parallelism *config = plan->layout->gathers ? &nothing : &plan->model.parallelism;
    uint64_t tp = first_given(request->tp, config->tp);
    plan->parallelism = (struct parallelism){
        .tp = tp,
        .pp = first_given(request->pp, config->pp),
        .dp = first_given(request->dp, plan->model.parallelism.dp),
        .cp = first_given(request->cp, 1),
        .ep = first_given(request->ep, 1),
        .etp = first_given(request->etp, tp), /* Megatron's default, not 1 */
        .vpp = first_given(request->vpp, 1),
        .first_layers = request->first_stage_layers,
        .last_layers = request->last_stage_layers,
    };
    bool split = tp > 1 || plan->parallelism.pp > 1;
    bool framework = split || plan->parallelism.ep > 1;
    plan->style = framework ? plan->layout->style_split : plan->layout->style;
    if (split && gathered) {
        return error_set(err, ERR_USAGE,
                         "--tp %llu and --pp %llu: --layout %s gathers the model; 1 is allowed",
                         (ull)tp, (ull)plan->parallelism.pp, plan->layout->name);
    }
    return check_sizes(&plan->parallelism, err);
}

static enum status refuse_for_layout(const char *setting, uint64_t value, const struct plan *plan,
                                     struct error *err) {
    return error_set(err, ERR_USAGE, "--%s %llu does not go with --layout %s, which knows no %s",
                     setting, (ull)value, plan->layout->name, setting);
}

static enum status check_takes(const struct plan_request *request, const struct plan *plan,
                               struct error *err) {
    unsigned takes = plan->layout->takes;
    const struct {
        unsigned bit;
        const char *setting;
        uint64_t value, least;
    } rows[] = {
        {TAKES_EP, "ep", request->ep, 2},
        {TAKES_EP, "etp", request->etp, 1},
        {TAKES_CP, "cp", request->cp, 2},
        {TAKES_VPP, "vpp", request->vpp, 2},
        {TAKES_UNEVEN, "first-stage-layers", request->first_stage_layers, 1},
        {TAKES_UNEVEN, "last-stage-layers", request->last_stage_layers, 1},
        {TAKES_VOCAB, "vocab-divisible-by", request->vocab_divisible_by, 2},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if ((takes & rows[i].bit) == 0 && rows[i].value >= rows[i].least) {
            return refuse_for_layout(rows[i].setting, rows[i].value, plan, err);
        }
    }
    return OK;
}

static enum status resolve_zero(const struct plan_request *request, struct plan *plan,
                                struct error *err) {
    const struct layout *layout = plan->layout;
    uint64_t zero = request->zero_stage;
    if (zero == PLAN_ZERO_DEFAULT) {
        zero = layout->zero_of_config ? plan->model.parallelism.zero : layout->zero_default;
    }
    plan->parallelism.zero = zero;
    if (zero > 3) {
        return error_set(err, ERR_USAGE, "--zero %llu does not exist; 0, 1, 2 or 3 is allowed",
                         (ull)zero);
    }
    if (zero < layout->zero_least || zero > layout->zero_most) {
        char allowed[ALLOWED_TEXT];
        snprintf(allowed, sizeof allowed,
                 layout->zero_least == layout->zero_most ? "%llu" : "%llu to %llu",
                 (ull)layout->zero_least, (ull)layout->zero_most);
        return error_set(err, ERR_USAGE, "--zero %llu does not go with --layout %s; %s is allowed",
                         (ull)zero, layout->name, allowed);
    }
    if (zero == 3 && plan->parallelism.pp > 1 && !layout->zero_of_weights) {
        return error_set(err, ERR_USAGE,
                         "--zero 3 does not go with --pp %llu; --pp 1, or --zero 0 "
                         "to 2, is allowed",
                         (ull)plan->parallelism.pp);
    }
    return OK;
}

/* "1, 2, 4, 8": the divisors of heads, as many as fit. */
static const char *divisors(uint64_t heads, char *buffer, size_t size) {
    size_t used = 0;
    for (uint64_t i = 1; i <= heads && used + 16 < size; i++) {
        if (heads % i == 0) {
            used +=
                (size_t)snprintf(buffer + used, size - used, "%s%llu", i > 1 ? ", " : "", (ull)i);
        }
    }
    return buffer;
}

static enum status check_split(const struct plan *plan, struct error *err) {
    const struct architecture *model = &plan->model;
    const struct parallelism *parallelism = &plan->parallelism;
    bool shaped = model->layers > 0 && model->raw.layer_count == 0;
    char allowed[ALLOWED_TEXT];
    if (shaped && model->heads % parallelism->tp != 0) {
        return error_set(err, ERR_USAGE,
                         "--tp %llu does not divide the %llu attention heads of "
                         "model '%.100s'; %s is allowed",
                         (ull)parallelism->tp, (ull)model->heads, model->name,
                         divisors(model->heads, allowed, sizeof allowed));
    }
    if (model->layers > 0 && parallelism->pp > model->layers) {
        return error_set(err, ERR_USAGE,
                         "--pp %llu is more than the %llu layers of model "
                         "'%.100s'; 1 to %llu is allowed",
                         (ull)parallelism->pp, (ull)model->layers, model->name, (ull)model->layers);
    }
    if (plan->layout->flat) {
        return OK;
    }
    if (!shaped && model->given.count == 0) {
        return error_set(err, ERR_USAGE,
                         "--layout %s needs a model's shape; model '%.100s' gives bytes alone, "
                         "which dlio and dlio2 take",
                         plan->layout->name, model->name);
    }
    if (!shaped && (parallelism->tp > 1 || parallelism->pp > 1)) {
        return error_set(err, ERR_USAGE,
                         "--tp %llu and --pp %llu: the weights that model '%.100s' lists cannot "
                         "be cut; 1 is allowed",
                         (ull)parallelism->tp, (ull)parallelism->pp, model->name);
    }
    uint64_t tp = parallelism->tp, kv = model->kv_heads;
    if (shaped && !model->family->mla && tp % kv != 0 && kv % tp != 0) {
        return error_set(err, ERR_USAGE,
                         "--tp %llu neither divides the %llu key-value heads of model '%.100s' "
                         "nor is a multiple of them",
                         (ull)tp, (ull)kv, model->name);
    }
    return OK;
}

static enum status check_experts(const struct plan *plan, struct error *err) {
    const struct parallelism *parallelism = &plan->parallelism;
    uint64_t experts = plan->model.experts;
    if (parallelism->ep > 1 && (experts == 0 || experts % parallelism->ep != 0)) {
        char allowed[ALLOWED_TEXT] = "1";
        return error_set(err, ERR_USAGE,
                         "--ep %llu does not divide the %llu experts of model '%.100s'; %s is "
                         "allowed",
                         (ull)parallelism->ep, (ull)experts, plan->model.name,
                         experts > 0 ? divisors(experts, allowed, sizeof allowed) : allowed);
    }
    uint64_t ranks = grid_stage_ranks(parallelism);
    if (ranks % (parallelism->ep * parallelism->etp) != 0) {
        return error_set(err, ERR_USAGE,
                         "--ep %llu x --etp %llu does not divide the %llu ranks of a pipeline "
                         "stage (tp x cp x dp)",
                         (ull)parallelism->ep, (ull)parallelism->etp, (ull)ranks);
    }
    return OK;
}

static enum status check_uneven(const struct plan *plan, struct error *err) {
    const struct parallelism *parallelism = &plan->parallelism;
    uint64_t layers = plan->model.layers, pp = parallelism->pp;
    uint64_t first = parallelism->first_layers, last = parallelism->last_layers;
    uint64_t others = pp - (first > 0) - (last > 0);
    if ((first > 0 || last > 0) && pp == 1) {
        return error_set(err, ERR_USAGE,
                         "--first-stage-layers and --last-stage-layers need --pp 2 or more");
    }
    if (first > layers || last > layers - first || layers - first - last < others ||
        (others == 0 && first + last != layers)) {
        return error_set(err, ERR_USAGE,
                         "--first-stage-layers %llu and --last-stage-layers %llu leave the other "
                         "%llu stages no layer each of the model's %llu, or too many",
                         (ull)first, (ull)last, (ull)others, (ull)layers);
    }
    if (plan->layout->even_stages && others > 0 && (layers - first - last) % others != 0) {
        return error_set(err, ERR_USAGE,
                         "--pp %llu: %llu layers do not divide among %llu stages; "
                         "--first-stage-layers or --last-stage-layers can make them",
                         (ull)pp, (ull)(layers - first - last), (ull)others);
    }
    return OK;
}

/* Stages of one kind have as many layers, so the first, the last and one between stand for all. */
static enum status check_chunks(const struct plan *plan, struct error *err) {
    const struct parallelism *parallelism = &plan->parallelism;
    uint64_t vpp = parallelism->vpp, pp = parallelism->pp;
    if (vpp > 1 && pp == 1) {
        return error_set(err, ERR_USAGE, "--vpp %llu needs --pp 2 or more", (ull)vpp);
    }
    uint64_t first = parallelism->first_layers, last = parallelism->last_layers;
    uint64_t others = pp - (first > 0) - (last > 0);
    uint64_t each = others > 0 ? (plan->model.layers - first - last) / others : 0;
    if (first % vpp != 0 || last % vpp != 0 || each % vpp != 0) {
        return error_set(err, ERR_USAGE,
                         "--vpp %llu does not divide the layers of each pipeline stage "
                         "(%llu, first %llu, last %llu)",
                         (ull)vpp, (ull)each, (ull)(first > 0 ? first : each),
                         (ull)(last > 0 ? last : each));
    }
    return OK;
}

/* "adam, lion": what the layout can hold. */
static const char *optimizers_allowed(const struct layout *layout, char *buffer, size_t size) {
    size_t used = 0;
    for (enum optimizer_kind kind = OPTIMIZER_ADAM; kind < OPTIMIZER_COUNT; kind++) {
        if ((layout->optimizers & 1U << kind) != 0 && used < size) {
            used += (size_t)snprintf(buffer + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     optimizer_name(kind));
        }
    }
    return buffer;
}

static enum status resolve_optimizer(const struct plan_request *request, struct plan *plan,
                                     struct error *err) {
    const struct layout *layout = plan->layout;
    char allowed[ALLOWED_TEXT];
    CHECK(request->optimizer >= 0 && request->optimizer < OPTIMIZER_COUNT);
    plan->optimizer = (enum optimizer_kind)request->optimizer;
    if (plan->optimizer == OPTIMIZER_AUTO) {
        bool holds_none = layout->optimizers == 1U << OPTIMIZER_NONE;
        plan->optimizer = holds_none ? OPTIMIZER_NONE : OPTIMIZER_ADAM;
    } else if ((layout->optimizers & 1U << plan->optimizer) == 0) {
        return error_set(err, ERR_USAGE,
                         "--optimizer %s does not go with --layout %s; %s is allowed",
                         optimizer_name(plan->optimizer), layout->name,
                         optimizers_allowed(layout, allowed, sizeof allowed));
    }
    if (plan->optimizer == OPTIMIZER_ADAM_FP32 && request->model_datatype != DATATYPE_UNSET &&
        request->model_datatype != DATATYPE_FP32) {
        return error_set(err, ERR_USAGE,
                         "--optimizer adam-fp32 does not go with --model-dtype %s; fp32 is allowed",
                         datatype_name((enum datatype)request->model_datatype));
    }
    return OK;
}

/* A Hugging Face config's torch_dtype is the type of the weights that are published. It says
 * nothing of how they are trained, which is in bf16 with an fp32 copy whatever it is. */
static enum datatype layout_datatype(const struct layout *layout,
                                     const struct architecture *model) {
    if (layout->model_datatype != DATATYPE_UNSET) {
        return layout->model_datatype;
    }
    bool published = layout->as_published && model->published_datatype != DATATYPE_UNSET;
    return published ? model->published_datatype : model->model_datatype;
}

static enum status resolve_datatypes(const struct plan_request *request, struct plan *plan,
                                     struct error *err) {
    const struct layout *layout = plan->layout;
    enum datatype model = (enum datatype)request->model_datatype;
    enum datatype optimizer = (enum datatype)request->optimizer_datatype;
    if (model != DATATYPE_UNSET && (layout->takes & TAKES_MODEL_DATATYPE) == 0) {
        return error_set(err, ERR_USAGE, "--model-dtype %s does not go with --layout %s",
                         datatype_name(model), layout->name);
    }
    if (optimizer != DATATYPE_UNSET && (layout->takes & TAKES_OPTIMIZER_DATATYPE) == 0) {
        return error_set(err, ERR_USAGE,
                         "--optimizer-dtype %s does not go with --layout %s, whose optimizer "
                         "states are of one kind",
                         datatype_name(optimizer), layout->name);
    }
    plan->model_datatype = model != DATATYPE_UNSET ? model
                           : plan->optimizer == OPTIMIZER_ADAM_FP32
                               ? DATATYPE_FP32
                               : layout_datatype(layout, &plan->model);
    plan->optimizer_datatype = optimizer != DATATYPE_UNSET ? optimizer
                               : layout->no_master         ? plan->model_datatype
                               : layout->flat              ? plan->model.optimizer_datatype
                                                           : DATATYPE_FP32;
    bool narrow = datatype_bytes(plan->model_datatype) < datatype_bytes(DATATYPE_FP32);
    bool copied = layout->master_with_zero && plan->parallelism.zero > 0 &&
                  plan->optimizer != OPTIMIZER_ADAM_FP32;
    bool master = (narrow || copied) && !layout->no_master && plan->optimizer != OPTIMIZER_NONE;
    for (int matrix = 0; matrix < 2; matrix++) {
        plan->states[matrix] =
            optimizer_states(plan->optimizer, matrix, master, plan->optimizer_datatype);
    }
    return OK;
}

/* Megatron: the smallest multiple of divisor x tp that holds the vocabulary. */
static void resolve_vocab(const struct plan_request *request, struct plan *plan) {
    const struct parallelism *parallelism = &plan->parallelism;
    uint64_t divisor = request->vocab_divisible_by;
    bool split = parallelism->tp > 1 || parallelism->pp > 1;
    if (divisor == 0) {
        divisor = split ? plan->layout->vocab_divisor_split : plan->layout->vocab_divisor;
    }
    plan->vocab = plan->model.vocab;
    bool words = plan->model.family != NULL && !plan->model.family->image;
    if (divisor > 0 && words) {
        uint64_t unit = divisor * parallelism->tp;
        plan->vocab = (plan->vocab + unit - 1) / unit * unit;
    }
}

static enum status check_weight(const struct plan *plan, const struct weight *weight,
                                struct error *err) {
    const struct parallelism *parallelism = &plan->parallelism;
    uint64_t parts = weight->expert ? parallelism->etp : parallelism->tp;
    if (weight->cut == CUT_NONE || weight->shape[weight->cut] % parts == 0) {
        return OK;
    }
    return error_set(err, ERR_USAGE, "--%s %llu does not divide the %llu %s of weight '%s'%s",
                     weight->expert ? "etp" : "tp", (ull)parts, (ull)weight->shape[weight->cut],
                     weight->cut == 0 ? "rows" : "columns", weight->name,
                     weight->shape[0] == plan->vocab ? "; --vocab-divisible-by pads them" : "");
}

static enum status check_weights(const struct plan *plan, struct error *err) {
    struct architecture model = plan->model;
    if (plan->layout->flat || model.layers == 0) {
        return OK;
    }
    model.vocab = plan->vocab;
    if (architecture_parameters(&model) >= MODEL_PARAMETERS_LIMIT) {
        return error_set(err, ERR_USAGE,
                         "model '%.100s' is too large: with its vocabulary padded to %llu it has "
                         "more than 2^56 parameters",
                         model.name, (ull)plan->vocab);
    }
    for (enum model_part part = 0; part < PART_COUNT; part++) {
        struct weight weights[PART_WEIGHTS];
        if (part == PART_MOE_LAYER && model.experts == 0) {
            continue;
        }
        size_t count = weight_list(&model, part, plan->style, weights);
        for (size_t i = 0; i < count; i++) {
            if (check_weight(plan, &weights[i], err) != OK) {
                return ERR_USAGE;
            }
        }
    }
    return OK;
}

static enum status count_ranks(const struct plan_request *request, struct plan *plan,
                               struct error *err) {
    const struct parallelism *parallelism = &plan->parallelism;
    uint64_t all = parallelism->tp * parallelism->pp * parallelism->dp; /* each at most 2^20 */
    if (all > RANKS_LIMIT || all * parallelism->cp > RANKS_LIMIT) {
        return error_set(err, ERR_USAGE,
                         "--tp %llu x --pp %llu x --dp %llu x --cp %llu is too many ranks; at most "
                         "%d are allowed",
                         (ull)parallelism->tp, (ull)parallelism->pp, (ull)parallelism->dp,
                         (ull)parallelism->cp, RANKS_LIMIT);
    }
    all *= parallelism->cp;
    if (request->subset_ranks > all) {
        return error_set(err, ERR_USAGE,
                         "--subset %llu is more than the %llu ranks of the job; 1 "
                         "to %llu is allowed",
                         (ull)request->subset_ranks, (ull)all, (ull)all);
    }
    plan->all_ranks = (uint32_t)all;
    plan->ranks = (uint32_t)(request->subset_ranks > 0 ? request->subset_ranks : all);
    return OK;
}

enum status plan_resolve(const struct plan_request *request, struct plan *plan, struct error *err) {
    enum status status = resolve_sizes(request, plan, err);
    status = status == OK ? check_takes(request, plan, err) : status;
    status = status == OK ? check_split(plan, err) : status;
    status = status == OK ? resolve_zero(request, plan, err) : status;
    status = status == OK ? count_ranks(request, plan, err) : status;
    if (status == OK && !plan->layout->flat) {
        status = check_experts(plan, err);
        status = status == OK && plan->model.layers > 0 ? check_uneven(plan, err) : status;
        status = status == OK ? check_chunks(plan, err) : status;
    }
    status = status == OK ? resolve_optimizer(request, plan, err) : status;
    status = status == OK ? resolve_datatypes(request, plan, err) : status;
    if (status == OK) {
        resolve_vocab(request, plan);
        status = check_weights(plan, err);
    }
    if (status == OK && plan->layout->check != NULL) {
        status = plan->layout->check(plan, err);
    }
    return status;
}
