/*
 * What a store must hold, as told by the requests that it acknowledged.
 *
 * Rows are known by a number and a version: ids, weights, owners and labels follow from the number,
 * values from both, and a row has another version whenever it is learned or updated. Models are
 * known by a kind, which is a family and parameters (law/law_families.h). A step is one request,
 * drawn at random so that it must succeed, and written as a line of text, for a process that may
 * die to tell another what it is about to do.
 *
 * Several processes may draw steps for one store, each in a lane of its own: lanes share no row, no
 * owner and no model, so that what they do can be put together in any order.
 */
#ifndef EF_TESTS_LEDGER_H
#define EF_TESTS_LEDGER_H

#include "efface/efface.h"

#include <stdbool.h>
#include <stdio.h>

#define LEDGER_IDS 600
#define LEDGER_COLUMNS 5
#define LEDGER_MODELS 6
#define LEDGER_LINE 512
#define LEDGER_LANES 2 /* at most */

typedef struct ledger_model {
    bool there;
    unsigned kind; /* of its family, parameters and columns */
    uint64_t seed;
} ledger_model;

typedef struct ledger {
    bool inside[LEDGER_IDS];
    uint64_t versions[LEDGER_IDS]; /* the last one, if a row is not inside */
    ledger_model models[LEDGER_MODELS];
    uint64_t n_receipts;
} ledger;

typedef enum step_kind {
    STEP_FORGET,
    STEP_LEARN,
    STEP_FIT,
    STEP_DROP,
    STEP_REKEY,
    STEP_UPDATE
} step_kind;

typedef struct step {
    step_kind kind;
    unsigned n_ids, n_owners;
    uint64_t ids[16], owners[2];
    uint64_t versions[16];     /* that rows will have, if they are learned or updated */
    unsigned slot, model_kind; /* of a model */
    uint64_t seed;
    bool grouped; /* to forget, by a request for each id and owner, all in one transaction */
} step;

/* Random numbers from a seed. */
typedef struct dice {
    uint64_t state;
} dice;
uint64_t dice_below(dice *d, uint64_t limit);

/* From now on no model is of a family that does not work in groups. */
void ledger_is_for_groups(void);

/* What a store holds at first, and such a store; with a group, one in parts: each rank makes its
 * own. */
ledger ledger_first(void);
efface_status ledger_create(const char *path, const efface_group *group, efface_error *error);

/* Makes a store and a ledger that agree. */
efface_status ledger_begin(ledger *l, const char *path, efface_error *error);

/* Draws a step in lane `lane` of `n_lanes`. */
step step_draw(const ledger *l, dice *d, unsigned lane, unsigned n_lanes);
void step_write(const step *s, char line[LEDGER_LINE]);
bool step_read(step *s, const char *line);
efface_status step_do(const step *s, efface_store *store, efface_error *error);
void step_apply(const step *s, ledger *l);

/* Whether a store holds what the ledger says: rows, models by their bytes, number of receipts. If
 * not, `why` says what differs. */
bool ledger_is_of(const ledger *l, efface_store *store, char why[LEDGER_LINE]);

/* The same of a store in parts, on each rank of its group; NULL: the store is one file. If it is
 * not so on one rank only, the others may wait for it. */
bool ledger_is_of_ranks(const ledger *l, efface_store *store, const efface_group *group,
                        char why[LEDGER_LINE]);

/* Writes a line of hexadecimal digits for each run of bytes, of eight at least, that must not be in
 * a file: ids of rows that are not inside, and values that rows no longer have; and that must be
 * there: values of rows. */
void ledger_write_gone(const ledger *l, FILE *out);
void ledger_write_there(const ledger *l, FILE *out);

/* Whether check finds nothing, every model verifies, and receipts are numbered without gaps, each
 * with the digest of the one before (invariants 3, 4 and 5 of the store). Models that are dropped
 * meanwhile by another process are passed over, and the store being busy is no fault. */
bool store_is_sound(efface_store *store, char why[LEDGER_LINE]);

#endif
