/* What the files of the oracle share among themselves. */
#ifndef EF_TESTS_ORACLE_PARTS_H
#define EF_TESTS_ORACLE_PARTS_H

#include "oracle/oracle.h"

__extension__ typedef unsigned __int128 oracle_u128;

/* Memory of zeros, for at least one thing. */
void *oracle_make(size_t count, size_t size);

uint64_t oracle_id(const oracle_rows *rows, size_t i);
int64_t oracle_weight(const oracle_rows *rows, size_t i);

/* r of section 3. */
uint64_t oracle_tape(uint64_t seed, uint32_t purpose, uint32_t sub, uint64_t index, uint32_t step);

/* The model's parameters with its grid given, so that a part of its rows gets the same one. They
 * refer to the model. */
efface_kmeans_params oracle_with_grid(const oracle_model *model);

/* A fit to the rows that are marked, with their weights, or with these; NULL if there are none. */
oracle_model *oracle_fit_part(const oracle_rows *rows, const unsigned char *wanted,
                              const int64_t *weights, const efface_kmeans_params *params);

/* Section 8, for a model that has its grid: makes the nodes. */
void oracle_grow_tree(oracle_model *model, const oracle_rows *rows);
void oracle_free_tree(oracle_tree *tree);

#endif
