/* Facts about a model: its parameters and what became of it, kept until they are shown. */
#ifndef CLI_FACTS_H
#define CLI_FACTS_H

#include "output/json_writer.h"

#include "cli.h"

/* An efface_fact with texts of its own. */
typedef struct cli_fact {
    char *name;
    efface_fact_kind kind;
    bool is_parameter;
    uint64_t whole;
    double real;
    char *text;
} cli_fact;

typedef struct cli_facts {
    cli_fact *items;
    size_t n;
    bool failed; /* memory was short */
} cli_facts;

/* Keeps a copy of a fact; `facts` is a cli_facts. For efface_model_describe and the like. */
void cli_facts_add(void *facts, const efface_fact *fact);
void cli_facts_free(cli_facts *facts);

/* Which facts of a list are shown. */
typedef enum cli_which {
    CLI_PARAMETERS,       /* all parameters */
    CLI_GIVEN_PARAMETERS, /* those that have a value */
    CLI_FITTED            /* what became of the model, where there is something to say */
} cli_which;

/* Writes `label` and facts as "k 3, iters 10", and ends the line; nothing, if there are no such
 * facts. Lines have at most 80 columns where that is possible; those after the first are indented
 * as far as the label is wide. */
void cli_put_facts(FILE *out, const char *label, const cli_facts *facts, cli_which which);

/* Writes each fact as a line, the name in the first ten columns. */
void cli_put_fact_lines(FILE *out, const cli_facts *facts);

/* Facts as fields of an object that is open: parameters, or all others. A fact without a value is
 * null. */
void cli_json_facts(cli_json *json, const cli_facts *facts, bool parameters);

/* A model as info and fit show it, as fields of an object that is open: name, family, dim,
 * parameters, digest and commitment. */
void cli_json_model(cli_json *json, const efface_stored_model *model, const cli_facts *facts);

#endif
