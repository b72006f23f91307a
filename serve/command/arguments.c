/* Reading the arguments of a command. */
#include "command/arguments.h"

#include "command/saying.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* False, after a message. */
#define refuse_argument(...) (sv_wrong(__VA_ARGS__) == SV_DONE)

static bool add_text(sv_texts *texts, char *text) {
    char **const items = realloc(texts->items, (texts->n + 1) * sizeof *items);
    if (items == NULL)
        return false;
    items[texts->n++] = text;
    texts->items = items;
    return true;
}

void sv_texts_free(sv_texts *texts) {
    free(texts->items);
    *texts = (sv_texts){NULL, 0};
}

static bool read_bytes(const char *text, uint64_t most, uint64_t *out, bool with_unit) {
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || errno != 0)
        return false;
    const int shift = !with_unit ? 0 : *end == 'k' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    end += shift != 0;
    if (*end != 0 || value == 0 || value > most >> shift)
        return false;
    *out = value << shift;
    return true;
}

static bool read_value(const sv_argument *option, char *text) {
    uint64_t whole;
    char *end;
    switch (option->kind) {
    case SV_TEXT: *(const char **)option->value = text; return text[0] != 0;
    case SV_TEXTS: return text[0] != 0 && add_text(option->value, text);
    case SV_COUNT:
        if (!read_bytes(text, UINT32_MAX, &whole, false))
            return false;
        *(uint32_t *)option->value = (uint32_t)whole;
        return true;
    case SV_BYTES:
        if (!read_bytes(text, SIZE_MAX / 4, &whole, true))
            return false;
        *(size_t *)option->value = (size_t)whole;
        return true;
    case SV_NUMBER: {
        const double value = strtod(text, &end);
        if (end == text || *end != 0 || !isfinite(value) || value < 0)
            return false;
        *(double *)option->value = value;
        return true;
    }
    case SV_FLAG:
    case SV_PLACE:
    case SV_PLACES: break;
    }
    return false;
}

static bool is_place(const sv_argument *option) {
    return option->kind == SV_PLACE || option->kind == SV_PLACES;
}

/* The option that an argument names, which may go on with =VALUE. */
static const sv_argument *find_option(const sv_argument *table, char *argument, char **attached) {
    char *const equals = strchr(argument, '=');
    const size_t n = equals != NULL ? (size_t)(equals - argument) : strlen(argument);
    *attached = equals != NULL ? equals + 1 : NULL;
    for (const sv_argument *option = table; option->name != NULL; option++)
        if (!is_place(option) && strlen(option->name) == n &&
            strncmp(option->name, argument, n) == 0)
            return option;
    return NULL;
}

static bool take_place(const char *command, const sv_argument **next, char *argument) {
    while ((*next)->name != NULL && !is_place(*next))
        (*next)++;
    if ((*next)->name == NULL)
        return refuse_argument("'%s' is one argument too many; see efface %s --help", argument,
                               command);
    if ((*next)->kind == SV_PLACES)
        return add_text((*next)->value, argument);
    *(const char **)(*next)->value = argument;
    (*next)++;
    return true;
}

static bool take_option(const char *command, const sv_argument *table, int n_arguments,
                        char **arguments, int *i) {
    char *text;
    const sv_argument *const option = find_option(table, arguments[*i], &text);
    if (option == NULL)
        return refuse_argument("unknown option '%s'; see efface %s --help", arguments[*i], command);
    if (option->kind == SV_FLAG) {
        *(bool *)option->value = true;
        if (text != NULL)
            (void)sv_wrong("%s takes no value", option->name);
        return text == NULL;
    }
    if (text == NULL && ++*i == n_arguments)
        return refuse_argument("%s needs a value; see efface %s --help", option->name, command);
    if (text == NULL)
        text = arguments[*i];
    if (read_value(option, text))
        return true;
    return refuse_argument("%s cannot be '%s'; see efface %s --help", option->name, text, command);
}

bool sv_parse(const char *command, const sv_argument *table, int n_arguments, char **arguments) {
    const sv_argument *next = table;
    bool only_places = false;
    for (int i = 0; i < n_arguments; i++) {
        char *const argument = arguments[i];
        if (!only_places && strcmp(argument, "--") == 0) {
            only_places = true;
            continue;
        }
        const bool place = only_places || argument[0] != '-' || argument[1] == 0;
        if (place ? !take_place(command, &next, argument)
                  : !take_option(command, table, n_arguments, arguments, &i))
            return false;
    }
    for (; next->name != NULL; next++)
        if (next->kind == SV_PLACE ||
            (next->kind == SV_PLACES && ((const sv_texts *)next->value)->n == 0))
            return refuse_argument("%s is missing; see efface %s --help", next->name, command);
    return true;
}
