/* That something is going on. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "efface/efface.h"

/* Shows on a terminal, from the second second on, what is being done, how much of it as a bar and a
 * percentage, for how long, and how long it may still take. `step` of `n_steps` is which of several
 * parts now begins, from 0; n_steps is 0 or 1 if there is one. Elsewhere it shows nothing. */
void cli_progress_begin(const char *what, unsigned step, unsigned n_steps);
void cli_progress_end(void);

/* For efface_store_options.progress, set in every store that is opened here. Between begin and end
 * SIGINT and SIGTERM no longer end the program once this was called: it then returns 1, and the
 * library ends what it does with EFFACE_E_INTERRUPTED. A second signal ends the program. */
int cli_progress_part(void *context, double part);

/* The same for a fit that is about to begin. */
void cli_watch_fit(efface_params *params);

/* Seconds on a clock that only goes forward. */
double cli_now(void);

#endif
