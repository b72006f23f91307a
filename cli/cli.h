/* efface, the program: exit codes, and what a command is. All of cli/ sees the public API only.
 *
 * - program.c: what is done with the arguments of a program that has commands. main.c is efface;
 *   mpi/ has efface-mpi.
 * - ranks.h: processes that run a command together.
 * - commands/: a file for each command, and what a few of them share; by what they are about:
 *   rows, models, or a store.
 * - models/: what is known of models: families, details (for info), answers (predictions, tables).
 * - input/: arguments, data files, key files, stores, answers of people; and columns by name.
 * - output/: files, JSON, messages, progress.
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

/* Exit codes. They are part of the interface: docs/use/man/efface.1 lists them. */
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

/* What fails says so and returns an exit code: one step after another, while all is well. */
#define CLI_THEN(code, step) ((void)((code) = (code) == CLI_DONE ? (step) : (code)))

/* A command: its arguments begin after its name. `help` fits a screen of 24 lines. */
typedef struct cli_command {
    const char *name;
    const char *summary;
    const char *help;
    int (*run)(int n_arguments, char **arguments);

    /* The help for these arguments, where it depends on them; NULL, after a message, if one of them
     * is wrong. If this is NULL, it is `help`, and if that is NULL, too, `run` prints it. */
    const char *(*help_on)(int n_arguments, char **arguments);
} cli_command;

extern const cli_command cli_fit, cli_forget, cli_learn, cli_predict, cli_export, cli_info,
    cli_verify, cli_check, cli_rekey, cli_drop, cli_receipt, cli_show, cli_owners, cli_update,
    cli_compact, cli_publish, cli_serve, cli_tokens, cli_digest, cli_look;

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

#endif
