#ifndef CKPTSIM_CLI_RESUME_H
#define CKPTSIM_CLI_RESUME_H

#include "cli/command.h"
#include "io/folder.h"
#include "metrics/journal.h"
#include "sim/job/job.h"

/* Going on with a run that was killed: settings and checkpoints come from its journal, its folder is
 * put back to where the journal ends. */

/* Reads RESULTS-DIR/journal.jsonl and sets the spec as the run had it. */
enum status resume_read(struct command_input *input, struct journal_content **content,
                        struct error *err);

/* Opens the run's folder in dir and removes what an unfinished checkpoint left in it. */
enum status resume_folder(const struct spec *spec, const char *dir,
                          const struct journal_content *content, struct arena *arena,
                          struct folder *folder, struct error *err);

/* Puts the job behind the last checkpoint of the journal, knowing what its folder, and the second one
 * where it has one, hold; what was still to be copied is queued. */
enum status resume_job(struct job *job, const struct folder *folder, const struct folder *second,
                       const struct journal_content *content, struct error *err);

#endif
