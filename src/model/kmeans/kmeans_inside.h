/*
 * What a family that is built of k-means knows of it, and all that it knows.
 *
 * A model of k-means is a part of the other family's state: it is fitted, written, read and located
 * like any model (kmeans.h), predicts through its predictor, and follows a change first. While that
 * change is pending, the functions below tell what it will be.
 */
#ifndef EF_KMEANS_INSIDE_H
#define EF_KMEANS_INSIDE_H

#include "model/kmeans/kmeans.h"
#include "model/kmeans/prediction/kmeans_predictor.h"

/* A pending change (`next` of ef_kmeans_follow): the map to the grid if that becomes another one,
 * else NULL; the dividers to come; where all rows belong by these, if that is known without looking
 * at rows (rows of which it is not known get EF_NO_CLUSTER). */
const ef_map *ef_kmeans_next_map(const void *next);
const int32_t *ef_kmeans_next_dividers(const void *next, uint32_t *n_clusters);
bool ef_kmeans_next_labels(const void *next, uint32_t *labels);

/* As in family.h. */
efface_status ef_kmeans_follow(void *state, const ef_news *news, void **next, bool *done,
                               efface_report *report, efface_error *error);
void ef_kmeans_commit(void *state, void *next);
void ef_kmeans_drop(void *next);

/* Whether the rows of a divider can weigh so much. A tree does not know. */
bool ef_kmeans_may_weigh(const ef_kmeans *model, uint32_t divider, int64_t weight);

#endif
