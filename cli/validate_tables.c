#include "cli/validate_tables.h"

#include "sim/drive/queue_points.h"
#include "sim/drive/sheet_check.h"

#include <stdio.h>

static void print_figure(const struct sheet_row *row, bool rate) {
    double unit = rate ? 1e9 : 1e3;
    if (!row->stated) {
        printf(" %8s %8.2f %8s", "-", (double)row->model_value / unit, "");
        return;
    }
    printf(" %8.2f %8.2f %+6.1f%%%c", (double)row->stated_value / unit,
           (double)row->model_value / unit, row->error_permille / 10.0, row->met ? ' ' : '!');
}

enum status validate_sheets(const char *config_dir, struct arena *arena, struct error *err) {
    struct sheet_check *checks;
    size_t count, missed = 0;
    if (sheet_check_all(config_dir, arena, &checks, &count, err) != OK) {
        return err->status;
    }
    puts("\ndata sheets against the model (simulated): stated, model, error\n"
         "(bars: sequential 5 %, random 25 %; ! is beyond; sequential GB/s, random thousand requests/s;\n"
         "the sequential rates are ceilings of the model and the command time is fitted to the random\n"
         "read, so these only show that dies, channels and link carry them; the random write is played)");
    printf("%-20s %-26s %-26s %-26s %-26s %6s\n", "drive", "sequential read", "sequential write",
           "random read", "random write", "WA");
    for (size_t i = 0; i < count; i++) {
        printf("%-20s", checks[i].drive);
        for (int figure = 0; figure < SHEET_FIGURES; figure++) {
            print_figure(&checks[i].rows[figure], sheet_figure_is_rate((enum sheet_figure)figure));
        }
        printf(" %6.2f\n", (double)checks[i].amplification_thousandths / 1000);
        for (int figure = 0; figure < SHEET_FIGURES; figure++) {
            const struct sheet_row *row = &checks[i].rows[figure];
            if (row->stated && !row->met) {
                missed++;
                printf("  ! %s: %s\n", sheet_figure_name((enum sheet_figure)figure),
                       row->why != NULL ? row->why : "no reason is known");
            }
        }
    }
    printf("%zu drives, %zu figures beyond their bar\n", count, missed);
    return OK;
}

enum status validate_points(const char *config_dir, struct arena *arena, struct error *err) {
    struct queue_point_row *rows;
    size_t count;
    if (queue_points_run(config_dir, arena, &rows, &count, err) != OK) {
        return err->status;
    }
    puts("\nsmall random requests, reviews against the model (simulated)");
    printf("%-18s %-5s %6s %9s %10s %10s %8s  %-14s %s\n", "drive", "", "block", "QD/jobs",
           "review/s", "model/s", "error", "bottleneck", "");
    for (size_t i = 0; i < count; i++) {
        const struct queue_point *point = rows[i].point;
        char load[32];
        snprintf(load, sizeof load, "%u/%u", point->depth, point->jobs);
        printf("%-18s %-5s %5lluK %9s %10llu %10llu %+7.1f%%  %-14s %s%s\n", point->drive,
               point->write ? "write" : "read", (unsigned long long)point->block_bytes / 1024, load,
               (unsigned long long)rows[i].measured_iops, (unsigned long long)rows[i].model_iops,
               rows[i].error_permille / 10.0, queue_station_name(rows[i].bottleneck),
               point->fitted != NULL ? "fitted: " : "", point->fitted != NULL ? point->fitted : "");
    }
    return OK;
}
