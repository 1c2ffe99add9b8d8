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

/* Opens the run's folder and removes what an unfinished checkpoint left in it. */
enum status resume_folder(const struct command_input *input, const struct journal_content *content,
                          struct folder *folder, struct error *err);

/* Puts the job behind the last checkpoint of the journal, knowing what its folder holds. */
enum status resume_job(struct job *job, const struct folder *folder,
                       const struct journal_content *content, struct error *err);

#endif
