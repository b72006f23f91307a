/* The rows that a command is about. Everything is read and checked before anything is done. */
#include "input/wanted.h"

#include "input/text_lines.h"
#include "one_more.h"

#include "input/secrets.h"
#include "ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool add_id(cli_ids *ids, uint64_t id) {
    uint64_t *const items = cli_one_more(ids->items, ids->n, sizeof *items);
    if (items == NULL)
        return false;
    ids->items = items;
    ids->items[ids->n++] = id;
    return true;
}

static int add_named(cli_wanted *wanted, cli_ids *ids, const efface_store *store,
                     const char *text) {
    if (store == NULL)
        return cli_wrong("'%s' is a text, and only the store knows its number: name the store",
                         text);
    cli_named *const named = cli_one_more(wanted->named, wanted->n_named, sizeof *named);
    if (named == NULL)
        return cli_out_of_memory();
    wanted->named = named;
    const uint64_t id = efface_store_text_id(store, text, strlen(text));
    char *const copy = strdup(text);
    if (copy == NULL || !add_id(ids, id)) {
        free(copy);
        return cli_out_of_memory();
    }
    wanted->named[wanted->n_named++] = (cli_named){id, copy};
    return CLI_DONE;
}

static bool has_texts(const efface_store *store, bool owners) {
    efface_load_options options;
    if (store == NULL)
        return false;
    efface_store_load_options(store, &options);
    const efface_ids kind = owners ? options.owners : options.ids;
    cli_wipe(&options, sizeof options);
    return kind == EFFACE_IDS_TEXT;
}

/* Whole numbers with commas between them. Adds all or, if `text` is anything else, none. */
static bool add_numbers(cli_ids *ids, const char *text, bool *no_memory) {
    const size_t before = ids->n;
    *no_memory = false;
    for (;;) {
        char *end;
        errno = 0;
        const unsigned long long value = strtoull(text, &end, 10);
        const bool padded = text[0] == '0' && end - text > 1; /* 007 may not be 7 */
        if (text[0] < '0' || text[0] > '9' || padded || errno != 0 || (*end != ',' && *end != '\0'))
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

/* Where the ids, or owners, of the store are texts, so is this. Else whole numbers are numbers, and
 * anything else is one text, commas and all. */
static int want_text(cli_wanted *wanted, cli_ids *ids, const efface_store *store,
                     const char *text) {
    bool no_memory;
    if (has_texts(store, ids == &wanted->owners))
        return add_named(wanted, ids, store, text);
    if (ids == &wanted->owners && strcmp(text, "18446744073709551615") == 0)
        return cli_wrong("%s means no owner: name rows without an owner by their ids", text);
    if (add_numbers(ids, text, &no_memory))
        return CLI_DONE;
    return no_memory ? cli_out_of_memory() : add_named(wanted, ids, store, text);
}

/* A line as CSV has a field: without the mark that some programs begin files with, and without
 * blanks around it. */
static char *trim_line(char *line, bool is_first) {
    static const char mark[] = "\xEF\xBB\xBF", blanks[] = " \t\r\n";
    if (is_first && strncmp(line, mark, sizeof mark - 1) == 0)
        line += sizeof mark - 1;
    line += strspn(line, blanks);
    for (size_t n = strlen(line); n > 0 && strchr(blanks, line[n - 1]) != NULL; n--)
        line[n - 1] = '\0';
    return line;
}

static const char *after_prefix(const char *line, const char *prefix) {
    const size_t n = strlen(prefix);
    return strncmp(line, prefix, n) == 0 && line[n] != '\0' ? line + n : NULL;
}

/* A file of ids and owners, and where they go. */
typedef struct wanted_file {
    cli_wanted *wanted;
    const efface_store *store;
} wanted_file;

static int want_line(void *context, char *text, size_t number) {
    const wanted_file *const file = context;
    cli_wanted *const wanted = file->wanted;
    const char *const line = trim_line(text, number == 1), *rest;
    if (line[0] == '\0')
        return CLI_DONE;
    if ((rest = after_prefix(line, "key:")) != NULL)
        return add_named(wanted, &wanted->rows, file->store, rest);
    if ((rest = after_prefix(line, "owner:")) != NULL)
        return want_text(wanted, &wanted->owners, file->store, rest);
    if ((rest = after_prefix(line, "owner-key:")) != NULL)
        return add_named(wanted, &wanted->owners, file->store, rest);
    rest = after_prefix(line, "id:");
    return want_text(wanted, &wanted->rows, file->store, rest != NULL ? rest : line);
}

static int compare_wanted(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int compare_named(const void *a, const void *b) {
    return compare_wanted(&((const cli_named *)a)->id, &((const cli_named *)b)->id);
}

static void sort_ids(cli_ids *ids) {
    size_t n = 0;
    if (ids->n == 0)
        return;
    qsort(ids->items, ids->n, sizeof *ids->items, compare_wanted);
    for (size_t i = 0; i < ids->n; i++)
        if (i == 0 || ids->items[i] != ids->items[i - 1])
            ids->items[n++] = ids->items[i];
    ids->n = n;
}

bool cli_who_given(const cli_who *who) {
    return who->ids.n + who->keys.n + who->owners.n + who->owner_keys.n + who->files.n > 0;
}

bool cli_who_reads_stdin(const cli_who *who) {
    for (size_t i = 0; i < who->files.n; i++)
        if (strcmp(who->files.items[i], "-") == 0)
            return true;
    return false;
}

void cli_who_free(cli_who *who) {
    cli_texts_free(&who->ids);
    cli_texts_free(&who->keys);
    cli_texts_free(&who->owners);
    cli_texts_free(&who->owner_keys);
    cli_texts_free(&who->files);
}

/* The ids that rank 0 has read come to all ranks. */
static int share_ids(cli_ids *ids) {
    uint64_t n = ids->n;
    if (cli_share(&n, sizeof n) != CLI_DONE)
        return CLI_FAILED;
    if (!cli_is_first()) {
        ids->items = calloc((size_t)n + 1, sizeof *ids->items);
        if (ids->items == NULL)
            return cli_out_of_memory();
        ids->n = (size_t)n;
    }
    return cli_share(ids->items, ids->n * sizeof *ids->items);
}

static int read_who(const cli_who *who, const efface_store *store, cli_wanted *wanted) {
    wanted_file file = {wanted, store};
    int code = CLI_DONE;
    for (size_t i = 0; i < who->ids.n && code == CLI_DONE; i++)
        code = want_text(wanted, &wanted->rows, store, who->ids.items[i]);
    for (size_t i = 0; i < who->keys.n && code == CLI_DONE; i++)
        code = add_named(wanted, &wanted->rows, store, who->keys.items[i]);
    for (size_t i = 0; i < who->owners.n && code == CLI_DONE; i++)
        code = want_text(wanted, &wanted->owners, store, who->owners.items[i]);
    for (size_t i = 0; i < who->owner_keys.n && code == CLI_DONE; i++)
        code = add_named(wanted, &wanted->owners, store, who->owner_keys.items[i]);
    for (size_t i = 0; i < who->files.n && code == CLI_DONE; i++)
        code = cli_read_lines(who->files.items[i], "ids", want_line, &file);
    sort_ids(&wanted->rows);
    sort_ids(&wanted->owners);
    if (wanted->n_named > 0)
        qsort(wanted->named, wanted->n_named, sizeof *wanted->named, compare_named);
    return code;
}

int cli_read_who(const cli_who *who, const efface_store *store, cli_wanted *wanted) {
    memset(wanted, 0, sizeof *wanted);
    int code = cli_is_first() ? read_who(who, store, wanted) : CLI_DONE;
    CLI_THEN(code, share_ids(&wanted->rows));
    return code == CLI_DONE ? share_ids(&wanted->owners) : code;
}

const char *cli_wanted_text(const cli_wanted *wanted, uint64_t id) {
    const cli_named key = {.id = id};
    if (wanted->n_named == 0)
        return NULL;
    const cli_named *const found =
        bsearch(&key, wanted->named, wanted->n_named, sizeof key, compare_named);
    return found != NULL ? found->text : NULL;
}

static bool has_id(const cli_ids *ids, uint64_t id) {
    return ids->n > 0 && bsearch(&id, ids->items, ids->n, sizeof id, compare_wanted) != NULL;
}

bool cli_wanted_has(const cli_wanted *wanted, uint64_t id) {
    return has_id(&wanted->rows, id) || has_id(&wanted->owners, id);
}

efface_request cli_wanted_request(const cli_wanted *wanted, efface_missing missing) {
    return (efface_request){.ids = wanted->rows.items,
                            .n_ids = wanted->rows.n,
                            .owners = wanted->owners.items,
                            .n_owners = wanted->owners.n,
                            .missing = missing};
}

enum { MAX_MISSING = 10, MAX_SHOWN = 100 };

static void put_missing(FILE *out, const cli_wanted *wanted, const char *what, uint64_t id,
                        size_t number) {
    const char *const text = cli_wanted_text(wanted, id);
    if (number >= MAX_MISSING)
        return;
    fputs(number > 0 ? ", " : "", out);
    if (text != NULL)
        fprintf(out, "%s \"%.*s%s\"", what, MAX_SHOWN, text, strlen(text) > MAX_SHOWN ? "..." : "");
    else
        fprintf(out, "%s %" PRIu64, what, id);
}

/* Lists who is wanted and not among the rows that were found. */
static size_t list_missing(FILE *out, const cli_wanted *wanted, const efface_data *found,
                           const cli_ids *owners) {
    size_t n = 0;
    for (size_t i = 0; i < wanted->rows.n; i++) {
        size_t position;
        if (efface_data_find(found, wanted->rows.items[i], &position) != EFFACE_OK)
            put_missing(out, wanted, "id", wanted->rows.items[i], n++);
    }
    for (size_t i = 0; i < wanted->owners.n; i++)
        if (!has_id(owners, wanted->owners.items[i]))
            put_missing(out, wanted, "owner", wanted->owners.items[i], n++);
    if (n > MAX_MISSING)
        fprintf(out, " and %zu more", n - MAX_MISSING);
    return n;
}

int cli_wanted_missing(const cli_wanted *wanted, efface_store *store, const efface_error *error,
                       const char *rest) {
    const efface_request request = cli_wanted_request(wanted, EFFACE_MISSING_SKIP);
    efface_data *found = NULL;
    cli_ids owners = {NULL, 0};
    char *list = NULL;
    size_t n_bytes = 0, n_missing = 0;
    int code = CLI_NOT_FOUND;
    FILE *const out = open_memstream(&list, &n_bytes);
    bool ok = out != NULL && efface_store_find(store, &request, &found, NULL) == EFFACE_OK;
    for (size_t i = 0; ok && i < efface_data_n_rows(found); i++)
        ok = add_id(&owners, efface_data_row(found, i).owner);
    if (ok) {
        sort_ids(&owners);
        n_missing = list_missing(out, wanted, found, &owners);
    }
    if (out != NULL && fclose(out) != 0)
        n_missing = 0;
    /* Somebody may have brought them meanwhile. */
    if (n_missing > 0)
        (void)cli_not_found("not found: %s%s", list, rest);
    else
        code = cli_report_error(error);
    free(list);
    free(owners.items);
    efface_data_free(found);
    return code;
}

void cli_wanted_free(cli_wanted *wanted) {
    for (size_t i = 0; i < wanted->n_named; i++)
        free(wanted->named[i].text);
    free(wanted->named);
    free(wanted->rows.items);
    free(wanted->owners.items);
    memset(wanted, 0, sizeof *wanted);
}
