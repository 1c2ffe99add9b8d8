/* The rules about reading, copies and formats: a part of test_engine.c, which is full. */

static const uint64_t reading_sizes[] = {1, 4095, 4096, PLAY_CHUNK, 5 * PLAY_CHUNK + 4097};

/* Opens the files for reading, reads them with a check, closes them; the first errno. */
static int read_back(struct play *play, struct io_file *files) {
    for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
        files[rank].mode = IO_READING;
        files[rank].check = true;
    }
    int error = play_all(play, IO_OPEN, files);
    assert_int_equal(error, 0);
    error = play_move_all(play, IO_READ, files);
    assert_int_equal(play_all(play, IO_CLOSE, files), 0);
    return error;
}

static void test_reading(void **state) {
    struct play *play = start(state);
    for (size_t i = 0; i < COUNT_OF(reading_sizes); i++) {
        struct io_file files[PLAY_RANKS];
        make_files(play, files, reading_sizes[i]);
        assert_int_equal(play_checkpoint(play, files), 0);
        uint64_t sums[PLAY_RANKS];
        for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
            sums[rank] = files[rank].sum;
        }
        assert_int_equal(read_back(play, files), 0);
        for (uint32_t rank = 0; is_real(state) && rank < PLAY_RANKS; rank++) {
            assert_int_equal(files[rank].sum, sums[rank]);
        }
    }
}

static void test_reading_zeros(void **state) {
    struct variant *variant = *state;
    variant->play.config.payload.kind = PAYLOAD_ZERO;
    test_reading(state);
}

static void change_file(const struct play *play, const char *path, uint64_t offset) {
    int fd = folder_open_file(&play->folder, path, O_RDWR);
    uint8_t byte;
    assert_int_equal(pread(fd, &byte, 1, (off_t)offset), 1);
    byte ^= 4;
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
    assert_int_equal(fsync(fd), 0);
    close(fd);
}

/* One read of the whole file; says how many bytes were right. */
static int read_whole(struct play *play, struct io_file *file, uint64_t *right_bytes) {
    file->mode = IO_READING;
    file->check = true;
    assert_int_equal(play_file_op(play, IO_OPEN, file), 0);
    struct io_request read = {.op = IO_READ, .file = file, .length_bytes = file->size_bytes};
    play_submit(play, &read);
    assert_ptr_equal(play_wait(play), &read);
    *right_bytes = read.done_bytes;
    assert_int_equal(play_file_op(play, IO_CLOSE, file), 0);
    return read.error;
}

static void test_reading_damage(void **state) {
    struct play *play = start(state);
    struct io_file files[PLAY_RANKS];
    enum { SIZE = PLAY_CHUNK - 5, WRONG = 30001, SHORT = 20480 + 3 };
    make_files(play, files, SIZE);
    assert_int_equal(play_checkpoint(play, files), 0);
    change_file(play, files[0].path, WRONG);
    uint64_t right_bytes;
    assert_int_equal(read_whole(play, &files[0], &right_bytes), EBADMSG);
    assert_int_equal(right_bytes, WRONG);
    int fd = folder_open_file(&play->folder, files[1].path, O_RDWR);
    assert_int_equal(ftruncate(fd, SHORT), 0);
    close(fd);
    assert_int_equal(read_whole(play, &files[1], &right_bytes), ENODATA);
    assert_int_equal(right_bytes, SHORT);
    files[2].stream++; /* somebody else's bytes */
    assert_int_equal(read_whole(play, &files[2], &right_bytes), EBADMSG);
    assert_int_equal(right_bytes, 0);
    files[2].path = "nowhere";
    assert_int_equal(play_file_op(play, IO_OPEN, &files[2]), ENOENT);
}

/* After it, nothing of a file is in the page cache, unless the file system is memory. */
static void test_cold(void **state) {
    struct variant *variant = *state;
    struct play *play = start(state);
    struct io_file files[PLAY_RANKS];
    make_files(play, files, 3 * PLAY_CHUNK);
    play->config.sync = false; /* so that something is dirty */
    assert_int_equal(play_checkpoint(play, files), 0);
    bool in_memory = strcmp(variant->where, "/dev/shm") == 0;
    for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
        files[rank].mode = IO_READING;
        assert_int_equal(play_file_op(play, IO_OPEN, &files[rank]), 0);
        struct io_request cold = {.op = IO_COLD, .file = &files[rank], .rank = rank};
        play_submit(play, &cold);
        assert_ptr_equal(play_wait(play), &cold);
        assert_int_equal(cold.error, 0);
        assert_int_equal(cold.done_bytes, in_memory ? 3 * PLAY_CHUNK : 0);
        assert_int_equal(play_file_op(play, IO_CLOSE, &files[rank]), 0);
    }
}

/* A snapshot is what the file would have been, and is written as it is. */
static void test_copies(void **state) {
    struct play *play = start(state);
    for (size_t i = 0; i < COUNT_OF(reading_sizes); i++) {
        struct io_file files[PLAY_RANKS];
        make_files(play, files, reading_sizes[i]);
        struct io_file *file = &files[0], source = *file;
        assert_int_equal(play_file_op(play, IO_OPEN, file), 0);
        void *memory = aligned_alloc(PAYLOAD_BLOCK, PLAY_CHUNK);
        memset(memory, 0xff, PLAY_CHUNK);
        for (uint64_t offset = 0; offset < file->size_bytes; offset += PLAY_CHUNK) {
            uint64_t left = file->size_bytes - offset;
            struct io_request move = {.op = IO_COPY, .file = &source, .memory = memory,
                                      .offset = offset,
                                      .length_bytes = left < PLAY_CHUNK ? left : PLAY_CHUNK};
            assert_int_equal(play_run(play, move), 0);
            move.op = IO_WRITE;
            move.file = file;
            assert_int_equal(play_run(play, move), 0);
        }
        assert_int_equal(play_file_op(play, IO_SYNC, file), 0);
        assert_int_equal(play_file_op(play, IO_CLOSE, file), 0);
        assert_int_equal(file->sum, 0);
        file->sum = source.sum;
        if (is_real(state)) {
            play_check_file(play, file);
        }
        free(memory);
    }
}

/* One engine, two folders: the same path means two files. What is read without comparing adds up to the
 * sum that was written. */
static void test_two_folders(void **state) {
    struct variant *variant = *state;
    struct play *play = &variant->play;
    char dir[300];
    struct folder second;
    struct error err;
    snprintf(dir, sizeof dir, "%s/second", play->dir);
    assert_int_equal(mkdir(dir, 0755), 0);
    assert_int_equal(folder_create(dir, "test", &play->arena, &second, &err), OK);
    play->config.second_folder = &second;
    start(state);
    struct io_file files[PLAY_RANKS];
    make_files(play, files, 2 * PLAY_CHUNK + 4097);
    assert_int_equal(play_checkpoint(play, files), 0);
    uint64_t first_sum = files[0].sum;
    for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
        files[rank].stream += 100;
        files[rank].tier = 1;
    }
    assert_int_equal(play_checkpoint(play, files), 0);
    uint64_t second_sum = files[0].sum;
    for (uint8_t tier = 0; tier < 2; tier++) {
        struct io_file *file = &files[0];
        file->mode = IO_READING;
        file->tier = tier;
        file->summed = true;
        assert_int_equal(play_file_op(play, IO_OPEN, file), 0);
        for (uint64_t offset = 0; offset < file->size_bytes; offset += PLAY_CHUNK) {
            uint64_t left = file->size_bytes - offset;
            struct io_request read = {.op = IO_READ, .file = file, .offset = offset,
                                      .length_bytes = left < PLAY_CHUNK ? left : PLAY_CHUNK};
            assert_int_equal(play_run(play, read), 0);
        }
        assert_int_equal(play_file_op(play, IO_CLOSE, file), 0);
        if (is_real(state)) {
            assert_true(file->sum == (tier == 0 ? first_sum : second_sum));
        }
    }
    struct io_request gone = {.op = IO_REMOVE, .path = "shard-2", .tier = 1};
    assert_int_equal(play_run(play, gone), 0);
    if (is_real(state)) {
        assert_true(first_sum != second_sum);
        assert_true(folder_open_file(&second, "shard-2", O_RDONLY) == -ENOENT);
        int fd = folder_open_file(&play->folder, "shard-2", O_RDONLY);
        assert_true(fd >= 0);
        close(fd);
    }
    folder_close(&second);
}

/* Rule 2: the snapshot of a file is under way while its rank opens, writes and syncs another. With
 * memory of the job's own no engine needs a buffer. */
static void test_copies_apart(void **state) {
    struct variant *variant = *state;
    variant->play.config.copies = variant->play.config.memory_given = true;
    struct play *play = start(state);
    assert_int_equal(engine_buffer_bytes(variant->ops->name, &play->config), 0);
    enum { CHUNKS = 4 };
    struct io_file files[PLAY_RANKS], source;
    make_files(play, files, CHUNKS * PLAY_CHUNK);
    source = files[0];
    char *memory = aligned_alloc(PAYLOAD_BLOCK, 2 * CHUNKS * PLAY_CHUNK);
    struct io_request copies[CHUNKS];
    struct io_file *file = &files[1];
    struct io_request others[] = {
        {.op = IO_OPEN, .file = file},
        {.op = IO_WRITE, .file = file, .memory = memory + CHUNKS * PLAY_CHUNK,
         .length_bytes = PLAY_CHUNK},
        {.op = IO_SYNC, .file = file},
        {.op = IO_CLOSE, .file = file},
    };
    memset(memory, 0, 2 * CHUNKS * PLAY_CHUNK);
    for (uint64_t i = 0; i < CHUNKS; i++) {
        copies[i] = (struct io_request){.op = IO_COPY, .file = &source,
                                        .memory = memory + i * PLAY_CHUNK,
                                        .offset = i * PLAY_CHUNK, .length_bytes = PLAY_CHUNK};
        engine_submit(play->engine, &copies[i]);
    }
    size_t next = 0, done = 0;
    engine_submit(play->engine, &others[next++]);
    for (; done < CHUNKS + COUNT_OF(others); done++) {
        struct io_request *request = engine_wait(play->engine, PLAY_TIMEOUT_NS);
        assert_non_null(request);
        assert_int_equal(request->error, 0);
        if (request->op != IO_COPY && next < COUNT_OF(others)) {
            engine_submit(play->engine, &others[next++]);
        }
    }
    assert_int_equal(file->sum, 0);
    if (is_real(state)) {
        assert_int_equal(source.sum, payload_sum(0, (uint8_t *)memory, CHUNKS * PLAY_CHUNK));
        assert_int_not_equal(source.sum, 0);
    }
    free(memory);
}

/* A file with literals and payload in it comes out as format_fill makes it, and compares well. */
static void test_format(void **state) {
    struct variant *variant = *state;
    for (int i = 0; i < FORMAT_CLASSES; i++) {
        variant->play.config.classes[i] = variant->play.config.payload;
    }
    struct play *play = start(state);
    struct tensor tensors[2] = {0};
    for (int i = 0; i < 2; i++) {
        snprintf(tensors[i].name, sizeof tensors[i].name, "weight.%d", i);
        tensor_set_flat(&tensors[i], DATATYPE_FP32, 100001 + 7 * (uint64_t)i);
    }
    struct format_file format;
    struct error err;
    assert_int_equal(format_measure(format_find("torch"), tensors, 2, NULL, &play->arena, &format,
                                    &err), OK);
    struct io_file files[PLAY_RANKS];
    struct format_crc *crcs = calloc(format.crc_count * PLAY_RANKS, sizeof crcs[0]);
    make_files(play, files, format.size_bytes);
    for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
        files[rank].format = &format;
        files[rank].crcs = crcs + rank * format.crc_count;
        format_begin(&format, files[rank].crcs);
    }
    assert_int_equal(play_checkpoint(play, files), 0);
    uint8_t *bytes = malloc(format.size_bytes);
    for (uint32_t rank = 0; rank < PLAY_RANKS; rank++) {
        struct format_source source = {.stream = files[rank].stream,
                                       .classes = play->config.classes};
        format_begin(&format, files[rank].crcs);
        uint64_t sum = format_fill(&format, &source, files[rank].crcs, 0, bytes, format.size_bytes);
        assert_int_equal(sum, files[rank].sum);
    }
    uint8_t *found = malloc(format.size_bytes);
    int fd = folder_open_file(&play->folder, files[PLAY_RANKS - 1].path, O_RDONLY);
    assert_int_equal(pread(fd, found, format.size_bytes, 0), format.size_bytes);
    close(fd);
    assert_memory_equal(found, bytes, format.size_bytes);
    assert_int_equal(read_back(play, files), 0);
    free(found);
    free(bytes);
    free(crcs);
}
