/* Rows that a k-means model names: seeds, candidates, rows that empty clusters were reseeded with,
 * rows of a jury. For tests, which include this file after cmocka.h. */
#ifndef EF_TESTS_KMEANS_NAMES_H
#define EF_TESTS_KMEANS_NAMES_H

#include "law/draws.h"
#include "model/kmeans/definition/levels.h"
#include "model/kmeans/definition/tree.h"
#include "model/report_scene.h"

/* Rows that a model names: `most` at most, of which `n` are there already. */
typedef struct names {
    uint64_t ids[200];
    size_t n, most;
} names;

/* The seeds of a model, or of all its leaves. */
static inline void name_seeds(const ef_kmeans *m, names *list) {
    if (m->tree != NULL) {
        const ef_tree *const tree = m->tree;
        for (size_t i = 0; i < tree->n_nodes[tree->height]; i++)
            if (tree->nodes[tree->height][i].model != NULL)
                name_seeds(tree->nodes[tree->height][i].model, list);
        return;
    }
    for (size_t i = 0; i < m->plan.n_clusters && list->n < list->most; i++)
        list->ids[list->n++] = ef_kmeans_seeds(m)[i].id;
}

/* Rows that were tried in the seeding and did not become seeds, among others. */
static inline void name_candidates(const ef_kmeans *m, names *list) {
    const ef_tree *const tree = m->tree;
    for (size_t i = 0; tree != NULL && i < tree->n_nodes[tree->height]; i++)
        if (tree->nodes[tree->height][i].model != NULL)
            name_candidates(tree->nodes[tree->height][i].model, list);
    const size_t n = (size_t)m->rounds.n_rounds * m->plan.candidates;
    for (size_t i = 0; i < n && list->n < list->most; i++)
        list->ids[list->n++] = m->rounds.winners[i].id;
}

/* Those that empty clusters were reseeded with. */
static inline void name_reseeded(const ef_kmeans *m, names *list) {
    const ef_tree *const tree = m->tree;
    for (size_t i = 0; tree != NULL && i < tree->n_nodes[tree->height]; i++)
        if (tree->nodes[tree->height][i].model != NULL)
            name_reseeded(tree->nodes[tree->height][i].model, list);
    for (uint32_t t = 0; t < m->n_levels; t++)
        for (uint32_t i = 0; i < m->levels[t].n_reseeded && list->n < list->most; i++)
            list->ids[list->n++] = m->levels[t].reseeded[i].winner.id;
}

/* Some of those that are of the jury of pyramid and not of its sample. */
static inline void name_jury(const efface_model *m, const efface_data *data, names *list) {
    const ef_kept_labels *const kept = ef_labels_kept(inside(m));
    const size_t n = kept != NULL ? data->n_rows : 0, first = n != 0 ? below(n) : 0;
    for (size_t i = 0; i < n && list->n < list->most; i++) {
        const size_t position = (first + i) % n;
        if ((kept->codes[position] & EF_MARKS) == EF_IN_JURY)
            list->ids[list->n++] = ef_data_id(data, position);
    }
}

#endif
