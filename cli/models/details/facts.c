/* Facts about a model. Whoever tells them may not be asked again while they are written, and what
 * goes wrong has to be known before anything is: so they are kept. */
#include "models/details/facts.h"

#include "one_more.h"
#include "output/messages.h"
#include "output/output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 80 };

void cli_facts_add(void *list, const efface_fact *fact) {
    cli_facts *const facts = list;
    cli_fact *const items = cli_one_more(facts->items, facts->n, sizeof *items);
    if (items == NULL) {
        facts->failed = true;
        return;
    }
    facts->items = items;
    const bool has_text = fact->kind == EFFACE_FACT_TEXT;
    const cli_fact copy = {.name = strdup(fact->name),
                           .kind = fact->kind,
                           .is_parameter = fact->is_parameter != 0,
                           .whole = fact->whole,
                           .real = fact->real,
                           .text = has_text ? strdup(fact->text) : NULL};
    if (copy.name == NULL || (has_text && copy.text == NULL))
        facts->failed = true;
    items[facts->n++] = copy;
}

void cli_facts_free(cli_facts *facts) {
    for (size_t i = 0; i < facts->n; i++) {
        free(facts->items[i].name);
        free(facts->items[i].text);
    }
    free(facts->items);
    *facts = (cli_facts){.items = NULL};
}

/* Texts of facts are words; one that is longer than its room is cut off, where lines have no room
 * for sentences. */
static void format_fact(char text[80], const cli_fact *fact) {
    switch (fact->kind) {
    case EFFACE_FACT_WHOLE: snprintf(text, 80, "%" PRIu64, fact->whole); return;
    case EFFACE_FACT_REAL: /* what was given is shown in full, what came out as far as one reads */
        if (fact->is_parameter)
            cli_format_number(text, fact->real);
        else
            snprintf(text, 80, "%.6g", fact->real);
        return;
    case EFFACE_FACT_TEXT: snprintf(text, 80, "%s", fact->text); return;
    case EFFACE_FACT_YES_NO: strcpy(text, fact->whole != 0 ? "yes" : "no"); return;
    case EFFACE_FACT_NONE: break;
    }
    /* What that means, the family's documentation says: derived from the rows, or not used. */
    strcpy(text, fact->is_parameter ? "default" : "none");
}

static bool is_shown(const cli_fact *fact, cli_which which) {
    return fact->is_parameter == (which != CLI_FITTED) &&
           (which == CLI_PARAMETERS || fact->kind != EFFACE_FACT_NONE);
}

void cli_put_facts(FILE *out, const char *label, const cli_facts *facts, cli_which which) {
    const int indent = (int)strlen(label);
    int column = 0; /* 0: nothing is written yet */
    for (size_t i = 0; i < facts->n; i++) {
        char value[80], text[200];
        if (!is_shown(&facts->items[i], which))
            continue;
        format_fact(value, &facts->items[i]);
        const int n = snprintf(text, sizeof text, "%.100s %s", facts->items[i].name, value);
        if (column == 0) {
            fputs(label, out);
            column = indent;
        } else if (column + 2 + n + 1 > WIDTH) { /* a comma may follow */
            fprintf(out, ",\n%*s", indent, "");
            column = indent;
        } else {
            fputs(", ", out);
            column += 2;
        }
        cli_put_text(out, text);
        column += n;
    }
    fputs(column > 0 ? "\n" : "", out);
}

/* A sentence, in lines of at most WIDTH characters, the first of which is begun. */
static void put_sentence(FILE *out, const char *sentence, int indent) {
    for (int column = indent; *sentence != '\0';) {
        char word[200];
        const int n = (int)strcspn(sentence, " ");
        if (column > indent && column + 1 + n > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        snprintf(word, sizeof word, "%.*s", n, sentence);
        cli_put_text(out, word);
        column += n;
        sentence += n;
        sentence += strspn(sentence, " ");
    }
}

void cli_put_fact_lines(FILE *out, const cli_facts *facts) {
    for (size_t i = 0; i < facts->n; i++) {
        char value[80];
        fprintf(out, "%-9s ", facts->items[i].name);
        if (facts->items[i].kind == EFFACE_FACT_TEXT) {
            put_sentence(out, facts->items[i].text, 10);
        } else {
            format_fact(value, &facts->items[i]);
            cli_put_text(out, value);
        }
        fputc('\n', out);
    }
}

void cli_json_facts(cli_json *json, const cli_facts *facts, bool parameters) {
    for (size_t i = 0; i < facts->n; i++) {
        const cli_fact *const fact = &facts->items[i];
        if (fact->is_parameter != parameters)
            continue;
        switch (fact->kind) {
        case EFFACE_FACT_WHOLE: cli_json_whole(json, fact->name, fact->whole); break;
        case EFFACE_FACT_REAL: cli_json_real(json, fact->name, fact->real); break;
        case EFFACE_FACT_TEXT: cli_json_text(json, fact->name, fact->text); break;
        case EFFACE_FACT_YES_NO: cli_json_bool(json, fact->name, fact->whole != 0); break;
        case EFFACE_FACT_NONE: cli_json_text(json, fact->name, NULL); break;
        }
    }
}

void cli_json_model(cli_json *json, const efface_stored_model *model, const cli_facts *facts) {
    cli_json_text(json, "name", model->name);
    cli_json_text(json, "kind", model->kind);
    cli_json_whole(json, "dim", model->n_columns);
    cli_json_open(json, "parameters", '{');
    cli_json_facts(json, facts, true);
    cli_json_close(json);
    cli_json_text(json, "digest", cli_hex_of(model->digest).text);
    cli_json_text(json, "commitment", cli_hex_of(model->commitment).text);
}
