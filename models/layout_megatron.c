/* Megatron-LM's legacy checkpoints (--ckpt-format torch).
 *
 *     latest_checkpointed_iteration.txt            "7", written last
 *     iter_0000007/mp_rank_TT[_PPP][_EEE]/         PPP where PP > 1, EEE where EP > 1
 *         model_optim_rng.pt                       the weights; without distributed optimizer its
 *                                                  states too
 *         distrib_optim.pt                         with it: all shards gathered, per buffer
 *                                                  param, exp_avg, exp_avg_sq as fp32
 *
 * Ranks write that are the first of their data parallel group or, of a model with experts, of their
 * experts' one: one for each (tp, pp, ep), so that dense weights are in the folder of every ep. The
 * states of dense weights are gathered to the first of the dense group alone. --zero 1 is the
 * distributed optimizer, --zero 0 goes without. Layers are numbered from 0 on each stage, and in
 * each chunk under virtual stages (model0., model1., ...).
 *
 * Sources: training/checkpointing.py, core/optimizer/distrib_optimizer.py. Not run end to end. */
#include "models/marker.h"
#include "models/megatron_buffer.h"
#include "models/shard_name.h"
#include "models/stage.h"

static bool distributed(const struct plan *plan) { return plan->parallelism.zero > 0; }

static bool first_of_experts(const struct plan *plan, const struct seat *seat) {
    return plan->model.experts > 0 && seat->edp == 0;
}

static bool has_optimizer(const struct plan *plan) { return plan->states[0].count > 0; }

static uint64_t rank_files(const struct plan *plan, uint32_t rank) {
    struct seat seat = grid_seat(&plan->parallelism, rank);
    bool writes = seat.shard == 0 || first_of_experts(plan, &seat);
    return !writes ? 0 : distributed(plan) && has_optimizer(plan) ? 2 : 1;
}

/* Buffer number `index` of those whose states a rank gathers: of each chunk dense, then experts. */
struct gathered {
    uint64_t chunk, elements;
    bool expert;
};

static uint64_t gathered_count(const struct plan *plan, const struct seat *seat) {
    uint64_t kinds = (seat->shard == 0) + first_of_experts(plan, seat);
    return kinds * plan->parallelism.vpp;
}

static struct gathered gathered_at(const struct plan *plan, const struct seat *seat,
                                   uint64_t index) {
    uint64_t kinds = (seat->shard == 0) + first_of_experts(plan, seat);
    struct gathered gathered = {.chunk = index / kinds};
    gathered.expert = seat->shard != 0 || index % kinds == 1;
    gathered.elements = megatron_buffer(plan, seat->pp, gathered.chunk, gathered.expert).elements;
    return gathered;
}

static uint64_t gathered_bytes(const struct plan *plan, const struct seat *seat) {
    uint64_t bytes = 0, count = gathered_count(plan, seat);
    for (uint64_t i = 0; i < count; i++) {
        bytes += optimizer_bytes(&plan->states[0], gathered_at(plan, seat, i).elements);
    }
    return bytes;
}

/* A measure: the bytes of all states of the weights in a part. */
static uint64_t part_states(const struct part *part, const void *with) {
    const struct plan *plan = with;
    uint64_t bytes = 0;
    for (unsigned group = 0; group < GROUP_COUNT; group++) {
        bytes += optimizer_bytes(&plan->states[(group & GROUP_MATRIX) != 0], part->elements[group]);
    }
    return bytes;
}

static void file_at(const struct plan *plan, uint32_t rank, uint64_t index, uint32_t checkpoint,
                    struct shard_file *file) {
    const struct parallelism *parallelism = &plan->parallelism;
    struct seat seat = grid_seat(parallelism, rank);
    struct shard_name name = {.file = file};
    shard_name_text(&name, "iter_");
    shard_name_padded(&name, checkpoint, 7);
    shard_name_text(&name, "/mp_rank_");
    shard_name_padded(&name, seat.tp, 2);
    if (parallelism->pp > 1) {
        shard_name_text(&name, "_");
        shard_name_padded(&name, seat.pp, 3);
    }
    if (parallelism->ep > 1) {
        shard_name_text(&name, "_");
        shard_name_padded(&name, seat.ep, 3);
    }
    shard_name_folder(&name);
    if (index == 1) {
        shard_name_text(&name, "distrib_optim.pt");
        file->kind = SHARD_OPTIMIZER;
        file->bytes = gathered_bytes(plan, &seat);
        return;
    }
    shard_name_text(&name, "model_optim_rng.pt");
    file->kind = SHARD_MODEL;
    file->bytes = stage_sum(plan, FILTER_ALL, seat.pp, part_bytes, NULL);
    if (!distributed(plan)) {
        file->optimizer_bytes = stage_sum(plan, FILTER_ALL, seat.pp, part_states, plan);
        file->bytes += file->optimizer_bytes;
    }
}

static uint64_t file_tensors(const struct plan *plan, uint32_t rank, uint64_t index) {
    struct seat seat = grid_seat(&plan->parallelism, rank);
    if (index == 1) {
        return gathered_count(plan, &seat) * plan->states[0].count;
    }
    uint64_t weights = stage_count(plan, FILTER_ALL, MODE_WEIGHTS, seat.pp);
    return distributed(plan) ? weights
                             : weights + stage_count(plan, FILTER_ALL, MODE_STATES, seat.pp);
}

static void gathered_tensor(const struct plan *plan, const struct seat *seat, uint64_t nth,
                            struct tensor *tensor) {
    const struct state_list *states = &plan->states[0];
    struct gathered gathered = gathered_at(plan, seat, nth / states->count);
    const struct optimizer_state *state = &states->states[nth % states->count];
    tensor_name_begin(tensor);
    if (plan->model.experts > 0) { /* one optimizer for each kind, chained */
        tensor_name_text(tensor, gathered.expert ? "1." : "0.");
    }
    tensor_name_text(tensor, "gbuf_");
    tensor_name_number(tensor, gathered.chunk);
    tensor_name_text(tensor, ".");
    tensor_name_text(tensor, datatype_name(plan->model_datatype));
    tensor_name_text(tensor, ".");
    tensor_name_text(tensor, state->class == TENSOR_MASTER ? "param" : state->name);
    tensor_set_flat(tensor, state->datatype, optimizer_state_elements(state, gathered.elements));
    tensor->class = state->class;
}

/* Layers and experts are numbered within the chunk and the rank. */
static void local_tensor(const struct plan *plan, const struct place *place,
                         const struct seat *seat, const char *prefix, struct tensor *tensor) {
    place_tensor(plan, place, seat, "", tensor);
    tensor_name_begin(tensor);
    tensor_name_text(tensor, prefix);
    tensor_name_text(tensor, "model");
    if (plan->parallelism.vpp > 1) {
        tensor_name_number(tensor, place->chunk);
    }
    tensor_name_text(tensor, ".");
    tensor_name_weight(tensor, place->at.weight->weight.name, place->layer_in_chunk,
                       place->at.expert);
}

static void file_tensor(const struct plan *plan, uint32_t rank, uint64_t index, uint64_t nth,
                        struct tensor *tensor) {
    struct seat seat = grid_seat(&plan->parallelism, rank);
    if (index == 1) {
        gathered_tensor(plan, &seat, nth, tensor);
        return;
    }
    uint64_t weights = stage_count(plan, FILTER_ALL, MODE_WEIGHTS, seat.pp);
    if (nth < weights) {
        struct place place = stage_at(plan, FILTER_ALL, MODE_WEIGHTS, seat.pp, nth);
        local_tensor(plan, &place, &seat, "", tensor);
        return;
    }
    struct place place = stage_at(plan, FILTER_ALL, MODE_STATES, seat.pp, nth - weights);
    const struct optimizer_state *state = place_state_row(plan, &place);
    bool master = state->class == TENSOR_MASTER;
    local_tensor(plan, &place, &seat,
                 master ? "optimizer.fp32_from_fp16_params." : "optimizer.state.", tensor);
    if (!master) {
        tensor_name_text(tensor, ".");
        tensor_name_text(tensor, state->name);
    }
    place_state(plan, &place, tensor);
}

static enum status check(const struct plan *plan, struct error *err) {
    return megatron_check(plan, distributed(plan), err);
}

static uint64_t markers(const struct plan *plan) {
    (void)plan;
    return 1;
}

static void marker_at(const struct plan *plan, uint64_t index, uint32_t checkpoint,
                      struct shard_marker *marker, struct text_sink *sink) {
    (void)plan;
    (void)index;
    marker_begin(marker, MARKER_LATEST, "", "latest_checkpointed_iteration.txt");
    sink_number(sink, checkpoint);
}

const struct layout layout_megatron = {
    .name = "megatron",
    .format = "torch",
    .about = "Megatron-LM's legacy torch files; --zero 1: distributed optimizer, --zero 0: without",
    .leaves_out = "no arguments, scheduler or random state; "
                  "gradient buffers have one bucket",
    .takes = TAKES_EP | TAKES_CP | TAKES_VPP | TAKES_UNEVEN | TAKES_VOCAB | TAKES_MODEL_DATATYPE,
    .optimizers = 1U << OPTIMIZER_ADAM | 1U << OPTIMIZER_ADAM_FP32 | 1U << OPTIMIZER_LION |
                  1U << OPTIMIZER_MUON | 1U << OPTIMIZER_NONE,
    .zero_most = 1,
    .zero_default = 1,
    .master_with_zero = true,
    .even_stages = true,
    .tied_copy = true,
    .style = STYLE_MEGATRON,
    .style_split = STYLE_MEGATRON,
    .vocab_divisor = 128,
    .vocab_divisor_split = 128,
    .check = check,
    .rank_files = rank_files,
    .file = file_at,
    .tensors = file_tensors,
    .tensor = file_tensor,
    .cannot_reshard =
        "its files do not say which part of a whole weight they hold, and Megatron-LM itself "
        "needs a tool to convert them",
    .markers = markers,
    .marker = marker_at,
};
