/* Lists of ids: in order, searched, without repeats. Pointers may be NULL where a list is empty. */
#ifndef EF_IDS_H
#define EF_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Orders things by the id with which they begin; for qsort. */
int ef_ids_compare(const void *a, const void *b);

void ef_ids_sort(uint64_t *ids, size_t n);

/* Where an id is in a list that is in order; NULL if it is not there. */
const uint64_t *ef_ids_find(const uint64_t *sorted, size_t n, uint64_t id);

/* The first id of a list in order that is there twice; NULL if there is none. */
const uint64_t *ef_ids_find_repeat(const uint64_t *sorted, size_t n);

/* Puts a list in order and keeps each id once; returns how many are left. */
size_t ef_ids_sort_once(uint64_t *ids, size_t n);

#endif
