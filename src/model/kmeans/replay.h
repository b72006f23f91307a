/* Replay: a model follows a change of its rows. */
#ifndef EF_REPLAY_H
#define EF_REPLAY_H

#include "model/kmeans/change.h"
#include "model/kmeans/model.h"

/* Makes `model` the model of `data`, to which `change` was applied since the model was made. On
 * failure the model is as it was. */
efface_status ef_replay(efface_kmeans *model, const efface_data *data, const ef_change *change,
                        efface_report *report, efface_error *error);

/* Says what that would take. */
efface_status ef_replay_look(const efface_kmeans *model, const efface_data *data,
                             const ef_change *change, efface_report *report, efface_error *error);

#endif
