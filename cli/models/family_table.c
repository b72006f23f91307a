/* The table of families. */
#include "models/family_table.h"

#include <string.h>

/* The first is the one that fit takes if none is named. */
static const cli_family *const families[] = {&cli_family_kmeans, &cli_family_sums};

#define N_FAMILIES (sizeof families / sizeof families[0])

void cli_family_list(char list[256], const char *behind) {
    size_t used = 0;
    list[0] = '\0';
    for (size_t i = 0; i < N_FAMILIES && used < 256; i++)
        used += (size_t)snprintf(list + used, 256 - used, "%s%s%s",
                                 i == 0 ? "" : (i + 1 == N_FAMILIES ? " or " : ", "),
                                 efface_family_name(families[i]->number), i == 0 ? behind : "");
}

const cli_family *cli_family_named(const char *name) {
    char list[256];
    if (name == NULL)
        return families[0];
    for (size_t i = 0; i < N_FAMILIES; i++)
        if (strcmp(efface_family_name(families[i]->number), name) == 0)
            return families[i];
    cli_family_list(list, "");
    (void)cli_wrong("there is no family '%s' of models: it must be %s", name, list);
    return NULL;
}

const cli_family *cli_family_of(efface_family number) {
    for (size_t i = 0; i < N_FAMILIES; i++)
        if (families[i]->number == number)
            return families[i];
    return NULL;
}

const char *cli_family_note(const efface_model *model) {
    const cli_family *const family = cli_family_of(efface_model_get_info(model).family);
    return family != NULL && family->note != NULL ? family->note(model) : NULL;
}
