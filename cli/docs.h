#ifndef CKPTSIM_CLI_DOCS_H
#define CKPTSIM_CLI_DOCS_H

#include <stdio.h>

/* Documents made from the command and setting rows, so that nothing is said twice. */

void docs_write_options(FILE *stream);    /* docs/options.md */
void docs_write_man(FILE *stream);        /* ckptsim.1 */
void docs_write_completion(FILE *stream); /* for bash */

#endif
