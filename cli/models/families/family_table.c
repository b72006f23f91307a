/* The table of families and their presets. */
#include "models/families/family_table.h"

#include <inttypes.h>
#include <string.h>

/* The first is the one that fit takes if none is named. The first of those with a number is the
 * family itself; the others are presets. */
static const cli_family *const families[] = {
    &cli_family_kmeans,    &cli_family_sums,         &cli_family_linear,     &cli_family_ridge,
    &cli_family_bayes,     &cli_family_discriminant, &cli_family_components, &cli_family_fourier,
    &cli_family_segmented, &cli_family_forest,       &cli_family_logistic,   &cli_family_svm};

#define N_FAMILIES (sizeof families / sizeof families[0])

static const char *before_item(size_t i) {
    return i == 0 ? "" : (i + 1 == N_FAMILIES ? " or " : ", ");
}

/* The names of all families and presets as a list for messages. */
static void list_families(char list[256]) {
    size_t used = 0;
    list[0] = '\0';
    for (size_t i = 0; i < N_FAMILIES && used < 256; i++)
        used +=
            (size_t)snprintf(list + used, 256 - used, "%s%s", before_item(i), families[i]->name);
}

void cli_family_lines(char lines[512], const char *behind) {
    enum { INDENT = 18, WIDTH = 80 };
    size_t used = 0, column = INDENT;
    lines[0] = '\0';
    for (size_t i = 0; i < N_FAMILIES && used < 512; i++) {
        const char *const more = i == 0 ? behind : "";
        const char *const comma = i + 2 < N_FAMILIES ? "," : "";
        const char *const word = i > 0 && i + 1 == N_FAMILIES ? "or " : "";
        char item[128];
        const size_t n =
            (size_t)snprintf(item, sizeof item, "%s%s%s%s", word, families[i]->name, more, comma);
        const bool fits = column + (i > 0) + n <= WIDTH;
        used += (size_t)snprintf(lines + used, 512 - used, "%s%*s%s", fits ? "" : "\n",
                                 fits ? (i > 0) : INDENT, "", item);
        column = fits ? column + (i > 0) + n : INDENT + n;
    }
}

const cli_family *cli_family_named(const char *name) {
    char list[256];
    if (name == NULL)
        return families[0];
    for (size_t i = 0; i < N_FAMILIES; i++)
        if (strcmp(families[i]->name, name) == 0)
            return families[i];
    list_families(list);
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

void cli_warn_without(uint64_t n, const char *what) {
    if (n > 0)
        cli_warn("%" PRIu64 " row%s no %s, and take%s no part in the model", n,
                 n == 1 ? " has" : "s have", what, n == 1 ? "s" : "");
}
