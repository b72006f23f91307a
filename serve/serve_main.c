/* efface-serve: the service, and its tokens. */
#include "http/server.h"
#include "metrics/metrics.h"
#include "rooms/jobs.h"
#include "rooms/long_reads.h"
#include "rooms/rooms.h"

#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int serve(const sv_options *options) {
    char message[1000];
    sv_service service = {.options = options, .started = sv_now()};
    sigset_t signals;
    int signal = 0;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    if (!sv_metrics_open(sv_routes, options->n_stores, &service.metrics) ||
        !sv_long_reads_start(&service.long_reads))
        return 1;
    if (!sv_tokens_open(options->tokens, &service.tokens, message, sizeof message) ||
        !sv_rooms_open(&service, &service.rooms, message, sizeof message) ||
        !sv_jobs_open(&service, &service.jobs, message, sizeof message) ||
        !sv_server_start(&service, message, sizeof message)) {
        fprintf(stderr, "efface-serve: %s\n", message);
        sv_jobs_close(service.jobs);
        sv_long_reads_stop(service.long_reads);
        sv_rooms_close(service.rooms);
        sv_tokens_free(service.tokens);
        return 1;
    }
    printf("{\"listening\":\"%s\",\"port\":%u}\n", options->listen,
           (unsigned)sv_server_port(service.server));
    (void)fflush(stdout);
    (void)sigwait(&signals, &signal);
    sv_server_stop(service.server);
    sv_long_reads_stop(service.long_reads);
    sv_jobs_close(service.jobs);
    sv_rooms_close(service.rooms);
    sv_tokens_free(service.tokens);
    return 0;
}

int main(int n_arguments, char **arguments) {
    sv_options options = {.listen = "127.0.0.1:8741",
                          .tokens = "efface.tokens",
                          .most_body = 16 << 20,
                          .n_workers = 4};
    if (sodium_init() < 0)
        return 1;
    options.stores = calloc((size_t)n_arguments, sizeof *options.stores);
    if (options.stores == NULL)
        return 1;
    for (int i = 2; i < n_arguments; i++) {
        if (strcmp(arguments[i], "--listen") == 0 && i + 1 < n_arguments)
            options.listen = arguments[++i];
        else if (strcmp(arguments[i], "--tokens") == 0 && i + 1 < n_arguments)
            options.tokens = arguments[++i];
        else if (arguments[i][0] != '-')
            options.stores[options.n_stores++] = arguments[i];
    }
    const int code = serve(&options);
    free(options.stores);
    return code;
}
