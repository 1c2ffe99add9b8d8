#ifndef CKPTSIM_CLI_DRAIN_H
#define CKPTSIM_CLI_DRAIN_H

#include "cli/spec.h"
#include "io/buffer.h"
#include "metrics/journal.h"

/* The second folder (--drain-to), that checkpoints are copied to: checked before anything is written,
 * marked and locked as the first, and put away in the end. Without --drain-to all of this does nothing. */

struct drain {
    struct folder folder;
    bool opened;
    struct buffer_pool pool;
};

/* Which settings go together. */
enum status drain_check_settings(const struct spec *spec, struct error *err);
/* How many copiers there are, and with them the engine's ranks. */
void drain_choose_ranks(struct spec *spec, const struct shards *shards);

/* Which settings go together, how many copiers there are, and whether the folder can hold what it is to
 * hold of a pass of so many checkpoints. ERR_USAGE says what would be allowed. */
enum status drain_check(struct spec *spec, const struct shards *shards, uint64_t checkpoints,
                        bool resumed, struct error *err);

/* Memory of the copiers' chunks. */
uint64_t drain_memory_bytes(const struct spec *spec);

/* Takes the memory; makes and locks the folder, or opens that of the run that is gone on with. */
enum status drain_open(struct drain *drain, struct spec *spec, const char *run_id,
                       const struct journal_content *earlier, struct arena *arena,
                       struct error *err);
/* Lets the folder be and gives the memory back. */
void drain_close(struct drain *drain);
/* The same of an empty folder, which goes. Says where something in it is in the way. */
void drain_remove(struct drain *drain);

#endif
