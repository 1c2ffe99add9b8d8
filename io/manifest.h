#ifndef CKPTSIM_IO_MANIFEST_H
#define CKPTSIM_IO_MANIFEST_H

#include "base/error.h"
#include "base/memory.h"
#include "io/folder.h"
#include "io/payload.h"

#include <stdbool.h>
#include <stdint.h>

/* The two text files beside each checkpoint's shards, one format:
 *
 *   ckpt-0003.files     names and sizes, written before the first shard: what may be removed
 *   ckpt-0003.manifest  the same with checksums, written last: the checkpoint is complete
 *
 *   ckptsim manifest 1
 *   run 20260805-101502-llama-3.1-405b
 *   checkpoint 3 serial 7
 *   payload random seed 1 compressible 1 dedupe 1
 *   files 1072 bytes 1636164354048
 *   <rank> <index> <bytes> <checksum, 16 hex digits, or - > <path>       one line per file
 *   end <files>
 *
 * `latest` holds the name of the newest manifest. */

enum { MANIFEST_NAME = 48, MANIFEST_LINE = 320 };
#define MANIFEST_LATEST "latest"

enum manifest_kind { MANIFEST_FILES, MANIFEST_COMPLETE };

struct manifest_head {
    char run_id[FOLDER_RUN_ID];
    uint32_t checkpoint; /* the number in its file names, from 1 */
    uint64_t serial;     /* counts checkpoints over the whole run, from 1 */
    struct payload payload;
    uint64_t files, bytes;
};

struct manifest_entry {
    uint32_t rank;
    uint64_t index, bytes;
    uint64_t sum;
    bool has_sum;
    const char *path;
};

struct manifest {
    struct manifest_head head;
    struct manifest_entry *entries; /* head.files of them */
};

/* "ckpt-0003.files" or "ckpt-0003.manifest" into a buffer of MANIFEST_NAME characters. */
void manifest_name(enum manifest_kind kind, uint32_t checkpoint, char *name);
/* The inverse; false for any other name. */
bool manifest_parse_name(const char *name, enum manifest_kind *kind, uint32_t *checkpoint);

/* Each writes one piece into text (of MANIFEST_LINE * 2 characters) and returns its length. */
size_t manifest_write_head(const struct manifest_head *head, char *text);
size_t manifest_write_entry(const struct manifest_entry *entry, char *text);
size_t manifest_write_end(const struct manifest_head *head, char *text);

/* Reads one. ERR_FAILED where it is missing, torn or damaged; says line and what is wrong. Paths
 * that leave the folder are refused. */
enum status manifest_read(const struct folder *folder, const char *name, struct arena *arena,
                          struct manifest *manifest, struct error *err);

#endif
