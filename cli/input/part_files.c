/* DATA that is several files, or that ranks read together. */
#include "input/part_files.h"

#include "ranks.h"

#include <stdlib.h>
#include <string.h>

/* What the fields of a column are, over files: 77 and "77" would be two people. */
enum { IDS, OWNERS, LABELS, N_COLUMNS };

typedef struct kinds {
    uint64_t numbers[N_COLUMNS], texts[N_COLUMNS]; /* in how many files */
} kinds;

typedef struct parts {
    const cli_texts *paths;
    const efface_load_options *load;
    uint32_t rank, size;
    efface_data **sets; /* of each file, or NULL */
    uint64_t *n_rows;   /* of each file, on all ranks together */
    kinds found;
} parts;

static bool is_mine(const parts *p, size_t file) {
    return p->paths->n < p->size || file % p->size == p->rank;
}

/* The first file that this rank reads: it reads at least one. */
static size_t first_of(const parts *p) {
    return p->paths->n < p->size ? 0 : p->rank;
}

/* ---- kinds */

static void note_kind(parts *p, int column, efface_text_kind kind, uint64_t number) {
    if (efface_texts_find(p->load->texts, kind, number) != NULL)
        p->found.texts[column]++;
    else
        p->found.numbers[column]++;
}

static void note_kinds(parts *p, const efface_data *set) {
    const size_t n = efface_data_n_rows(set);
    if (n == 0)
        return;
    const efface_row first = efface_data_row(set, 0);
    if (p->load->id_column != NULL)
        note_kind(p, IDS, EFFACE_TEXT_ID, first.id);
    if (first.label != EFFACE_NO_LABEL)
        note_kind(p, LABELS, EFFACE_TEXT_LABEL, (uint64_t)first.label);
    for (size_t i = 0; i < n; i++) {
        const uint64_t owner = efface_data_row(set, i).owner;
        if (owner == EFFACE_NO_OWNER)
            continue;
        note_kind(p, OWNERS, EFFACE_TEXT_OWNER, owner);
        return;
    }
}

static int check_kinds(parts *p) {
    static const char *const names[] = {"ids", "owners", "labels"};
    const int code = cli_sum((uint64_t *)&p->found, sizeof p->found / sizeof(uint64_t));
    if (code != CLI_DONE)
        return code;
    for (int i = 0; i < N_COLUMNS; i++)
        if (p->found.numbers[i] > 0 && p->found.texts[i] > 0)
            return cli_failed("the %s are numbers in some files and texts in others%s", names[i],
                              i == LABELS ? "" : "; say what they are with --ids");
    return CLI_DONE;
}

static efface_ids kind_of(const parts *p, int column) {
    return p->found.texts[column] > 0     ? EFFACE_IDS_TEXT
           : p->found.numbers[column] > 0 ? EFFACE_IDS_NUMBERS
                                          : EFFACE_IDS_DETECT;
}

/* ---- columns */

static int say_other_columns(const parts *p, size_t file) {
    return cli_failed("%s has other columns than %s; files that are read together have the same "
                      "columns, in the same order and with the same names",
                      p->paths->items[file], p->paths->items[0]);
}

/* The names of columns, a line each. */
static char *name_lines(const efface_data *set) {
    char *list = NULL;
    size_t n_bytes;
    FILE *const out = open_memstream(&list, &n_bytes);
    for (uint32_t i = 0; out != NULL && i < efface_data_n_columns(set); i++) {
        const char *const name = efface_data_column_name(set, i);
        fprintf(out, "%s%s\n", name != NULL ? "=" : "", name != NULL ? name : "");
    }
    return out != NULL && fclose(out) == 0 ? list : NULL;
}

/* All files are like the first, which rank 0 has read. */
static int check_columns(const parts *p) {
    char *const own = name_lines(p->sets[first_of(p)]);
    uint64_t n_bytes = own != NULL ? strlen(own) + 1 : 0;
    if (own == NULL)
        return cli_out_of_memory();
    int code = cli_share(&n_bytes, sizeof n_bytes);
    char *const wanted = calloc((size_t)n_bytes, 1);
    if (code == CLI_DONE && wanted == NULL)
        code = cli_out_of_memory();
    if (code == CLI_DONE && cli_is_first())
        strcpy(wanted, own);
    free(own);
    if (code == CLI_DONE)
        code = cli_share(wanted, (size_t)n_bytes);
    for (size_t i = 0; i < p->paths->n && code == CLI_DONE; i++) {
        char *const names = p->sets[i] != NULL ? name_lines(p->sets[i]) : NULL;
        if (p->sets[i] != NULL && names == NULL)
            code = cli_out_of_memory();
        else if (names != NULL && strcmp(names, wanted) != 0)
            code = say_other_columns(p, i);
        free(names);
    }
    free(wanted);
    return code;
}

/* ---- one set of several */

/* Some rows on their way from one set to another. */
typedef struct batch {
    float *values;
    uint64_t *ids, *owners;
    int64_t *weights, *labels;
} batch;

enum { BATCH_ROWS = 1024 };

static bool make_batch(batch *b, uint32_t n_columns) {
    *b = (batch){.values = malloc((size_t)BATCH_ROWS * n_columns * sizeof *b->values),
                 .ids = malloc(BATCH_ROWS * sizeof *b->ids),
                 .owners = malloc(BATCH_ROWS * sizeof *b->owners),
                 .weights = malloc(BATCH_ROWS * sizeof *b->weights),
                 .labels = malloc(BATCH_ROWS * sizeof *b->labels)};
    return b->values != NULL && b->ids != NULL && b->owners != NULL && b->weights != NULL &&
           b->labels != NULL;
}

static void free_batch(batch *b) {
    free(b->values);
    free(b->ids);
    free(b->owners);
    free(b->weights);
    free(b->labels);
}

/* Adds all rows of a set, their ids moved up. */
static efface_status append_rows(efface_data *to, const efface_data *from, uint64_t move, batch *b,
                                 efface_error *error) {
    const uint32_t n_columns = efface_data_n_columns(from);
    const size_t n_rows = efface_data_n_rows(from);
    efface_status status = EFFACE_OK;
    for (size_t begin = 0, n; begin < n_rows && status == EFFACE_OK; begin += n) {
        n = n_rows - begin < BATCH_ROWS ? n_rows - begin : BATCH_ROWS;
        for (size_t i = 0; i < n; i++) {
            const efface_row row = efface_data_row(from, begin + i);
            efface_data_values(from, begin + i, b->values + i * n_columns);
            b->ids[i] = row.id + move;
            b->owners[i] = row.owner;
            b->weights[i] = row.weight;
            b->labels[i] = row.label;
        }
        const efface_rows rows = {.n_rows = n,
                                  .values = b->values,
                                  .ids = b->ids,
                                  .owners = b->owners,
                                  .weights = b->weights,
                                  .labels = b->labels};
        status = efface_data_add(to, &rows, error);
    }
    return status;
}

static int say_which(const parts *p, size_t file, const efface_error *error) {
    efface_error named = *error;
    snprintf(named.message, sizeof named.message, "%s: %.400s", p->paths->items[file],
             error->message);
    return cli_report_error(&named);
}

/* Makes one set of those of this rank, which are released on the way. */
static int combine_sets(parts *p, efface_data **out) {
    const efface_data *const first = p->sets[first_of(p)];
    efface_error error;
    batch b;
    uint64_t move = 0;
    int code = make_batch(&b, efface_data_n_columns(first)) ? CLI_DONE : cli_out_of_memory();
    CLI_THEN(code, cli_outcome(cli_begin_like(first, out, &error), &error));
    if (code == CLI_DONE && p->load->missing)
        efface_data_allow_missing(*out);
    for (size_t i = 0; i < p->paths->n && code == CLI_DONE; i++) {
        if (p->sets[i] != NULL && append_rows(*out, p->sets[i], move, &b, &error) != EFFACE_OK)
            code = say_which(p, i, &error);
        move += p->load->id_column == NULL ? p->n_rows[i] : 0;
        efface_data_free(p->sets[i]);
        p->sets[i] = NULL;
    }
    free_batch(&b);
    if (code == CLI_DONE)
        efface_data_set_kinds(*out, kind_of(p, IDS), kind_of(p, OWNERS));
    return code;
}

/* ---- reading */

static int load_files(parts *p, const cli_data_options *options, efface_load_options *load) {
    efface_rounding *const rounding = load->rounding;
    int code = CLI_DONE;
    load->n_shares = p->paths->n < p->size ? p->size : 0;
    load->share = load->n_shares != 0 ? p->rank : 0;
    for (size_t i = 0; i < p->paths->n && code == CLI_DONE; i++) {
        if (!is_mine(p, i))
            continue;
        code = cli_load_data(p->paths->items[i], options, load, &p->sets[i]);
        load->rounding = NULL;
        if (code != CLI_DONE)
            break;
        p->n_rows[i] = efface_data_n_rows(p->sets[i]);
        note_kinds(p, p->sets[i]);
    }
    load->rounding = rounding;
    return code;
}

/* One set of all that this rank has read. */
static int unite_sets(parts *p, efface_data **set) {
    if (p->paths->n == 1) {
        *set = p->sets[0];
        p->sets[0] = NULL;
        return CLI_DONE;
    }
    int code = cli_sum(p->n_rows, p->paths->n);
    CLI_THEN(code, check_columns(p));
    CLI_THEN(code, check_kinds(p));
    CLI_THEN(code, combine_sets(p, set));
    return code;
}

static int join_group(efface_data *data) {
    efface_error error;
    return cli_group() != NULL ? cli_outcome(efface_data_join(data, cli_group(), &error), &error)
                               : CLI_DONE;
}

int cli_load_parts(const cli_texts *paths, const cli_data_options *options,
                   efface_load_options *load, efface_data **data) {
    const efface_group *const group = cli_group();
    parts p = {.paths = paths,
               .load = load,
               .rank = group != NULL ? group->rank : 0,
               .size = group != NULL ? group->size : 1,
               .sets = calloc(paths->n, sizeof *p.sets),
               .n_rows = calloc(paths->n, sizeof *p.n_rows)};
    efface_data *set = NULL;
    int code = p.sets != NULL && p.n_rows != NULL ? CLI_DONE : cli_out_of_memory();
    CLI_THEN(code, load_files(&p, options, load));
    CLI_THEN(code, unite_sets(&p, &set));
    CLI_THEN(code, join_group(set));
    for (size_t i = 0; i < paths->n && p.sets != NULL; i++)
        efface_data_free(p.sets[i]);
    free(p.sets);
    free(p.n_rows);
    if (code == CLI_DONE)
        *data = set;
    else
        efface_data_free(set);
    return code;
}
