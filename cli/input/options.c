/* Reading the arguments of a command: --name VALUE, --name=VALUE, places, and -- before places that
 * begin with a dash. */
#include "input/options.h"

#include "one_more.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool cli_read_whole(const char *text, uint64_t max, uint64_t *out) {
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value > max)
        return false;
    *out = value;
    return true;
}

static bool append_text(cli_texts *texts, const char *text) {
    const char **const items = cli_one_more(texts->items, texts->n, sizeof *items);
    if (items == NULL)
        return false;
    items[texts->n++] = text;
    texts->items = items;
    return true;
}

void cli_texts_free(cli_texts *texts) {
    free(texts->items);
    texts->items = NULL;
    texts->n = 0;
}

static bool read_value(const cli_option *option, const char *text) {
    uint64_t whole;
    switch (option->kind) {
    case CLI_TEXT: *(const char **)option->value = text; return text[0] != '\0';
    case CLI_TEXTS: return text[0] != '\0' && append_text(option->value, text);
    case CLI_COUNT:
    case CLI_WHOLE:
        if (!cli_read_whole(text, UINT32_MAX, &whole) || (option->kind == CLI_COUNT && whole == 0))
            return false;
        *(uint32_t *)option->value = (uint32_t)whole;
        return true;
    case CLI_NUMBER: {
        cli_number *const number = option->value;
        number->given = true;
        return cli_read_whole(text, UINT64_MAX, &number->value);
    }
    case CLI_REAL:
    case CLI_SECONDS: {
        char *end;
        const double value = strtod(text, &end);
        if (end == text || *end != '\0' || !isfinite(value) ||
            (option->kind == CLI_SECONDS && value < 0))
            return false;
        *(double *)option->value = value;
        return true;
    }
    case CLI_WORD:
        for (int i = 0; option->words[i] != NULL; i++)
            if (strcmp(option->words[i], text) == 0) {
                *(int *)option->value = i;
                return true;
            }
        return false;
    case CLI_FLAG:
    case CLI_PLACE:
    case CLI_PLACE_OR_NOT:
    case CLI_PLACES:
    case CLI_MORE: break;
    }
    return false;
}

static bool is_place(const cli_option *option) {
    return option->kind == CLI_PLACE || option->kind == CLI_PLACE_OR_NOT ||
           option->kind == CLI_PLACES;
}

/* The option that an argument names, which may go on with =VALUE. */
static const cli_option *find_option(const cli_option *options, const char *argument,
                                     const char **attached) {
    const char *const equals = strchr(argument, '=');
    const bool has_value = argument[1] == '-' && equals != NULL;
    const size_t n = has_value ? (size_t)(equals - argument) : strlen(argument);
    *attached = has_value ? equals + 1 : NULL;
    for (const cli_option *option = options; option->name != NULL; option++) {
        const cli_option *const more =
            option->kind == CLI_MORE ? find_option(option->value, argument, attached) : NULL;
        if (more != NULL)
            return more;
        if (option->kind != CLI_MORE && !is_place(option) && strlen(option->name) == n &&
            strncmp(option->name, argument, n) == 0)
            return option;
    }
    return NULL;
}

static int say_wrong_value(const char *command, const cli_option *option, const char *text) {
    if (option->kind != CLI_WORD)
        return cli_wrong("%s cannot be '%s'; see efface %s --help", option->name, text, command);
    char list[128] = "";
    for (int i = 0; option->words[i] != NULL; i++) {
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s",
                 i == 0 ? "" : (option->words[i + 1] == NULL ? " or " : ", "), option->words[i]);
    }
    return cli_wrong("%s cannot be '%s': it must be %s", option->name, text, list);
}

static int read_place(const char *command, const cli_option **next, const char *argument) {
    while ((*next)->name != NULL && !is_place(*next))
        (*next)++;
    if ((*next)->name == NULL)
        return cli_wrong("'%s' is one argument too many; see efface %s --help", argument, command);
    if ((*next)->kind == CLI_PLACES)
        return append_text((*next)->value, argument) ? CLI_DONE : cli_out_of_memory();
    *(const char **)(*next)->value = argument;
    (*next)++;
    return CLI_DONE;
}

/* Whether an argument is an option of the command: then a value was left out before it. */
static bool names_option(const cli_option *options, const char *argument) {
    const char *attached;
    return argument[0] == '-' && argument[1] != '\0' &&
           find_option(options, argument, &attached) != NULL;
}

static int say_value_left_out(const cli_option *option, const char *next) {
    return option->name[1] == '-'
               ? cli_wrong("%s needs a value, but the option %s comes next; if that is the value, "
                           "write %s=%s",
                           option->name, next, option->name, next)
               : cli_wrong("%s needs a value, but the option %s comes next", option->name, next);
}

/* An option, and the value that is attached to it or stands behind it. */
static int read_option(const char *command, const cli_option *options, char **arguments, int n,
                       int *i) {
    const char *text;
    const cli_option *const option = find_option(options, arguments[*i], &text);
    if (option == NULL)
        return cli_wrong("unknown option '%s'; see efface %s --help", arguments[*i], command);
    if (option->kind == CLI_FLAG && text != NULL)
        return cli_wrong("%s takes no value", option->name);
    if (option->kind == CLI_FLAG) {
        *(bool *)option->value = true;
        return CLI_DONE;
    }
    if (text == NULL && ++*i == n)
        return cli_wrong("%s needs a value; see efface %s --help", option->name, command);
    if (text == NULL && names_option(options, arguments[*i]))
        return say_value_left_out(option, arguments[*i]);
    if (text == NULL)
        text = arguments[*i];
    return read_value(option, text) ? CLI_DONE : say_wrong_value(command, option, text);
}

int cli_parse(const char *command, const cli_option *options, int n_arguments, char **arguments) {
    const cli_option *next_place = options;
    bool only_places = false;
    int code = CLI_DONE;
    for (int i = 0; i < n_arguments && code == CLI_DONE; i++) {
        const char *const argument = arguments[i];
        if (!only_places && strcmp(argument, "--") == 0)
            only_places = true;
        else if (only_places || argument[0] != '-' || argument[1] == '\0')
            code = read_place(command, &next_place, argument);
        else
            code = read_option(command, options, arguments, n_arguments, &i);
    }
    for (; next_place->name != NULL && code == CLI_DONE; next_place++)
        if (next_place->kind == CLI_PLACE)
            code = cli_wrong("%s is missing; see efface %s --help", next_place->name, command);
    return code;
}
