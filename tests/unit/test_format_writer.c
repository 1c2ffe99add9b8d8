/* Files of every format on a disk. Without arguments: a test that they have the size and the bytes
 * that were computed. With arguments: writes one, for the checks by real readers in tests/format,
 * and prints as JSON where its tensors lie.
 *
 *   test_format_writer FORMAT FILE TENSORS [--zero] [--torch-1-13] [--no-crc] [--window BYTES]
 *   test_format_writer stream FILE BYTES       the payload that such files are cut from
 *   test_format_writer dcp-checkpoint FOLDER RANK-0-TENSORS RANK-1-TENSORS ...
 *
 * TENSORS is a file of lines: name datatype shape [whole offset], a shape being 2x3, or - for a
 * scalar. */
#include "io/format_dcp_metadata.h"
#include "tests/unit/format_lists.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW_BYTES = 4 * 1024 * 1024, NAME_TEXT = 256, ITEMS_MAX = 10000 };

/* The tool's tensors are all of one class. */
static const struct payload zeros[FORMAT_CLASSES] = {
    [TENSOR_WEIGHT] = {.kind = PAYLOAD_ZERO, .compressible = 1, .dedupe = 1}};
static const struct format_source zero_source = {.classes = zeros};

static _Noreturn void stop(const char *what, const char *why) {
    fprintf(stderr, "test_format_writer: %s: %s\n", what, why);
    exit(1);
}

/* Writing. */

static bool is_zero(const uint8_t *bytes, size_t length) {
    return length > 0 && bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0;
}

static void write_window(int fd, const uint8_t *bytes, size_t length, uint64_t offset) {
    while (length > 0) {
        ssize_t written = pwrite(fd, bytes, length, (off_t)offset);
        if (written <= 0) {
            stop("pwrite", strerror(errno));
        }
        bytes += written;
        length -= (size_t)written;
        offset += (uint64_t)written;
    }
}

/* Windows of zeros become holes. */
static uint64_t write_file(const char *path, const struct format_file *file,
                           const struct format_source *source, size_t window) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || ftruncate(fd, (off_t)file->size_bytes) != 0) {
        stop(path, strerror(errno));
    }
    struct format_crc *crcs = mem_new(file->crc_count, sizeof crcs[0]);
    uint8_t *buffer = mem_new(window, 1);
    uint64_t sum = 0;
    format_begin(file, crcs);
    for (uint64_t offset = 0; offset < file->size_bytes; offset += window) {
        uint64_t left = file->size_bytes - offset;
        size_t length = left < window ? left : window;
        sum += format_fill(file, source, crcs, offset, buffer, length);
        if (!is_zero(buffer, length)) {
            write_window(fd, buffer, length, offset);
        }
    }
    close(fd);
    mem_free(buffer);
    mem_free(crcs);
    return sum;
}

/* The tool. */

static void read_shape(const char *text, uint64_t shape[TENSOR_DIMENSIONS], uint32_t *dimensions) {
    char *end = (char *)(uintptr_t)text;
    *dimensions = 0;
    while (*end >= '0' && *end <= '9' && *dimensions < TENSOR_DIMENSIONS) {
        shape[(*dimensions)++] = strtoull(end, &end, 10);
        end += *end == 'x' ? 1 : 0;
    }
}

static struct tensor read_tensor(const char *line) {
    char name[NAME_TEXT], type[NAME_TEXT], shape[NAME_TEXT], whole[NAME_TEXT], offset[NAME_TEXT];
    int words = sscanf(line, "%255s %255s %255s %255s %255s", name, type, shape, whole, offset);
    struct tensor tensor = {.datatype = words >= 3 ? datatype_find(type) : DATATYPE_UNSET};
    if (tensor.datatype == DATATYPE_UNSET) {
        stop(line, "not a tensor");
    }
    tensor_name_text(&tensor, name);
    read_shape(shape, tensor.shape, &tensor.dimensions);
    read_shape(words == 5 ? whole : shape, tensor.whole, &tensor.dimensions);
    if (words == 5) {
        read_shape(offset, tensor.offset, &tensor.dimensions);
    }
    tensor_count(&tensor);
    return tensor;
}

static struct list read_list(struct arena *arena, const char *path) {
    enum { TENSORS_MAX = 10000 };
    struct list list = {.tensors = arena_new(arena, TENSORS_MAX, sizeof list.tensors[0])};
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        stop(path, strerror(errno));
    }
    char line[5 * NAME_TEXT];
    while (list.count < TENSORS_MAX && fgets(line, sizeof line, file) != NULL) {
        list.tensors[list.count++] = read_tensor(line);
    }
    fclose(file);
    return list;
}

static void print_places(const struct list *list, const struct format_file *file, uint64_t sum) {
    printf("{\"size\": %llu, \"sum\": %llu, \"segments\": %llu, \"tensors\": [",
           (unsigned long long)file->size_bytes, (unsigned long long)sum,
           (unsigned long long)file->segment_count);
    for (uint64_t i = 0; i < list->count; i++) {
        printf("%s{\"name\": \"%s\", \"offset\": %llu, \"bytes\": %llu}", i == 0 ? "" : ", ",
               list->tensors[i].name, (unsigned long long)file->places[i].offset,
               (unsigned long long)file->places[i].bytes);
    }
    printf("]}\n");
}

static const struct format *find(const char *name) {
    const struct format *format = format_find(name);
    if (format == NULL) {
        stop(name, "no such format");
    }
    return format;
}

static void measure(const char *format, const struct list *list,
                    const struct format_options *options, struct arena *arena,
                    struct format_file *file) {
    struct error err;
    if (format_measure(find(format), list->tensors, list->count, options, arena, file, &err) !=
        OK) {
        stop(format, err.text);
    }
}

static int run_write(char **words, int count) {
    struct arena arena = {0};
    struct format_options options = {0};
    const struct format_source *source = &list_source;
    size_t window = WINDOW_BYTES;
    for (int i = 3; i < count; i++) {
        source = strcmp(words[i], "--zero") == 0 ? &zero_source : source;
        options.torch_1_13 = options.torch_1_13 || strcmp(words[i], "--torch-1-13") == 0;
        options.no_crc = options.no_crc || strcmp(words[i], "--no-crc") == 0;
        if (strcmp(words[i], "--window") == 0 && i + 1 < count) {
            window = strtoull(words[++i], NULL, 10);
        }
    }
    struct list list = read_list(&arena, words[2]);
    struct format_file file;
    measure(words[0], &list, &options, &arena, &file);
    print_places(&list, &file, write_file(words[1], &file, source, window));
    arena_fini(&arena);
    return 0;
}

static int run_stream(char **words) {
    struct arena arena = {0};
    struct tensor tensor = list_flat("t", DATATYPE_UINT8, strtoull(words[1], NULL, 10));
    struct list list = {.tensors = &tensor, .count = 1};
    struct format_file file;
    measure("raw", &list, NULL, &arena, &file);
    write_file(words[0], &file, &list_source, WINDOW_BYTES);
    arena_fini(&arena);
    return 0;
}

static int run_dcp_checkpoint(char **words, int count) {
    struct arena arena = {0};
    struct format_dcp_item *items = arena_new(&arena, ITEMS_MAX, sizeof items[0]);
    uint64_t item_count = 0;
    struct format_file file;
    for (int rank = 0; rank + 1 < count; rank++) {
        struct list list = read_list(&arena, words[rank + 1]);
        const char *name = arena_printf(&arena, "__%d_0.distcp", rank);
        measure("dcp", &list, NULL, &arena, &file);
        write_file(arena_printf(&arena, "%s/%s", words[0], name), &file, &list_source,
                   WINDOW_BYTES);
        for (uint64_t i = 0; i < list.count; i++) {
            items[item_count++] = (struct format_dcp_item){
                .tensor = &list.tensors[i], .place = &file.places[i], .path = name};
        }
    }
    struct error err;
    if (format_dcp_metadata(items, item_count, &arena, &file, &err) != OK) {
        stop(".metadata", err.text);
    }
    write_file(arena_printf(&arena, "%s/.metadata", words[0]), &file, &list_source, WINDOW_BYTES);
    arena_fini(&arena);
    return 0;
}

/* The test. */

static void check_on_disk(const char *path, const struct format_file *file, uint64_t sum) {
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, file->size_bytes);
    uint8_t *bytes = malloc(file->size_bytes + 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, bytes, file->size_bytes + 1), file->size_bytes);
    assert_int_equal(payload_sum(0, bytes, file->size_bytes), sum);
    assert_int_equal(format_compare(file, &list_source, 0, bytes, file->size_bytes),
                     file->size_bytes);
    close(fd);
    free(bytes);
}

static void test_sizes_on_disk(void **state) {
    (void)state;
    uint64_t random = list_seed();
    char folder[] = "/tmp/ckptsim-test-format-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    for (int i = 0; i < 20; i++) {
        for (size_t f = 0; formats[f] != NULL; f++) {
            struct arena arena = {0};
            struct list list = list_random(&arena, &random, list_pick(&random, 0, 30), 40000);
            struct format_file file;
            list_measure(formats[f], &list, NULL, &arena, &file);
            size_t window = list_pick(&random, 1, 64) * PAYLOAD_BLOCK;
            check_on_disk(path, &file, write_file(path, &file, &list_source, window));
            arena_fini(&arena);
        }
    }
    unlink(path);
    rmdir(folder);
}

int main(int count, char **words) {
    if (count == 4 && strcmp(words[1], "stream") == 0) {
        return run_stream(words + 2);
    }
    if (count > 3 && strcmp(words[1], "dcp-checkpoint") == 0) {
        return run_dcp_checkpoint(words + 2, count - 2);
    }
    if (count > 3) {
        return run_write(words + 1, count - 1);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes_on_disk)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
