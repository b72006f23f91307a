/* The rows that a command is about. Everything is read and checked before anything is done. */
#include "input/wanted.h"

#include "input/secrets.h"
#include "input/text_lines.h"
#include "one_more.h"
#include "output/output.h"
#include "ranks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MISSING = 10, MAX_SHOWN = 100 };

static bool add_id(cli_ids *ids, uint64_t id) {
    uint64_t *const items = cli_one_more(ids->items, ids->n, sizeof *items);
    if (items == NULL)
        return false;
    ids->items = items;
    ids->items[ids->n++] = id;
    return true;
}

/* Where names come from, and where they go. */
typedef struct names_from {
    cli_wanted *wanted;
    const efface_store *store;
    const char *path; /* NULL: from the command line */
    const char *line; /* as it was read */
    size_t number;    /* of that line */
} names_from;

/* A number of a store without texts. */
static int add_number(const names_from *from, cli_ids *ids, uint64_t number) {
    if (ids == &from->wanted->owners && number == EFFACE_NO_OWNER)
        return cli_wrong("%" PRIu64 " means no owner: name rows without an owner by their ids",
                         number);
    return add_id(ids, number) ? CLI_DONE : cli_out_of_memory();
}

/* What the names are that a list of ids is about, and the key of their texts. */
typedef struct named_as {
    efface_ids kind;
    unsigned char key[EFFACE_HASH_KEY_BYTES];
} named_as;

static named_as names_of(const names_from *from, const cli_ids *ids) {
    efface_load_options options;
    named_as as = {EFFACE_IDS_DETECT, {0}};
    if (from->store == NULL)
        return as;
    efface_store_load_options(from->store, &options);
    as.kind = ids == &from->wanted->owners ? options.owners : options.ids;
    memcpy(as.key, options.hash_key, sizeof as.key);
    cli_wipe(&options, sizeof options);
    return as;
}

/* A name that the library refuses. One that is no number where all are numbers is nobody's. */
static int refuse_name(const names_from *from, const cli_ids *ids, const char *text,
                       const efface_error *error, const named_as *as) {
    char place[300] = "";
    const size_t column = (size_t)(text - (from->line != NULL ? from->line : text));
    if (error->status == EFFACE_E_MEMORY)
        return cli_out_of_memory();
    if (from->path != NULL)
        snprintf(place, sizeof place, "%.250s, line %zu, column %zu: ", from->path, from->number,
                 column + (size_t)error->column);
    if (as->kind == EFFACE_IDS_NUMBERS)
        return cli_not_found("%snot found: %s \"%.*s\"; %s", place,
                             ids == &from->wanted->owners ? "owner" : "id", MAX_SHOWN, text,
                             error->message);
    return from->path != NULL ? cli_failed("%s%s", place, error->message)
                              : cli_wrong("%s", error->message);
}

/* The store refuses a text if its number belongs to another. */
static int keep_text(cli_wanted *wanted, const cli_ids *ids, uint64_t id, const char *text) {
    efface_error error;
    efface_status status = EFFACE_OK;
    if (wanted->texts == NULL)
        status = efface_texts_create(&wanted->texts, &error);
    if (status == EFFACE_OK)
        status = efface_texts_add(wanted->texts,
                                  ids == &wanted->owners ? EFFACE_TEXT_OWNER : EFFACE_TEXT_ID, id,
                                  text, strlen(text), &error);
    return cli_outcome(status, &error);
}

/* A text; in a store of numbers, the number that it says. */
static int add_named(const names_from *from, cli_ids *ids, const char *text) {
    cli_wanted *const wanted = from->wanted;
    if (from->store == NULL)
        return cli_wrong("'%s' is a text, and only the store knows its number: name the store",
                         text);
    named_as as = names_of(from, ids);
    const efface_ids kind = as.kind == EFFACE_IDS_NUMBERS ? as.kind : EFFACE_IDS_TEXT;
    efface_name name;
    efface_error error;
    const efface_status status =
        efface_name_normalize(text, strlen(text), kind, as.key, &name, &error);
    cli_wipe(as.key, sizeof as.key);
    if (status != EFFACE_OK)
        return refuse_name(from, ids, text, &error, &as);
    if (name.text == NULL)
        return add_number(from, ids, name.number);
    cli_named *const named = cli_one_more(wanted->named, wanted->n_named, sizeof *named);
    wanted->named = named != NULL ? named : wanted->named;
    char *const copy = strndup(name.text, name.n_bytes);
    const uint64_t id = name.number;
    efface_name_clear(&name);
    if (named == NULL || copy == NULL || !add_id(ids, id)) {
        free(copy);
        return cli_out_of_memory();
    }
    wanted->named[wanted->n_named++] = (cli_named){id, copy};
    return keep_text(wanted, ids, id, copy);
}

/* Whether a text is whole numbers with commas between them, and nothing else. */
static bool is_numbers(const char *text) {
    for (;; text++) {
        efface_name name;
        const size_t n = strcspn(text, ",");
        if (efface_name_normalize(text, n, EFFACE_IDS_NUMBERS, NULL, &name, NULL) != EFFACE_OK)
            return false;
        text += n;
        if (*text == '\0')
            return true;
    }
}

static int add_numbers(const names_from *from, cli_ids *ids, const named_as *as, const char *text) {
    const char *const whole = text;
    int code = CLI_DONE;
    for (; code == CLI_DONE; text++) {
        efface_name name;
        efface_error error;
        const size_t n = strcspn(text, ",");
        code = efface_name_normalize(text, n, EFFACE_IDS_NUMBERS, NULL, &name, &error) == EFFACE_OK
                   ? add_number(from, ids, name.number)
                   : refuse_name(from, ids, whole, &error, as);
        text += n;
        if (*text == '\0')
            break;
    }
    return code;
}

static const char *after_prefix(const char *line, const char *prefix) {
    const size_t n = strlen(prefix);
    return strncmp(line, prefix, n) == 0 && line[n] != '\0' ? line + n : NULL;
}

/* Where the ids, or owners, of the store are texts, so is this, unless it is marked as the number
 * that stands for a text. Else whole numbers are numbers, and anything else, where that is not
 * known, is one text, commas and all. */
static int want_text(const names_from *from, cli_ids *ids, const char *text) {
    const char *const number = after_prefix(text, CLI_NUMBER_MARK);
    named_as as = names_of(from, ids);
    cli_wipe(as.key, sizeof as.key);
    if (number != NULL && is_numbers(number))
        return add_numbers(from, ids, &as, number);
    return as.kind == EFFACE_IDS_NUMBERS || (as.kind == EFFACE_IDS_DETECT && is_numbers(text))
               ? add_numbers(from, ids, &as, text)
               : add_named(from, ids, text);
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

static int want_line(void *context, char *text, size_t number) {
    names_from *const from = context;
    cli_wanted *const wanted = from->wanted;
    const char *const line = trim_line(text, number == 1), *rest;
    from->line = text;
    from->number = number;
    if (line[0] == '\0')
        return CLI_DONE;
    if ((rest = after_prefix(line, "key:")) != NULL)
        return add_named(from, &wanted->rows, rest);
    if ((rest = after_prefix(line, "owner:")) != NULL)
        return want_text(from, &wanted->owners, rest);
    if ((rest = after_prefix(line, "owner-key:")) != NULL)
        return add_named(from, &wanted->owners, rest);
    rest = after_prefix(line, "id:");
    return want_text(from, &wanted->rows, rest != NULL ? rest : line);
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
    names_from from = {.wanted = wanted, .store = store};
    int code = CLI_DONE;
    for (size_t i = 0; i < who->ids.n && code == CLI_DONE; i++)
        code = want_text(&from, &wanted->rows, who->ids.items[i]);
    for (size_t i = 0; i < who->keys.n && code == CLI_DONE; i++)
        code = add_named(&from, &wanted->rows, who->keys.items[i]);
    for (size_t i = 0; i < who->owners.n && code == CLI_DONE; i++)
        code = want_text(&from, &wanted->owners, who->owners.items[i]);
    for (size_t i = 0; i < who->owner_keys.n && code == CLI_DONE; i++)
        code = add_named(&from, &wanted->owners, who->owner_keys.items[i]);
    for (size_t i = 0; i < who->files.n && code == CLI_DONE; i++) {
        from.path = strcmp(who->files.items[i], "-") != 0 ? who->files.items[i] : "standard input";
        code = cli_read_lines(who->files.items[i], "ids", want_line, &from);
    }
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
                            .missing = missing,
                            .texts = wanted->texts};
}

/* ---- who is not there */

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

const char *cli_advice_on_text(const char *text) {
    if (text[strspn(text, "0123456789")] == '\0')
        return "; the number that efface shows for a text is written " CLI_NUMBER_MARK "N";
    if (text[0] != '\0' && text[strspn(text, "0123456789.,eE+")] == '\0')
        return "; the number that efface shows for a text is written " CLI_NUMBER_MARK
               "N, with all its digits and no commas";
    return strchr(text, ',') != NULL
               ? "; with its comma that is one name: give each name an option of its own"
               : "";
}

/* What names look like in the store, and one that is close to a name that is not there. */
static void put_hint(FILE *out, const cli_wanted *wanted, efface_store *store,
                     efface_text_kind kind, const cli_ids *ids) {
    char *hint = NULL;
    const char *const text = ids->n > 0 ? cli_wanted_text(wanted, ids->items[0]) : NULL;
    if (ids->n > 0 && efface_store_hint(store, kind, text, &hint, NULL) == EFFACE_OK)
        fprintf(out, "; %s", hint);
    if (text != NULL)
        fputs(cli_advice_on_text(text), out);
    efface_text_free(hint);
}

/* The owners of rows, in order. */
static bool owners_of(const efface_data *rows, cli_ids *owners) {
    for (size_t i = 0; i < efface_data_n_rows(rows); i++)
        if (!add_id(owners, efface_data_row(rows, i).owner))
            return false;
    sort_ids(owners);
    return true;
}

bool cli_find_missing(const cli_wanted *wanted, efface_store *store, cli_missing *missing) {
    const efface_request request = cli_wanted_request(wanted, EFFACE_MISSING_SKIP);
    efface_data *found = NULL;
    cli_ids owners = {NULL, 0};
    size_t position;
    *missing = (cli_missing){.rows = {NULL, 0}};
    bool ok =
        efface_store_find(store, &request, &found, NULL) == EFFACE_OK && owners_of(found, &owners);
    for (size_t i = 0; ok && i < wanted->rows.n; i++)
        if (efface_data_find(found, wanted->rows.items[i], &position) != EFFACE_OK)
            ok = add_id(&missing->rows, wanted->rows.items[i]);
    for (size_t i = 0; ok && i < wanted->owners.n; i++)
        if (!has_id(&owners, wanted->owners.items[i]))
            ok = add_id(&missing->owners, wanted->owners.items[i]);
    free(owners.items);
    efface_data_free(found);
    return ok;
}

void cli_missing_free(cli_missing *missing) {
    free(missing->rows.items);
    free(missing->owners.items);
    *missing = (cli_missing){.rows = {NULL, 0}};
}

int cli_say_missing(const cli_missing *missing, const cli_wanted *wanted, efface_store *store,
                    bool is_error, const char *rest) {
    const size_t n = missing->rows.n + missing->owners.n;
    char *list = NULL;
    size_t n_bytes = 0;
    FILE *const out = open_memstream(&list, &n_bytes);
    if (out == NULL)
        return cli_out_of_memory();
    for (size_t i = 0; i < missing->rows.n; i++)
        put_missing(out, wanted, "id", missing->rows.items[i], i);
    for (size_t i = 0; i < missing->owners.n; i++)
        put_missing(out, wanted, "owner", missing->owners.items[i], missing->rows.n + i);
    if (n > MAX_MISSING)
        fprintf(out, " and %zu more", n - MAX_MISSING);
    fputs(rest, out);
    put_hint(out, wanted, store, EFFACE_TEXT_ID, &missing->rows);
    put_hint(out, wanted, store, EFFACE_TEXT_OWNER, &missing->owners);
    int code = fclose(out) == 0 ? CLI_DONE : cli_out_of_memory();
    if (code == CLI_DONE && is_error)
        code = cli_not_found("not found: %s", list);
    else if (code == CLI_DONE)
        cli_say("not found: %s", list);
    free(list);
    return code;
}

int cli_wanted_missing(const cli_wanted *wanted, efface_store *store, const efface_error *error,
                       const char *of_all, const char *of_some) {
    cli_missing missing;
    const bool looked = cli_find_missing(wanted, store, &missing);
    const size_t n = missing.rows.n + missing.owners.n;
    /* Another process may have brought them meanwhile. */
    const int code =
        looked && n > 0 ? cli_say_missing(&missing, wanted, store, true,
                                          n == wanted->rows.n + wanted->owners.n ? of_all : of_some)
                        : cli_report_error(error);
    cli_missing_free(&missing);
    return code;
}

void cli_wanted_free(cli_wanted *wanted) {
    for (size_t i = 0; i < wanted->n_named; i++)
        free(wanted->named[i].text);
    free(wanted->named);
    efface_texts_free(wanted->texts);
    free(wanted->rows.items);
    free(wanted->owners.items);
    memset(wanted, 0, sizeof *wanted);
}
