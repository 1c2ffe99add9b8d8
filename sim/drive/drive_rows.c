/* The lines of `ckptsim show drive`: every figure with its origin and source. The groups follow the
 * order of the rows in the figure tables. */
#include "sim/drive/drive_rows.h"

#include "base/check.h"

#include <stddef.h>
#include <string.h>

enum { WORDS = 5 };

/* The table's rows from this key on belong to the next group. */
static const char first_of_flash[] = "indirection_unit";

struct list {
    struct drive_row *rows;
    size_t count;
    struct arena *arena;
};

static void add_words(struct list *list, const char *name, const char *text, const char *origin,
                      const char *source) {
    if (text != NULL) {
        list->rows[list->count++] = (struct drive_row){.group = "identity",
                                                       .name = name,
                                                       .text = text,
                                                       .unit = "",
                                                       .origin = origin,
                                                       .source = source != NULL ? source : ""};
    }
}

static void add_figure(struct list *list, const char *group, const struct figure_row *row,
                       const struct figure *figure) {
    char buffer[FIGURE_TEXT];
    bool known = figure->origin != FIGURE_UNKNOWN;
    list->rows[list->count++] = (struct drive_row){
        .group = group,
        .name = row->key,
        .text = known ? arena_text(list->arena, figure_row_text(row, figure->value, buffer)) : "",
        .number = figure->value,
        .unit = figure_unit(row->kind),
        .origin = figure_origin_text(figure->origin),
        .source = figure->source != NULL ? figure->source : "",
    };
}

static void add_identity(struct list *list, const struct drive_config *drive) {
    add_words(list, "vendor", drive->vendor, "sheet", NULL);
    add_words(list, "model", drive->model, "sheet", NULL);
    add_words(list, "about", drive->about, "sheet", NULL);
    add_words(list, "nand", drive_nand_text(drive->nand), "sheet", NULL);
    add_words(list, "flash", drive->flash, "sheet", drive->flash_source);
}

static void add_drive(struct list *list, const struct drive_config *drive) {
    const char *group = "sheet";
    for (size_t i = 0; i < drive_figures_count; i++) {
        const struct figure_row *row = &drive_figures[i];
        group = strcmp(row->key, first_of_flash) == 0 ? "flash" : group;
        add_figure(list, row->fitted ? "mechanisms" : group, row, figure_in(row, drive));
    }
    for (size_t i = 0; i < drive_measured_figures_count; i++) {
        const struct figure *figure = figure_in(&drive_measured_figures[i], drive);
        if (figure->origin != FIGURE_UNKNOWN) {
            add_figure(list, "measured", &drive_measured_figures[i], figure);
        }
    }
}

const struct drive_row *drive_sheet_rows(const struct drive_sheet *sheet, struct arena *arena,
                                         size_t *count) {
    size_t most =
        WORDS + drive_figures_count + drive_measured_figures_count + drive_derived_figures_count;
    struct list list = {.rows = arena_new(arena, most, sizeof *list.rows), .arena = arena};
    add_identity(&list, &sheet->drive);
    add_drive(&list, &sheet->drive);
    for (size_t i = 0; i < drive_derived_figures_count; i++) {
        add_figure(&list, "derived", &drive_derived_figures[i],
                   figure_in(&drive_derived_figures[i], sheet));
    }
    CHECK(list.count <= most);
    *count = list.count;
    return list.rows;
}
