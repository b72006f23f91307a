/*
 * What a model keeps beside its state to follow changes faster: for pyramid the labels of level 0
 * with margins, and the trial of its starts; for lloyd the margins of levels.
 *
 * It is no part of the state. A model can do without any of it, a pass over all rows gives the
 * same; so it can be dropped at any time, and is missing where memory runs out or rows are too
 * many. No request fails for it.
 *
 * A change that makes levels anew takes it out of the model, and it then belongs to the model to
 * be: if that comes to nothing, what was kept is gone.
 */
#ifndef EF_KEPT_H
#define EF_KEPT_H

#include "model/kmeans/kept/kept_labels.h"
#include "model/kmeans/kept/level_margins.h"

typedef struct ef_kept {
    ef_kept_labels labels;     /* pyramid: of level 0, by position */
    ef_level_margins *margins; /* lloyd: of the first levels; some may be missing */
    uint32_t n_margins;
    struct ef_trial *trial; /* pyramid: for its starts to follow (trial.h), or NULL */
    bool was_rebuilt;       /* by a change: only then is it worth the memory of margins */
} ef_kept;

/* What a model keeps, with a place for it; NULL if out of memory. */
ef_kept *ef_kept_get(ef_kmeans *model);
void ef_kept_free(ef_kept *kept);
void ef_kept_drop(ef_kmeans *model);
size_t ef_kept_bytes(const ef_kmeans *model);

/* Drops the margins of the levels from number `first` on. */
void ef_kept_drop_margins(ef_kept *kept, uint32_t first);

/* The labels of level 0 that a model keeps, or NULL. */
static inline ef_kept_labels *ef_labels_kept(const ef_kmeans *model) {
    return model->kept != NULL && model->kept->labels.codes != NULL ? &model->kept->labels : NULL;
}

static inline bool ef_was_rebuilt(const ef_kmeans *model) {
    return model->kept != NULL && model->kept->was_rebuilt;
}

/* Pyramid: takes over the marks of all rows (pilot.h), to keep labels of level 0 with them. */
void ef_kept_take_marks(ef_kmeans *model, uint8_t *marks, size_t n_rows);

/* The levels before a change, whose margins have followed it. */
typedef struct ef_old_levels {
    ef_center_move move;
    const ef_level *levels;
    uint32_t n_levels;
    const ef_change *change;
    const uint32_t *labels; /* of its rows that left, level after level */
    bool labels_are_old;    /* the partition of the level made last is with its margins */
} ef_old_levels;

#endif
