/*
 * The part of a set that one rank of a group has (efface_data_join).
 *
 * A part is a set as any other; beside it there is what is counted of the rows of all ranks, which
 * each rank knows. Where a result depends on all rows, `ef_data_whole` is asked, and where
 * something is summed up over rows, the team of the set (base/team.h) sums it up over ranks. A set
 * that is no part is whole, and has no team.
 */
#ifndef EF_SHARDS_H
#define EF_SHARDS_H

#include "base/workers/team.h"
#include "data/set/rows.h"

typedef struct ef_shard {
    ef_team *team;
    ef_team own;     /* the team, unless the set was made of rows of another set with one */
    ef_counts whole; /* of the rows of all ranks; no range is stale */
    ef_counts other; /* what it was before the last change, or room */
} ef_shard;

/* The team of a set; NULL: it is whole. */
static inline ef_team *ef_data_team(const efface_data *data) {
    return data->part != NULL ? data->part->team : NULL;
}

/* What is counted of all rows. Ranges may be stale if the set is whole. */
static inline const ef_counts *ef_data_whole(const efface_data *data) {
    return data->part != NULL ? &data->part->whole : &data->counts;
}

/* The team of a set that a call was given, which may be NULL; the call begins. */
static inline ef_team *ef_team_of_call(const efface_data *data) {
    ef_team *const team = data != NULL ? ef_data_team(data) : NULL;
    ef_team_begin(team);
    return team;
}

/* Whether this rank has to add what all ranks know, and is to be added once. */
static inline bool ef_data_leads(const efface_data *data) {
    return data->part == NULL || data->part->team->group.rank == 0;
}

/* Makes a set a part, for the team of another set, some of whose rows these are. All ranks do so
 * together. */
efface_status ef_shard_make(efface_data *data, const efface_data *of, efface_error *error);
void ef_shard_free(ef_shard *part);

/* Rows leave and come, on any rank, and all ranks know them: counts them, and looks at no others
 * unless the end of a range has left. Nothing is needed, and nothing done, if the set is whole.
 * `take` tells of a row, its values side by side; `end` may fail, and is the same on all ranks;
 * `undo` takes all back since `begin`, whether it ended or not; `keep` forgets what was before. */
void ef_shard_begin_change(efface_data *data);
void ef_shard_take(efface_data *data, const float *values, int64_t weight, bool leaves);
efface_status ef_shard_end_change(efface_data *data, efface_error *error);
void ef_shard_undo_change(efface_data *data);
void ef_shard_keep_change(efface_data *data);

#endif
