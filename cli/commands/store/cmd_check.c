/* efface check: looks for damage. */
#include "input/secrets.h"
#include "input/stores.h"
#include "one_more.h"
#include "output/json_writer.h"
#include "ranks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct findings {
    char **problems;
    size_t n;
    bool lacks_signatures; /* one of the problems, which no backup mends */
    bool no_memory;
} findings;

static void free_findings(findings *f) {
    for (size_t i = 0; i < f->n; i++)
        free(f->problems[i]);
    free(f->problems);
    f->problems = NULL;
    f->n = 0;
}

static bool is_noted(const findings *f, const char *problem) {
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->problems[i], problem) == 0)
            return true;
    return false;
}

static void take_note(void *context, const char *problem) {
    findings *const f = context;
    char *const copy = strdup(problem);
    char **const problems = cli_one_more(f->problems, f->n, sizeof *problems);
    if (problems != NULL)
        f->problems = problems;
    if (copy == NULL || problems == NULL) {
        free(copy);
        f->no_memory = true;
        return;
    }
    f->problems[f->n++] = copy;
}

/* What all ranks found comes to all; the same said by several ranks is said once. */
static int share_findings(findings *f) {
    char *own = NULL;
    void *all = NULL;
    size_t n_own = 0, n_all = 0;
    FILE *const out = open_memstream(&own, &n_own);
    for (size_t i = 0; out != NULL && i < f->n; i++)
        fwrite(f->problems[i], 1, strlen(f->problems[i]) + 1, out);
    if (out == NULL || fclose(out) != 0)
        return cli_out_of_memory();
    const int code = cli_gather(own, n_own, true, &all, &n_all);
    free(own);
    free_findings(f);
    for (const char *at = all; code == CLI_DONE && at < (const char *)all + n_all;
         at += strlen(at) + 1)
        if (!is_noted(f, at))
            take_note(f, at);
    free(all);
    return code;
}

static void put_count(uint64_t n, const char *what, const char *behind) {
    printf("%" PRIu64 " %s%s%s", n, what, n == 1 ? "" : "s", behind);
}

/* `info` is NULL if the store cannot say what it has. */
static void print_damage(const findings *f, const findings *notes, const efface_store_info *info,
                         bool as_json) {
    if (!as_json) {
        for (size_t i = 0; i < f->n; i++) {
            /* SQLite says several things at once. */
            for (char *line = strtok(f->problems[i], "\n"); line != NULL;
                 line = strtok(NULL, "\n")) {
                cli_put_text(stdout, line);
                putchar('\n');
            }
        }
        if (f->n == 0 && info != NULL) {
            fputs("no damage; ", stdout);
            put_count(info->n_rows, "row", ", ");
            put_count(info->n_models, "model", ", ");
            put_count(info->n_receipts, "receipt", " checked\n");
        }
        for (size_t i = 0; i < notes->n; i++)
            printf("note: %s\n", notes->problems[i]);
        return;
    }
    cli_json json = cli_json_object(stdout);
    cli_json_bool(&json, "damaged", f->n > 0);
    if (info != NULL) {
        cli_json_whole(&json, "rows", info->n_rows);
        cli_json_whole(&json, "models", info->n_models);
        cli_json_whole(&json, "receipts", info->n_receipts);
    }
    cli_json_open(&json, "problems", '[');
    for (size_t i = 0; i < f->n; i++)
        cli_json_text(&json, NULL, f->problems[i]);
    cli_json_close(&json);
    cli_json_open(&json, "notes", '[');
    for (size_t i = 0; i < notes->n; i++)
        cli_json_text(&json, NULL, notes->problems[i]);
    cli_json_close_all(&json);
}

/* Whether the receipts were signed with the secret key that belongs to this one. */
static int check_signed(efface_store *store, const char *path, findings *f) {
    unsigned char key[EFFACE_PUBLIC_KEY_BYTES];
    efface_error error;
    const int code = path != NULL ? cli_read_key(path, CLI_PUBLIC_KEY, key) : CLI_DONE;
    if (path == NULL || code != CLI_DONE)
        return code;
    const efface_status status = efface_store_verify_receipts(store, key, &error);
    if (status != EFFACE_E_FORMAT && status != EFFACE_E_CORRUPT)
        return cli_outcome(status, &error);
    take_note(f, error.message);
    f->lacks_signatures = status == EFFACE_E_FORMAT;
    return CLI_DONE;
}

/* What the problems mean. */
static void advise(const findings *f) {
    if (f->n > f->lacks_signatures)
        cli_say("the store is damaged: unless a line above says what mends it, restore a backup, "
                "or create the store again from the data");
    else if (f->n != 0)
        cli_say("no other problem was found; a request without --sign leaves a receipt that is not "
                "signed. If every request was signed with this key, someone without the secret key "
                "has written to the store, or this is the wrong key");
}

/* A store that is too damaged for notes has none. */
static int read_notes(efface_store *store, findings *notes) {
    efface_error error;
    const efface_status status = efface_store_notes(store, take_note, notes, &error);
    return status == EFFACE_E_CORRUPT || status == EFFACE_E_FORMAT ? CLI_DONE
                                                                   : cli_outcome(status, &error);
}

static int check_store(efface_store *store, const char *public_key, findings *f, findings *notes,
                       bool as_json) {
    efface_error error;
    cli_progress_begin("checking");
    const efface_status status = efface_store_check(store, take_note, f, &error);
    cli_progress_end();
    if (status != EFFACE_OK)
        return cli_report_error(&error);
    int code = check_signed(store, public_key, f);
    CLI_THEN(code, read_notes(store, notes));
    if (code == CLI_DONE && cli_group() != NULL)
        code = share_findings(f);
    if (code != CLI_DONE)
        return code;
    if (f->no_memory || notes->no_memory)
        return cli_out_of_memory();
    efface_store_info info;
    const bool known = efface_store_get_info(store, &info, &error) == EFFACE_OK;
    if (!known && f->n == 0)
        return cli_report_error(&error);
    print_damage(f, notes, known ? &info : NULL, as_json);
    advise(f);
    return f->n > 0 ? CLI_DAMAGED : CLI_DONE;
}

static int run_check(int n_arguments, char **arguments) {
    const char *path = NULL, *public_key = NULL;
    bool as_json = false;
    cli_open how = {.access = EFFACE_ACCESS_READ, .wait = -1};
    const cli_option options[] = {
        CLI_STORE_OPTIONS(path, how, as_json),
        {"--public-key", CLI_TEXT, &public_key, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    efface_store *store = NULL;
    findings f = {.problems = NULL}, notes = {.problems = NULL};
    int code = cli_parse("check", options, n_arguments, arguments);
    CLI_THEN(code, cli_open_store(path, &how, &store));
    CLI_THEN(code, check_store(store, public_key, &f, &notes, as_json));
    free_findings(&f);
    free_findings(&notes);
    efface_store_close(store);
    return code;
}

const cli_command cli_check = {
    "check",
    "look for damage in a store",
    "usage: efface check STORE [--public-key FILE] [--wait SECONDS] [--json]\n"
    "Looks for damage in the file, in the rows and in the state of every model.\n"
    "Prints a line for each problem, or \"no damage\" and how much was looked at: rows,\n"
    "models, and receipts, which must be a chain. A note is not damage, but worth\n"
    "knowing. efface verify compares the models with a fit to the rows.\n"
    "  --public-key FILE  check also that the receipts and their number are signed\n"
    "                     with the secret key of this public key\n"
    "  --wait SECONDS     how long to wait for a busy store (5)\n"
    "  --json             as JSON: damaged, rows, models, receipts, problems, notes\n"
    "Exit codes: 0 no damage, 4 there is no such file, 5 busy, 6 damaged, or receipts\n"
    "are not signed with the key.\n"
    "example: efface check people.store\n",
    .run = run_check,
};
