#ifndef CKPTSIM_IO_MANIFEST_H
#define CKPTSIM_IO_MANIFEST_H

#include "base/error.h"
#include "base/memory.h"
#include "io/folder.h"
#include "io/format.h"

#include <stdbool.h>
#include <stdint.h>

/* The two text files beside each checkpoint's shards, one format:
 *
 *   ckpt-0003.files     names and sizes, written before the first shard: what may be removed
 *   ckpt-0003.manifest  the same with checksums, written last: the checkpoint is complete
 *
 *   ckptsim manifest 4
 *   run 20260805-101502-llama-3.1-405b
 *   checkpoint 3 serial 7
 *   digest 0f3a...                                          of the model's weights, 32 hex digits
 *   payload random seed 1 dedupe 1 compressible 1 1 1 1     weights, masters, moments, others
 *   settings 2
 *   <name> <value>                                          one line each: what the files follow from
 *   files 1072 markers 1 bytes 1636164354048
 *   <rank> <index> <bytes> <stored bytes, or - > <checksum, 16 hex digits, or - > <path>   per file
 *   marker <bytes> <CRC-32 of its text, or - > <path>       one line per marker of the layout
 *   newest <path>                                           a marker that all checkpoints share
 *   end <files>
 *
 * The bytes, and the checksum over them, are those of the content; stored are as many, but for a
 * codec. `ckpt-latest` holds the name of the newest manifest. */

enum {
    MANIFEST_DIGEST = 33,
    MANIFEST_NAME = 48,
    MANIFEST_PATH = 160,
    MANIFEST_PIECE = 8192, /* the longest piece that is written at once */
    MANIFEST_SETTINGS = 64,
};
#define MANIFEST_LATEST "ckpt-latest"
#define MANIFEST_TORN ".tmp" /* a text file that is being written has this at the end of its name */

enum manifest_kind { MANIFEST_FILES, MANIFEST_COMPLETE };

/* A setting, as a user would give it, that the names and contents of the files follow from. */
struct manifest_setting {
    const char *name, *value;
};

struct manifest_head {
    char run_id[FOLDER_RUN_ID];
    uint32_t checkpoint; /* the number in its file names, from 1 */
    uint64_t serial;     /* counts checkpoints over the whole run, from 1 */
    char model[MANIFEST_DIGEST]; /* a digest of the model's weights, whatever it is called */
    struct payload classes[FORMAT_CLASSES]; /* they differ in `compressible` alone */
    const struct manifest_setting *settings;
    uint64_t setting_count;
    uint64_t files, markers, bytes; /* bytes: of the files */
};

struct manifest_entry {
    uint32_t rank;
    uint64_t index, bytes;
    uint64_t stored_bytes, sum;
    bool has_sum; /* and stored_bytes: what is known once the file is written */
    const char *path;
};

struct manifest_marker {
    uint64_t bytes;
    uint32_t crc;
    bool has_crc, newest; /* newest: shared by all checkpoints, neither size nor CRC are kept */
    const char *path;
};

struct manifest {
    struct manifest_head head;
    struct manifest_entry *entries;   /* head.files of them */
    struct manifest_marker *markers;  /* head.markers of them */
};

/* "ckpt-0003.files" or "ckpt-0003.manifest" into a buffer of MANIFEST_NAME characters. */
void manifest_name(enum manifest_kind kind, uint32_t checkpoint, char *name);
/* The inverse; false for any other name. */
bool manifest_parse_name(const char *name, enum manifest_kind *kind, uint32_t *checkpoint);

/* Each writes one piece into text (of MANIFEST_PIECE characters) and returns its length. In this
 * order: head, settings, counts, entries, markers, end. */
size_t manifest_write_head(const struct manifest_head *head, char *text);
size_t manifest_write_setting(const struct manifest_setting *setting, char *text);
size_t manifest_write_counts(const struct manifest_head *head, char *text);
size_t manifest_write_entry(const struct manifest_entry *entry, char *text);
size_t manifest_write_marker(const struct manifest_marker *marker, char *text);
size_t manifest_write_end(const struct manifest_head *head, char *text);

/* The value of a setting, or NULL. */
const char *manifest_setting(const struct manifest_head *head, const char *name);

/* Reads one. ERR_FAILED where it is missing, torn or damaged; says line and what is wrong. Paths
 * that leave the folder are refused. */
enum status manifest_read(const struct folder *folder, const char *name, struct arena *arena,
                          struct manifest *manifest, struct error *err);

#endif
