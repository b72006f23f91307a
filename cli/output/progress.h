/* That something is going on. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "efface/efface.h"

/* Shows on a terminal, from the second second on, what is being done and which phase of it, how much
 * of the phase is done as a bar and a percentage, for how long the work has gone on, and how long
 * the phase may still take. Elsewhere it shows nothing. */
void cli_progress_begin(const char *what);
void cli_progress_end(void);

/* For efface_store_options.progress, set in every store that is opened here. Between begin and end
 * SIGINT and SIGTERM no longer end the program once this was called: it then returns 1, and the
 * library ends what it does with EFFACE_E_INTERRUPTED. A second signal ends the program. */
int cli_progress_part(void *context, efface_phase phase, double part);

/* The same for efface_load_options.progress, and for a fit that is about to begin. */
int cli_file_part(void *context, double part);
void cli_watch_fit(efface_params *params);

/* Seconds on a clock that only goes forward. */
double cli_now(void);

#endif
