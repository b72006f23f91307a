/*
 * The tokens that the service knows (access.h).
 *
 * They are read again when the file has changed. Whether it has is looked at most ten times a
 * second, so a token that was revoked is of no use a tenth of a second later; and whenever a token
 * is not known, so a new one can be used at once. A file that cannot be trusted any more (others
 * can write it, it is gone) has no tokens; if the process merely lacks descriptors or memory, what
 * was read before stays.
 */
#include "access/token_file.h"
#include "http/http.h"
#include "http/service_log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOOK_SECONDS 0.1

struct sv_tokens {
    pthread_mutex_t lock;
    char *path;
    double looked;    /* when the file was last looked at (sv_now) */
    struct stat read; /* of the file when it was read */
    sv_token_list list;
};

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mode == b->st_mode && a->st_uid == b->st_uid &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static bool lacks_means(int reason) {
    return reason == EMFILE || reason == ENFILE || reason == ENOMEM || reason == EINTR ||
           reason == EIO;
}

/* Reads the file. False, with a message, if it cannot be trusted or read; `t` then has no tokens,
 * unless it may be tried again. */
static bool read_file(sv_tokens *t, sv_why *why) {
    struct stat about;
    sv_token_list list = {NULL, 0, 0};
    /* A pipe of that name must not be waited for: all requests would wait, too. */
    const int opened = open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    FILE *const file = opened >= 0 ? fdopen(opened, "r") : NULL;
    if (file == NULL) {
        const int reason = errno;
        if (opened >= 0)
            (void)close(opened);
        if (lacks_means(reason)) {
            t->read.st_ino = 0;
            return true;
        }
        sv_token_list_free(&t->list);
        (void)sv_fail(why, "cannot read the file of tokens %s: %s", t->path, strerror(reason));
        return reason == ENOENT;
    }
    bool ok = fstat(fileno(file), &about) == 0 && sv_token_file_safe(t->path, &about, why);
    if (!ok) {
        sv_token_list_free(&t->list);
    } else if (!sv_token_list_read(file, &list)) {
        t->read.st_ino = 0;
    } else {
        sv_token_list_free(&t->list);
        t->list = list;
        if (list.wrong_line != 0) {
            (void)sv_fail(why,
                          "line %zu of the file of tokens %s cannot be read; nobody can use that "
                          "token; correct or remove that line",
                          list.wrong_line, t->path);
            sv_log_warn(why->text);
        }
    }
    (void)fclose(file);
    return ok;
}

static bool read_if_changed(sv_tokens *t, sv_why *why) {
    struct stat now;
    memset(&now, 0, sizeof now);
    (void)stat(t->path, &now);
    if (same_file(&now, &t->read))
        return true;
    t->read = now;
    return read_file(t, why);
}

static void look_at_file(sv_tokens *t, double seconds) {
    const double now = sv_now();
    sv_why why;
    if (now - t->looked < seconds)
        return;
    t->looked = now;
    if (!read_if_changed(t, &why))
        sv_log_warn(why.text);
}

bool sv_tokens_open(const char *path, sv_tokens **out, sv_why *why) {
    sv_tokens *const t = calloc(1, sizeof *t);
    char *const copy = strdup(path);
    if (t == NULL || copy == NULL) {
        (void)sv_fail_memory(why);
        free(t);
        free(copy);
        return false;
    }
    t->path = copy;
    t->looked = sv_now();
    (void)pthread_mutex_init(&t->lock, NULL);
    if (!read_if_changed(t, why)) {
        sv_tokens_free(t);
        return false;
    }
    *out = t;
    return true;
}

void sv_tokens_free(sv_tokens *t) {
    if (t == NULL)
        return;
    (void)pthread_mutex_destroy(&t->lock);
    sv_token_list_free(&t->list);
    free(t->path);
    free(t);
}

/* All tokens are compared, so that the time does not tell which one it was. */
static sv_answer find_token(const sv_tokens *t, const unsigned char hash[SV_HASH_BYTES],
                            sv_caller *caller) {
    sv_answer answer = SV_UNKNOWN;
    for (size_t i = 0; i < t->list.n_tokens; i++)
        if (sodium_memcmp(hash, t->list.tokens[i].hash, SV_HASH_BYTES) == 0) {
            *caller = t->list.tokens[i].caller;
            answer = caller->expires != 0 && caller->expires <= (int64_t)time(NULL) ? SV_EXPIRED
                                                                                    : SV_KNOWN;
        }
    return answer;
}

sv_answer sv_tokens_find(sv_tokens *t, const char *text, sv_caller *caller) {
    unsigned char hash[SV_HASH_BYTES];
    sv_hash_token(text, hash);
    pthread_mutex_lock(&t->lock);
    look_at_file(t, LOOK_SECONDS);
    sv_answer answer = find_token(t, hash, caller);
    if (answer == SV_UNKNOWN) {
        look_at_file(t, 0);
        answer = find_token(t, hash, caller);
    }
    pthread_mutex_unlock(&t->lock);
    return answer;
}

bool sv_tokens_any(sv_tokens *t) {
    const int64_t now = (int64_t)time(NULL);
    bool any = false;
    pthread_mutex_lock(&t->lock);
    look_at_file(t, LOOK_SECONDS);
    for (size_t i = 0; i < t->list.n_tokens; i++) {
        const int64_t expires = t->list.tokens[i].caller.expires;
        any = any || expires == 0 || expires > now;
    }
    pthread_mutex_unlock(&t->lock);
    return any;
}
