/* Who is to be forgotten. Everything is read and understood before anything is changed. */
#include "wanted.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool add_id(cli_ids *ids, uint64_t id) {
    if (ids->n == ids->capacity) {
        const size_t capacity = ids->capacity == 0 ? 64 : 2 * ids->capacity;
        uint64_t *const items = realloc(ids->items, capacity * sizeof *items);
        if (items == NULL)
            return false;
        ids->items = items;
        ids->capacity = capacity;
    }
    ids->items[ids->n++] = id;
    return true;
}

static int add_named(cli_wanted *wanted, cli_ids *ids, const efface_store *store,
                     const char *text) {
    if (wanted->n_named == wanted->named_capacity) {
        const size_t capacity = wanted->n_named == 0 ? 64 : 2 * wanted->n_named;
        cli_named *const named = realloc(wanted->named, capacity * sizeof *named);
        if (named == NULL)
            return cli_out_of_memory();
        wanted->named = named;
        wanted->named_capacity = capacity;
    }
    const uint64_t id = efface_store_text_id(store, text, strlen(text));
    char *const copy = strdup(text);
    if (copy == NULL || !add_id(ids, id)) {
        free(copy);
        return cli_out_of_memory();
    }
    wanted->named[wanted->n_named++] = (cli_named){id, copy};
    return CLI_DONE;
}

/* Whole numbers with commas between them. Adds all or, if `text` is anything else, none. */
static bool add_numbers(cli_ids *ids, const char *text, bool *no_memory) {
    const size_t before = ids->n;
    *no_memory = false;
    for (;;) {
        char *end;
        errno = 0;
        const unsigned long long value = strtoull(text, &end, 10);
        if (text[0] < '0' || text[0] > '9' || errno != 0 || (*end != ',' && *end != '\0'))
            break;
        if (!add_id(ids, value)) {
            *no_memory = true;
            return false;
        }
        if (*end == '\0')
            return true;
        text = end + 1;
    }
    ids->n = before;
    return false;
}

int cli_want_id(cli_wanted *wanted, const char *text) {
    bool no_memory;
    if (add_numbers(&wanted->rows, text, &no_memory))
        return CLI_DONE;
    return no_memory ? cli_out_of_memory()
                     : cli_wrong("--id takes whole numbers, not '%s'; --key takes an id that is a "
                                 "text",
                                 text);
}

int cli_want_key(cli_wanted *wanted, const efface_store *store, const char *text) {
    return add_named(wanted, &wanted->rows, store, text);
}

int cli_want_owner(cli_wanted *wanted, const efface_store *store, const char *text) {
    bool no_memory;
    if (add_numbers(&wanted->owners, text, &no_memory))
        return CLI_DONE;
    return no_memory ? cli_out_of_memory() : cli_want_owner_key(wanted, store, text);
}

int cli_want_owner_key(cli_wanted *wanted, const efface_store *store, const char *text) {
    return add_named(wanted, &wanted->owners, store, text);
}

static const char *after(const char *line, const char *prefix) {
    const size_t n = strlen(prefix);
    return strncmp(line, prefix, n) == 0 && line[n] != '\0' ? line + n : NULL;
}

static int want_line(cli_wanted *wanted, const efface_store *store, const char *line,
                     const char *file, size_t number) {
    const char *rest;
    uint64_t id;
    if ((rest = after(line, "key:")) != NULL)
        return cli_want_key(wanted, store, rest);
    if ((rest = after(line, "owner:")) != NULL) {
        if (!cli_read_whole(rest, UINT64_MAX, &id))
            return cli_want_owner_key(wanted, store, rest);
        return add_id(&wanted->owners, id) ? CLI_DONE : cli_out_of_memory();
    }
    if ((rest = after(line, "owner-key:")) != NULL)
        return cli_want_owner_key(wanted, store, rest);
    rest = after(line, "id:");
    if (!cli_read_whole(rest != NULL ? rest : line, UINT64_MAX, &id))
        return cli_failed("%s, line %zu: '%s' is no id: write a whole number, key:TEXT or "
                          "owner:X; nothing was changed",
                          file, number, line);
    return add_id(&wanted->rows, id) ? CLI_DONE : cli_out_of_memory();
}

int cli_want_file(cli_wanted *wanted, const efface_store *store, const char *path) {
    const bool from_stdin = strcmp(path, "-") == 0;
    const char *const name = from_stdin ? "standard input" : path;
    FILE *const file = from_stdin ? stdin : fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0, number = 0;
    int code = CLI_DONE;
    if (file == NULL)
        return errno == ENOENT ? cli_not_found("there is no file '%s'", path)
                               : cli_failed("cannot read %s: %s", path, strerror(errno));
    for (ssize_t n; code == CLI_DONE && (n = getline(&line, &capacity, file)) >= 0;) {
        number++;
        if (strlen(line) != (size_t)n) {
            code =
                cli_failed("%s, line %zu: a zero byte; the file is no list of ids", name, number);
            break;
        }
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            line[--n] = '\0';
        if (n > 0)
            code = want_line(wanted, store, line, name, number);
    }
    if (code == CLI_DONE && ferror(file) != 0)
        code = cli_failed("cannot read %s: %s", name, strerror(errno));
    free(line);
    if (!from_stdin)
        fclose(file);
    return code;
}

static int compare(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort_ids(cli_ids *ids) {
    size_t n = 0;
    if (ids->n == 0)
        return;
    qsort(ids->items, ids->n, sizeof *ids->items, compare);
    for (size_t i = 0; i < ids->n; i++)
        if (i == 0 || ids->items[i] != ids->items[i - 1])
            ids->items[n++] = ids->items[i];
    ids->n = n;
}

void cli_wanted_sort(cli_wanted *wanted) {
    sort_ids(&wanted->rows);
    sort_ids(&wanted->owners);
}

void cli_wanted_explain(const cli_wanted *wanted, const char *message) {
    for (size_t i = 0; i < wanted->n_named; i++) {
        char digits[24];
        snprintf(digits, sizeof digits, "%" PRIu64, wanted->named[i].id);
        if (strstr(message, digits) != NULL)
            cli_say("%s is '%s'", digits, wanted->named[i].text);
    }
}

void cli_wanted_free(cli_wanted *wanted) {
    for (size_t i = 0; i < wanted->n_named; i++)
        free(wanted->named[i].text);
    free(wanted->named);
    free(wanted->rows.items);
    free(wanted->owners.items);
    memset(wanted, 0, sizeof *wanted);
}
