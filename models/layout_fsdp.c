/* PyTorch's FSDP2 as torchtitan saves it with DCP.
 *
 *     step-7/__{rank}_0.distcp     model.NAME, optimizer.state.NAME.exp_avg, .exp_avg_sq, .step
 *     step-7/.metadata             written last: a step that has it is complete
 *
 * Every weight [d0, ...] of what tensor parallelism left is cut into rows: with W = dp * cp ranks
 * and q = ceil(d0 / W), rank r has rows r * q to min(d0, (r + 1) * q), as torch.chunk does it;
 * nothing is padded, and late ranks may have none. Weights are fp32 and what the optimizer works
 * on, its states have their shape and type: 12 bytes a parameter. Experts of a layer are one
 * weight; with expert parallelism they are cut among the ranks that are left, by rows of the
 * matrices where there are more ranks than experts.
 *
 * What TP ranks hold alike is written by the first of them, and each parameter's step counter,
 * which all ranks of a stage hold, by one: the planner gives it to the rank with the fewest bytes
 * so far, which makes them go round all but the first.
 *
 * Sources: torch.distributed.checkpoint's planner, torchtitan's checkpoint component. Not verified:
 * an item without rows is written (here it is, with no bytes), which TP rank writes what all hold,
 * names beyond Llama's. */
#include "models/marker.h"
#include "models/plan.h"
#include "models/shard_name.h"
#include "models/stage.h"

/* Rows of one rank, of which dimension. */
struct rows {
    uint32_t dimension;
    uint64_t begin, count;
    uint64_t all, each; /* of the weight, and of a rank that is not among the last */
    uint64_t shard;
};

static struct rows rows_of(const struct plan *plan, const struct part_weight *weight,
                           const struct seat *seat) {
    const struct parallelism *parallelism = &plan->parallelism;
    uint64_t shards = grid_shards(parallelism), shard = seat->shard;
    struct rows rows = {.dimension = 0};
    bool meshed = parallelism->ep > 1 || parallelism->etp != parallelism->tp;
    if (weight->weight.expert && meshed) {
        shards = grid_expert_shards(parallelism);
        shard = seat->edp;
        rows.dimension = shards * parallelism->ep > plan->model.experts ? 1 : 0;
    }
    uint64_t all = weight->dimensions > 0 ? weight->shape[rows.dimension] : 1;
    uint64_t each = all / shards + (all % shards != 0);
    rows.all = all;
    rows.each = each;
    rows.shard = shard;
    rows.begin = shard * each < all ? shard * each : all;
    rows.count = all - rows.begin < each ? all - rows.begin : each;
    return rows;
}

static uint64_t elements_of(const struct plan *plan, const struct part_weight *weight,
                            const struct seat *seat) {
    struct rows rows = rows_of(plan, weight, seat);
    return weight->elements / rows.all * rows.count;
}

/* Where tensor parallelism does not reach into experts, they are apart on all ranks. */
static enum part_filter filter_of(const struct plan *plan, const struct seat *seat) {
    if (seat->tp == 0) {
        return FILTER_ALL;
    }
    return plan->parallelism.etp == 1 ? FILTER_CUT_OR_EXPERT : FILTER_CUT;
}

/* Buffers are held alike by all and written by the first. */
static enum part_mode mode_of(const struct seat *seat) {
    return seat->shard == 0 ? MODE_WEIGHTS : MODE_PARAMETERS;
}

struct on_seat {
    const struct plan *plan;
    struct seat seat;
    bool states;
};

static uint64_t copies_of(const struct part *part, uint32_t index) {
    return index - part->expert_first < part->expert_count ? part->experts : 1;
}

/* A measure: the bytes of a rank's weights, or of their states. */
static uint64_t part_share(const struct part *part, const void *with) {
    const struct on_seat *on = with;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < part->count; i++) {
        const struct part_weight *weight = &part->weights[i];
        if (weight->weight.buffer) {
            bool writes = on->seat.shard == 0 && !on->states;
            bytes += writes ? weight->elements * datatype_bytes(weight->datatype) : 0;
            continue;
        }
        uint64_t elements = elements_of(on->plan, weight, &on->seat);
        uint64_t each = on->states
                            ? optimizer_bytes(&on->plan->states[weight->weight.matrix], elements)
                            : elements * datatype_bytes(weight->datatype);
        bytes += copies_of(part, i) * each;
    }
    return bytes;
}

/* The parameters whose step counters the rank writes: number first, first + step, ... */
struct steps {
    uint64_t first, step, count;
};

static struct steps steps_of(const struct plan *plan, uint32_t rank, const struct seat *seat) {
    uint64_t ranks = grid_stage_ranks(&plan->parallelism), in_stage = rank % ranks;
    struct steps steps = {.first = in_stage - 1, .step = ranks - 1};
    if (plan->states[0].count == 0 || (in_stage == 0 && ranks > 1)) {
        return steps;
    }
    if (ranks == 1) {
        steps = (struct steps){.first = 0, .step = 1};
    }
    uint64_t all = stage_count(plan, FILTER_ALL, MODE_PARAMETERS, seat->pp);
    steps.count = all > steps.first ? (all - steps.first - 1) / steps.step + 1 : 0;
    return steps;
}

static uint64_t rank_files(const struct plan *plan, uint32_t rank) {
    (void)plan;
    (void)rank;
    return 1;
}

static void file_at(const struct plan *plan, uint32_t rank, uint64_t index, uint32_t checkpoint,
                    struct shard_file *file) {
    struct seat seat = grid_seat(&plan->parallelism, rank);
    struct on_seat on = {.plan = plan, .seat = seat};
    struct shard_name name = {.file = file};
    (void)index;
    shard_name_text(&name, "step-");
    shard_name_number(&name, checkpoint);
    shard_name_folder(&name);
    shard_name_text(&name, "__");
    shard_name_number(&name, rank);
    shard_name_text(&name, "_0.distcp");
    file->kind = SHARD_MODEL;
    file->bytes = stage_sum(plan, filter_of(plan, &seat), seat.pp, part_share, &on);
    on.states = true;
    file->optimizer_bytes = stage_sum(plan, filter_of(plan, &seat), seat.pp, part_share, &on);
    file->optimizer_bytes += steps_of(plan, rank, &seat).count * datatype_bytes(DATATYPE_FP32);
    file->bytes += file->optimizer_bytes;
}

static uint64_t file_tensors(const struct plan *plan, uint32_t rank, uint64_t index) {
    struct seat seat = grid_seat(&plan->parallelism, rank);
    (void)index;
    return stage_count(plan, filter_of(plan, &seat), mode_of(&seat), seat.pp) +
           stage_count(plan, filter_of(plan, &seat), MODE_STATES, seat.pp) +
           steps_of(plan, rank, &seat).count;
}

/* Narrows the tensor of what TP left to the rank's rows. */
static void take_rows(const struct plan *plan, const struct place *place, const struct seat *seat,
                      struct tensor *tensor) {
    if (place->at.weight->weight.buffer) {
        return;
    }
    struct rows rows = rows_of(plan, place->at.weight, seat);
    if (tensor->dimensions == 0) { /* a single number, which only one can have */
        tensor_set_flat(tensor, tensor->datatype, 1);
    }
    tensor->offset[rows.dimension] += rows.begin;
    tensor->shape[rows.dimension] = rows.count;
    tensor_count(tensor);
}

/* Scales and tables are made by each rank for its own rows; end to end they are one tensor. */
static void place_own(const struct plan *plan, const struct place *place, const struct seat *seat,
                      struct tensor *tensor) {
    const struct part_weight *weight = place->at.weight;
    const struct optimizer_state *state = place_state_row(plan, place);
    struct rows rows = rows_of(plan, weight, seat);
    uint64_t row = weight->elements / rows.all, full = rows.all / rows.each;
    uint64_t each = optimizer_state_elements(state, row * rows.each);
    uint64_t all =
        full * each + optimizer_state_elements(state, row * (rows.all - full * rows.each));
    uint64_t before = weight->weight.expert ? seat->etp : seat->tp, parts = weight->parts;
    before = weight->weight.cut == CUT_NONE ? 0 : before;
    if (weight->weight.expert) {
        before += parts * seat->ep;
        parts *= plan->parallelism.ep;
    }
    tensor->whole[0] = parts * all;
    tensor->offset[0] = before * all + (rows.shard <= full ? rows.shard * each : all);
}

static void named(const struct plan *plan, const struct place *place, const struct seat *seat,
                  const char *prefix, const char *suffix, struct tensor *tensor) {
    place_tensor(plan, place, seat, prefix, tensor);
    tensor_name_text(tensor, suffix);
}

static void step_tensor(const struct plan *plan, const struct seat *seat, uint64_t parameter,
                        struct tensor *tensor) {
    struct place place = stage_at(plan, FILTER_ALL, MODE_PARAMETERS, seat->pp, parameter);
    named(plan, &place, seat, "optimizer.state.", ".step", tensor);
    tensor->class = TENSOR_OTHER;
    tensor->datatype = DATATYPE_FP32;
    tensor->dimensions = 0;
    tensor_count(tensor);
}

/* Number `nth` of a rank's weights and states; `steps` are the step counters behind them. */
static void seat_tensor(const struct plan *plan, const struct seat *seat, enum part_filter filter,
                        enum part_mode mode, struct steps steps, uint64_t nth,
                        struct tensor *tensor) {
    uint64_t weights = stage_count(plan, filter, mode, seat->pp);
    if (nth < weights) {
        struct place place = stage_at(plan, filter, mode, seat->pp, nth);
        named(plan, &place, seat, "model.", "", tensor);
        take_rows(plan, &place, seat, tensor);
        return;
    }
    nth -= weights;
    uint64_t states = stage_count(plan, filter, MODE_STATES, seat->pp);
    if (nth < states) {
        struct place place = stage_at(plan, filter, MODE_STATES, seat->pp, nth);
        named(plan, &place, seat, "optimizer.state.", ".", tensor);
        tensor_name_text(tensor, place_state_row(plan, &place)->name);
        take_rows(plan, &place, seat, tensor);
        place_state(plan, &place, tensor);
        if (place_state_row(plan, &place)->size != STATE_FULL) {
            place_own(plan, &place, seat, tensor);
        }
        return;
    }
    step_tensor(plan, seat, steps.first + (nth - states) * steps.step, tensor);
}

static void file_tensor(const struct plan *plan, uint32_t rank, uint64_t index, uint64_t nth,
                        struct tensor *tensor) {
    struct seat seat = grid_seat(&plan->parallelism, rank);
    (void)index;
    seat_tensor(plan, &seat, filter_of(plan, &seat), mode_of(&seat), steps_of(plan, rank, &seat),
                nth, tensor);
}

/* Every rank holds its rows of all weights of its stage, its buffers whole, and all step counters. */
static struct steps all_steps(const struct plan *plan, const struct seat *seat) {
    struct steps steps = {.first = 0, .step = 1};
    if (plan->states[0].count > 0) {
        steps.count = stage_count(plan, FILTER_ALL, MODE_PARAMETERS, seat->pp);
    }
    return steps;
}

static uint64_t held(const struct plan *plan, uint32_t rank) {
    struct seat seat = grid_seat(&plan->parallelism, rank);
    return stage_count(plan, FILTER_ALL, MODE_WEIGHTS, seat.pp) +
           stage_count(plan, FILTER_ALL, MODE_STATES, seat.pp) + all_steps(plan, &seat).count;
}

static void held_tensor(const struct plan *plan, uint32_t rank, uint64_t nth,
                        struct tensor *tensor) {
    struct seat seat = grid_seat(&plan->parallelism, rank);
    seat_tensor(plan, &seat, FILTER_ALL, MODE_WEIGHTS, all_steps(plan, &seat), nth, tensor);
}

static enum status check(const struct plan *plan, struct error *err) {
    const struct parallelism *parallelism = &plan->parallelism;
    if (plan->model.tied && parallelism->pp > 1) {
        return error_set(err, ERR_USAGE,
                         "--pp %llu does not go with the tied embedding of model '%.100s' in "
                         "torchtitan; --pp 1 is allowed",
                         (unsigned long long)parallelism->pp, plan->model.name);
    }
    if (parallelism->etp != 1 && parallelism->etp != parallelism->tp) {
        return error_set(err, ERR_USAGE,
                         "--etp %llu does not go with --layout fsdp; 1 or as much as --tp is "
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
    char folder[SHARD_PATH];
    (void)index;
    marker_folder("step-", checkpoint, 1, folder);
    marker_begin(marker, MARKER_METADATA, folder, ".metadata");
    sink_metadata(plan, sink);
}

const struct layout layout_fsdp = {
    .name = "fsdp",
    .format = "dcp",
    .alias = "dcp",
    .about = "PyTorch FSDP2 through DCP, as torchtitan: fp32 shards, 12 bytes per parameter",
    .leaves_out =
        "no parameter groups, scheduler, data loader or "
        "training state",
    .takes = TAKES_EP | TAKES_CP | TAKES_UNEVEN | TAKES_VOCAB | TAKES_MODEL_DATATYPE |
             TAKES_OPTIMIZER_DATATYPE,
    .optimizers = 1U << OPTIMIZER_ADAM | 1U << OPTIMIZER_ADAM_FP32 | 1U << OPTIMIZER_ADAM_8BIT |
                  1U << OPTIMIZER_LION | 1U << OPTIMIZER_MUON | 1U << OPTIMIZER_NONE,
    .zero_least = 3,
    .zero_most = 3,
    .zero_default = 3,
    .zero_of_weights = true,
    .no_master = true,
    .style = STYLE_TITAN,
    .style_split = STYLE_TITAN,
    .model_datatype = DATATYPE_FP32,
    .check = check,
    .rank_files = rank_files,
    .file = file_at,
    .tensors = file_tensors,
    .tensor = file_tensor,
    .held = held,
    .held_tensor = held_tensor,
    .markers = markers,
    .marker = marker_at,
};
