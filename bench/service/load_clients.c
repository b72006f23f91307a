/*
 * Clients: connections that stay open, each with one request on its way at most.
 *
 * A connection that the service closes after an answer is made again. If no new connection is
 * possible, or one ends before its answer is there, the service is gone, and the client ends.
 */
#include "load.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define LONGEST_WAIT_MS 100

typedef enum client_state { WAITS, SENDS, READS, ENDED } client_state;

typedef struct client {
    int socket; /* below 0: none */
    client_state state;
    uint64_t due;  /* when the next request may be sent (load_now) */
    uint64_t sent; /* when this one began */
    load_work work;
    char *request, *answer;
    size_t n_request, request_size, n_sent;
    size_t n_answer, answer_size;
} client;

typedef struct run {
    const load_options *options;
    load_result *result;
    load_requests *requests;
    client *clients;
    int events; /* epoll */
    uint64_t begin, end, n_begun, last_answer;
    unsigned n_alive;
    bool over; /* no request is begun any more */
} run;

static void disconnect(client *c) {
    if (c->socket >= 0)
        (void)close(c->socket);
    c->socket = -1;
    c->n_answer = 0;
}

static void end_client(run *r, client *c) {
    disconnect(c);
    c->state = ENDED;
    r->n_alive--;
}

/* The request is on its way, or a part of it, and there will be no answer. */
static void lose_client(run *r, client *c) {
    load_requests_lost(r->requests, &c->work);
    r->result->n_lost++;
    end_client(r, c);
}

static bool connect_client(run *r, client *c) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(r->options->port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int on = 1;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c};
    c->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->socket < 0)
        return false;
    (void)setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(c->socket, (const struct sockaddr *)&address, sizeof address) == 0 &&
        epoll_ctl(r->events, EPOLL_CTL_ADD, c->socket, &event) == 0)
        return true;
    disconnect(c);
    return false;
}

static void send_more(run *r, client *c) {
    while (c->n_sent < c->n_request) {
        const ssize_t n = send(c->socket, c->request + c->n_sent, c->n_request - c->n_sent,
                               MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (n < 0) {
            lose_client(r, c);
            return;
        }
        c->n_sent += (size_t)n;
    }
    c->state = READS;
}

/* The service may close a connection on which nothing is asked: the next request makes another. */
static void look_idle(client *c) {
    char byte;
    if (c->socket >= 0 && recv(c->socket, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0)
        disconnect(c);
}

/* Begins the next request of a client that waits, if it is time. */
static void begin_request(run *r, client *c, uint64_t now) {
    const load_options *options = r->options;
    if (r->over || (options->n_requests > 0 && r->n_begun >= options->n_requests)) {
        end_client(r, c);
        return;
    }
    if (now < c->due)
        return;
    if (options->rate > 0)
        look_idle(c);
    if (c->socket < 0 && !connect_client(r, c)) {
        end_client(r, c);
        return;
    }
    if (!load_requests_next(r->requests, &c->work, &c->request, &c->n_request, &c->request_size)) {
        end_client(r, c);
        return;
    }
    r->n_begun++;
    c->n_sent = 0;
    c->sent = now;
    c->state = SENDS;
    if (options->rate > 0) {
        const double pause = 1e9 * options->n_clients / options->rate;
        c->due += (uint64_t)pause;
        if (c->due < now)
            c->due = now; /* what the service was too slow for is not made up */
    }
    send_more(r, c);
}

/* The value of a header of the answer, or NULL. The head ends at `end`. */
static const char *find_header(const client *c, const char *end, const char *name) {
    const size_t n_name = strlen(name);
    for (const char *line = c->answer; line < end;) {
        if (strncasecmp(line, name, n_name) == 0 && line[n_name] == ':')
            return line + n_name + 1 + strspn(line + n_name + 1, " ");
        const char *next = strstr(line, "\r\n");
        if (next == NULL)
            return NULL;
        line = next + 2;
    }
    return NULL;
}

/* Takes an answer that is complete. False if it is not one of HTTP. */
static bool take_answer(run *r, client *c) {
    const char *end = strstr(c->answer, "\r\n\r\n");
    if (end == NULL)
        return true; /* more must come */
    if (strncmp(c->answer, "HTTP/1.1 ", 9) != 0)
        return false;
    const long status = strtol(c->answer + 9, NULL, 10);
    const char *length = find_header(c, end, "Content-Length");
    if (length == NULL || status < 200 || status > 599)
        return false;
    const size_t n_head = (size_t)(end - c->answer) + 4, n_body = strtoul(length, NULL, 10);
    if (c->n_answer < n_head + n_body)
        return true;
    if (c->n_answer > n_head + n_body)
        return false;
    const char *connection = find_header(c, end, "Connection");
    const uint64_t now = load_now();
    load_times_add(&r->result->times[c->work.kind], now - c->sent);
    r->result->statuses[status]++;
    r->result->n_answers++;
    r->last_answer = now;
    load_requests_answered(r->requests, &c->work, (int)status, c->answer + n_head, n_body);
    if (connection != NULL && strncasecmp(connection, "close", 5) == 0)
        disconnect(c);
    c->n_answer = 0;
    c->state = WAITS;
    begin_request(r, c, now);
    return true;
}

static void read_more(run *r, client *c) {
    while (c->state == READS) {
        if (c->answer_size - c->n_answer < 2048) {
            char *grown = realloc(c->answer, 2 * c->answer_size + 8192);
            if (grown == NULL) {
                lose_client(r, c);
                return;
            }
            c->answer = grown;
            c->answer_size = 2 * c->answer_size + 8192;
        }
        const ssize_t n = recv(c->socket, c->answer + c->n_answer, c->answer_size - c->n_answer - 1,
                               MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (n <= 0) {
            lose_client(r, c);
            return;
        }
        c->n_answer += (size_t)n;
        c->answer[c->n_answer] = 0;
        if (!take_answer(r, c)) {
            r->result->n_garbled++;
            lose_client(r, c);
            return;
        }
    }
}

static bool watch_clients(run *r) {
    struct epoll_event events[256];
    while (r->n_alive > 0) {
        uint64_t now = load_now();
        if (r->end > 0 && now >= r->end)
            r->over = true;
        int wait = LONGEST_WAIT_MS;
        for (unsigned i = 0; i < r->options->n_clients; i++) {
            if (r->clients[i].state == WAITS)
                begin_request(r, &r->clients[i], now);
            if (r->clients[i].state == WAITS)
                wait = 1;
        }
        const int n = epoll_wait(r->events, events, 256, wait);
        if (n < 0 && errno != EINTR)
            return false;
        for (int i = 0; i < n; i++) {
            client *c = events[i].data.ptr;
            if (c->state == SENDS && (events[i].events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0)
                send_more(r, c);
            if (c->state == READS)
                read_more(r, c);
            else if (c->state == WAITS)
                look_idle(c);
        }
    }
    return true;
}

bool load_run(const load_options *options, load_result *result, char *message, size_t n_message) {
    bool ok = false;
    run r = {.options = options, .result = result, .events = epoll_create1(EPOLL_CLOEXEC)};
    r.requests = load_requests_new(options);
    r.clients = calloc(options->n_clients, sizeof *r.clients);
    if (r.events < 0 || r.requests == NULL || r.clients == NULL) {
        (void)snprintf(message, n_message, "there is no memory");
        goto out;
    }
    for (unsigned i = 0; i < options->n_clients; i++) {
        r.clients[i].socket = -1;
        if (!connect_client(&r, &r.clients[i])) {
            (void)snprintf(message, n_message, "client %u cannot connect: %s", i, strerror(errno));
            goto out;
        }
    }
    r.n_alive = options->n_clients;
    r.begin = r.last_answer = load_now();
    r.end = options->seconds > 0 ? r.begin + (uint64_t)(options->seconds * 1e9) : 0;
    for (unsigned i = 0; i < options->n_clients; i++)
        r.clients[i].due = r.begin + (options->rate > 0 ? (uint64_t)(1e9 * i / options->rate) : 0);
    ok = watch_clients(&r);
    if (!ok)
        (void)snprintf(message, n_message, "epoll: %s", strerror(errno));
    result->seconds = (double)(r.last_answer - r.begin) / 1e9;
out:
    for (unsigned i = 0; r.clients != NULL && i < options->n_clients; i++) {
        disconnect(&r.clients[i]);
        free(r.clients[i].request);
        free(r.clients[i].answer);
    }
    free(r.clients);
    load_requests_free(r.requests);
    if (r.events >= 0)
        (void)close(r.events);
    return ok;
}
