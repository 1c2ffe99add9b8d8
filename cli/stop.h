#ifndef CKPTSIM_CLI_STOP_H
#define CKPTSIM_CLI_STOP_H

#include <signal.h>

/* The one flag that a signal sets: finish soon. */
extern volatile sig_atomic_t stop_flag;

/* The first Ctrl-C sets the flag, the second one ends the program at once. A closed pipe or a file
 * size limit then comes back as an error value, not as the end of the process with files left
 * behind. */
void stop_catch_signals(void);

#endif
