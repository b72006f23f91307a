/* What forget and learn print: for people, and as JSON. */
#include "cli.h"
#include "json_writer.h"

#include <inttypes.h>

static void print_json(const cli_change *change, const efface_store_report *report) {
    cli_json json = {.out = stdout};
    char hex[CLI_HEX_BYTES];
    cli_json_open(&json, NULL, '{');
    if (change->learned) {
        cli_json_whole(&json, "learned", report->n_learned);
    } else {
        cli_json_whole(&json, "requested", report->n_requested);
        cli_json_whole(&json, "forgotten", report->n_forgotten);
        cli_json_whole(&json, "missing", report->n_missing);
        cli_json_bool(&json, "dry_run", change->look);
    }
    if (report->receipt != 0)
        cli_json_whole(&json, "receipt", report->receipt);
    else
        cli_json_text(&json, "receipt", NULL);
    cli_json_seconds(&json, "seconds", report->seconds);
    cli_json_open(&json, "models", '[');
    for (uint32_t i = 0; i < report->n_models; i++) {
        const efface_model_report *const model = &report->models[i];
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "name", model->name);
        cli_json_text(&json, "action", efface_action_name(model->report.action));
        cli_json_text(&json, "reason", efface_reason_name(model->report.reason));
        cli_json_whole(&json, "level", model->report.level);
        cli_json_whole(&json, "rows_visited", model->report.rows_visited);
        cli_json_seconds(&json, "seconds", model->report.seconds);
        cli_hex(model->before, sizeof model->before, hex);
        cli_json_text(&json, "before", hex);
        if (!change->look) {
            cli_hex(model->after, sizeof model->after, hex);
            cli_json_text(&json, "after", hex);
        }
        cli_json_close(&json, '}');
    }
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
}

static void print_text(const cli_change *change, const efface_store_report *report) {
    const uint64_t n = change->learned ? report->n_learned : report->n_forgotten;
    printf("%" PRIu64 " row%s %s", n, n == 1 ? "" : "s", change->verb);
    if (!change->learned)
        printf("; %" PRIu64 " requested, %" PRIu64 " missing", report->n_requested,
               report->n_missing);
    if (report->receipt != 0)
        printf("; receipt %" PRIu64, report->receipt);
    printf("; %.3f s\n", report->seconds);
    if (report->n_models == 0)
        return;
    printf("%-20s %-9s %5s %12s %9s  %s\n", "model", "action", "level", "rows visited", "seconds",
           "reason");
    for (uint32_t i = 0; i < report->n_models; i++) {
        const efface_report *const r = &report->models[i].report;
        printf("%-20s %-9s %5" PRIu32 " %12" PRIu64 " %9.3f", report->models[i].name,
               efface_action_name(r->action), r->level, r->rows_visited, r->seconds);
        if (r->reason != EFFACE_REASON_NONE)
            printf("  %s", efface_reason_name(r->reason));
        putchar('\n');
    }
}

void cli_print_change(const cli_change *change, const efface_store_report *report) {
    if (change->json)
        print_json(change, report);
    else
        print_text(change, report);
}
