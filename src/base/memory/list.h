/* Arrays that grow. Each takes the address of the pointer to an array, whatever its type. On
 * failure the array is as it was, and the answer is false. */
#ifndef EF_LIST_H
#define EF_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* Gives an array another size. */
bool ef_array_resize(void *array, size_t count, size_t size);

/* Takes an array of another size; what was in it is lost, also on failure: it is then NULL. */
bool ef_array_renew(void *array, size_t count, size_t size);

/* Makes room for n_more things behind the first n. It grows by half, so that many small steps cost
 * little. */
bool ef_list_reserve(void *list, size_t *capacity, size_t n, size_t n_more, size_t size);

/* Makes room for n things; what was in it is lost. */
bool ef_scratch_reserve(void *scratch, size_t *capacity, size_t n, size_t size);

#endif
