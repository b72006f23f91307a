/* efface, the program: what its commands share. They see the public API only.
 *
 *   program.c  what is done with the arguments of a program that has these commands; main.c is
 * efface, mpi/ has efface-mpi ranks.c    processes that run a command together commands/  a file
 * for each command, and what a few of them share models/    what is known of models: families,
 * facts, predictions, tables input/     arguments, data files, key files, stores, answers of people
 *   output/    files, JSON, messages, progress
 *
 * Standard output has the result of a command and nothing else: text for people or, with --json,
 * one JSON object. Everything else that is said goes to standard error. Seeds and keys are never
 * said at all. */
#ifndef CLI_H
#define CLI_H

#include "efface/efface.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Exit codes. They are part of the interface: docs/man/efface.1 lists them. */
enum {
    CLI_DONE = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
    CLI_DIFFERENT = 3, /* verify, or receipt verify, found a difference */
    CLI_NOT_FOUND = 4, /* a file, store, model, row or owner */
    CLI_BUSY = 5,
    CLI_DAMAGED = 6,
    CLI_INTERRUPTED = 130 /* what shells say of a program that SIGINT ended */
};

/* A command: its arguments begin after its name. `help` fits a screen of 24 lines. */
typedef struct cli_command {
    const char *name;
    const char *summary;
    const char *help;
    int (*run)(int n_arguments, char **arguments);

    /* The help for these arguments, where it depends on them; NULL, after a message, if one of them
     * is wrong. If this is NULL, it is `help`. */
    const char *(*help_on)(int n_arguments, char **arguments);
} cli_command;

extern const cli_command cli_fit, cli_forget, cli_learn, cli_predict, cli_export, cli_info,
    cli_verify, cli_check, cli_rekey, cli_drop, cli_receipt, cli_show, cli_owners, cli_update,
    cli_compact, cli_publish, cli_serve, cli_tokens, cli_digest;

/* ---- program.c: a program with some of the commands */

typedef struct cli_program {
    const char *name;
    const char *about;                  /* lines of its help before the commands */
    const char *more;                   /* and after them */
    const cli_command *const *commands; /* ended by NULL */
} cli_program;

/* Does what the arguments say; returns the exit code. */
int cli_run_program(const cli_program *program, int n_arguments, char **arguments);

const char *cli_program_name(void);

/* Texts say "efface fit". A copy in which commands of this program have its name, to be freed; NULL
 * if the text stays as it is. */
char *cli_with_own_name(const char *text);

/* ---- ranks.c: processes that run a command together, all with the same arguments
 *
 * A rank that fails goes to the end of the command. The others notice at their next operation, and
 * do the same. There rank 0 says what went wrong, once, and which rank it was. Only rank 0 prints
 * and writes files. A process that is alone has no group, and is the first. */

/* This process is a rank of a group, which must outlive the command. Before anything is said. */
void cli_ranks_begin(const efface_group *group);

/* The group for the library, or NULL. */
const efface_group *cli_group(void);

/* Whether this process prints: it is rank 0, or alone. */
bool cli_is_first(void);

/* Whether a rank has come to its end already: then what is said here is no news. */
bool cli_ranks_are_over(void);

/* The bytes of rank 0 come to all ranks. CLI_DONE or, without a message, CLI_FAILED if a rank has
 * failed. */
int cli_share(void *bytes, size_t n_bytes);

/* Numbers become their sums over all ranks; as cli_share. */
int cli_sum(uint64_t *numbers, size_t n);

/* Rank 0 or, with `to_all`, every rank gets the bytes of all ranks, those of rank 0 first. *all is
 * to be freed; elsewhere it is NULL and *n_all 0. As cli_share, but a rank without memory says so.
 */
int cli_gather(const void *bytes, size_t n_bytes, bool to_all, void **all, size_t *n_all);

/* All ranks come here with their exit codes. What went wrong is said, and all get the same code.
 * *lost is set if they cannot reach each other any more. */
int cli_ranks_end(int code, bool *lost);

/* ---- escape.c: texts of any bytes, as they come from files and stores */

/* Writes a text: valid UTF-8 as it is, control characters and other bytes as \xHH. NULL is
 * nothing. */
void cli_put_text(FILE *out, const char *text);

typedef struct cli_character {
    size_t n_bytes; /* at least 1 */
    enum { CLI_VISIBLE, CLI_CONTROL, CLI_NO_CHARACTER } kind;
} cli_character;

/* What a text that does not end here begins with. CLI_NO_CHARACTER: a byte that is no UTF-8. */
cli_character cli_next_character(const char *text);

/* ---- messages.c: what is said, and the exit codes that go with it */

/* From now on every message is a JSON object on a line of its own. */
void cli_messages_as_json(void);

/* A line on standard error, after the name of the program and a colon. Messages are escaped as in
 * cli_put_text. */
__attribute__((format(printf, 1, 2))) void cli_say(const char *format, ...);

/* The same, of something to be looked at. */
__attribute__((format(printf, 1, 2))) void cli_warn(const char *format, ...);

/* The same, of what went wrong; they return CLI_FAILED, CLI_USAGE, CLI_DIFFERENT and
 * CLI_NOT_FOUND. */
__attribute__((format(printf, 1, 2))) int cli_failed(const char *format, ...);
__attribute__((format(printf, 1, 2))) int cli_wrong(const char *format, ...);
__attribute__((format(printf, 1, 2))) int cli_different(const char *format, ...);
__attribute__((format(printf, 1, 2))) int cli_not_found(const char *format, ...);

/* Says what the library said; returns the exit code of that status. */
int cli_report_error(const efface_error *error);

/* The same for an error in a value from the command line: returns CLI_USAGE for a wrong
 * argument. */
int cli_report_wrong(const efface_error *error);
int cli_out_of_memory(void);

/* Begins and ends a colour (31 red, 32 green, ...) where that is wanted: on a terminal, and unless
 * NO_COLOR is set. */
void cli_paint(FILE *out, int colour);
void cli_unpaint(FILE *out);

/* ---- stores.c: opening stores and choosing models */

/* How a store is opened: what to do there, and key files to sign receipts and to hash ids in them
 * with, or NULL. */
typedef struct cli_open {
    efface_access access;
    const char *sign;
    const char *receipt_key;
    double wait; /* seconds for other processes; < 0: the default */
    bool alone;  /* by this rank alone: the store is one file */
} cli_open;

/* False, after a message, if it cannot be opened; `code` then has the exit code. */
bool cli_open_store(const char *path, const cli_open *how, efface_store **store, int *code);

/* The same as options of the library, for a command that makes a store. They point into `keys`;
 * wipe it afterwards. False, after a message, if a key cannot be read. */
typedef struct cli_keys {
    unsigned char secret[EFFACE_SECRET_KEY_BYTES], receipt[EFFACE_RECEIPT_KEY_BYTES];
} cli_keys;

bool cli_store_options(const cli_open *how, efface_store_options *options, cli_keys *keys,
                       int *code);

/* The model that was asked for or, if none was (`wanted` NULL), the only one there is. CLI_DONE, or
 * after a message another exit code. */
int cli_choose_model(efface_store *store, const char *wanted, efface_stored_model *info);
int cli_find_model(efface_store *store, const char *name, efface_stored_model *info);

/* Whether there is a file of that name, and not a folder. */
bool cli_is_file(const char *path);

/* Whether a file is a published model, as far as its first bytes tell. */
bool cli_is_published(const char *path);

#define CLI_HEX_BYTES (2 * EFFACE_DIGEST_BYTES + 1)
void cli_hex(const unsigned char *bytes, size_t n_bytes, char *hex);

/* ---- asking.c: people */

/* Whether somebody can be asked: standard input and standard error are a terminal. Rank 0 asks, and
 * all ranks get the answer. */
bool cli_can_ask(void);

/* Whether a command may make a change that cannot be undone. With --yes: CLI_DONE. Without a
 * terminal to ask at: CLI_USAGE, after a message. Else CLI_DONE as well, and `ask` is set: call
 * cli_ask. */
int cli_may_change(const char *command, bool yes, bool *ask);

/* Asks for a yes. False, after a message, for any other answer. */
__attribute__((format(printf, 1, 2))) bool cli_ask(const char *format, ...);

/* ---- progress.c: that something is going on */

/* Shows on a terminal, from the second second on, what is being done, how much of it as a bar and a
 * percentage, for how long, and how long it may still take. `step` of `n_steps` is which of several
 * parts now begins, from 0; n_steps is 0 or 1 if there is one. Elsewhere it shows nothing. */
void cli_progress_begin(const char *what, unsigned step, unsigned n_steps);
void cli_progress_end(void);

/* For efface_store_options.progress, set in every store that is opened here. Between begin and end
 * SIGINT and SIGTERM no longer end the program once this was called: it then returns 1, and the
 * library ends what it does with EFFACE_E_INTERRUPTED. A second signal ends the program. */
int cli_progress_part(void *context, double part);

/* The same for a fit that is about to begin. */
void cli_watch_fit(efface_params *params);

/* Seconds on a clock that only goes forward. */
double cli_now(void);

/* ---- secrets.c: random numbers and key files */

/* Random bytes; shared: all ranks get the same. False, after a message, if the system gives
 * none. */
bool cli_random(void *bytes, size_t n_bytes);
bool cli_shared_random(void *bytes, size_t n_bytes);
void cli_wipe(void *bytes, size_t n_bytes);

/* Hexadecimal digits of n_bytes and the end of a line, of which there may be none. */
bool cli_from_hex(const char *text, size_t n_text, unsigned char *bytes, size_t n_bytes);

typedef enum cli_key { CLI_SECRET_KEY, CLI_PUBLIC_KEY, CLI_RECEIPT_KEY } cli_key;

/* Key files are one line of hexadecimal digits. A new one is never written over another file.
 * False, after a message, if it cannot be written or read; `code` then has the exit code. */
bool cli_write_key(const char *path, cli_key kind, const unsigned char *key, int *code);
bool cli_read_key(const char *path, cli_key kind, unsigned char *key, int *code);

#endif
