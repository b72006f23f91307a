/* What forget, learn and update print: for people, and as JSON. */
#include "commands/rows/change_report.h"

#include "output/json_writer.h"
#include "output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void json_missing(cli_json *json, const char *key, const cli_wanted *wanted,
                         const cli_ids *ids) {
    for (size_t i = 0; i < ids->n; i++) {
        const cli_token name = {.number = ids->items[i],
                                .text = cli_wanted_text(wanted, ids->items[i])};
        cli_json_open(json, NULL, '{');
        cli_json_token(json, key, &name);
        cli_json_close(json);
    }
}

static void print_json_change(const cli_change *change, const efface_store_report *report) {
    cli_json json = cli_json_object(stdout);
    if (change->kind == CLI_LEARNED) {
        cli_json_whole(&json, "learned", report->n_learned);
    } else if (change->kind == CLI_UPDATED) {
        cli_json_whole(&json, "updated", report->n_updated);
    } else {
        cli_json_whole(&json, "requested", report->n_requested);
        cli_json_whole(&json, "forgotten", report->n_forgotten);
        cli_json_whole(&json, "missing", report->n_missing);
        cli_json_open(&json, "not_found", '[');
        json_missing(&json, "id", change->wanted, &change->missing->rows);
        json_missing(&json, "owner", change->wanted, &change->missing->owners);
        cli_json_close(&json);
        cli_json_bool(&json, "dry_run", change->look);
    }
    if (report->new_ids != NULL) {
        cli_json_open(&json, "ids", '[');
        for (uint64_t i = 0; i < report->n_learned; i++)
            cli_json_whole(&json, NULL, report->new_ids[i]);
        cli_json_close(&json);
    }
    cli_json_whole_or_null(&json, "receipt", report->receipt);
    cli_json_seconds(&json, "seconds", report->seconds);
    cli_json_open(&json, "models", '[');
    for (uint32_t i = 0; i < report->n_models; i++) {
        const efface_model_report *const model = &report->models[i];
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "name", model->name);
        cli_json_text(&json, "kind", model->kind);
        cli_json_text(&json, "action", efface_action_name(model->report.action));
        cli_json_text(&json, "reason", model->report.reason);
        cli_json_text(&json, "where", model->report.where);
        cli_json_whole(&json, "rows_visited", model->report.rows_visited);
        cli_json_seconds(&json, "seconds", model->report.seconds);
        cli_json_text(&json, "before", cli_hex_of(model->before).text);
        if (!change->look) {
            cli_json_text(&json, "after", cli_hex_of(model->after).text);
        }
        cli_json_close(&json);
    }
    cli_json_close_all(&json);
}

static void print_new_ids(const efface_store_report *report, bool among_texts) {
    enum { MAX_IDS = 10 };
    const uint64_t n = report->n_learned < MAX_IDS ? report->n_learned : MAX_IDS;
    printf("new ids:");
    for (uint64_t i = 0; i < n; i++)
        printf("%s %s%" PRIu64, i > 0 ? "," : "", among_texts ? CLI_NUMBER_MARK : "",
               report->new_ids[i]);
    if (n < report->n_learned)
        printf(" and %" PRIu64 " more", report->n_learned - n);
    putchar('\n');
}

static void print_text_change(const cli_change *change, const efface_store_report *report) {
    const char *const verb = change->kind == CLI_LEARNED   ? "learned"
                             : change->kind == CLI_UPDATED ? "updated"
                             : change->look                ? "will be forgotten"
                                                           : "forgotten";
    const uint64_t n = change->kind == CLI_LEARNED   ? report->n_learned
                       : change->kind == CLI_UPDATED ? report->n_updated
                                                     : report->n_forgotten;
    printf("%" PRIu64 " row%s %s", n, n == 1 ? "" : "s", verb);
    if (report->n_missing != 0)
        printf("; %" PRIu64 " of the %" PRIu64 " ids and owners do%s not exist", report->n_missing,
               report->n_requested, report->n_missing == 1 ? "es" : "");
    if (report->receipt != 0)
        printf("; receipt %" PRIu64, report->receipt);
    printf("; %.3f s%s\n", report->seconds, change->look ? "; nothing was changed" : "");
    if (report->new_ids != NULL && report->n_learned > 0)
        print_new_ids(report, change->among_texts);
    for (uint32_t i = 0; i < report->n_models; i++) {
        const efface_model_report *const model = &report->models[i];
        const efface_report *const r = &model->report;
        printf("%s, %s: %s%s", model->name, model->kind, change->look ? "will be " : "",
               efface_action_name(r->action));
        if (!change->look)
            printf(" in %.3f s", r->seconds);
        printf("\n  %s%s%s\n", r->reason, r->where[0] != '\0' ? ", " : "", r->where);
    }
}

void cli_print_change(const cli_change *change, const efface_store_report *report) {
    if (change->json)
        print_json_change(change, report);
    else
        print_text_change(change, report);
}

static void write_hash(FILE *out, const void *list, uint64_t number) {
    const unsigned char *const hashes = list;
    char hex[2 * EFFACE_ROW_HASH_BYTES + 1];
    cli_hex(hashes + number * EFFACE_ROW_HASH_BYTES, EFFACE_ROW_HASH_BYTES, hex);
    fputs(hex, out);
}

int cli_write_hashes(cli_fresh *file, const efface_store_report *report) {
    if (report->row_hashes == NULL) {
        cli_fresh_abandon(file);
        return CLI_DONE;
    }
    return cli_fresh_finish(file, write_hash, report->row_hashes, report->n_row_hashes);
}

static const char *known_text(const efface_texts *texts, uint64_t number) {
    const char *const id = efface_texts_find(texts, EFFACE_TEXT_ID, number);
    return id != NULL ? id : efface_texts_find(texts, EFFACE_TEXT_OWNER, number);
}

int cli_report_named(const efface_error *error, const efface_texts *texts) {
    efface_error named = *error;
    size_t used = 0;
    for (const char *c = error->message; *c != '\0' && used + 1 < sizeof named.message;) {
        const size_t n_digits = strspn(c, "0123456789");
        char *end;
        errno = 0;
        const uint64_t number = n_digits > 0 ? strtoull(c, &end, 10) : 0;
        const char *const text = n_digits > 0 && errno == 0 ? known_text(texts, number) : NULL;
        const size_t n_bytes = n_digits > 0 ? n_digits : 1;
        const size_t room = sizeof named.message - used;
        const int n = text != NULL ? snprintf(named.message + used, room, "\"%s\"", text)
                                   : snprintf(named.message + used, room, "%.*s", (int)n_bytes, c);
        used += (size_t)n < room ? (size_t)n : room - 1;
        c += n_bytes;
    }
    return cli_report_error(&named);
}
