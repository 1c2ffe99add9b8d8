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
#include "models/plan.h"
#include "models/shard_name.h"

struct place {
    uint64_t mp, stage, dp;
    uint64_t first, last; /* layers of this rank, in DLIO's numbers; none if first > last */
    bool model_state, layers_apart, layers_together;
    bool no_head; /* the last stage of a tied model: there is no layer L+1 */
};

/* Layers given in bytes have neither embedding nor head. */
static void place_layers(const struct plan *plan, struct place *place) {
    uint64_t layers = plan->model.layers, pp = plan->parallelism.pp;
    uint64_t each = layers / pp, more = layers % pp, stage = place->stage;
    bool raw = plan->model.raw.layer_count > 0;
    place->first = stage * each + (stage < more ? stage : more) + 1;
    place->last = place->first + each + (stage < more ? 1 : 0) - 1;
    if (stage == 0 && !raw) {
        place->first = 0;
    }
    if (stage == pp - 1 && !raw) {
        place->last = layers + 2;
    }
}

static struct place place_rank(const struct plan *plan, uint32_t rank) {
    const struct parallelism *parallelism = &plan->parallelism;
    uint64_t group = parallelism->tp * parallelism->pp, zero = parallelism->zero;
    struct place place = {
        .mp = rank % group, .stage = rank / parallelism->tp % parallelism->pp, .dp = rank / group};
    bool saves = zero > 0 || place.dp == 0;
    bool layers = saves && plan->model.layers > 0 && (zero == 3 || place.dp == 0);
    bool sharded = zero == 0 || zero == 3;
    place.model_state = saves && plan->model.raw.model_state && plan->model.raw.model_bytes > 0;
    place.layers_apart = layers && !sharded && parallelism->pp > 1;
    place.layers_together = layers && !place.layers_apart;
    place_layers(plan, &place);
    place.no_head = plan->model.tied && place.last == plan->model.layers + 2;
    return place;
}

static bool has_optimizer(const struct plan *plan, const struct place *place) {
    bool saves = plan->parallelism.zero > 0 || place->dp == 0;
    return saves && (plan->model.raw.group_count > 0 || plan->parameters > 0);
}

static uint64_t model_files(const struct place *place) {
    uint64_t layers = place->layers_apart ? place->last - place->first + 1 : 0;
    layers -= layers > 0 && place->no_head ? 1 : 0;
    return (place->model_state ? 1 : 0) + layers + (place->layers_together ? 1 : 0);
}

static uint64_t rank_files(const struct plan *plan, uint32_t rank) {
    struct place place = place_rank(plan, rank);
    return model_files(&place) + (has_optimizer(plan, &place) ? 1 : 0);
}

static uint64_t part_bytes(const struct plan *plan, enum model_part part) {
    const struct parallelism *parallelism = &plan->parallelism;
    struct tensor tensors[PART_TENSORS];
    size_t count = architecture_tensors(&plan->model, part, tensors);
    uint64_t elements = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t shard = tensors[i].elements;
        shard = tensors[i].split ? shard / parallelism->tp : shard;
        shard = parallelism->zero == 3 ? shard / parallelism->dp : shard;
        elements += tensors[i].copies * plan_scaled(plan, shard);
    }
    return elements * plan->model.model_bytes;
}

/* The sum over layers first..last. With layers given in bytes DLIO fills every layer from the same
 * tensors; each counts in full, as its streaming writer has it. */
static uint64_t layers_bytes(const struct plan *plan, uint64_t first, uint64_t last) {
    const struct architecture *model = &plan->model;
    const struct raw_sizes *raw = &model->raw;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < raw->layer_count; i++) {
        sum += (last - first + 1) * plan_scaled(plan, raw->layer_bytes[i] / plan->parallelism.tp);
    }
    if (raw->layer_count > 0) {
        return sum;
    }
    uint64_t from = first > 0 ? first - 1 : 0; /* of the layers 0..L-1 of the architecture */
    uint64_t to = last < model->layers ? last : model->layers;
    uint64_t own = to > from ? to - from : 0;
    uint64_t moe =
        own == 0 ? 0 : architecture_moe_layers(model, to) - architecture_moe_layers(model, from);
    sum += first == 0 ? part_bytes(plan, PART_EMBEDDING) : 0;
    sum += own > moe ? (own - moe) * part_bytes(plan, PART_DENSE_LAYER) : 0;
    sum += moe > 0 ? moe * part_bytes(plan, PART_MOE_LAYER) : 0;
    sum += first <= model->layers + 1 && last > model->layers ? part_bytes(plan, PART_HEAD) : 0;
    sum += last > model->layers + 1 ? part_bytes(plan, PART_FINAL_NORM) : 0;
    return sum;
}

static uint64_t optimizer_bytes(const struct plan *plan) {
    const struct parallelism *parallelism = &plan->parallelism;
    const struct raw_sizes *raw = &plan->model.raw;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < raw->group_count; i++) {
        sum += 3 * plan_scaled(plan, raw->group_bytes[i]);
    }
    if (raw->group_count > 0) {
        return sum; /* int8 and never divided: two states and their "combined" copy */
    }
    uint64_t parts = parallelism->tp * parallelism->pp;
    parts *= parallelism->zero > 0 ? parallelism->dp : 1;
    uint64_t states = plan_scaled(plan, plan->parameters / parts);
    return 3 * plan->model.optimizer_bytes * (states + plan_scaled(plan, 5 * plan->model.hidden));
}

static struct shard_name begin_name(struct shard_file *file, uint32_t checkpoint) {
    struct shard_name name = {.file = file};
    shard_name_text(&name, "global_epoch1_step");
    shard_name_number(&name, checkpoint);
    shard_name_text(&name, "/");
    file->name = file->path + name.used;
    return name;
}

static void name_sharded(struct shard_name *name, const struct place *place, const char *what) {
    shard_name_text(name, "zero_pp_rank_");
    shard_name_number(name, place->dp);
    shard_name_text(name, "_mp_rank_");
    shard_name_number(name, place->mp);
    shard_name_text(name, what);
}

static void name_layers(struct shard_name *name, const struct plan *plan, const struct place *place,
                        uint64_t layer) {
    uint64_t zero = plan->parallelism.zero;
    if (place->layers_apart) {
        shard_name_text(name, "layer_");
        shard_name_number(name, layer);
        shard_name_text(name, "-");
    } else if (zero == 0 || zero == 3) {
        name_sharded(name, place, "_model_states.pt");
        return;
    }
    shard_name_text(name, "model_");
    shard_name_number(name, place->mp);
    shard_name_text(name, "_model_states.pt");
}

static void file_at(const struct plan *plan, uint32_t rank, uint64_t index, uint32_t checkpoint,
                    struct shard_file *file) {
    struct place place = place_rank(plan, rank);
    struct shard_name name = begin_name(file, checkpoint);
    file->kind = SHARD_MODEL;
    if (index == 0 && place.model_state) {
        file->bytes = plan_scaled(plan, plan->model.raw.model_bytes);
        shard_name_text(&name, "model_states-");
        shard_name_number(&name, rank);
        shard_name_text(&name, ".pt");
    } else if (index < model_files(&place)) {
        uint64_t layer = place.first + index - (place.model_state ? 1 : 0);
        layer += place.no_head && layer == plan->model.layers + 1 ? 1 : 0;
        file->bytes = place.layers_apart ? layers_bytes(plan, layer, layer)
                                         : layers_bytes(plan, place.first, place.last);
        name_layers(&name, plan, &place, layer);
    } else {
        file->kind = SHARD_OPTIMIZER;
        file->bytes = optimizer_bytes(plan);
        name_sharded(&name, &place, "_optim_states.pt");
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
    .about = "today's DLIO and MLPerf Storage: fp16 model, fp32 optimizer, 14 bytes per parameter",
    .leaves_out = "tensor bytes alone: no container (torch.save adds 747 to 20,100 bytes a file), "
                  "no scheduler, random or data loader state",
    .rank_files = rank_files,
    .file = file_at,
    .rank_like = rank_like,
};
