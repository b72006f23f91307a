/* What is said of a model of sums. */
#include "models/sums_details.h"

void cli_sums_warn(const efface_model *model, const cli_chosen *chosen) {
    (void)model;
    (void)chosen;
}

int cli_sums_add_details(cli_model_details *details) {
    (void)details;
    return CLI_DONE;
}
