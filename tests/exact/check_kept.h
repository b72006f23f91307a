/* What a model of pyramid keeps of its rows beside its state: a partition, and who is in sample and
 * jury. For tests, which include this file after cmocka.h. */
#ifndef EF_TESTS_CHECK_KEPT_H
#define EF_TESTS_CHECK_KEPT_H

#include "model/kmeans/definition/levels.h"
#include "model/report_scene.h"

/* The label of a row and its marks. */
static inline uint32_t kept_of(const ef_kmeans *model, size_t position) {
    const ef_kept_labels *const kept = ef_labels_kept(model);
    return ef_kept_label(kept, position) | (uint32_t)(kept->codes[position] & EF_MARKS) << 24;
}

/* Whether two models keep the same, if both do. */
static inline bool same_kept(const ef_kmeans *a, const ef_kmeans *b) {
    const bool both = ef_labels_kept(a) != NULL && ef_labels_kept(b) != NULL;
    for (size_t i = 0; both && i < (size_t)a->n_rows; i++)
        if (kept_of(a, i) != kept_of(b, i))
            return false;
    return true;
}

#endif
