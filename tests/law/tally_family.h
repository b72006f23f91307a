/*
 * A family for tests, which takes missing values: a model of it is the range of each column and how
 * many of its values are missing. Link with --wrap=ef_family_named,--wrap=ef_family_check,
 * --wrap=ef_family_of, so that the library knows it too.
 */
#ifndef EF_TESTS_TALLY_FAMILY_H
#define EF_TESTS_TALLY_FAMILY_H

#include "efface/efface.h"

#define TALLY_FAMILY ((efface_family)99)

typedef struct tally_params {
    efface_params common;
    uint32_t missing;    /* if 0, it takes no missing values */
    uint32_t needs_rows; /* if not 0, it follows no change without its rows */
    uint32_t category;   /* a column with categories; EFFACE_NO_COLUMN: none */
} tally_params;

tally_params tally_defaults(void);

/* Which definition of a tally holds, from 1: states of those before are outdated. */
extern uint32_t tally_definition;

#endif
