/* The table of each family. */
#ifndef EF_FAMILIES_H
#define EF_FAMILIES_H

#include "model/family.h"

extern const ef_family ef_kmeans_family, ef_sums_family, ef_segmented_family, ef_forest_family,
    ef_logistic_family;

#endif
