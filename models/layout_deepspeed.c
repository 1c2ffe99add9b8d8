/* DeepSpeed's checkpoints.
 *
 *     latest                                                "global_step7", written last
 *     global_step7/
 *         mp_rank_MM_model_states.pt                        ZeRO 0-2: the first data parallel rank
 *         zero_pp_rank_D_mp_rank_MM_model_states.pt         ZeRO 3: every rank, without weights
 *         [bf16_]zero_pp_rank_D_mp_rank_MM_optim_states.pt  ZeRO 1-3: every rank
 *         layer_LL-model_TT-model_states.pt                 PP > 1: the weights, a layer each
 *         layer_M_expert_E_mp_rank_MM_model_states.pt       EP > 1: each expert of each MoE layer
 *         expp_rank_E_mp_rank_MM_optim_states.pt            EP > 1 and ZeRO 0
 *
 * mp = pp * TP + tp. Of N parameters a rank's part is, with D data parallel ranks,
 *
 *     ZeRO 1, 2   2 * ceil(N / 2D): the flat group padded so that each half of 4 bytes is aligned
 *     ZeRO 3      the sum of ceil(n / D) over the parameters, each padded for itself
 *
 * and is written whole, padding included: master copy and states. There is one parameter group;
 * Muon makes two and expert parallelism one more. With EP 1 experts are weights like others. In
 * pipelines embedding, layers, norm and head are layers 1, 3 to L+2, L+4 and L+5, as in
 * Megatron-DeepSpeed; a tied embedding's copy is in no file but has its optimizer states.
 *
 * Sources: runtime/engine.py, runtime/pipe/module.py, runtime/zero. Not verified: numbers of
 * pipeline layers, names of tensors, how ZeRO 3 divides its flat states into sub groups (here one).
 */
#include "base/check.h"
#include "models/marker.h"
#include "models/plan.h"
#include "models/shard_name.h"
#include "models/stage.h"

enum content_kind { CONTENT_LAYER, CONTENT_MODEL, CONTENT_EXPERT, CONTENT_OPTIMIZER };

struct content {
    enum content_kind kind;
    uint64_t nth; /* which layer of the stage, or which expert of which layer */
};

static bool experts_apart(const struct plan *plan) { return plan->parallelism.ep > 1; }

static bool pipelined(const struct plan *plan) { return plan->parallelism.pp > 1; }

static bool is_last(const struct plan *plan, const struct seat *seat) {
    return seat->pp == plan->parallelism.pp - 1;
}

static uint64_t layer_files(const struct plan *plan, const struct seat *seat) {
    if (!pipelined(plan) || seat->dp > 0) {
        return 0;
    }
    uint64_t ends = is_last(plan, seat) ? (plan->model.tied ? 1 : 2) : 0;
    return stage_layers(plan, seat->pp) + (seat->pp == 0) + ends;
}

static uint64_t model_files(const struct plan *plan, const struct seat *seat) {
    return seat->dp == 0 || plan->parallelism.zero == 3 ? 1 : 0;
}

static uint64_t local_experts(const struct plan *plan) {
    return plan->model.experts / plan->parallelism.ep;
}

static uint64_t expert_files(const struct plan *plan, const struct seat *seat) {
    bool writes = experts_apart(plan) && seat->edp == 0;
    uint64_t layers = architecture_moe_layers(&plan->model, plan->model.layers);
    return writes ? layers * local_experts(plan) : 0;
}

static bool in_model_file(const struct plan *plan) {
    return plan->parallelism.zero == 0 && !experts_apart(plan);
}

static uint64_t optimizer_files(const struct plan *plan, const struct seat *seat) {
    bool writes = plan->parallelism.zero > 0 || (experts_apart(plan) && seat->edp == 0);
    return writes && plan->states[0].count > 0 ? 1 : 0;
}

static uint64_t rank_files(const struct plan *plan, uint32_t rank) {
    struct seat seat = grid_seat(&plan->parallelism, rank);
    return layer_files(plan, &seat) + model_files(plan, &seat) + expert_files(plan, &seat) +
           optimizer_files(plan, &seat);
}

static struct content content_at(const struct plan *plan, const struct seat *seat, uint64_t index) {
    uint64_t (*const counts[])(const struct plan *, const struct seat *) = {
        layer_files, model_files, expert_files, optimizer_files};
    for (enum content_kind kind = CONTENT_LAYER; kind <= CONTENT_OPTIMIZER; kind++) {
        uint64_t count = counts[kind](plan, seat);
        if (index < count) {
            return (struct content){kind, index};
        }
        index -= count;
    }
    CHECK(!"an index beyond the rank's files");
    return (struct content){CONTENT_MODEL, 0};
}

/* The groups of parameters that are divided apart, empty ones left out. */
struct flat_group {
    uint64_t elements; /* of this rank's part */
    uint64_t shards, shard;
    bool matrix;
};

struct flat_groups {
    struct flat_group groups[GROUP_COUNT];
    uint32_t count;
};

static uint64_t round_up(uint64_t elements, uint64_t by) { return (elements + by - 1) / by; }

static uint64_t sum_parameters(const struct part *part, const void *with) {
    return part->elements[*(const unsigned *)with];
}

struct divided {
    unsigned group;
    uint64_t shards;
};

static uint64_t sum_divided(const struct part *part, const void *with) {
    const struct divided *divided = with;
    return part_sum(part, divided->group, round_up, divided->shards);
}

static uint64_t own_part(const struct plan *plan, const struct seat *seat, unsigned group,
                         uint64_t shards) {
    uint64_t zero = plan->parallelism.zero;
    if (zero == 3) {
        struct divided divided = {group, shards};
        return stage_sum(plan, FILTER_ALL, seat->pp, sum_divided, &divided);
    }
    uint64_t elements = stage_sum(plan, FILTER_ALL, seat->pp, sum_parameters, &group);
    if (group == 0 && plan->model.tied && pipelined(plan) && is_last(plan, seat)) {
        elements += plan->parts[FILTER_ALL][PART_TIED_HEAD].elements[0];
    }
    return elements;
}

static struct flat_groups flat_groups(const struct plan *plan, const struct seat *seat) {
    struct flat_groups list = {.count = 0};
    const struct parallelism *parallelism = &plan->parallelism;
    for (unsigned group = 0; group < GROUP_COUNT; group++) {
        bool expert = (group & GROUP_EXPERT) != 0;
        if (expert && !experts_apart(plan)) {
            continue; /* they are in the group without GROUP_EXPERT */
        }
        uint64_t shards = expert ? grid_expert_shards(parallelism) : parallelism->dp;
        uint64_t elements = own_part(plan, seat, group, shards);
        if (!expert && !experts_apart(plan)) {
            elements += own_part(plan, seat, group | GROUP_EXPERT, shards);
        }
        if (parallelism->zero == 1 || parallelism->zero == 2) {
            elements = 2 * round_up(elements, 2 * shards);
        }
        if (elements > 0) {
            list.groups[list.count++] = (struct flat_group){.elements = elements,
                                                            .shards = shards,
                                                            .shard = expert ? seat->edp : seat->dp,
                                                            .matrix = (group & GROUP_MATRIX) != 0};
        }
    }
    return list;
}

static uint64_t states_bytes(const struct plan *plan, const struct seat *seat) {
    struct flat_groups list = flat_groups(plan, seat);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < list.count; i++) {
        bytes += optimizer_bytes(&plan->states[list.groups[i].matrix], list.groups[i].elements);
    }
    return bytes;
}

static uint64_t states_count(const struct plan *plan, const struct seat *seat) {
    struct flat_groups list = flat_groups(plan, seat);
    uint64_t count = 0;
    for (uint32_t i = 0; i < list.count; i++) {
        count += plan->states[list.groups[i].matrix].count;
    }
    return count;
}

/* Which of the model's parts a pipeline layer's file holds. */
struct layer {
    enum model_part part;
    uint64_t layer;  /* of the model; in embedding, norm and head 0 */
    uint64_t number; /* in the file's name */
};

static struct layer layer_at(const struct plan *plan, const struct seat *seat, uint64_t nth) {
    struct chunk chunk = stage_chunk(plan, seat->pp, 0);
    uint64_t layers = plan->model.layers;
    if (seat->pp == 0 && nth == 0) {
        return (struct layer){PART_EMBEDDING, 0, 1};
    }
    uint64_t layer = chunk.first + nth - (seat->pp == 0);
    if (layer < chunk.last) {
        return (struct layer){architecture_layer(&plan->model, layer), layer, layer + 3};
    }
    return layer == chunk.last ? (struct layer){PART_FINAL_NORM, 0, layers + 4}
                               : (struct layer){PART_HEAD, 0, layers + 5};
}

/* What the model file holds of the weights: nothing that is in other files. */
static enum part_filter model_filter(const struct plan *plan) {
    return experts_apart(plan) ? FILTER_DENSE : FILTER_ALL;
}

static uint64_t model_weights(const struct plan *plan, const struct seat *seat) {
    enum part_mode mode = plan->parallelism.zero == 3 ? MODE_BUFFERS : MODE_WEIGHTS;
    return pipelined(plan) ? 0 : stage_count(plan, model_filter(plan), mode, seat->pp);
}

static uint64_t buffer_bytes(const struct part *part, const void *with) {
    uint64_t bytes = 0;
    (void)with;
    for (uint32_t i = 0; i < part->count; i++) {
        const struct part_weight *weight = &part->weights[i];
        bytes += weight->weight.buffer ? weight->elements * datatype_bytes(weight->datatype) : 0;
    }
    return bytes;
}

static uint64_t model_bytes(const struct plan *plan, const struct seat *seat) {
    bool shell = plan->parallelism.zero == 3;
    return pipelined(plan) ? 0
                           : stage_sum(plan, model_filter(plan), seat->pp,
                                       shell ? buffer_bytes : part_bytes, NULL);
}

/* The weights of one expert in one layer stand behind each other in FILTER_EXPERTS. */
static uint64_t expert_weights(const struct plan *plan) {
    return plan->parts[FILTER_EXPERTS][PART_MOE_LAYER].expert_each[MODE_WEIGHTS];
}

static uint64_t expert_bytes(const struct plan *plan) {
    return plan->parts[FILTER_EXPERTS][PART_MOE_LAYER].bytes / local_experts(plan);
}

static void name_rank(struct shard_name *name, const struct plan *plan, const struct seat *seat,
                      const char *what) {
    shard_name_text(name, "mp_rank_");
    shard_name_padded(name, seat->pp * plan->parallelism.tp + seat->tp, 2);
    shard_name_text(name, what);
}

static void name_layer(struct shard_name *name, const struct plan *plan, const struct seat *seat,
                       uint64_t nth) {
    shard_name_text(name, "layer_");
    shard_name_padded(name, layer_at(plan, seat, nth).number, 2);
    shard_name_text(name, "-model_");
    shard_name_padded(name, seat->tp, 2);
    shard_name_text(name, "-model_states.pt");
}

static void name_expert(struct shard_name *name, const struct plan *plan, const struct seat *seat,
                        uint64_t nth) {
    uint64_t local = local_experts(plan);
    shard_name_text(name, "layer_");
    shard_name_number(name, nth / local);
    shard_name_text(name, "_expert_");
    shard_name_number(name, seat->ep * local + nth % local);
    shard_name_text(name, "_");
    name_rank(name, plan, seat, "_model_states.pt");
}

static void name_optimizer(struct shard_name *name, const struct plan *plan,
                           const struct seat *seat) {
    if (plan->parallelism.zero == 0) {
        shard_name_text(name, "expp_rank_");
        shard_name_number(name, seat->ep);
    } else {
        shard_name_text(name, plan->model_datatype == DATATYPE_BF16 ? "bf16_zero_pp_rank_"
                                                                    : "zero_pp_rank_");
        shard_name_number(name, seat->dp);
    }
    shard_name_text(name, "_");
    name_rank(name, plan, seat, "_optim_states.pt");
}

static void file_at(const struct plan *plan, uint32_t rank, uint64_t index, uint32_t checkpoint,
                    struct shard_file *file) {
    struct seat seat = grid_seat(&plan->parallelism, rank);
    struct content content = content_at(plan, &seat, index);
    struct shard_name name = {.file = file};
    shard_name_text(&name, "global_step");
    shard_name_number(&name, checkpoint);
    shard_name_folder(&name);
    file->kind = SHARD_MODEL;
    switch (content.kind) {
    case CONTENT_LAYER:
        name_layer(&name, plan, &seat, content.nth);
        file->bytes = plan->parts[FILTER_ALL][layer_at(plan, &seat, content.nth).part].bytes;
        break;
    case CONTENT_MODEL:
        if (plan->parallelism.zero == 3) {
            shard_name_text(&name, "zero_pp_rank_");
            shard_name_number(&name, seat.dp);
            shard_name_text(&name, "_");
        }
        name_rank(&name, plan, &seat, "_model_states.pt");
        file->optimizer_bytes = in_model_file(plan) ? states_bytes(plan, &seat) : 0;
        file->bytes = model_bytes(plan, &seat) + file->optimizer_bytes;
        break;
    case CONTENT_EXPERT:
        name_expert(&name, plan, &seat, content.nth);
        file->bytes = expert_bytes(plan);
        break;
    case CONTENT_OPTIMIZER:
        name_optimizer(&name, plan, &seat);
        file->kind = SHARD_OPTIMIZER;
        file->bytes = states_bytes(plan, &seat);
        break;
    }
}

static uint64_t file_tensors(const struct plan *plan, uint32_t rank, uint64_t index) {
    struct seat seat = grid_seat(&plan->parallelism, rank);
    struct content content = content_at(plan, &seat, index);
    switch (content.kind) {
    case CONTENT_LAYER: {
        enum model_part part = layer_at(plan, &seat, content.nth).part;
        return plan->parts[FILTER_ALL][part].tensors[MODE_WEIGHTS];
    }
    case CONTENT_MODEL:
        return model_weights(plan, &seat) + (in_model_file(plan) ? states_count(plan, &seat) : 0);
    case CONTENT_EXPERT: return expert_weights(plan);
    case CONTENT_OPTIMIZER: break;
    }
    return states_count(plan, &seat);
}

/* Where the parts of a flat group are in the state dict. */
static void name_state(const struct plan *plan, uint32_t group, const struct optimizer_state *state,
                       struct tensor *tensor) {
    static const char *const masters[] = {"optimizer.fp32_groups_flat.",
                                          "single_partition_of_fp32_groups.",
                                          "single_partition_of_fp32_groups.", "fp32_flat_groups."};
    static const char *const states[] = {
        "optimizer.optimizer_state_dict.state.", "base_optimizer_state.state.",
        "base_optimizer_state.state.", "optimizer_state_dict.state."};
    bool master = state->class == TENSOR_MASTER;
    tensor_name_begin(tensor);
    tensor_name_text(tensor, (master ? masters : states)[plan->parallelism.zero]);
    tensor_name_number(tensor, group);
    if (!master) {
        tensor_name_text(tensor, ".");
        tensor_name_text(tensor, state->name);
    }
}

static void state_tensor(const struct plan *plan, const struct seat *seat, uint64_t nth,
                         struct tensor *tensor) {
    struct flat_groups list = flat_groups(plan, seat);
    uint32_t group = 0;
    while (nth >= plan->states[list.groups[group].matrix].count) {
        nth -= plan->states[list.groups[group].matrix].count;
        group++;
        CHECK(group < list.count);
    }
    const struct flat_group *flat = &list.groups[group];
    const struct optimizer_state *state = &plan->states[flat->matrix].states[nth];
    name_state(plan, group, state, tensor);
    tensor_set_flat(tensor, state->datatype, optimizer_state_elements(state, flat->elements));
    uint64_t zero = plan->parallelism.zero;
    if (state->size == STATE_FULL && (zero == 1 || zero == 2)) {
        tensor->whole[0] = flat->elements * flat->shards;
        tensor->offset[0] = flat->elements * flat->shard;
    }
    tensor->class = state->class;
}

static void part_tensor(const struct plan *plan, const struct seat *seat, enum part_filter filter,
                        enum model_part part, uint64_t layer, uint64_t nth, struct tensor *tensor) {
    struct place place = {
        .part = part, .layer = layer, .at = part_at(&plan->parts[filter][part], MODE_WEIGHTS, nth)};
    place_tensor(plan, &place, seat, "module.", tensor);
}

static void file_tensor(const struct plan *plan, uint32_t rank, uint64_t index, uint64_t nth,
                        struct tensor *tensor) {
    struct seat seat = grid_seat(&plan->parallelism, rank);
    struct content content = content_at(plan, &seat, index);
    if (content.kind == CONTENT_LAYER) {
        struct layer layer = layer_at(plan, &seat, content.nth);
        part_tensor(plan, &seat, FILTER_ALL, layer.part, layer.layer, nth, tensor);
        return;
    }
    if (content.kind == CONTENT_EXPERT) {
        uint64_t local = local_experts(plan);
        uint64_t layer = stage_moe_layer(plan, content.nth / local);
        nth += content.nth % local * expert_weights(plan);
        part_tensor(plan, &seat, FILTER_EXPERTS, PART_MOE_LAYER, layer, nth, tensor);
        return;
    }
    uint64_t weights = content.kind == CONTENT_MODEL ? model_weights(plan, &seat) : 0;
    if (nth >= weights) {
        state_tensor(plan, &seat, nth - weights, tensor);
        return;
    }
    enum part_mode mode = plan->parallelism.zero == 3 ? MODE_BUFFERS : MODE_WEIGHTS;
    struct place place = stage_at(plan, model_filter(plan), mode, seat.pp, nth);
    place_tensor(plan, &place, &seat, "module.", tensor);
}

static enum status check(const struct plan *plan, struct error *err) {
    const struct parallelism *parallelism = &plan->parallelism;
    unsigned long long zero = parallelism->zero, ep = parallelism->ep, pp = parallelism->pp;
    if (zero == 2 && pp > 1) {
        return error_set(err, ERR_USAGE,
                         "--zero 2 does not go with --pp %llu in DeepSpeed; --zero 0 or 1 is "
                         "allowed",
                         pp);
    }
    if (ep > 1 && (pp > 1 || zero == 3)) {
        return error_set(err, ERR_USAGE,
                         "--ep %llu does not go with --pp %llu and --zero %llu in DeepSpeed; --pp "
                         "1 and --zero 0 to 2 is allowed",
                         ep, pp, zero);
    }
    if (parallelism->etp != parallelism->tp) {
        return error_set(err, ERR_USAGE,
                         "--etp %llu does not go with --layout deepspeed; as much as --tp is "
                         "allowed",
                         (unsigned long long)parallelism->etp);
    }
    return OK;
}

static uint64_t markers(const struct plan *plan) {
    (void)plan;
    return 1;
}

static void marker_at(const struct plan *plan, uint64_t index, uint32_t checkpoint,
                      struct shard_marker *marker, struct text_sink *sink) {
    (void)plan;
    (void)index;
    marker_begin(marker, MARKER_LATEST, "", "latest");
    sink_text(sink, "global_step");
    sink_number(sink, checkpoint);
}

const struct layout layout_deepspeed = {
    .name = "deepspeed",
    .format = "torch",
    .about = "DeepSpeed, ZeRO 0 to 3 (--zero, 1 if not given), pipelines and experts",
    .leaves_out = "no scheduler or random state, no "
                  "zero_to_fp32.py; step counters and ZeRO 3's parameter shapes are left out",
    .takes =
        TAKES_EP | TAKES_UNEVEN | TAKES_VOCAB | TAKES_MODEL_DATATYPE | TAKES_OPTIMIZER_DATATYPE,
    .optimizers = 1U << OPTIMIZER_ADAM | 1U << OPTIMIZER_ADAM_FP32 | 1U << OPTIMIZER_ADAM_8BIT |
                  1U << OPTIMIZER_LION | 1U << OPTIMIZER_MUON | 1U << OPTIMIZER_NONE,
    .zero_most = 3,
    .zero_default = 1,
    .master_with_zero = true,
    .style = STYLE_HUGGING_FACE,
    .style_split = STYLE_MEGATRON,
    .vocab_divisor_split = 128,
    .check = check,
    .rank_files = rank_files,
    .file = file_at,
    .tensors = file_tensors,
    .tensor = file_tensor,
    .cannot_reshard =
        "its optimizer states are flat groups that do not say which weights are in them; "
        "DeepSpeed converts them to a universal checkpoint first",
    .markers = markers,
    .marker = marker_at,
};
