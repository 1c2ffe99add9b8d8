/* Megatron-LM's distributed checkpoints (--ckpt-format torch_dist).
 *
 *     latest_checkpointed_iteration.txt     "7", written last
 *     iter_0000007/
 *         __{rank}_0.distcp                 of every rank that has something to write
 *         .metadata  metadata.json
 *
 * A weight that several ranks hold is written by one of them, as spread.h says; what all TP ranks
 * hold, by a rank of the first. A tied embedding's copy is not written. With the distributed
 * optimizer (--zero 1) every rank writes its part of each bucket (dp_reshardable), without its
 * padding; without (--zero 0), states are spread like weights.
 *
 * Sources: core/dist_checkpointing, core/optimizer/distrib_optimizer.py. Not verified: into how
 * many items a rank's part of a bucket goes (here one for each state), layers of one kind as one
 * stacked tensor (here each under its number), the names of the chained optimizers of dense weights
 * and experts. */
#include "models/marker.h"
#include "models/megatron_buffer.h"
#include "models/shard_name.h"
#include "models/spread.h"
#include "models/stage.h"

/* What the data parallel group of one (stage, tp) writes of weights and states: the dense ones,
 * then for each set of expert ranks in the group theirs. */
struct group {
    struct spread spread;
    uint32_t weights, states;               /* dense */
    uint32_t expert_weights, expert_states; /* of one set */
};

struct groups {
    uint64_t classes;  /* TP ranks from the last class on are alike */
    struct group *all; /* stage by stage, a row of classes each */
};

static bool distributed(const struct plan *plan) { return plan->parallelism.zero > 0; }

/* etp divides tp, so that all ranks of a group have one etp: tp mod etp. */
static enum part_filter dense_filter(uint64_t tp) {
    return tp == 0 ? FILTER_DENSE : FILTER_DENSE_CUT;
}

static enum part_filter expert_filter(const struct plan *plan, uint64_t tp) {
    return tp % plan->parallelism.etp == 0 ? FILTER_EXPERTS : FILTER_EXPERTS_CUT;
}

static uint32_t states_count(const struct plan *plan, enum part_filter filter, uint64_t stage) {
    return distributed(plan) ? 0 : (uint32_t)stage_count(plan, filter, MODE_STATES, stage);
}

static uint64_t item_bytes(const struct plan *plan, enum part_filter filter, enum part_mode mode,
                           uint64_t stage, uint32_t index) {
    struct place place = stage_at(plan, filter, mode, stage, index);
    const struct part_weight *weight = place.at.weight;
    if (mode == MODE_WEIGHTS) {
        return weight->elements * datatype_bytes(weight->datatype);
    }
    const struct optimizer_state *state = place_state_row(plan, &place);
    return optimizer_state_elements(state, weight->elements) * datatype_bytes(state->datatype);
}

/* Appends items first .. first + count - 1, which the members in `like` could write. */
static void add_items(const struct plan *plan, enum part_filter filter, enum part_mode mode,
                      uint64_t stage, uint32_t count, struct spread_item like,
                      struct spread_item *items, uint32_t *used) {
    for (uint32_t i = 0; i < count; i++) {
        like.id = *used;
        like.bytes = item_bytes(plan, filter, mode, stage, i);
        items[(*used)++] = like;
    }
}

static uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Ranks of a stage are counted q = TP * member + tp. Those with the same q mod (EP * ETP) hold the
 * same experts; the group writes the sets whose first rank is its own: q = tp, tp + TP, ... below
 * EP * ETP, so set j begins at member j. */
static struct group make_group(const struct plan *plan, uint64_t stage, uint64_t tp,
                               struct arena *arena) {
    const struct parallelism *parallelism = &plan->parallelism;
    enum part_filter dense = dense_filter(tp), experts = expert_filter(plan, tp);
    struct group group = {
        .weights = (uint32_t)stage_count(plan, dense, MODE_WEIGHTS, stage),
        .states = states_count(plan, dense, stage),
        .expert_weights = (uint32_t)stage_count(plan, experts, MODE_WEIGHTS, stage),
        .expert_states = states_count(plan, experts, stage),
    };
    uint64_t ring = parallelism->ep * parallelism->etp, members = grid_shards(parallelism);
    uint64_t sets = tp < ring ? (ring - tp - 1) / parallelism->tp + 1 : 0;
    uint64_t step = ring / common_divisor(ring, parallelism->tp);
    uint64_t each = group.expert_weights + group.expert_states;
    uint64_t most = group.weights + group.states + sets * each;
    struct spread_item *items = mem_new(most + 1, sizeof *items);
    uint32_t used = 0;
    struct spread_item like = {.step = 1, .count = (uint32_t)members};
    add_items(plan, dense, MODE_WEIGHTS, stage, group.weights, like, items, &used);
    add_items(plan, dense, MODE_STATES, stage, group.states, like, items, &used);
    like.step = (uint32_t)step;
    like.count = (uint32_t)(members / step);
    for (uint64_t set = 0; set < sets && each > 0; set++) {
        like.begin = (uint32_t)set;
        add_items(plan, experts, MODE_WEIGHTS, stage, group.expert_weights, like, items, &used);
        add_items(plan, experts, MODE_STATES, stage, group.expert_states, like, items, &used);
    }
    group.spread = spread_items(items, used, (uint32_t)members, arena);
    mem_free(items);
    return group;
}

static const void *prepare(const struct plan *plan, struct arena *arena) {
    const struct parallelism *parallelism = &plan->parallelism;
    uint64_t tp = parallelism->tp;
    uint64_t ring = parallelism->ep * parallelism->etp;
    bool alike = plan->model.experts == 0 ||
                 (ring % tp == 0 && (parallelism->etp == 1 || parallelism->etp == tp));
    struct groups *groups = arena_new(arena, 1, sizeof *groups);
    groups->classes = tp == 1 ? 1 : alike ? 2 : tp;
    groups->all = arena_new(arena, groups->classes * parallelism->pp, sizeof *groups->all);
    for (uint64_t stage = 0; stage < parallelism->pp; stage++) {
        for (uint64_t class = 0; class < groups->classes; class ++) {
            groups->all[stage * groups->classes + class] = make_group(plan, stage, class, arena);
        }
    }
    return groups;
}

static const struct group *group_of(const struct plan *plan, const struct seat *seat) {
    const struct groups *groups = plan->prepared;
    uint64_t class = seat->tp < groups->classes ? seat->tp : groups->classes - 1;
    return &groups->all[seat->pp * groups->classes + class];
}

/* A rank's part of one bucket. */
struct part_of_bucket {
    uint64_t chunk, bucket;
    bool expert;
    uint64_t begin, elements, whole;
};

/* Number `*nth` of those that are not empty; false where there is none, and *nth is lessened by
 * their number. */
static bool bucket_part(const struct plan *plan, const struct seat *seat, uint64_t *nth,
                        struct part_of_bucket *out) {
    for (uint64_t i = 0; i < 2 * plan->parallelism.vpp && distributed(plan); i++) {
        bool expert = i % 2 == 1;
        struct megatron_buffer buffer = megatron_buffer(plan, seat->pp, i / 2, expert);
        uint64_t shards =
            expert ? grid_expert_shards(&plan->parallelism) : grid_shards(&plan->parallelism);
        for (uint32_t b = 0; b < buffer.count; b++) {
            uint64_t each = buffer.buckets[b].padded / shards;
            uint64_t begin = each * (expert ? seat->edp : seat->shard);
            uint64_t whole = buffer.buckets[b].elements;
            if (begin >= whole || (*nth)-- > 0) {
                continue;
            }
            *out = (struct part_of_bucket){.chunk = i / 2,
                                           .bucket = b,
                                           .expert = expert,
                                           .begin = begin,
                                           .whole = whole,
                                           .elements = each < whole - begin ? each : whole - begin};
            return true;
        }
    }
    return false;
}

static uint64_t bucket_parts(const struct plan *plan, const struct seat *seat) {
    struct part_of_bucket part;
    uint64_t nth = UINT64_MAX;
    bool found = plan->states[0].count > 0 && bucket_part(plan, seat, &nth, &part);
    (void)found;
    return plan->states[0].count > 0 ? UINT64_MAX - nth : 0;
}

static uint64_t bucket_bytes(const struct plan *plan, const struct seat *seat) {
    uint64_t bytes = 0, parts = bucket_parts(plan, seat);
    for (uint64_t i = 0; i < parts; i++) {
        struct part_of_bucket part = {.elements = 0};
        uint64_t nth = i;
        bucket_part(plan, seat, &nth, &part);
        bytes += optimizer_bytes(&plan->states[0], part.elements);
    }
    return bytes;
}

static uint64_t spread_count(const struct group *group, const struct seat *seat) {
    return group->spread.first[seat->shard + 1] - group->spread.first[seat->shard];
}

/* What item `id` of a group is. */
struct item {
    enum part_filter filter;
    enum part_mode mode;
    uint64_t index;
};

static struct item item_of(const struct plan *plan, const struct group *group, uint64_t tp,
                           uint32_t id) {
    enum part_filter dense = dense_filter(tp), experts = expert_filter(plan, tp);
    uint32_t all = group->weights + group->states;
    if (id < all) {
        return id < group->weights ? (struct item){dense, MODE_WEIGHTS, id}
                                   : (struct item){dense, MODE_STATES, id - group->weights};
    }
    uint32_t in_set = (id - all) % (group->expert_weights + group->expert_states);
    return in_set < group->expert_weights
               ? (struct item){experts, MODE_WEIGHTS, in_set}
               : (struct item){experts, MODE_STATES, in_set - group->expert_weights};
}

static uint64_t file_tensors(const struct plan *plan, uint32_t rank, uint64_t index) {
    struct seat seat = grid_seat(&plan->parallelism, rank);
    (void)index;
    return spread_count(group_of(plan, &seat), &seat) +
           bucket_parts(plan, &seat) * plan->states[0].count;
}

static uint64_t rank_files(const struct plan *plan, uint32_t rank) {
    return file_tensors(plan, rank, 0) > 0 ? 1 : 0;
}

/* The states among the items of a member; only where they are spread are there any. */
static uint64_t spread_states(const struct plan *plan, const struct group *group,
                              const struct seat *seat) {
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < spread_count(group, seat) && !distributed(plan); i++) {
        uint32_t id = group->spread.ids[group->spread.first[seat->shard] + i];
        struct item item = item_of(plan, group, seat->tp, id);
        if (item.mode == MODE_STATES) {
            bytes += item_bytes(plan, item.filter, item.mode, seat->pp, (uint32_t)item.index);
        }
    }
    return bytes;
}

static void file_at(const struct plan *plan, uint32_t rank, uint64_t index, uint32_t checkpoint,
                    struct shard_file *file) {
    struct seat seat = grid_seat(&plan->parallelism, rank);
    const struct group *group = group_of(plan, &seat);
    struct shard_name name = {.file = file};
    (void)index;
    shard_name_text(&name, "iter_");
    shard_name_padded(&name, checkpoint, 7);
    shard_name_folder(&name);
    shard_name_text(&name, "__");
    shard_name_number(&name, rank);
    shard_name_text(&name, "_0.distcp");
    file->kind = SHARD_MODEL;
    file->optimizer_bytes = bucket_bytes(plan, &seat);
    file->bytes = group->spread.bytes[seat.shard] + file->optimizer_bytes;
    file->optimizer_bytes += spread_states(plan, group, &seat);
}

static const char *torch_name(enum datatype datatype) {
    switch (datatype) {
    case DATATYPE_FP16: return "torch.float16";
    case DATATYPE_BF16: return "torch.bfloat16";
    default: return "torch.float32";
    }
}

static void bucket_tensor(const struct plan *plan, const struct seat *seat, uint64_t nth,
                          struct tensor *tensor) {
    const struct parallelism *parallelism = &plan->parallelism;
    const struct optimizer_state *state = &plan->states[0].states[nth % plan->states[0].count];
    struct part_of_bucket part = {.elements = 0};
    uint64_t left = nth / plan->states[0].count;
    bucket_part(plan, seat, &left, &part);
    uint64_t group = part.expert
                         ? (seat->pp * parallelism->ep + seat->ep) * parallelism->etp + seat->etp
                         : seat->pp * parallelism->tp + seat->tp;
    tensor_name_begin(tensor);
    if (plan->model.experts > 0) {
        tensor_name_text(tensor, part.expert ? "chained_1." : "chained_0.");
    }
    tensor_name_text(tensor, "optimizer.distributed.dp_group_idx_");
    tensor_name_number(tensor, group);
    tensor_name_text(tensor, ".gbuf_idx_");
    tensor_name_number(tensor, part.chunk);
    tensor_name_text(tensor, ".dtype_(");
    tensor_name_text(tensor, torch_name(plan->model_datatype));
    tensor_name_text(tensor, ", torch.float32).bucket_idx_");
    tensor_name_number(tensor, part.bucket);
    tensor_name_text(tensor, ".");
    tensor_name_text(tensor, state->class == TENSOR_MASTER ? "param" : state->name);
    tensor_set_flat(tensor, state->datatype, part.elements);
    tensor->whole[0] = part.whole;
    tensor->offset[0] = part.begin;
    tensor->class = state->class;
}

static void item_tensor(const struct plan *plan, const struct seat *seat, struct item item,
                        struct tensor *tensor) {
    struct place place = stage_at(plan, item.filter, item.mode, seat->pp, item.index);
    place_tensor(plan, &place, seat, "", tensor);
    if (item.mode == MODE_STATES) {
        const struct optimizer_state *state = place_state_row(plan, &place);
        struct tensor weight = *tensor;
        tensor_name_begin(tensor);
        tensor_name_text(tensor, "optimizer.state.");
        tensor_name_text(tensor, state->class == TENSOR_MASTER ? "fp32_param" : state->name);
        tensor_name_text(tensor, ".");
        tensor_name_text(tensor, weight.name);
        place_state(plan, &place, tensor);
    }
}

static void file_tensor(const struct plan *plan, uint32_t rank, uint64_t index, uint64_t nth,
                        struct tensor *tensor) {
    struct seat seat = grid_seat(&plan->parallelism, rank);
    const struct group *group = group_of(plan, &seat);
    uint64_t spread = spread_count(group, &seat);
    (void)index;
    if (nth >= spread) {
        bucket_tensor(plan, &seat, nth - spread, tensor);
        return;
    }
    uint32_t id = group->spread.ids[group->spread.first[seat.shard] + nth];
    item_tensor(plan, &seat, item_of(plan, group, seat.tp, id), tensor);
}

/* All weights of the rank's stage and, as they are divided, all their states or its part of each
 * bucket. */
static uint64_t held(const struct plan *plan, uint32_t rank) {
    struct seat seat = grid_seat(&plan->parallelism, rank);
    return stage_count(plan, FILTER_ALL, MODE_WEIGHTS, seat.pp) +
           states_count(plan, FILTER_ALL, seat.pp) +
           bucket_parts(plan, &seat) * plan->states[0].count;
}

static void held_tensor(const struct plan *plan, uint32_t rank, uint64_t nth,
                        struct tensor *tensor) {
    struct seat seat = grid_seat(&plan->parallelism, rank);
    uint64_t weights = stage_count(plan, FILTER_ALL, MODE_WEIGHTS, seat.pp);
    uint64_t states = states_count(plan, FILTER_ALL, seat.pp);
    if (nth >= weights + states) {
        bucket_tensor(plan, &seat, nth - weights - states, tensor);
        return;
    }
    item_tensor(plan, &seat,
                nth < weights ? (struct item){FILTER_ALL, MODE_WEIGHTS, nth}
                              : (struct item){FILTER_ALL, MODE_STATES, nth - weights},
                tensor);
}

static enum status check(const struct plan *plan, struct error *err) {
    return megatron_check(plan, distributed(plan), err);
}

static uint64_t markers(const struct plan *plan) {
    (void)plan;
    return 3;
}

static void marker_at(const struct plan *plan, uint64_t index, uint32_t checkpoint,
                      struct shard_marker *marker, struct text_sink *sink) {
    char folder[SHARD_PATH];
    marker_folder("iter_", checkpoint, 7, folder);
    switch (index) {
    case 0:
        marker_begin(marker, MARKER_METADATA, folder, ".metadata");
        sink_metadata(plan, sink);
        break;
    case 1:
        marker_begin(marker, MARKER_OTHER, folder, "metadata.json");
        sink_text(sink, "{\"sharded_backend\": \"torch_dist\", \"sharded_backend_version\": 1}");
        break;
    default:
        marker_begin(marker, MARKER_LATEST, "", "latest_checkpointed_iteration.txt");
        sink_number(sink, checkpoint);
    }
}

const struct layout layout_megatron_dist = {
    .name = "megatron-dist",
    .format = "dcp",
    .alias = "torch_dist",
    .about =
        "Megatron-LM's torch_dist: one .distcp a rank, weights spread over data parallel ranks",
    .leaves_out = "no arguments, scheduler or random state; "
                  "gradient buffers have one bucket",
    .takes = TAKES_EP | TAKES_CP | TAKES_VPP | TAKES_UNEVEN | TAKES_VOCAB | TAKES_MODEL_DATATYPE,
    .optimizers = 1U << OPTIMIZER_ADAM | 1U << OPTIMIZER_ADAM_FP32 | 1U << OPTIMIZER_LION |
                  1U << OPTIMIZER_MUON | 1U << OPTIMIZER_NONE,
    .zero_most = 1,
    .zero_default = 1,
    .master_with_zero = true,
    .even_stages = true,
    .style = STYLE_MEGATRON,
    .style_split = STYLE_MEGATRON,
    .vocab_divisor = 128,
    .vocab_divisor_split = 128,
    .check = check,
    .prepare = prepare,
    .rank_files = rank_files,
    .file = file_at,
    .tensors = file_tensors,
    .tensor = file_tensor,
    .held = held,
    .held_tensor = held_tensor,
    .markers = markers,
    .marker = marker_at,
};
