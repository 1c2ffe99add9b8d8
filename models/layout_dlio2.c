/* What DLIO 2.0 (August 2024) writes, the load behind the published drive figures. Everything is
 * int8, one byte an element. With R = TP x PP x DP ranks, L layers:
 *
 *     every rank          model       embedding / TP
 *     every rank          optimizer   3 x (parameters / R): two states and their "combined" copy
 *     rank % PP == 0      layer-0 ... layer-(L+TP-1), each layer / TP; without + TP if TP is 1
 *
 * Sources: the checkpoint() of DLIO 2.0 for the files, which ranks write them and the odd + TP
 * layers; for the sizes the 1,636 GB of LLaMA 3.1 405B at TP 4, PP 2: 8 x 525,336,576 +
 * 3 x 405,853,388,800 + 4 x 130 x 796,925,952 = 1,636,164,354,048 bytes. DLIO 2.0 knows no data
 * parallelism: with DP > 1 all ranks with rank % PP == 0 write the layers, each its own copy.
 *
 * A DLIO config that gives bytes instead of a shape has them written as DLIO does: the model file
 * of model_size_bytes, three times the optimizer groups, and layer_parameters / TP. */
#include "models/plan.h"
#include "models/shard_name.h"

static bool writes_layers(const struct plan *plan, uint32_t rank) {
    return rank % plan->parallelism.pp == 0;
}

static bool has_optimizer(const struct plan *plan) {
    return plan->model.raw.group_count > 0 || plan->parameters > 0;
}

static uint64_t layer_files(const struct plan *plan) {
    uint64_t tp = plan->parallelism.tp, layers = plan->model.layers;
    return layers == 0 ? 0 : layers + (tp > 1 ? tp : 0);
}

static uint64_t rank_files(const struct plan *plan, uint32_t rank) {
    uint64_t layers = writes_layers(plan, rank) ? layer_files(plan) : 0;
    return 1 + (has_optimizer(plan) ? 1 : 0) + layers;
}

static uint64_t model_bytes(const struct plan *plan) {
    const struct architecture *model = &plan->model;
    if (model->raw.model_state) {
        return model->raw.model_bytes == 0 ? 0 : plan_scaled(plan, model->raw.model_bytes);
    }
    uint64_t embedding = architecture_part_parameters(model, PART_EMBEDDING);
    return plan_scaled(plan, embedding / plan->parallelism.tp);
}

static uint64_t states_bytes(const struct plan *plan) {
    const struct raw_sizes *raw = &plan->model.raw;
    const struct parallelism *parallelism = &plan->parallelism;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < raw->group_count; i++) {
        sum += 3 * plan_scaled(plan, raw->group_bytes[i]);
    }
    if (raw->group_count > 0) {
        return sum;
    }
    uint64_t ranks = parallelism->tp * parallelism->pp * parallelism->dp;
    return 3 * plan_scaled(plan, plan->parameters / ranks);
}

/* The layers beyond the model's own repeat its last one. */
static uint64_t layer_bytes(const struct plan *plan, uint64_t layer) {
    const struct architecture *model = &plan->model;
    uint64_t tp = plan->parallelism.tp, sum = 0;
    for (uint32_t i = 0; i < model->raw.layer_count; i++) {
        sum += plan_scaled(plan, model->raw.layer_bytes[i] / tp);
    }
    if (model->raw.layer_count > 0) {
        return sum;
    }
    uint64_t last = layer < model->layers ? layer : model->layers - 1;
    uint64_t parameters = architecture_part_parameters(model, architecture_layer(model, last));
    return plan_scaled(plan, parameters / tp);
}

static void name_file(struct shard_file *file, const char *what, uint32_t checkpoint, uint32_t rank,
                      const uint64_t *layer) {
    struct shard_name name = {.file = file};
    shard_name_text(&name, what);
    if (layer != NULL) {
        shard_name_number(&name, *layer);
        shard_name_text(&name, "-");
    }
    shard_name_text(&name, "1-"); /* the epoch */
    shard_name_number(&name, checkpoint);
    shard_name_text(&name, "-");
    shard_name_number(&name, rank);
    shard_name_text(&name, ".pt");
    file->name = file->path;
}

static void file_at(const struct plan *plan, uint32_t rank, uint64_t index, uint32_t checkpoint,
                    struct shard_file *file) {
    file->kind = SHARD_MODEL;
    if (index == 0) {
        file->bytes = model_bytes(plan);
        name_file(file, "model-", checkpoint, rank, NULL);
    } else if (index == 1 && has_optimizer(plan)) {
        file->kind = SHARD_OPTIMIZER;
        file->bytes = states_bytes(plan);
        name_file(file, "optimizer-", checkpoint, rank, NULL);
    } else {
        uint64_t layer = index - (has_optimizer(plan) ? 2 : 1);
        file->bytes = layer_bytes(plan, layer);
        name_file(file, "layer-", checkpoint, rank, &layer);
    }
}

/* A layer given in bytes is as many tensors as sizes, any other is one. */
static uint64_t file_tensors(const struct plan *plan, uint32_t rank, uint64_t index) {
    const struct raw_sizes *raw = &plan->model.raw;
    (void)rank;
    if (index == 0) {
        return model_bytes(plan) > 0 ? 1 : 0;
    }
    if (index == 1 && has_optimizer(plan)) {
        return raw->group_count > 0 ? 2 * raw->group_count + 1 : 3;
    }
    return raw->layer_count > 0 ? raw->layer_count : 1;
}

/* Two states of each group, "a" and "b", and all groups once more in one. */
static void state_tensor(const struct plan *plan, uint64_t nth, struct tensor *tensor) {
    const struct raw_sizes *raw = &plan->model.raw;
    uint64_t groups = raw->group_count > 0 ? raw->group_count : 1;
    uint64_t all = states_bytes(plan) / 3;
    tensor->class = TENSOR_MOMENT;
    if (nth == 2 * groups) {
        tensor_set_flat(tensor, DATATYPE_INT8, all);
        tensor_name_text(tensor, "combined");
        return;
    }
    uint64_t group = nth / 2;
    tensor_set_flat(tensor, DATATYPE_INT8,
                    raw->group_count > 0 ? plan_scaled(plan, raw->group_bytes[group]) : all);
    tensor_name_number(tensor, group);
    tensor_name_text(tensor, nth % 2 == 0 ? ".a" : ".b");
}

static void file_tensor(const struct plan *plan, uint32_t rank, uint64_t index, uint64_t nth,
                        struct tensor *tensor) {
    const struct raw_sizes *raw = &plan->model.raw;
    (void)rank;
    tensor_name_begin(tensor);
    if (index == 1 && has_optimizer(plan)) {
        state_tensor(plan, nth, tensor);
        return;
    }
    tensor->class = TENSOR_WEIGHT;
    if (index == 0) {
        tensor_set_flat(tensor, DATATYPE_INT8, model_bytes(plan));
        tensor_name_text(tensor, "a");
        return;
    }
    uint64_t bytes = raw->layer_count > 0
                         ? plan_scaled(plan, raw->layer_bytes[nth] / plan->parallelism.tp)
                         : layer_bytes(plan, index - (has_optimizer(plan) ? 2 : 1));
    tensor_set_flat(tensor, DATATYPE_INT8, bytes);
    tensor_name_number(tensor, nth);
}

static uint32_t rank_like(const struct plan *plan, uint32_t rank) {
    return writes_layers(plan, rank) ? 0 : 1;
}

const struct layout layout_dlio2 = {
    .name = "dlio2",
    .optimizers = 1U << OPTIMIZER_ADAM,
    .zero_most = 3,
    .zero_of_config = true,
    .flat = true,
    .style = STYLE_MEGATRON,
    .style_split = STYLE_MEGATRON,
    .model_datatype = DATATYPE_INT8,
    .tensors = file_tensors,
    .tensor = file_tensor,
    .cannot_reshard =
        "its files are buffers of so many bytes, which say of no part of a weight where it "
        "belongs",
    .about = "DLIO 2.0's int8 tensors: 1,636 GB for llama-3.1-405b at TP 4, PP 2",
    .leaves_out = "all tensors are int8: 4.03 bytes per parameter for llama-3.1-405b at TP 4, PP 2 "
                  "where a real bf16 + Adam checkpoint holds 14; no output head, no scheduler, "
                  "random or data loader state",
    .rank_files = rank_files,
    .file = file_at,
    .rank_like = rank_like,
};
