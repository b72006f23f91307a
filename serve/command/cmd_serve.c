/* efface serve: runs the service until SIGTERM or SIGINT. */
#include "access/audit.h"
#include "api/values.h"
#include "command/arguments.h"
#include "command/commands.h"
#include "command/key_files.h"
#include "command/saying.h"
#include "dsr/dsr.h"
#include "http/server.h"
#include "http/service_log.h"
#include "metrics/metrics.h"
#include "rooms/jobs.h"
#include "rooms/rooms.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char sv_serve_help[] =
    "usage: efface serve STORE... [OPTIONS]\n"
    "Serves stores over HTTP, and a page for people, until SIGTERM. Everything but\n"
    "health and the page itself needs a token; efface token makes tokens.\n"
    "  --listen HOST:PORT   where to listen (127.0.0.1:8741); port 0: any\n"
    "  --host NAME          a further name in the Host header, as a proxy sends it\n"
    "  --behind-tls         a proxy in front encrypts; needed to listen elsewhere\n"
    "                       than on loopback\n"
    "  --tokens FILE        the file of tokens (efface.tokens beside the first store)\n"
    "  --audit FILE         the audit log (efface.audit beside the first store)\n"
    "  --sign FILE          sign receipts with this secret key\n"
    "  --receipt-key FILE   the key of the receipts, if a store does not keep it\n"
    "  --most-body BYTES    longest body of a request (16M)\n"
    "  --most-rows N        most rows of a body (200000)\n"
    "  --rate NUMBER        most requests a second of each token (50000; 0: no limit)\n"
    "  --under-way N        most requests of each token at a time (1024)\n"
    "  --patience SECONDS   for the head of a request (10); more for body and reply\n"
    "  --workers N          threads for what touches disks (4)\n"
    "  --log-all            a line in the log for predictions and health, too\n"
    "  --json               as JSON: listening, port, stores, tokens; and messages\n"
    "SIGHUP opens the audit log again. The log goes to standard error.\n"
    "Exit codes: 0 ended by a signal, 1 failed, 2 usage, 4 not found.\n"
    "example: efface serve people.store --listen 127.0.0.1:8741\n";

/* The name of a file in the folder of another. Release with free. */
static char *path_beside(const char *path, const char *name) {
    const char *const slash = strrchr(path, '/');
    const size_t n = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    char *const result = malloc(n + strlen(name) + 1);
    if (result == NULL)
        return NULL;
    memcpy(result, path, n);
    memcpy(result + n, name, strlen(name) + 1);
    return result;
}

static json_t *store_names(const sv_service *service) {
    json_t *const names = json_array();
    for (size_t i = 0; i < sv_rooms_count(service->rooms); i++)
        sv_json_add(names, json_string(sv_room_name(sv_rooms_at(service->rooms, i))));
    return names;
}

static void say_started(const sv_service *service) {
    const sv_options *const options = service->options;
    const unsigned port = sv_server_port(service->server);
    const char *const colon = strrchr(options->listen, ':');
    char host[300];
    (void)snprintf(host, sizeof host, "%.*s", (int)(colon - options->listen), options->listen);
    const bool usable = sv_tokens_any(service->tokens);
    if (options->json) {
        char address[320];
        (void)snprintf(address, sizeof address, "%s:%u", host, port);
        sv_print_json(stdout,
                      json_pack("{s:s,s:i,s:o,s:b}", "listening", address, "port", (int)port,
                                "stores", store_names(service), "tokens", usable));
    } else {
        printf("efface serves %zu store%s on http://%s:%u/\n", sv_rooms_count(service->rooms),
               sv_rooms_count(service->rooms) == 1 ? "" : "s", host, port);
    }
    (void)fflush(stdout);
    if (!usable)
        sv_warn("there is no valid token in %s, so nobody can use the service; make one: efface "
                "token new NAME --role read,erase --tokens %s",
                options->tokens, options->tokens);
}

/* Waits for a signal to end; every second the audit log may write its counts. */
static void wait_for_end(sv_service *service, const sigset_t *signals) {
    for (;;) {
        const struct timespec second = {.tv_sec = 1};
        const int got = sigtimedwait(signals, NULL, &second);
        if (got == SIGTERM || got == SIGINT)
            return;
        if (got == SIGHUP)
            sv_audit_reopen(service->audit);
        sv_audit_tick(service->audit);
    }
}

static int serve_stores(sv_service *service) {
    const sv_options *const options = service->options;
    sv_why why;
    sigset_t signals;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    int code = SV_DONE;
    if (!sv_metrics_open(sv_routes, options->n_stores, &service->metrics) ||
        !sv_log_start(options->log_all)) {
        code = sv_failed("out of memory");
    } else if (!sv_tokens_open(options->tokens, &service->tokens, &why) ||
               !sv_rooms_open(service, &service->rooms, &why) ||
               !sv_audit_open(options->audit, &service->audit, &why) ||
               !sv_jobs_open(service, &service->jobs, &why) ||
               !sv_dsr_open(service, &service->dsr, &why)) {
        code = sv_failed("%s", why.text);
    } else if (!sv_server_start(service, &why)) {
        code = sv_failed("%s", why.text);
    } else {
        say_started(service);
        wait_for_end(service, &signals);
        sv_log_note("the service ends");
        sv_server_stop(service->server);
    }
    sv_dsr_close(service->dsr);
    sv_jobs_close(service->jobs);
    sv_rooms_close(service->rooms);
    sv_audit_close(service->audit);
    sv_metrics_free(service->metrics);
    sv_tokens_free(service->tokens);
    sv_log_stop();
    return code;
}

/* Reads the keys and the names of files, and serves. */
static int prepare(sv_options *options) {
    unsigned char secret_key[EFFACE_SECRET_KEY_BYTES], receipt_key[EFFACE_RECEIPT_KEY_BYTES];
    sv_service service = {.options = options, .started = sv_now()};
    char *const tokens = path_beside(options->stores[0], "efface.tokens");
    char *const audit = path_beside(options->stores[0], "efface.audit");
    int code = SV_DONE;
    if (tokens == NULL || audit == NULL)
        code = sv_failed("out of memory");
    if (options->tokens == NULL)
        options->tokens = tokens;
    if (options->audit == NULL)
        options->audit = audit;
    if (code == SV_DONE && options->sign != NULL &&
        sv_read_key(options->sign, "secret", secret_key, sizeof secret_key, &code))
        service.secret_key = secret_key;
    if (code == SV_DONE && options->receipt_key != NULL &&
        sv_read_key(options->receipt_key, "receipt", receipt_key, sizeof receipt_key, &code))
        service.receipt_key = receipt_key;
    if (code == SV_DONE)
        code = serve_stores(&service);
    sodium_memzero(secret_key, sizeof secret_key);
    sodium_memzero(receipt_key, sizeof receipt_key);
    free(tokens);
    free(audit);
    return code;
}

int sv_serve_command(int n_arguments, char **arguments) {
    sv_options options = {
        .listen = "127.0.0.1:8741",
        .max_body = (size_t)16 << 20,
        .max_rows = 200000,
        .rate = 50000,
        .max_under_way = 1024,
        .patience = 10,
        .n_workers = 4,
    };
    sv_texts stores = {NULL, 0}, hosts = {NULL, 0};
    const sv_argument table[] = {
        {"STORE", SV_PLACES, &stores},
        {"--listen", SV_TEXT, &options.listen},
        {"--host", SV_TEXTS, &hosts},
        {"--behind-tls", SV_FLAG, &options.behind_tls},
        {"--tokens", SV_TEXT, &options.tokens},
        {"--audit", SV_TEXT, &options.audit},
        {"--sign", SV_TEXT, &options.sign},
        {"--receipt-key", SV_TEXT, &options.receipt_key},
        {"--most-body", SV_BYTES, &options.max_body},
        {"--most-rows", SV_COUNT, &options.max_rows},
        {"--rate", SV_NUMBER, &options.rate},
        {"--under-way", SV_COUNT, &options.max_under_way},
        {"--patience", SV_NUMBER, &options.patience},
        {"--workers", SV_COUNT, &options.n_workers},
        {"--log-all", SV_FLAG, &options.log_all},
        {"--json", SV_FLAG, &options.json},
        {NULL, SV_FLAG, NULL},
    };
    int code = SV_USAGE;
    if (!sv_parse("serve", table, n_arguments, arguments))
        goto out;
    if (options.n_workers > 1024) {
        code = sv_wrong("--workers cannot be more than 1024");
        goto out;
    }
    if (options.patience < 0.1 || options.patience > 3600) {
        code = sv_wrong("--patience must be from 0.1 to 3600 seconds");
        goto out;
    }
    for (size_t i = 0; i < stores.n; i++)
        if (access(stores.items[i], F_OK) != 0 && errno == ENOENT) {
            code = sv_not_found("there is no store '%s'; efface fit DATA -o STORE creates one",
                                stores.items[i]);
            goto out;
        }
    options.stores = stores.items;
    options.n_stores = stores.n;
    options.hosts = hosts.items;
    options.n_hosts = hosts.n;
    code = prepare(&options);
out:
    sv_texts_free(&stores);
    sv_texts_free(&hosts);
    return code;
}
