/* The families that there are. */
#include "model/families.h"

#include "base/errors/status.h"

#include <string.h>

static const ef_family *const families[] = {&ef_kmeans_family, &ef_sums_family,
                                            &ef_segmented_family, &ef_forest_family,
                                            &ef_logistic_family};

#define N_FAMILIES (sizeof families / sizeof families[0])

const ef_family *ef_family_of(efface_family number) {
    for (size_t i = 0; i < N_FAMILIES; i++)
        if (families[i]->number == number)
            return families[i];
    return NULL;
}

const ef_family *ef_family_named(const char *name) {
    for (size_t i = 0; i < N_FAMILIES; i++)
        if (strcmp(families[i]->name, name) == 0)
            return families[i];
    return NULL;
}

const char *efface_family_name(efface_family number) {
    const ef_family *const family = ef_family_of(number);
    return family != NULL ? family->name : NULL;
}

efface_status ef_family_check(const efface_params *params, const ef_family **family,
                              efface_error *error) {
    *family = params != NULL ? ef_family_of(params->family) : NULL;
    if (*family == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the parameters must be filled by the init function of a family first");
    return (*family)->check_params(params, error);
}
