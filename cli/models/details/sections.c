/* Sections of what info says of a model. */
#include "models/details/sections.h"

#include "one_more.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 20, MAX_NAME = 32, CELL = 13 };

cli_section *cli_sections_add(cli_sections *sections, const cli_section_column *columns,
                              uint32_t n_columns, uint32_t n_rows) {
    cli_section *const items = cli_one_more(sections->items, sections->n, sizeof *items);
    if (items == NULL)
        return NULL;
    sections->items = items;
    cli_section *const made = &items[sections->n];
    memset(made, 0, sizeof *made);
    made->columns = columns;
    made->n_columns = n_columns;
    made->n_rows = n_rows;
    made->names = calloc(n_rows + (size_t)1, sizeof *made->names);
    made->values = calloc(n_rows + (size_t)1, (n_columns + (size_t)1) * sizeof *made->values);
    sections->n++; /* it is freed with the others, whole or not */
    return made->names != NULL && made->values != NULL ? made : NULL;
}

void cli_section_name(cli_section *section, uint32_t row, const char *name) {
    section->names[row] = strdup(name);
    section->facts.failed = section->facts.failed || section->names[row] == NULL;
}

void cli_sections_free(cli_sections *sections) {
    for (size_t i = 0; i < sections->n; i++) {
        cli_section *const s = &sections->items[i];
        for (uint32_t j = 0; j < s->n_rows && s->names != NULL; j++)
            free(s->names[j]);
        free(s->names);
        free(s->values);
        free(s->title);
        cli_facts_free(&s->facts);
    }
    free(sections->items);
    *sections = (cli_sections){.items = NULL};
}

/* ---- text */

/* A row and the size of its first number. */
typedef struct sized {
    uint32_t row;
    double size;
} sized;

static int compare_sizes(const void *a, const void *b) {
    const sized *const x = a, *const y = b;
    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

static int compare_rows(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Marks the rows to be shown, in their order: all, or the largest. */
static uint32_t choose_rows(const cli_section *s, uint32_t chosen[MAX_ROWS]) {
    const uint32_t max = s->max_shown > 0 && s->max_shown < MAX_ROWS ? s->max_shown : MAX_ROWS;
    const uint32_t n = s->n_rows < max ? s->n_rows : max;
    sized *const rows =
        s->n_rows > n && s->max_shown == 0 ? malloc(s->n_rows * sizeof *rows) : NULL;
    for (uint32_t i = 0; i < s->n_rows && rows != NULL; i++) {
        const double size = s->n_columns > 0 ? fabs(s->values[(size_t)i * s->n_columns]) : 0.0;
        rows[i] = (sized){i, size == size ? size : 0.0};
    }
    if (rows != NULL)
        qsort(rows, s->n_rows, sizeof *rows, compare_sizes);
    for (uint32_t i = 0; i < n; i++)
        chosen[i] = rows != NULL ? rows[i].row : i;
    free(rows);
    qsort(chosen, n, sizeof *chosen, compare_rows);
    return n;
}

static void put_cell(cli_cell kind, double value) {
    char text[64];
    if (value != value)
        strcpy(text, "-");
    else if (kind == CLI_CELL_WHOLE)
        snprintf(text, sizeof text, "%.0f", value);
    else if (kind == CLI_CELL_PART)
        snprintf(text, sizeof text, "%.2f %%", 100.0 * value);
    else
        snprintf(text, sizeof text, "%.6g", value);
    printf(" %*s", CELL - 1, text);
}

static void print_list(const cli_section *s) {
    uint32_t rows[MAX_ROWS];
    const uint32_t n = choose_rows(s, rows);
    int width = cli_count_characters(s->row_name);
    for (uint32_t i = 0; i < n; i++)
        width = cli_count_characters(s->names[rows[i]]) > width
                    ? cli_count_characters(s->names[rows[i]])
                    : width;
    width = width > MAX_NAME ? MAX_NAME : width;
    cli_put_padded(stdout, s->row_name, width);
    for (uint32_t j = 0; j < s->n_columns; j++)
        printf(" %*s", CELL - 1, s->columns[j].heading);
    putchar('\n');
    for (uint32_t i = 0; i < n; i++) {
        cli_put_padded(stdout, s->names[rows[i]], width);
        for (uint32_t j = 0; j < s->n_columns; j++)
            put_cell(s->columns[j].kind, s->values[(size_t)rows[i] * s->n_columns + j]);
        putchar('\n');
    }
    if (n < s->n_rows && s->table != NULL)
        printf("... and %" PRIu32 " more; efface export --table %s\n", s->n_rows - n, s->table);
    else if (n < s->n_rows)
        printf("... and %" PRIu32 " more\n", s->n_rows - n);
}

/* Names alone, in lines of at most 80 columns where that is possible. */
static void print_names(const cli_section *s) {
    enum { WIDTH = 80, INDENT = 10 };
    int column = printf("%-9s ", s->rows_name);
    for (uint32_t i = 0; i < s->n_rows && i < MAX_ROWS; i++) {
        const int n = cli_count_characters(s->names[i]) + 2;
        if (i > 0 && column + n > WIDTH) {
            printf("\n%*s", INDENT, "");
            column = INDENT;
        }
        cli_put_text(stdout, s->names[i]);
        fputs(i + 1 < s->n_rows ? ", " : "", stdout);
        column += n;
    }
    if (s->n_rows > MAX_ROWS)
        printf("and %" PRIu32 " more", s->n_rows - MAX_ROWS);
    putchar('\n');
}

void cli_print_sections(const cli_sections *sections) {
    for (size_t i = 0; i < sections->n; i++) {
        const cli_section *const s = &sections->items[i];
        if (s->title != NULL) {
            printf("%-9s ", s->one);
            cli_put_text(stdout, s->title);
            putchar('\n');
        }
        cli_put_facts(stdout, "          ", &s->facts, CLI_FITTED);
        if (s->n_rows > 0)
            (s->n_columns > 0 ? print_list : print_names)(s);
    }
}

/* ---- JSON */

static void json_list(cli_json *json, const cli_section *s) {
    cli_json_open(json, s->rows_name, '[');
    for (uint32_t i = 0; i < s->n_rows; i++) {
        cli_json_open(json, NULL, '{');
        cli_json_text(json, s->row_name, s->names[i]);
        for (uint32_t j = 0; j < s->n_columns; j++) {
            const double value = s->values[(size_t)i * s->n_columns + j];
            if (s->columns[j].kind == CLI_CELL_WHOLE && value >= 0.0)
                cli_json_whole(json, s->columns[j].key, (uint64_t)value);
            else
                cli_json_real(json, s->columns[j].key, value);
        }
        cli_json_close(json);
    }
    cli_json_close(json);
}

void cli_json_sections(cli_json *json, const cli_sections *sections) {
    for (size_t i = 0; i < sections->n; i++) {
        const cli_section *const s = &sections->items[i];
        const bool first = i == 0 || s[-1].title == NULL;
        const bool last = i + 1 == sections->n || s[1].title == NULL;
        if (s->title == NULL) {
            cli_json_facts(json, &s->facts, false);
            json_list(json, s);
            continue;
        }
        if (first)
            cli_json_open(json, s->several, '[');
        cli_json_open(json, NULL, '{');
        cli_json_text(json, "name", s->title);
        cli_json_facts(json, &s->facts, false);
        json_list(json, s);
        cli_json_close(json);
        if (last)
            cli_json_close(json);
    }
}
