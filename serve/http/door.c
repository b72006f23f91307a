/* Connections, and how long each phase of them may take (door.h). */
#define _GNU_SOURCE /* accept4 */
#include "http/door.h"

#include "metrics/metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MAX_CONNECTIONS 16384
#define OTHER_FILES 256 /* descriptors for stores and everything else */
#define LOOK_SECONDS 0.25
#define BYTES_A_SECOND 16384.0

struct sv_peer {
    sv_peer *next, *previous; /* in the order in which they came */
    int socket;
    bool shut; /* it was ended, and is about to go */
    atomic_int phase;
    atomic_bool known;
    _Atomic double since;   /* when the phase began */
    _Atomic double n_bytes; /* received in it, or to be sent */
};

struct sv_door {
    int socket;
    bool loopback;
    uint16_t port;
    unsigned limit;
    double patience;
    struct MHD_Daemon *daemon;
    sv_metrics *metrics;
    pthread_t thread;
    bool runs;
    atomic_bool shut, ends;
    _Atomic double shut_since;
    atomic_uint n_open;   /* connections that were accepted and have not gone */
    pthread_mutex_t lock; /* of the list; a socket of the list is open while it is held */
    sv_peer *first, *last;
};

/* ---------------------------------------------------------------- listening */

static bool is_loopback(const struct sockaddr *address) {
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 ==
               127;
    const struct in6_addr *const six =
        &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == 127);
}

/* getaddrinfo takes larger numbers too, and leaves out their upper bits. */
static bool is_port(const char *text) {
    const size_t n = strspn(text, "0123456789");
    return n >= 1 && n <= 5 && text[n] == 0 && strtol(text, NULL, 10) <= 65535;
}

/* Divides "host:port" or "[host]:port", and looks the address up. */
static struct addrinfo *look_up(const char *listen, sv_why *why) {
    char host[256];
    struct addrinfo *found = NULL;
    const char *const colon = strrchr(listen, ':');
    const size_t n = colon != NULL ? (size_t)(colon - listen) : 0;
    const bool brackets = n >= 2 && listen[0] == '[' && listen[n - 1] == ']';
    if (n == 0 || n >= sizeof host || !is_port(colon + 1)) {
        (void)sv_fail(why, "--listen needs an address and a port: 127.0.0.1:8741");
        return NULL;
    }
    memcpy(host, listen + brackets, n - 2 * brackets);
    host[n - 2 * brackets] = 0;
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    const int failed = getaddrinfo(host, colon + 1, &hints, &found);
    if (failed != 0)
        (void)sv_fail(why, "--listen %s: %s", listen, gai_strerror(failed));
    return failed == 0 ? found : NULL;
}

static uint16_t port_of(int file) {
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } address;
    socklen_t n = sizeof address;
    if (getsockname(file, &address.any, &n) != 0)
        return 0;
    return ntohs(address.any.sa_family == AF_INET ? address.four.sin_port : address.six.sin6_port);
}

/* As many connections as there may be open files, less what else is opened. */
static unsigned find_limit(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return 512;
    const rlim_t wanted = MAX_CONNECTIONS + OTHER_FILES;
    if (files.rlim_cur < wanted) {
        files.rlim_cur =
            files.rlim_max == RLIM_INFINITY || files.rlim_max > wanted ? wanted : files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
        (void)getrlimit(RLIMIT_NOFILE, &files);
    }
    if (files.rlim_cur >= wanted)
        return MAX_CONNECTIONS;
    return files.rlim_cur > 2 * OTHER_FILES ? (unsigned)files.rlim_cur - OTHER_FILES
                                            : (unsigned)files.rlim_cur / 2;
}

bool sv_door_listen(const char *listen_on, double patience, sv_door **out, sv_why *why) {
    struct addrinfo *const address = look_up(listen_on, why);
    if (address == NULL)
        return false;
    sv_door *const d = calloc(1, sizeof *d);
    const int yes = 1;
    const int file =
        d != NULL ? socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
    const bool listens =
        file >= 0 && setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        bind(file, address->ai_addr, address->ai_addrlen) == 0 && listen(file, 1024) == 0;
    if (!listens) {
        (void)sv_fail(why, "cannot listen on %s: %s", listen_on, strerror(errno));
        if (file >= 0)
            (void)close(file);
        freeaddrinfo(address);
        free(d);
        return false;
    }
    d->socket = file;
    d->patience = patience;
    d->loopback = is_loopback(address->ai_addr);
    d->port = port_of(file);
    d->limit = find_limit();
    (void)pthread_mutex_init(&d->lock, NULL);
    freeaddrinfo(address);
    *out = d;
    return true;
}

bool sv_door_is_loopback(const sv_door *d) {
    return d->loopback;
}

uint16_t sv_door_port(const sv_door *d) {
    return d->port;
}

unsigned sv_door_limit(const sv_door *d) {
    return d->limit;
}

/* ---------------------------------------------------------------- connections */

static void add_peer(sv_door *d, sv_peer *peer) {
    pthread_mutex_lock(&d->lock);
    peer->previous = d->last;
    *(d->last != NULL ? &d->last->next : &d->first) = peer;
    d->last = peer;
    pthread_mutex_unlock(&d->lock);
}

static void remove_peer(sv_door *d, sv_peer *peer) {
    pthread_mutex_lock(&d->lock);
    *(peer->previous != NULL ? &peer->previous->next : &d->first) = peer->next;
    *(peer->next != NULL ? &peer->next->previous : &d->last) = peer->previous;
    pthread_mutex_unlock(&d->lock);
}

void sv_door_notify(void *context, struct MHD_Connection *connection, void **own,
                    enum MHD_ConnectionNotificationCode what) {
    sv_door *const d = context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        sv_peer *const peer = calloc(1, sizeof *peer);
        *own = peer;
        sv_metrics_connection(d->metrics, 1);
        if (peer == NULL)
            return;
        peer->socket =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        sv_peer_phase(peer, SV_WAITS, 0);
        add_peer(d, peer);
        return;
    }
    if (*own != NULL)
        remove_peer(d, *own);
    free(*own);
    *own = NULL;
    sv_metrics_connection(d->metrics, -1);
    (void)atomic_fetch_sub(&d->n_open, 1);
}

sv_peer *sv_peer_of(struct MHD_Connection *connection) {
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

void sv_peer_phase(sv_peer *peer, sv_phase phase, size_t n_bytes) {
    if (peer == NULL)
        return;
    atomic_store_explicit(&peer->since, sv_now(), memory_order_relaxed);
    atomic_store_explicit(&peer->n_bytes, (double)n_bytes, memory_order_relaxed);
    atomic_store_explicit(&peer->phase, (int)phase, memory_order_release);
}

void sv_peer_received(sv_peer *peer, size_t n_bytes) {
    if (peer != NULL)
        atomic_store_explicit(&peer->n_bytes,
                              atomic_load_explicit(&peer->n_bytes, memory_order_relaxed) +
                                  (double)n_bytes,
                              memory_order_relaxed);
}

void sv_peer_known(sv_peer *peer) {
    if (peer != NULL)
        atomic_store_explicit(&peer->known, true, memory_order_relaxed);
}

/* ---------------------------------------------------------------- slow ones */

/* How long phases may take: in units of patience, and in seconds after the door was shut. */
static const struct {
    double patience, hurried;
} phases[] = {[SV_WAITS] = {1, 0}, [SV_HEAD] = {1, 2}, [SV_BODY] = {2, 5}, [SV_SENDS] = {3, 5}};

/* When a phase has to be over; `shut` is when the door was shut, or 0. */
static double phase_end(const sv_peer *peer, sv_phase phase, double patience, double shut) {
    const double since = atomic_load_explicit(&peer->since, memory_order_relaxed);
    const double more = atomic_load_explicit(&peer->n_bytes, memory_order_relaxed) / BYTES_A_SECOND;
    const bool known = atomic_load_explicit(&peer->known, memory_order_relaxed);
    if (phase == SV_HANDLED)
        return since + 1e9;
    const double turns = phase == SV_WAITS && known ? 7.5 : phases[phase].patience;
    const double end =
        since + turns * patience + (phase == SV_BODY || phase == SV_SENDS ? more : 0);
    const double hurried = shut + phases[phase].hurried;
    return shut != 0 && hurried < end ? hurried : end;
}

/* Ends a connection. Whoever only waits may still have sent a request that nobody has read: that is
 * read, and answered. */
static void end_peer(sv_peer *peer, sv_phase phase) {
    peer->shut = phase != SV_WAITS;
    (void)shutdown(peer->socket, phase == SV_WAITS ? SHUT_RD : SHUT_RDWR);
}

static void end_slow(sv_door *d) {
    const double now = sv_now(), shut = atomic_load(&d->shut_since);
    pthread_mutex_lock(&d->lock);
    for (sv_peer *peer = d->first; peer != NULL; peer = peer->next) {
        const sv_phase phase = (sv_phase)atomic_load_explicit(&peer->phase, memory_order_acquire);
        if (!peer->shut && now >= phase_end(peer, phase, d->patience, shut))
            end_peer(peer, phase);
    }
    pthread_mutex_unlock(&d->lock);
}

/* Makes room: the oldest go that have no complete head, first those without a token. */
static void end_oldest(sv_door *d, unsigned n_wanted) {
    pthread_mutex_lock(&d->lock);
    for (int known = 0; known <= 1; known++)
        for (sv_peer *peer = d->first; peer != NULL && n_wanted != 0; peer = peer->next) {
            const int phase = atomic_load_explicit(&peer->phase, memory_order_acquire);
            if (peer->shut) {
                n_wanted -= known == 0; /* on its way out already */
            } else if ((phase == SV_WAITS ||
                        ((phase == SV_HEAD || phase == SV_BODY) && known == 0)) &&
                       atomic_load_explicit(&peer->known, memory_order_relaxed) == (known != 0)) {
                peer->shut = true;
                (void)shutdown(peer->socket, SHUT_RDWR);
                n_wanted--;
            }
        }
    pthread_mutex_unlock(&d->lock);
}

/* ---------------------------------------------------------------- letting in */

/* Accepts who is there; false if nobody is, or nobody can be let in now. */
static bool accept_peer(sv_door *d) {
    const int yes = 1;
    union {
        struct sockaddr any;
        struct sockaddr_storage all;
    } address;
    socklen_t n = sizeof address;
    if (atomic_load(&d->n_open) >= d->limit) {
        end_oldest(d, d->limit / 16 + 1);
        return false;
    }
    const int file = accept4(d->socket, &address.any, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (file < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            end_oldest(d, d->limit / 16 + 1);
            return false;
        }
        return errno == ECONNABORTED || errno == EINTR;
    }
    (void)setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    (void)atomic_fetch_add(&d->n_open, 1);
    if (MHD_add_connection(d->daemon, file, &address.any, n) != MHD_YES)
        (void)atomic_fetch_sub(&d->n_open, 1);
    return true;
}

static void *keep_door(void *context) {
    sv_door *const d = context;
    double looked = sv_now();
    while (!atomic_load(&d->ends)) {
        const bool shut = atomic_load(&d->shut);
        struct pollfd poller = {.fd = shut ? -1 : d->socket, .events = POLLIN};
        const bool full = atomic_load(&d->n_open) >= d->limit;
        const int wait = shut ? 20 : (full ? 5 : (int)(1000 * LOOK_SECONDS));
        if (poll(&poller, full ? 0 : 1, wait) > 0 || full)
            for (int i = 0; i < 64 && !atomic_load(&d->shut) && accept_peer(d); i++)
                ;
        if (shut || sv_now() - looked >= LOOK_SECONDS) {
            end_slow(d);
            looked = sv_now();
        }
    }
    return NULL;
}

bool sv_door_open(sv_door *d, struct MHD_Daemon *daemon, sv_metrics *metrics) {
    d->daemon = daemon;
    d->metrics = metrics;
    d->runs = pthread_create(&d->thread, NULL, keep_door, d) == 0;
    return d->runs;
}

void sv_door_shut(sv_door *d) {
    atomic_store(&d->shut_since, sv_now());
    atomic_store(&d->shut, true);
    (void)shutdown(d->socket, SHUT_RDWR);
    end_slow(d);
}

bool sv_door_has_heads(sv_door *d) {
    bool found = false;
    pthread_mutex_lock(&d->lock);
    for (const sv_peer *peer = d->first; peer != NULL && !found; peer = peer->next)
        found = !peer->shut && atomic_load(&peer->phase) == SV_HEAD;
    pthread_mutex_unlock(&d->lock);
    return found;
}

/* The thread that lets connections in has to be gone before the daemon is stopped. */
void sv_door_leave(sv_door *d) {
    atomic_store(&d->ends, true);
    if (d->runs)
        pthread_join(d->thread, NULL);
    d->runs = false;
}

void sv_door_free(sv_door *d) {
    if (d == NULL)
        return;
    sv_door_leave(d);
    (void)close(d->socket);
    (void)pthread_mutex_destroy(&d->lock);
    free(d);
}
