#include "cli/stop.h"

#include <stddef.h>

volatile sig_atomic_t stop_flag;

static void on_signal(int number) {
    (void)number;
    stop_flag = 1;
}

/* A signal that is ignored stays so: nohup, and a shell for commands in the background, ask for it.
 */
static void catch_signal(int number) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND}, before;
    if (sigaction(number, NULL, &before) != 0 || before.sa_handler != SIG_IGN) {
        sigaction(number, &action, NULL);
    }
}

void stop_catch_signals(void) {
    catch_signal(SIGINT);
    catch_signal(SIGTERM);
    catch_signal(SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}
