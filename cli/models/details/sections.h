/* Sections of what info says of a model: lists of numbers with names, such as the coefficients of a
 * regression. A family fills them; how they look, as text and as JSON, is the same for all. */
#ifndef CLI_SECTIONS_H
#define CLI_SECTIONS_H

#include "models/details/facts.h"

typedef enum cli_cell { CLI_CELL_REAL, CLI_CELL_WHOLE, CLI_CELL_PART } cli_cell;

/* A column of a list. A part is shown in percent. NaN is shown as a dash, and null. */
typedef struct cli_section_column {
    const char *key;     /* in JSON */
    const char *heading; /* in text */
    cli_cell kind;
} cli_section_column;

/* In JSON, sections about one of several things (a target) are the elements of an array that is
 * called `several`; of others, the list stands alone. */
typedef struct cli_section {
    const char *one, *several;        /* what it is about, such as "target", "targets"; or NULL */
    char *title;                      /* which of them; then not NULL */
    cli_facts facts;                  /* about it as a whole */
    const char *row_name, *rows_name; /* of the list: "term", "terms" */
    const cli_section_column *columns;
    uint32_t n_columns;
    uint32_t n_rows;
    char **names; /* n_rows each */
    double *values;
    const char *table;  /* that export writes, for text that would be too long; or NULL */
    uint32_t max_shown; /* in text, of the first rows; 0: as below */
} cli_section;

typedef struct cli_sections {
    cli_section *items;
    size_t n;
} cli_sections;

/* Adds a section with room for a list: names are NULL, values 0. It is valid until the next is
 * added. A list without columns is one of names. NULL if out of memory. */
cli_section *cli_sections_add(cli_sections *sections, const cli_section_column *columns,
                              uint32_t n_columns, uint32_t n_rows);
void cli_sections_free(cli_sections *sections);

/* Names a row of the list. If memory runs out, the facts have failed. */
void cli_section_name(cli_section *section, uint32_t row, const char *name);

/* Text shows twenty rows of a list at most, those whose first numbers are the largest; or the first
 * `max_shown`. JSON has all, as fields within an object that is open. */
void cli_print_sections(const cli_sections *sections);
void cli_json_sections(cli_json *json, const cli_sections *sections);

#endif
