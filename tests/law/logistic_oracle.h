/* The oracle of the family `logistic`, for logistic_law.c and tests of that family. */
#ifndef EF_LOGISTIC_ORACLE_H
#define EF_LOGISTIC_ORACLE_H

#include "law/law_families.h"

static inline const efface_logistic_params *logistic_of(const law_params *params) {
    return (const efface_logistic_params *)(const void *)params;
}

/* As in law_family. */
unsigned char *logistic_oracle(const law_rows *rows, const law_params *params, size_t *n_bytes);

#endif
