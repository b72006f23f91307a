/* The file of tokens (access.h). */
#include "access/access.h"

#include <jansson.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define HASH_BYTES 32

typedef struct token {
    unsigned char hash[HASH_BYTES];
    sv_caller caller;
} token;

struct sv_tokens {
    pthread_mutex_t lock;
    char *path;
    struct stat read; /* of the file when it was read */
    token *tokens;
    size_t n_tokens;
};

static unsigned roles_of(const json_t *names) {
    static const struct {
        const char *name;
        unsigned role;
    } roles[] = {
        {"read", SV_READ}, {"predict", SV_PREDICT}, {"erase", SV_ERASE}, {"admin", SV_ADMIN}};
    unsigned found = 0;
    size_t i;
    json_t *name;
    json_array_foreach(names, i,
                       name) for (size_t j = 0; j < sizeof roles / sizeof roles[0];
                                  j++) if (json_is_string(name) &&
                                           strcmp(json_string_value(name), roles[j].name) == 0)
        found |= roles[j].role;
    return found;
}

static bool read_token(const char *line, token *out) {
    json_t *const json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    const char *const hash = json_string_value(json_object_get(json, "hash"));
    const char *const name = json_string_value(json_object_get(json, "name"));
    size_t n = 0;
    memset(out, 0, sizeof *out);
    const bool right =
        hash != NULL && name != NULL && strlen(name) < sizeof out->caller.name &&
        sodium_hex2bin(out->hash, sizeof out->hash, hash, strlen(hash), NULL, &n, NULL) == 0 &&
        n == HASH_BYTES;
    if (right) {
        memcpy(out->caller.name, name, strlen(name));
        out->caller.roles = roles_of(json_object_get(json, "roles"));
        out->caller.expires = json_integer_value(json_object_get(json, "expires"));
    }
    json_decref(json);
    return right;
}

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void read_file(sv_tokens *t) {
    FILE *const file = fopen(t->path, "r");
    char line[1024];
    t->n_tokens = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        token *const more = realloc(t->tokens, (t->n_tokens + 1) * sizeof *more);
        if (more == NULL)
            break;
        t->tokens = more;
        t->n_tokens += read_token(line, &t->tokens[t->n_tokens]);
    }
    if (file != NULL)
        (void)fclose(file);
}

static void read_if_changed(sv_tokens *t) {
    struct stat now;
    memset(&now, 0, sizeof now);
    (void)stat(t->path, &now);
    if (!same_file(&now, &t->read)) {
        t->read = now;
        read_file(t);
    }
}

bool sv_tokens_open(const char *path, sv_tokens **out, char *message, size_t n_message) {
    sv_tokens *const t = calloc(1, sizeof *t);
    char *const copy = strdup(path);
    if (t == NULL || copy == NULL) {
        (void)snprintf(message, n_message, "memory is short");
        free(t);
        free(copy);
        return false;
    }
    t->path = copy;
    pthread_mutex_init(&t->lock, NULL);
    read_if_changed(t);
    *out = t;
    return true;
}

void sv_tokens_free(sv_tokens *t) {
    if (t == NULL)
        return;
    pthread_mutex_destroy(&t->lock);
    free(t->tokens);
    free(t->path);
    free(t);
}

sv_answer sv_tokens_find(sv_tokens *t, const char *text, sv_caller *caller) {
    unsigned char hash[HASH_BYTES];
    sv_answer answer = SV_UNKNOWN;
    (void)crypto_generichash(hash, sizeof hash, (const unsigned char *)text, strlen(text), NULL, 0);
    pthread_mutex_lock(&t->lock);
    read_if_changed(t);
    for (size_t i = 0; i < t->n_tokens; i++)
        if (sodium_memcmp(hash, t->tokens[i].hash, sizeof hash) == 0) {
            *caller = t->tokens[i].caller;
            answer = caller->expires != 0 && caller->expires <= (int64_t)time(NULL) ? SV_EXPIRED
                                                                                    : SV_KNOWN;
        }
    pthread_mutex_unlock(&t->lock);
    return answer;
}

bool sv_tokens_any(sv_tokens *t) {
    pthread_mutex_lock(&t->lock);
    read_if_changed(t);
    bool any = false;
    for (size_t i = 0; i < t->n_tokens; i++)
        any |=
            t->tokens[i].caller.expires == 0 || t->tokens[i].caller.expires > (int64_t)time(NULL);
    pthread_mutex_unlock(&t->lock);
    return any;
}
