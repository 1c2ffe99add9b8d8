/* What today's DLIO and MLPerf Storage write, to the byte of tensor data.
 *
 *     rank = dp * TP * PP + stage * TP + tp      mp = rank % (TP * PP)
 *
 * Layers are numbered 0 (embedding), 1..L, L+1 (head), L+2 (final norm). Stage s has L / PP of the
 * layers 1..L, one more on the first L % PP stages; 0 is on the first stage, L+1 and L+2 on the
 * last.
 *
 *     ZeRO 1, 2, PP > 1   dp 0: layer_{i}-model_{mp}_model_states, one for each layer
 *     ZeRO 1, 2, PP = 1   dp 0: model_{mp}_model_states
 *     ZeRO 0              dp 0: zero_pp_rank_{dp}_mp_rank_{mp}_model_states; other ranks nothing
 *     ZeRO 3              all:  the same, each tensor divided by DP
 *     always              zero_pp_rank_{dp}_mp_rank_{mp}_optim_states: 3 x [p, 5 x hidden], p =
 *                         parameters / (DP * TP * PP), for ZeRO 0 parameters / (TP * PP)
 *     not a transformer   model_states-{rank} of model_size_bytes, before the others
 *
 * Every size is divided by TP, then by DP, and floored each time. Source: DLIO's
 * checkpointing/base_checkpointing.py (2026-06), confirmed file by file by running it. DLIO knows
 * dense gated transformers alone; other families follow the same rule tensor by tensor. */
#include "base/check.h"
#include "models/plan.h"
#include "models/shard_name.h"
#include "models/stage.h"

struct position {
    uint64_t mp, stage, dp;
    uint64_t first, last; /* layers of this rank, in DLIO's numbers; none if first > last */
    bool model_state, layers_apart, layers_together;
    bool no_head; /* the last stage of a tied model: there is no layer L+1 */
};

/* Layers given in bytes have neither embedding nor head. */
static void position_layers(const struct plan *plan, struct position *position) {
    uint64_t layers = plan->model.layers, pp = plan->parallelism.pp;
    uint64_t each = layers / pp, more = layers % pp, stage = position->stage;
    bool raw = plan->model.raw.layer_count > 0;
    position->first = stage * each + (stage < more ? stage : more) + 1;
    position->last = position->first + each + (stage < more ? 1 : 0) - 1;
    if (stage == 0 && !raw) {
        position->first = 0;
    }
    if (stage == pp - 1 && !raw) {
        position->last = layers + 2;
    }
}

static struct position position_of(const struct plan *plan, uint32_t rank) {
    const struct parallelism *parallelism = &plan->parallelism;
    uint64_t group = parallelism->tp * parallelism->pp, zero = parallelism->zero;
    struct position position = {
        .mp = rank % group, .stage = rank / parallelism->tp % parallelism->pp, .dp = rank / group};
    bool saves = zero > 0 || position.dp == 0;
    bool layers = saves && plan->model.layers > 0 && (zero == 3 || position.dp == 0);
    bool sharded = zero == 0 || zero == 3;
    position.model_state = saves && plan->model.raw.model_state && plan->model.raw.model_bytes > 0;
    position.layers_apart = layers && !sharded && parallelism->pp > 1;
    position.layers_together = layers && !position.layers_apart;
    position_layers(plan, &position);
    position.no_head = plan->model.tied && position.last == plan->model.layers + 2;
    return position;
}

static bool has_optimizer(const struct plan *plan, const struct position *position) {
    bool saves = plan->parallelism.zero > 0 || position->dp == 0;
    return saves && (plan->model.raw.group_count > 0 || plan->parameters > 0);
}

static uint64_t model_files(const struct position *position) {
    uint64_t layers = position->layers_apart ? position->last - position->first + 1 : 0;
    layers -= layers > 0 && position->no_head ? 1 : 0;
    return (position->model_state ? 1 : 0) + layers + (position->layers_together ? 1 : 0);
}

static uint64_t rank_files(const struct plan *plan, uint32_t rank) {
    struct position position = position_of(plan, rank);
    return model_files(&position) + (has_optimizer(plan, &position) ? 1 : 0);
}

static uint64_t bytes_of(const struct plan *plan, enum model_part part) {
    return plan->parts[FILTER_ALL][part].bytes;
}

/* The layers first..last of DLIO as a run of the architecture's own layers 0..L-1. */
static void own_layers(const struct plan *plan, uint64_t first, uint64_t last, uint64_t *from,
                       uint64_t *to) {
    *from = first > 0 ? first - 1 : 0;
    *to = last < plan->model.layers ? last : plan->model.layers;
    *from = *from < *to ? *from : *to;
}

/* The sum over layers first..last. With layers given in bytes DLIO fills every layer from the same
 * tensors; each counts in full, as its streaming writer has it. */
static uint64_t layers_bytes(const struct plan *plan, uint64_t first, uint64_t last) {
    const struct architecture *model = &plan->model;
    const struct raw_sizes *raw = &model->raw;
    uint64_t sum = 0, from, to;
    for (uint32_t i = 0; i < raw->layer_count; i++) {
        sum += (last - first + 1) * plan_scaled(plan, raw->layer_bytes[i] / plan->parallelism.tp);
    }
    if (raw->layer_count > 0) {
        return sum;
    }
    own_layers(plan, first, last, &from, &to);
    sum += layers_sum(plan, FILTER_ALL, from, to, part_bytes, NULL);
    sum += first == 0 ? bytes_of(plan, PART_EMBEDDING) : 0;
    sum += first <= model->layers + 1 && last > model->layers ? bytes_of(plan, PART_HEAD) : 0;
    sum += last > model->layers + 1 ? bytes_of(plan, PART_FINAL_NORM) : 0;
    return sum;
}

/* The two of the three copies that each hold parameters, and 5 x hidden beside them. */
static void state_elements(const struct plan *plan, uint64_t elements[2]) {
    const struct parallelism *parallelism = &plan->parallelism;
    uint64_t parts = parallelism->tp * parallelism->pp;
    parts *= parallelism->zero > 0 ? parallelism->dp : 1;
    elements[0] = plan_scaled(plan, plan->parameters / parts);
    elements[1] = plan_scaled(plan, 5 * plan->model.hidden);
}

static uint64_t groups_sum(const struct plan *plan) {
    const struct raw_sizes *raw = &plan->model.raw;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < raw->group_count; i++) {
        sum += plan_scaled(plan, raw->group_bytes[i]);
    }
    return sum;
}

static uint64_t states_bytes(const struct plan *plan) {
    if (plan->model.raw.group_count > 0) {
        return 3 * groups_sum(plan); /* int8 and never divided: two states and both in one */
    }
    uint64_t elements[2];
    state_elements(plan, elements);
    return 3 * datatype_bytes(plan->optimizer_datatype) * (elements[0] + elements[1]);
}

static struct shard_name begin_name(struct shard_file *file, uint32_t checkpoint) {
    struct shard_name name = {.file = file};
    shard_name_text(&name, "global_epoch1_step");
    shard_name_number(&name, checkpoint);
    shard_name_text(&name, "/");
    file->name = file->path + name.used;
    return name;
}

static void name_sharded(struct shard_name *name, const struct position *position,
                         const char *what) {
    shard_name_text(name, "zero_pp_rank_");
    shard_name_number(name, position->dp);
    shard_name_text(name, "_mp_rank_");
    shard_name_number(name, position->mp);
    shard_name_text(name, what);
}

static void name_layers(struct shard_name *name, const struct plan *plan,
                        const struct position *position, uint64_t layer) {
    uint64_t zero = plan->parallelism.zero;
    if (position->layers_apart) {
        shard_name_text(name, "layer_");
        shard_name_number(name, layer);
        shard_name_text(name, "-");
    } else if (zero == 0 || zero == 3) {
        name_sharded(name, position, "_model_states.pt");
        return;
    }
    shard_name_text(name, "model_");
    shard_name_number(name, position->mp);
    shard_name_text(name, "_model_states.pt");
}

/* What file `index` of a rank is: the layers that it holds, or none. */
enum file_kind { FILE_MODEL_STATE, FILE_LAYERS, FILE_OPTIMIZER };

struct file_content {
    enum file_kind kind;
    uint64_t first, last; /* layers */
};

static struct file_content content_at(const struct plan *plan, const struct position *position,
                                      uint64_t index) {
    struct file_content content = {FILE_OPTIMIZER, position->first, position->last};
    if (index == 0 && position->model_state) {
        content.kind = FILE_MODEL_STATE;
    } else if (index < model_files(position)) {
        content.kind = FILE_LAYERS;
        if (position->layers_apart) {
            uint64_t layer = position->first + index - (position->model_state ? 1 : 0);
            layer += position->no_head && layer == plan->model.layers + 1 ? 1 : 0;
            content.first = content.last = layer;
        }
    }
    return content;
}

static void file_at(const struct plan *plan, uint32_t rank, uint64_t index, uint32_t checkpoint,
                    struct shard_file *file) {
    struct position position = position_of(plan, rank);
    struct file_content content = content_at(plan, &position, index);
    struct shard_name name = begin_name(file, checkpoint);
    file->kind = SHARD_MODEL;
    switch (content.kind) {
    case FILE_MODEL_STATE:
        file->bytes = plan_scaled(plan, plan->model.raw.model_bytes);
        shard_name_text(&name, "model_states-");
        shard_name_number(&name, rank);
        shard_name_text(&name, ".pt");
        break;
    case FILE_LAYERS:
        file->bytes = layers_bytes(plan, content.first, content.last);
        name_layers(&name, plan, &position, content.first);
        break;
    case FILE_OPTIMIZER:
        file->kind = SHARD_OPTIMIZER;
        file->bytes = states_bytes(plan);
        name_sharded(&name, &position, "_optim_states.pt");
        break;
    }
}

/* What DLIO's layer number is. */
static enum model_part layer_part(const struct plan *plan, uint64_t layer) {
    if (layer == 0) {
        return PART_EMBEDDING;
    }
    if (layer <= plan->model.layers) {
        return architecture_layer(&plan->model, layer - 1);
    }
    return layer == plan->model.layers + 1 ? PART_HEAD : PART_FINAL_NORM;
}

static uint64_t end_tensors(const struct plan *plan, enum model_part part) {
    return plan->parts[FILTER_ALL][part].tensors[MODE_WEIGHTS];
}

/* The tensors of layers first .. last-1; of layers given in bytes those that are not empty. */
static uint64_t layers_tensors(const struct plan *plan, uint64_t first, uint64_t last) {
    const struct raw_sizes *raw = &plan->model.raw;
    uint64_t each = 0, layers = plan->model.layers, from, to;
    for (uint32_t i = 0; i < raw->layer_count; i++) {
        each += raw->layer_bytes[i] / plan->parallelism.tp > 0;
    }
    if (raw->layer_count > 0 || first == last) {
        return (last - first) * each;
    }
    own_layers(plan, first, last - 1, &from, &to);
    uint64_t count = layers_count(plan, FILTER_ALL, MODE_WEIGHTS, from, to);
    count += first == 0 ? end_tensors(plan, PART_EMBEDDING) : 0;
    count += first <= layers + 1 && last > layers + 1 ? end_tensors(plan, PART_HEAD) : 0;
    count += last > layers + 2 ? end_tensors(plan, PART_FINAL_NORM) : 0;
    return count;
}

static uint64_t file_tensors(const struct plan *plan, uint32_t rank, uint64_t index) {
    struct position position = position_of(plan, rank);
    struct file_content content = content_at(plan, &position, index);
    switch (content.kind) {
    case FILE_MODEL_STATE: return 1;
    case FILE_LAYERS: return layers_tensors(plan, content.first, content.last + 1);
    case FILE_OPTIMIZER: break;
    }
    if (plan->model.raw.group_count == 0) {
        uint64_t elements[2];
        state_elements(plan, elements);
        return 3 * ((elements[0] > 0) + (elements[1] > 0));
    }
    uint64_t count = 1;
    for (uint32_t i = 0; i < plan->model.raw.group_count; i++) {
        count += plan->model.raw.group_bytes[i] > 0 ? 2 : 0;
    }
    return count;
}

/* Number `nth` of one layer given in bytes, among those that are not empty; returns its key. */
static uint64_t raw_layer_tensor(const struct plan *plan, uint64_t nth, struct tensor *tensor) {
    const struct raw_sizes *raw = &plan->model.raw;
    uint32_t i = 0;
    while (raw->layer_bytes[i] / plan->parallelism.tp == 0 || nth-- > 0) {
        i++;
        CHECK(i < raw->layer_count);
    }
    tensor_set_flat(tensor, DATATYPE_INT8,
                    plan_scaled(plan, raw->layer_bytes[i] / plan->parallelism.tp));
    return i;
}

/* In a file of several layers a tensor is named "layer.tensor", elsewhere "tensor", both numbers.
 */
static void layer_tensor(const struct plan *plan, const struct file_content *content, uint64_t nth,
                         struct tensor *tensor) {
    uint64_t low = content->first, high = content->last + 1;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (layers_tensors(plan, content->first, middle) <= nth) {
            low = middle;
        } else {
            high = middle;
        }
    }
    nth -= layers_tensors(plan, content->first, low);
    tensor->class = TENSOR_WEIGHT;
    tensor_name_begin(tensor);
    if (content->first < content->last) {
        tensor_name_number(tensor, low);
        tensor_name_text(tensor, ".");
    }
    if (plan->model.raw.layer_count > 0) {
        nth = raw_layer_tensor(plan, nth, tensor);
    } else {
        const struct part *part = &plan->parts[FILTER_ALL][layer_part(plan, low)];
        struct part_place place = part_at(part, MODE_WEIGHTS, nth);
        tensor_set_flat(tensor, place.weight->datatype, place.weight->elements);
    }
    tensor_name_number(tensor, nth);
}

/* Groups given in bytes: two states of each, "a" and "b", and all groups once more in one. */
static void raw_state_tensor(const struct plan *plan, uint64_t nth, struct tensor *tensor) {
    const struct raw_sizes *raw = &plan->model.raw;
    for (uint32_t i = 0; i < raw->group_count; i++) {
        if (raw->group_bytes[i] == 0) {
            continue;
        }
        if (nth < 2) {
            tensor_set_flat(tensor, DATATYPE_INT8, plan_scaled(plan, raw->group_bytes[i]));
            tensor_name_number(tensor, i);
            tensor_name_text(tensor, nth == 0 ? ".a" : ".b");
            return;
        }
        nth -= 2;
    }
    tensor_set_flat(tensor, DATATYPE_INT8, groups_sum(plan));
    tensor_name_text(tensor, "combined");
}

static void state_tensor(const struct plan *plan, uint64_t nth, struct tensor *tensor) {
    tensor_name_begin(tensor);
    if (plan->model.raw.group_count > 0) {
        tensor->class = TENSOR_MOMENT;
        raw_state_tensor(plan, nth, tensor);
        return;
    }
    uint64_t elements[2];
    state_elements(plan, elements);
    uint64_t key = elements[0] == 0 ? 2 * nth + 1 : elements[1] > 0 ? nth : 2 * nth;
    tensor->class = key < 2 ? TENSOR_MASTER : TENSOR_MOMENT;
    tensor_set_flat(tensor, plan->optimizer_datatype, elements[key % 2]);
    tensor_name_number(tensor, key);
}

static void file_tensor(const struct plan *plan, uint32_t rank, uint64_t index, uint64_t nth,
                        struct tensor *tensor) {
    struct position position = position_of(plan, rank);
    struct file_content content = content_at(plan, &position, index);
    switch (content.kind) {
    case FILE_MODEL_STATE:
        tensor->class = TENSOR_WEIGHT;
        tensor_name_begin(tensor);
        tensor_name_text(tensor, "a");
        tensor_set_flat(tensor, DATATYPE_INT8, plan_scaled(plan, plan->model.raw.model_bytes));
        break;
    case FILE_LAYERS: layer_tensor(plan, &content, nth, tensor); break;
    case FILE_OPTIMIZER: state_tensor(plan, nth, tensor); break;
    }
}

/* Sizes depend on the stage and on being in the first data-parallel group. */
static uint32_t rank_like(const struct plan *plan, uint32_t rank) {
    const struct parallelism *parallelism = &plan->parallelism;
    uint64_t group = parallelism->tp * parallelism->pp;
    uint64_t first_of_stage = rank / parallelism->tp % parallelism->pp * parallelism->tp;
    return (uint32_t)(first_of_stage + (rank >= group ? group : 0));
}

const struct layout layout_dlio = {
    .name = "dlio",
    .takes = TAKES_MODEL_DATATYPE | TAKES_OPTIMIZER_DATATYPE,
    .optimizers = 1U << OPTIMIZER_ADAM,
    .zero_most = 3,
    .zero_of_config = true,
    .flat = true,
    .style = STYLE_MEGATRON,
    .style_split = STYLE_MEGATRON,
    .tensors = file_tensors,
    .tensor = file_tensor,
    .cannot_reshard =
        "its files are buffers of so many bytes, which say of no part of a weight where it "
        "belongs",
    .about = "today's DLIO and MLPerf Storage: fp16 model, fp32 optimizer, 14 bytes per parameter",
    .leaves_out = "no scheduler, random or data loader state",
    .rank_files = rank_files,
    .file = file_at,
    .rank_like = rank_like,
};
