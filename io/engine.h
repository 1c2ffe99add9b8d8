#ifndef CKPTSIM_IO_ENGINE_H
#define CKPTSIM_IO_ENGINE_H

#include "base/error.h"
#include "base/facts.h"
#include "io/codec.h"
#include "io/folder.h"
#include "io/format.h"
#include "io/payload.h"
#include "io/seek_table.h"

#include <stdbool.h>
#include <stdint.h>

/* The engine contract. An engine carries out requests and owns time: real engines block and read the
 * clock, a simulated drive steps its events. The job submits what is ready and waits for one
 * completion at a time, on one thread.
 *
 *   job ──submit(request)──> engine ──(worker: payload, checksum, system call)──> wait() ──> job
 *
 * Rules (held by tests/contract):
 * 1. A request belongs to the engine from submit until wait returns it. Nothing is allocated for it.
 * 2. Requests of one rank and operation begin in the order they were submitted. Writes, reads and copies
 *    may overlap and finish in any order; every other operation of a rank is submitted alone, with none of its
 *    requests under way. Copies stand apart, since a rank copies while its writer waits: they may be
 *    under way beside anything. A pause is of no rank.
 * 3. Every submitted request comes back exactly once, failed or not.
 * 4. end_ns >= begin_ns, both on the engine's own clock, which starts near 0 at open.
 * 5. Failure is a value: error holds an errno, done_bytes what was written before it. A failed
 *    IO_OPEN leaves no open file, but perhaps an empty one in the folder.
 * 6. Payload is written and read at multiples of PAYLOAD_BLOCK and in whole blocks, except at the
 *    file's end. A literal may have any length but, outside plain files, has its blocks for itself:
 *    what is left of its last block becomes zero.
 * 7. The bytes of a rank's writes are made one after the other, in the order of submission, and so are
 *    those of its copies: a format's checksums depend on it.
 * 8. With a codec in the configuration, files that are not plain are compressed (io/codec.h). Offsets
 *    and lengths of content stay those of the file as it is read in the end, and each request is one
 *    window: a multiple of chunk_bytes, and chunk_bytes long unless it ends the file. Windows are
 *    written from front to back, each behind the one before; a file of no bytes has one of no bytes.
 *    A literal goes where it says among the stored bytes. Nothing is preallocated, since nobody knows
 *    how long the file becomes, and by its sync or close it ends where the last write did. Opening for
 *    IO_READING reads the seek table: EBADMSG where it does not fit the file. */

enum io_op {
    IO_OPEN,     /* opens request->file as file->mode says, preallocating if configured */
    IO_WRITE,    /* [offset, offset+length) of file: its content, or request->literal or ->memory */
    IO_READ,     /* the same of a file opened for IO_READING, compared with its content if file->check */
    IO_COPY,     /* the same of file's content into request->memory; file need not be open */
    IO_SYNC,     /* everything of file reaches the medium; buffered data then leaves the page cache */
    IO_COLD,     /* file's pages leave the page cache; done_bytes: those that are still there, or
                    UINT64_MAX where the kernel does not tell this user */
    IO_CLOSE,
    IO_REMOVE,   /* path; ENOENT is reported like any error */
    IO_RENAME,   /* path to new_path */
    IO_SYNC_DIR, /* path of a folder, "" for the target folder itself */
    IO_PAUSE,    /* pause_ns pass: computing between checkpoints */
    IO_OP_COUNT,
};

enum io_mode {
    IO_TRUNCATE,  /* created, or cut to nothing first */
    IO_OVERWRITE, /* created, or written in place */
    IO_EXISTING,  /* must exist; for a later sync */
    IO_READING,   /* must exist */
};

/* An open file of a rank. The job fills the first part and keeps it unchanged from IO_OPEN to
 * IO_CLOSE. */
struct io_file {
    const char *path;
    uint64_t size_bytes; /* what it will hold in the end */
    uint64_t stream;     /* payload key */
    const struct format_file *format; /* where its payload and literals lie; NULL: payload alone */
    struct format_crc *crcs;          /* format->crc_count of them, after format_begin */
    enum io_mode mode;
    bool plain;          /* a small file of text (manifest): buffered, never preallocated */
    bool check;          /* IO_READ compares what it reads with what was written */
    bool summed;         /* IO_READ adds to sum though it compares nothing */
    bool as_stored;      /* the bytes as they lie in the folder, whatever the codec */
    uint8_t tier;        /* of the folder it lies in, see engine_config */
    /* Of a compressed file that is written: room for its windows; the engine enters them. NULL for
     * reading: then the engine has one of its own while the file is open. */
    struct seek_table *table;
    /* The engine's: */
    uint64_t sum;        /* checksum over all content written, copied or read without an error, but for
                            literals and memory that is written; updated before wait returns */
    int fd, fd_slot;
    bool direct;         /* opened with O_DIRECT */
    bool cut;            /* it may be longer than it is to be in the end: cut at its sync or close */
    uint64_t stored_bytes; /* of a compressed file: where the furthest write ended */
    void *engine_data;
};

struct io_request {
    enum io_op op;
    uint32_t rank;
    struct io_file *file;
    const char *path, *new_path;
    uint8_t tier;          /* of the path; an open file has its own */
    const void *literal;   /* IO_WRITE: these bytes instead of content; valid until completion */
    /* IO_WRITE: these bytes instead of content; IO_READ, IO_COPY: where it goes. At a multiple of
     * PAYLOAD_BLOCK, with room for whole blocks; what IO_WRITE finds behind length_bytes becomes zero. */
    void *memory;
    uint64_t offset, length_bytes;
    uint64_t pause_ns;
    /* Set by the engine on completion: */
    int error;             /* 0 or an errno; of IO_READ also ENODATA: the file ends too early, and
                              EBADMSG: not what was written, done_bytes counts what is right */
    bool short_write;      /* the kernel took less than asked without an error */
    uint64_t done_bytes;
    uint64_t stored_bytes; /* that the drive took or gave for them: done_bytes but for a codec */
    uint64_t begin_ns, end_ns; /* around the system call, payload not included */
    uint64_t payload_ns;   /* time the worker spent making, or comparing, content and checksum */
    uint64_t compress_ns;  /* and its CPU time for compressing or decompressing */
    uint64_t compress_wall_ns; /* which took so long */
    /* The engine's: */
    struct io_request *next;
    uint64_t sum;
    void *buffer;
};

static inline uint8_t io_request_tier(const struct io_request *request) {
    return request->file != NULL ? request->file->tier : request->tier;
}

enum io_direct { IO_DIRECT_AUTO, IO_DIRECT_ON, IO_DIRECT_OFF };
enum io_dontcache { IO_DONTCACHE_AUTO, IO_DONTCACHE_OFF };

struct engine_config {
    uint32_t ranks;
    uint64_t chunk_bytes;  /* largest IO_WRITE but for literals of plain files, largest IO_READ; a multiple
                            * of PAYLOAD_BLOCK */
    uint64_t queue_depth;  /* writes of one rank under way at most */
    int direct;            /* enum io_direct: ON fails where the file system refuses it */
    int dontcache;         /* enum io_dontcache: RWF_DONTCACHE for buffered writes where it works */
    bool preallocate;
    bool sync;             /* IO_SYNC will come: buffered writes may be pushed out early */
    bool copies;           /* IO_COPY will come: no write holds one up */
    bool memory_given;     /* content of writes, reads and copies brings its memory: no buffers for it */
    struct payload payload;
    struct payload classes[FORMAT_CLASSES]; /* of files with a format: payload, class by class */
    struct codec_choice codec; /* of files that are not plain */
    const struct folder *folder; /* NULL for engines that reach no directory; tier 0 */
    const struct folder *second_folder; /* tier 1; NULL: there is none */
    uint64_t quota_bytes;  /* shim: ENOSPC when more than this is held; 0: none */
    const char *faults;    /* shim: see shim_faults.h; NULL: none */
    uint64_t seed;
};

struct engine;

struct engine_ops {
    const char *name;
    const char *about; /* one line for `ckptsim list engines` */
    bool needs_folder;
    enum status (*open)(const struct engine_config *config, struct engine **engine,
                        struct error *err);
    void (*submit)(struct engine *engine, struct io_request *request);
    /* The next completion; NULL when none came within timeout_ns or a signal arrived. */
    struct io_request *(*wait)(struct engine *engine, uint64_t timeout_ns);
    uint64_t (*now)(struct engine *engine);
    /* Every IO_PAUSE under way completes at once: the run is to stop. */
    void (*cancel_pauses)(struct engine *engine);
    /* Free and total bytes of the target; 0 or an errno. */
    int (*space)(struct engine *engine, uint64_t *free_bytes, uint64_t *total_bytes);
    /* What came of the configuration, for the output: direct, dontcache, huge_pages, buffer_bytes. */
    void (*facts)(struct engine *engine, struct facts *facts);
    /* Nothing may be under way. */
    void (*close)(struct engine *engine);
    /* Memory that its buffers, and a codec's contexts, take under this configuration; NULL: none. */
    uint64_t (*buffer_bytes)(const struct engine_config *config);
    /* Threads that carry out writes and reads; NULL: none. */
    uint32_t (*workers)(const struct engine_config *config);
};

/* First member of every engine. */
struct engine {
    const struct engine_ops *ops;
};

/* The registry: a NULL-terminated table. To add an engine: engine_NAME.c and its row in engine.c. */
extern const struct engine_ops *const engines[];

const struct engine_ops *engine_find(const char *name);

/* Opens the named engine with the shims the configuration asks for around it. */
enum status engine_open(const char *name, const struct engine_config *config,
                        struct engine **engine, struct error *err);

/* Puts the shims that the configuration asks for around an open engine; on failure it is closed. */
enum status engine_wrap(const struct engine_config *config, struct engine **engine,
                        struct error *err);

/* Memory the engine's buffers take under this configuration: at most ranks x queue depth x chunk, and
 * with a codec as many buffers for what is stored, and a context for every worker. */
uint64_t engine_buffer_bytes(const char *name, const struct engine_config *config);

/* Threads of the named engine that carry out writes and reads, and so compress. */
uint32_t engine_workers(const char *name, const struct engine_config *config);

/* Whether a file is compressed under this configuration. */
static inline bool engine_compresses(const struct engine_config *config,
                                     const struct io_file *file) {
    return config->codec.kind != CODEC_NONE && !file->plain && !file->as_stored;
}

static inline void engine_submit(struct engine *engine, struct io_request *request) {
    engine->ops->submit(engine, request);
}

static inline struct io_request *engine_wait(struct engine *engine, uint64_t timeout_ns) {
    return engine->ops->wait(engine, timeout_ns);
}

static inline uint64_t engine_now(struct engine *engine) {
    return engine->ops->now(engine);
}

static inline void engine_cancel_pauses(struct engine *engine) {
    engine->ops->cancel_pauses(engine);
}

static inline void engine_close(struct engine *engine) {
    engine->ops->close(engine);
}

#endif
