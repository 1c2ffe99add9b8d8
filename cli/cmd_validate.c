/* The simulated drives against the rows that reviews print, beside the smallest model that fits those
 * rows, and which constants were fitted to which of them. */
#include "base/configs.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/simulate.h"
#include "cli/spec_shards.h"
#include "cli/validate_tables.h"
#include "sim/drive/drive_build.h"
#include "sim/drive/host_config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PASSES = 3 };

/* A row of a file under configs/validation: what a review measured. */
struct review_row {
    const char *drive, *source;
    double seconds[PASSES];      /* 0: not printed */
    const char *basis[PASSES];   /* printed, derived */
    double checkpoints_per_pass;
};

static enum status read_pass(const struct yaml_node *map, const char *key, double *seconds,
                             const char **basis, struct error *err) {
    const struct yaml_node *node = yaml_get(map, key);
    if (yaml_is_null(node)) {
        return OK;
    }
    if (node->kind != YAML_LIST || node->count != 2 || node->items[1]->kind != YAML_TEXT) {
        return yaml_error(node, err, "'%s' must be [seconds, printed|derived]", key);
    }
    *basis = node->items[1]->text;
    return yaml_number(node->items[0], key, seconds, err);
}

static enum status read_row(const struct yaml_node *map, struct review_row *row,
                            struct error *err) {
    static const char *const keys[] = {"pass1", "pass2", "pass3"};
    const struct yaml_node *drive = yaml_get(map, "drive"), *source = yaml_get(map, "source");
    *row = (struct review_row){0};
    if (drive == NULL || drive->kind != YAML_TEXT || source == NULL ||
        source->kind != YAML_TEXT) {
        return yaml_error(map, err, "'drive' and 'source' are needed");
    }
    row->drive = drive->text;
    row->source = source->text;
    for (int i = 0; i < PASSES; i++) {
        if (read_pass(map, keys[i], &row->seconds[i], &row->basis[i], err) != OK) {
            return ERR_USAGE;
        }
    }
    return OK;
}

/* Seconds that the host alone takes for a checkpoint: the heaviest rank's share at a rank's rate. */
struct host_seconds {
    double new_files, reused_files;
};

static enum status read_host(const struct command_input *input, const struct shards *shards,
                             struct host_seconds *seconds, struct error *err) {
    struct host_config host;
    if (host_config_read(input->spec.host, NULL, input->arena, &host, err) != OK) {
        return err->status;
    }
    uint64_t most = 0;
    for (uint32_t rank = 0; rank < shards->ranks; rank++) {
        most = shards->shares[rank].bytes > most ? shards->shares[rank].bytes : most;
    }
    seconds->new_files = (double)most / (double)host.rank_write_new_rate.value;
    seconds->reused_files = (double)most / (double)host.rank_write_reused_rate.value;
    return OK;
}

/* t = max(host, bytes x WA / sequential rate) with, for WA, 1 in pass 1 and afterwards the one number
 * per drive that would fit: the model has to beat this or explain it. */
static double baseline(const struct simulation *simulation, const struct shards *shards,
                       const struct host_seconds *host, int pass, const struct review_row *row) {
    const struct drive_config *drive = &simulation->sheet.drive;
    const struct figure *measured = &drive->measured.sequential_write_rate;
    double rate = (double)(measured->origin != FIGURE_UNKNOWN
                               ? measured->value : drive->sequential_write_rate.value);
    double bare = (double)shards->checkpoint_bytes / rate;
    if (pass == 0) {
        return fmax(host->new_files, bare);
    }
    double sum = 0;
    int known = 0;
    for (int i = 1; i < PASSES; i++) {
        sum += row->seconds[i];
        known += row->seconds[i] > 0;
    }
    double amplification = known > 0 ? fmax(1, sum / known / bare) : 1;
    return fmax(host->reused_files, bare * amplification);
}

static void print_row(const struct simulation *simulation, const struct shards *shards,
                      const struct host_seconds *host, const struct review_row *row) {
    for (int i = 0; i < PASSES; i++) {
        struct pass_record pass;
        result_pass(&simulation->result, (uint32_t)i + 1, &pass);
        const struct drive_pass *drive = &simulation->result.drive.passes[i];
        printf("%-18s %4d ", i == 0 ? row->drive : "", i + 1);
        if (row->seconds[i] > 0) {
            double error = 100 * (pass.mean_seconds / row->seconds[i] - 1);
            double bar = i == 0 ? 3 : 6;
            printf("%9.2f %-8s %9.2f %+7.1f %% %s", row->seconds[i], row->basis[i],
                   pass.mean_seconds, error, fabs(error) <= bar ? "met   " : "MISSED");
        } else {
            printf("%9s %-8s %9.2f %9s %6s", "-", "", pass.mean_seconds, "", "");
        }
        printf(" %9.1f  %5.3f %5s %s\n", baseline(simulation, shards, host, i, row),
               (double)(drive->unit_bytes + drive->gc_bytes) / (double)drive->host_bytes, "",
               drive->bottleneck);
    }
}

static void print_fitted(const struct simulation *simulation, const struct review_row *row) {
    printf("  %-18s %s", row->drive, row->source);
    if (drive_mixing_is_fitted(&simulation->sheet)) {
        printf("; programming while garbage collection copies (x %.3f under one stream, x %.3f under "
               "four) fitted to its CDN write rates", drive_mixing(&simulation->sheet, 1),
               drive_mixing(&simulation->sheet, 4));
    } else {
        printf("; nothing is fitted to this drive");
    }
    putchar('\n');
}

static enum status validate_row(struct command_input *input, const struct shards *shards,
                                const struct host_seconds *host, const struct review_row *row, struct simulation *simulation,
                                struct error *err) {
    enum status status = simulate_run(input, shards, row->drive, NULL, NULL, NULL, simulation,
                                      err);
    if (status == OK) {
        print_row(simulation, shards, host, row);
    }
    return status;
}

/* The reviews' job, whatever else is set. */
static enum status set_up(struct command_input *input, struct shards *shards, struct error *err) {
    struct spec *spec = &input->spec;
    struct plan *plan = arena_new(input->arena, 1, sizeof *plan);
    struct yaml_node *root;
    spec->plan = (struct plan_request){.model = "llama-3.1-405b", .layout = "dlio2", .tp = 4,
                                       .pp = 2, .scale = 1, .zero_stage = PLAN_ZERO_DEFAULT};
    input->settings.command = CMD_CHECKPOINT;
    if (config_read("workloads", "review", NULL, input->arena, &root, err) != OK ||
        settings_read_yaml(&input->settings, root, err) != OK ||
        spec_set_classes(spec, err) != OK ||
        spec_shards(spec, spec->io.classes, SHARDS_SIZES, input->arena, plan, shards, err) != OK) {
        return err->status;
    }
    spec->io.chunk_bytes = UINT64_C(1) << 30;
    spec->io.ranks = shards->ranks;
    spec->job.commit = false;
    return OK;
}

enum status cmd_validate(struct command_input *input, struct error *err) {
    struct shards shards;
    struct host_seconds host = {0};
    struct yaml_node *root;
    if (set_up(input, &shards, err) != OK || read_host(input, &shards, &host, err) != OK ||
        config_read("validation", "dlio-reviews", NULL, input->arena, &root, err) != OK) {
        return err->status;
    }
    const struct yaml_node *rows = yaml_get(root, "rows");
    printf("seconds per LLaMA 3.1 405B checkpoint (1,636 GB, 8 ranks), reviews against the model "
           "(simulated)\n%-18s %4s %9s %-8s %9s %9s %-6s %9s  %5s %5s %s\n", "drive", "pass",
           "review", "", "model", "error", "bar", "baseline", "WA", "", "bottleneck");
    size_t count = rows != NULL ? rows->count : 0;
    struct simulation *simulations = arena_new(input->arena, count, sizeof *simulations);
    struct review_row *reviews = arena_new(input->arena, count, sizeof *reviews);
    for (size_t i = 0; i < count; i++) {
        if (read_row(rows->items[i], &reviews[i], err) != OK ||
            validate_row(input, &shards, &host, &reviews[i], &simulations[i], err) != OK) {
            return err->status;
        }
    }
    printf("bars: pass 1 within 3 %%, passes 2 and 3 within 6 %%. baseline: the host's %.0f and %.0f s or\n"
           "bytes x WA / sequential rate, with WA set to what fits the drive's own passes 2 and 3.\n"
           "\nfitted to what\n  host %-13s %.0f s and %.0f s for the heavy rank's share: passes of fast TLC "
           "drives\n", host.new_files, host.reused_files, input->spec.host, host.new_files,
           host.reused_files);
    for (size_t i = 0; i < count; i++) {
        print_fitted(&simulations[i], &reviews[i]);
        result_fini(&simulations[i].result);
    }
    fflush(stdout);
    enum status status = validate_sheets(NULL, input->arena, err);
    return status == OK ? validate_points(NULL, input->arena, err) : status;
}
