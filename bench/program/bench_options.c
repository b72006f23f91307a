/* efface-bench: reading the arguments of a command. */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The words of each enum in its order, ended by NULL. */
static const char *const methods[] = {"lloyd", "quantized", "pyramid", "tree", NULL};
static const char *const scales[] = {"none", "minmax", "standard", NULL};
static const char *const orders[] = {"uniform", "seeds", "sample", "cluster",
                                     "oldest",  "edges", NULL};
static const char *const *const words_of[] = {
    [BENCH_METHOD] = methods, [BENCH_SCALE] = scales, [BENCH_ORDER] = orders};

const char *bench_method_name(efface_method method) {
    return methods[method];
}

const char *bench_scale_name(efface_scale scale) {
    return scales[scale];
}

const char *bench_order_name(bench_order order) {
    return orders[order];
}

_Static_assert(sizeof(efface_method) == sizeof(int) && sizeof(bench_order) == sizeof(int),
               "an enum is not an int");

/* Reads a word into the enum that it is of. */
static bool read_word(const bench_option *option, const char *word) {
    const char *const *const words = words_of[option->kind];
    int i = 0;
    while (words[i] != NULL && strcmp(words[i], word) != 0)
        i++;
    if (words[i] != NULL)
        memcpy(option->value, &i, sizeof i);
    return words[i] != NULL;
}

static bool read_whole(const char *text, uint64_t max, uint64_t *out) {
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value > max)
        return false;
    *out = value;
    return true;
}

static bool read_list(const char *text, bench_list *list) {
    list->n = 0;
    while (list->n < BENCH_MAX_LISTED) {
        char *end;
        errno = 0;
        const unsigned long value = strtoul(text, &end, 10);
        if (text[0] < '0' || text[0] > '9' || errno != 0 || value > UINT32_MAX)
            return false;
        list->values[list->n++] = (uint32_t)value;
        if (*end == '\0')
            return true;
        if (*end != ',')
            return false;
        text = end + 1;
    }
    return false;
}

static bool read_value(const bench_option *option, const char *text) {
    uint64_t whole;
    switch (option->kind) {
    case BENCH_TEXT: *(const char **)option->value = text; return true;
    case BENCH_COUNT:
    case BENCH_WHOLE:
        if (!read_whole(text, UINT32_MAX, &whole) || (option->kind == BENCH_COUNT && whole == 0))
            return false;
        *(uint32_t *)option->value = (uint32_t)whole;
        return true;
    case BENCH_NUMBER: return read_whole(text, UINT64_MAX, option->value);
    case BENCH_REAL: {
        char *end;
        const double value = strtod(text, &end);
        if (end == text || *end != '\0')
            return false;
        *(double *)option->value = value;
        return true;
    }
    case BENCH_METHOD:
    case BENCH_SCALE:
    case BENCH_ORDER: return read_word(option, text);
    case BENCH_LIST: return read_list(text, option->value);
    case BENCH_FLAG:
    case BENCH_SWITCH: break;
    }
    return false;
}

bool bench_parse(const bench_option *options, int n_arguments, char **arguments) {
    for (int i = 0; i < n_arguments; i++) {
        const bench_option *option = options;
        while (option->name != NULL && strcmp(option->name, arguments[i]) != 0)
            option++;
        if (option->name == NULL) {
            fprintf(stderr, "efface-bench: unknown option '%s'; see efface-bench --help\n",
                    arguments[i]);
            return false;
        }
        if (option->kind == BENCH_FLAG) {
            *(bool *)option->value = true;
            continue;
        }
        if (option->kind == BENCH_SWITCH) {
            *(int *)option->value = 1;
            continue;
        }
        if (++i == n_arguments) {
            fprintf(stderr, "efface-bench: %s needs a value\n", option->name);
            return false;
        }
        if (!read_value(option, arguments[i])) {
            fprintf(stderr, "efface-bench: %s cannot be '%s'; see efface-bench --help\n",
                    option->name, arguments[i]);
            return false;
        }
    }
    return true;
}
