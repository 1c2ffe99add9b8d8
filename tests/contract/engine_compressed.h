/* The rules about compressed files: a part of test_engine.c, which is full. What lies on the drive is
 * read here through the library alone, without an engine. */
#include "io/compressed_file.h"

static const uint64_t compressed_sizes[] = {
    0, 1, 4095, 4096, PLAY_CHUNK, 5 * PLAY_CHUNK + 4097, 17 * PLAY_CHUNK};

static struct play *start_compressing(void **state) {
    struct variant *variant = *state;
    variant->play.config.codec = (struct codec_choice){CODEC_ZSTD, 1};
    variant->play.config.payload.compressible = 1.46;
    return start(state);
}

static void make_tables(struct play *play, struct io_file *files, struct seek_table *tables) {
    for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
        seek_table_init(&tables[rank], codec_windows(files[rank].size_bytes, PLAY_CHUNK),
                        &play->arena);
        files[rank].table = &tables[rank];
    }
}

/* What is left when all windows are written: the window of an empty file, and the table. */
static int end_compressed(struct play *play, struct io_file *file) {
    struct seek_table *table = file->table;
    if (file->size_bytes == 0) {
        assert_int_equal(play_run(play, (struct io_request){.op = IO_WRITE, .file = file}), 0);
    }
    assert_int_equal(table->points[table->count].raw_offset, file->size_bytes);
    uint64_t tail_bytes = seek_table_tail_bytes(table->count);
    uint8_t *tail = malloc(tail_bytes);
    seek_table_write(table, tail);
    struct io_request write = {.op = IO_WRITE,
                               .file = file,
                               .literal = tail,
                               .offset = table->points[table->count].stored_offset,
                               .length_bytes = tail_bytes};
    int error = play_run(play, write);
    assert_int_equal(file->stored_bytes, write.offset + tail_bytes);
    free(tail);
    return error;
}

static void write_compressed(struct play *play, struct io_file *files) {
    assert_int_equal(play_all(play, IO_OPEN, files), 0);
    assert_int_equal(play_move_all(play, IO_WRITE, files), 0);
    for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
        assert_int_equal(end_compressed(play, &files[rank]), 0);
    }
    assert_int_equal(play_all(play, IO_SYNC, files), 0);
    assert_int_equal(play_all(play, IO_CLOSE, files), 0);
}

/* The whole content of a compressed file on the drive; the caller frees it. */
static uint8_t *unpack_file(const struct play *play, const struct io_file *file) {
    struct arena arena = {0};
    struct seek_table table;
    struct error err;
    assert_int_equal(play_file_size(play, file->path), file->stored_bytes);
    int fd = folder_open_file(&play->folder, file->path, O_RDONLY);
    assert_int_equal(compressed_file_table(fd, file->size_bytes, PLAY_CHUNK, &arena, &table, &err),
                     0);
    uint8_t *content = malloc(file->size_bytes + 1), *stored = malloc(codec_bound(PLAY_CHUNK));
    struct codec *codec = codec_open(1, PLAY_CHUNK);
    for (uint64_t i = 0; i < table.count; i++) {
        size_t length = seek_table_stored_bytes(&table, i);
        assert_int_equal(pread(fd, stored, length, (off_t)table.points[i].stored_offset), length);
        assert_int_equal(codec_decompress(codec, stored, length, content + table.points[i].raw_offset,
                                          seek_table_raw_bytes(&table, i), &err), OK);
    }
    close(fd);
    codec_close(codec);
    free(stored);
    arena_fini(&arena);
    return content;
}

static void check_compressed(const struct play *play, const struct io_file *file) {
    uint8_t *content = unpack_file(play, file);
    size_t size = file->size_bytes;
    assert_int_equal(payload_compare(&play->config.payload, file->stream, 0, content, size), size);
    assert_int_equal(payload_sum(0, content, size), file->sum);
    free(content);
}

/* As it was written, with the sums of the content, and read by the engine. */
static void write_and_read(struct play *play, struct io_file *files) {
    uint64_t sums[PLAY_RANKS];
    write_compressed(play, files);
    for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
        sums[rank] = files[rank].sum;
        files[rank].table = NULL;
    }
    assert_int_equal(read_back(play, files), 0);
    for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
        assert_int_equal(files[rank].sum, sums[rank]);
        assert_null(files[rank].table);
    }
}

/* A quota counts files as long as they are, once they are closed. */
static void check_free(const struct play *play, const struct io_file *files) {
    uint64_t free_bytes, total_bytes, held = 0;
    assert_int_equal(play->engine->ops->space(play->engine, &free_bytes, &total_bytes), 0);
    for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
        held += files[rank].stored_bytes;
    }
    assert_true(play->config.quota_bytes == 0 || free_bytes <= play->config.quota_bytes - held);
}

/* While they are written, windows count as what they may take. */
static void test_compressed_quota(void **state) {
    struct variant *variant = *state;
    uint64_t quota_bytes = 2 * codec_bound(PLAY_CHUNK) + 2 * CODEC_BLOCK;
    variant->play.config.quota_bytes = quota_bytes;
    struct play *play = start_compressing(state);
    struct io_file files[PLAY_RANKS];
    struct seek_table tables[PLAY_RANKS];
    for (int chunks = 2; chunks <= 3; chunks++) {
        make_files(play, files, (uint64_t)chunks * PLAY_CHUNK);
        make_tables(play, files, tables);
        struct io_file *file = &files[0];
        assert_int_equal(play_file_op(play, IO_OPEN, file), 0);
        for (int i = 0; i < chunks; i++) {
            struct io_request write = {.op = IO_WRITE, .file = file,
                                       .offset = (uint64_t)i * PLAY_CHUNK,
                                       .length_bytes = PLAY_CHUNK};
            assert_int_equal(play_run(play, write), i < 2 ? 0 : ENOSPC);
        }
        if (chunks == 2) {
            assert_int_equal(end_compressed(play, file), 0);
        }
        assert_int_equal(play_file_op(play, IO_CLOSE, file), 0);
        uint64_t free_bytes, total_bytes;
        assert_int_equal(play->engine->ops->space(play->engine, &free_bytes, &total_bytes), 0);
        assert_int_equal(total_bytes, quota_bytes);
        assert_true(free_bytes <= quota_bytes - file->stored_bytes);
        assert_true(free_bytes >= quota_bytes / 5); /* two windows of ratio 1.46 */
    }
}

static void test_compressed(void **state) {
    struct play *play = start_compressing(state);
    for (size_t i = 0; i < COUNT_OF(compressed_sizes); i++) {
        struct io_file files[PLAY_RANKS], written[PLAY_RANKS];
        struct seek_table tables[PLAY_RANKS];
        make_files(play, files, compressed_sizes[i]);
        make_tables(play, files, tables);
        write_compressed(play, files);
        check_free(play, files);
        memcpy(written, files, sizeof files);
        for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
            check_compressed(play, &written[rank]);
        }
        if (compressed_sizes[i] >= 17 * PLAY_CHUNK) {
            assert_true(files[0].stored_bytes < compressed_sizes[i] / 1.3);
        }
        write_and_read(play, files);
    }
}

static void test_compressed_zeros(void **state) {
    struct variant *variant = *state;
    variant->play.config.payload.kind = PAYLOAD_ZERO;
    test_compressed(state);
}

/* Whatever was there before, a file ends where it should, shorter or longer than the last one. */
static void test_compressed_overwrite(void **state) {
    static const uint64_t sizes[] = {9 * PLAY_CHUNK + 7, 9 * PLAY_CHUNK + 7, PLAY_CHUNK + 1, 0,
                                     5 * PLAY_CHUNK};
    struct play *play = start_compressing(state);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct io_file files[PLAY_RANKS];
        struct seek_table tables[PLAY_RANKS];
        make_files(play, files, sizes[i]);
        make_tables(play, files, tables);
        for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
            files[rank].mode = rank == 1 ? IO_TRUNCATE : IO_OVERWRITE;
            files[rank].stream += i;
        }
        write_compressed(play, files);
        for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
            check_compressed(play, &files[rank]);
            struct io_file again = files[rank]; /* a sync later on leaves it as it is */
            again.mode = IO_EXISTING;
            assert_int_equal(play_file_op(play, IO_OPEN, &again), 0);
            assert_int_equal(play_file_op(play, IO_SYNC, &again), 0);
            assert_int_equal(play_file_op(play, IO_CLOSE, &again), 0);
            check_compressed(play, &files[rank]);
        }
    }
}

/* Classes of tensors that compress differently, and literals between them. */
static void test_compressed_format(void **state) {
    struct variant *variant = *state;
    for (int i = 0; i < FORMAT_CLASSES; i++) {
        variant->play.config.classes[i] = variant->play.config.payload;
        variant->play.config.classes[i].compressible = 1 + i;
    }
    struct play *play = start_compressing(state);
    struct tensor tensors[2] = {0};
    for (int i = 0; i < 2; i++) {
        snprintf(tensors[i].name, sizeof tensors[i].name, "weight.%d", i);
        tensor_set_flat(&tensors[i], DATATYPE_FP32, 100001 + 7 * (uint64_t)i);
        tensors[i].class = i == 0 ? TENSOR_WEIGHT : TENSOR_MOMENT;
    }
    struct format_file format;
    struct error err;
    assert_int_equal(format_measure(format_find("torch"), tensors, 2, NULL, &play->arena, &format,
                                    &err), OK);
    struct io_file files[PLAY_RANKS];
    struct seek_table tables[PLAY_RANKS];
    make_files(play, files, format.size_bytes);
    make_tables(play, files, tables);
    struct format_crc *crcs = calloc(format.crc_count * PLAY_RANKS, sizeof crcs[0]);
    for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
        files[rank].format = &format;
        files[rank].crcs = crcs + rank * format.crc_count;
        format_begin(&format, files[rank].crcs);
    }
    write_compressed(play, files);
    uint8_t *bytes = malloc(format.size_bytes), *found = unpack_file(play, &files[2]);
    struct format_source source = {.stream = files[2].stream, .classes = play->config.classes};
    format_begin(&format, files[2].crcs);
    uint64_t sum = format_fill(&format, &source, files[2].crcs, 0, bytes, format.size_bytes);
    assert_int_equal(sum, files[2].sum);
    assert_memory_equal(found, bytes, format.size_bytes);
    free(found);
    free(bytes);
    free(crcs);
}

/* A snapshot in memory is content: it is compressed, and comes back into memory. */
static void test_compressed_copies(void **state) {
    enum { SIZE = 2 * PLAY_CHUNK + 4097 };
    struct play *play = start_compressing(state);
    struct io_file files[PLAY_RANKS];
    struct seek_table tables[PLAY_RANKS];
    make_files(play, files, SIZE);
    make_tables(play, files, tables);
    struct io_file *file = &files[0], source = *file;
    void *memory = aligned_alloc(PAYLOAD_BLOCK, PLAY_CHUNK);
    assert_int_equal(play_file_op(play, IO_OPEN, file), 0);
    for (uint64_t offset = 0; offset < SIZE; offset += PLAY_CHUNK) {
        uint64_t left = SIZE - offset;
        struct io_request move = {.op = IO_COPY, .file = &source, .memory = memory,
                                  .offset = offset,
                                  .length_bytes = left < PLAY_CHUNK ? left : PLAY_CHUNK};
        assert_int_equal(play_run(play, move), 0);
        move.op = IO_WRITE;
        move.file = file;
        assert_int_equal(play_run(play, move), 0);
    }
    assert_int_equal(end_compressed(play, file), 0);
    assert_int_equal(play_file_op(play, IO_CLOSE, file), 0);
    assert_int_equal(file->sum, 0);
    file->sum = source.sum;
    check_compressed(play, file);
    struct io_file reading = source;
    reading.mode = IO_READING;
    reading.table = NULL;
    assert_int_equal(play_file_op(play, IO_OPEN, &reading), 0);
    struct io_request last = {.op = IO_READ, .file = &reading, .memory = memory,
                              .offset = 2 * PLAY_CHUNK, .length_bytes = 4097};
    assert_int_equal(play_run(play, last), 0);
    size_t right = payload_compare(&play->config.payload, source.stream, 2 * PLAY_CHUNK, memory,
                                   4097);
    assert_int_equal(right, 4097);
    last.offset = 4096; /* no window begins there */
    assert_int_equal(play_run(play, last), EBADMSG);
    assert_int_equal(play_file_op(play, IO_CLOSE, &reading), 0);
    free(memory);
}

/* The same where the engine has room for nothing but what is stored. */
static void test_compressed_copies_alone(void **state) {
    struct variant *variant = *state;
    struct engine_config *config = &variant->play.config;
    config->codec = (struct codec_choice){CODEC_ZSTD, 1};
    uint64_t bytes = engine_buffer_bytes(variant->ops->name, config);
    config->copies = config->memory_given = true;
    assert_true(engine_buffer_bytes(variant->ops->name, config) < bytes);
    test_compressed_copies(state);
}

static int open_for_reading(struct play *play, struct io_file *file) {
    file->mode = IO_READING;
    file->table = NULL;
    return play_file_op(play, IO_OPEN, file);
}

static void cut_file(const struct play *play, const char *path, uint64_t size_bytes) {
    int fd = folder_open_file(&play->folder, path, O_RDWR);
    assert_int_equal(ftruncate(fd, (off_t)size_bytes), 0);
    close(fd);
}

/* Wherever a bit changes, reading says so: at the window, or of the table at once. */
static void test_compressed_damage(void **state) {
    enum { SIZE = 3 * PLAY_CHUNK };
    struct play *play = start_compressing(state);
    struct io_file files[PLAY_RANKS];
    struct seek_table tables[PLAY_RANKS];
    make_files(play, files, SIZE);
    make_tables(play, files, tables);
    write_compressed(play, files);
    change_file(play, files[0].path, tables[0].points[1].stored_offset + 2000);
    files[0].check = true;
    assert_int_equal(open_for_reading(play, &files[0]), 0);
    for (uint64_t window = 0; window < 3; window++) {
        struct io_request read = {.op = IO_READ, .file = &files[0], .offset = window * PLAY_CHUNK,
                                  .length_bytes = PLAY_CHUNK};
        play_submit(play, &read);
        assert_ptr_equal(play_wait(play), &read);
        assert_int_equal(read.error, window == 1 ? EBADMSG : 0);
        assert_int_equal(read.done_bytes, window == 1 ? 0 : PLAY_CHUNK);
    }
    assert_int_equal(play_file_op(play, IO_CLOSE, &files[0]), 0);
    files[1].stream++; /* a good file, but somebody else's */
    uint64_t stored_bytes = files[1].stored_bytes;
    files[1].table = NULL;
    assert_int_equal(open_for_reading(play, &files[1]), 0);
    files[1].check = true;
    struct io_request other = {.op = IO_READ, .file = &files[1], .length_bytes = PLAY_CHUNK};
    assert_int_equal(play_run(play, other), EBADMSG);
    assert_int_equal(play_file_op(play, IO_CLOSE, &files[1]), 0);
    change_file(play, files[1].path, stored_bytes - SEEK_TABLE_FOOTER - 20);
    assert_int_equal(open_for_reading(play, &files[1]), EBADMSG);
    files[2].size_bytes = SIZE - 1; /* not the file that is meant */
    assert_int_equal(open_for_reading(play, &files[2]), EBADMSG);
    files[2].size_bytes = SIZE;
    cut_file(play, files[2].path, play_file_size(play, files[2].path) - 4096);
    assert_int_equal(open_for_reading(play, &files[2]), EBADMSG);
    cut_file(play, files[2].path, 0);
    assert_int_equal(open_for_reading(play, &files[2]), EBADMSG);
}

static void test_compressed_plain(void **state) {
    static const char text[] = "{\"checkpoint\": 1}\n";
    struct play *play = start_compressing(state);
    struct io_file file = {.path = "manifest", .size_bytes = sizeof text, .plain = true};
    write_literal(play, &file, text, sizeof text);
    check_literal(play, &file, text, sizeof text);
}

/* What a codec takes is said before the run, and refused there where it is too much. */
static void test_codec_memory(void **state) {
    struct variant *variant = *state;
    struct play *play = &variant->play;
    const char *name = variant->ops->name;
    struct error err;
    uint64_t without = engine_buffer_bytes(name, &play->config);
    play->config.codec = (struct codec_choice){CODEC_ZSTD, 1};
    if (!is_real(state)) {
        assert_int_equal(engine_open(name, &play->config, &play->engine, &err), ERR_USAGE);
        assert_non_null(strstr(err.text, "--codec"));
        return;
    }
    uint64_t low = engine_buffer_bytes(name, &play->config);
    assert_true(low >= 2 * without + codec_memory_bytes(1, PLAY_CHUNK));
    play->config.codec.level = 19;
    assert_true(engine_buffer_bytes(name, &play->config) > low);
    play->config.ranks = 1 << 20;
    play->config.chunk_bytes = 1 << 20;
    assert_int_equal(engine_open(name, &play->config, &play->engine, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "--codec"));
    assert_null(play->engine);
}
