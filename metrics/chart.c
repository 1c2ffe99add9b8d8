#include "metrics/chart.h"

#include <math.h>

struct chart {
    FILE *stream;
    uint64_t top_ns, sum_ns;
    uint32_t group, filled, pass;
};

static void chart_flush(struct chart *chart) {
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    if (chart->filled == 0) {
        return;
    }
    double height = (double)chart->sum_ns / chart->filled / (double)chart->top_ns;
    int index = (int)ceil(height * 8) - 1;
    fputs(blocks[index < 0 ? 0 : index > 7 ? 7 : index], chart->stream);
    chart->sum_ns = 0;
    chart->filled = 0;
}

static void chart_add(struct chart *chart, const struct checkpoint_record *checkpoint) {
    if (chart->pass != 0 && checkpoint->pass != chart->pass) {
        chart_flush(chart);
        putc(' ', chart->stream);
    }
    chart->pass = checkpoint->pass;
    chart->sum_ns += checkpoint->duration_ns;
    if (++chart->filled == chart->group) {
        chart_flush(chart);
    }
}

uint32_t chart_write(const struct result *result, uint64_t top_ns, uint32_t marks, FILE *stream) {
    struct pass_record all;
    result_all_passes(result, &all);
    uint32_t group = all.checkpoints > marks ? (all.checkpoints + marks - 1) / marks : 1;
    struct chart chart = {.stream = stream, .top_ns = top_ns > 0 ? top_ns : 1, .group = group};
    for (uint32_t i = 0; i < result->checkpoint_count; i++) {
        if (result->checkpoints[i].complete) {
            chart_add(&chart, &result->checkpoints[i]);
        }
    }
    chart_flush(&chart);
    return group;
}
