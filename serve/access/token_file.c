/* Reading and changing the file of tokens (token_file.h). */
#define _GNU_SOURCE /* mkostemp */
#include "access/token_file.h"

#include "access/own_files.h"
#include "api/values.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name;
    unsigned role;
} roles[] = {{"read", SV_READ}, {"predict", SV_PREDICT}, {"erase", SV_ERASE}, {"admin", SV_ADMIN}};

#define N_ROLES (sizeof roles / sizeof roles[0])

void sv_hash_token(const char *text, unsigned char hash[SV_HASH_BYTES]) {
    (void)crypto_generichash(hash, SV_HASH_BYTES, (const unsigned char *)text, strlen(text), NULL,
                             0);
}

bool sv_token_name_ok(const char *name) {
    const size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789-_.");
    return n > 0 && n < SV_TOKEN_NAME_BYTES && name[n] == 0;
}

static unsigned role_of(const char *name, size_t n_name) {
    for (size_t i = 0; i < N_ROLES; i++)
        if (strlen(roles[i].name) == n_name && memcmp(roles[i].name, name, n_name) == 0)
            return roles[i].role;
    return 0;
}

unsigned sv_roles_from(const char *text) {
    unsigned found = 0;
    for (;;) {
        const size_t n = strcspn(text, ",");
        const unsigned role = role_of(text, n);
        if (role == 0)
            return 0;
        found |= role;
        if (text[n] == 0)
            return found;
        text += n + 1;
    }
}

void sv_roles_to(unsigned given, char text[32]) {
    text[0] = 0;
    for (size_t i = 0; i < N_ROLES; i++)
        if ((given & roles[i].role) != 0) {
            const size_t n = strlen(text);
            (void)snprintf(text + n, 32 - n, "%s%s", n != 0 ? "," : "", roles[i].name);
        }
}

json_t *sv_json_roles(unsigned given) {
    json_t *const names = json_array();
    for (size_t i = 0; i < N_ROLES; i++)
        if ((given & roles[i].role) != 0)
            sv_json_add(names, json_string(roles[i].name));
    return names;
}

/* ---------------------------------------------------------------- lines */

/* Roles of a line. A word that is none makes the line wrong: it may be a role of a later version
 * that means less than what is left. */
static bool read_roles(const json_t *names, unsigned *out) {
    *out = 0;
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *const name = json_string_value(json_array_get(names, i));
        const unsigned role = name != NULL ? role_of(name, strlen(name)) : 0;
        if (role == 0)
            return false;
        *out |= role;
    }
    return *out != 0;
}

static bool read_token(const char *line, sv_token *out) {
    json_t *const json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    const char *const hash = json_string_value(json_object_get(json, "hash"));
    const char *const name = json_string_value(json_object_get(json, "name"));
    const json_t *const expires = json_object_get(json, "expires");
    size_t n = 0;
    memset(out, 0, sizeof *out);
    const bool ok =
        hash != NULL && name != NULL && sv_token_name_ok(name) &&
        sodium_hex2bin(out->hash, sizeof out->hash, hash, strlen(hash), NULL, &n, NULL) == 0 &&
        n == SV_HASH_BYTES && read_roles(json_object_get(json, "roles"), &out->caller.roles) &&
        (json_is_null(expires) || (json_is_integer(expires) && json_integer_value(expires) > 0));
    if (ok) {
        memcpy(out->caller.name, name, strlen(name));
        out->caller.expires = json_integer_value(expires);
        out->created = json_integer_value(json_object_get(json, "created"));
    }
    json_decref(json);
    return ok;
}

static bool add_token_line(sv_token_list *list, const char *line, size_t n_line, size_t number) {
    sv_token *const more = realloc(list->tokens, (list->n_tokens + 1) * sizeof *more);
    if (more == NULL)
        return false;
    list->tokens = more;
    sv_token *const token = &more[list->n_tokens];
    if (strlen(line) != n_line || !read_token(line, token)) {
        if (list->wrong_line == 0)
            list->wrong_line = number;
        return true;
    }
    token->line = strdup(line);
    list->n_tokens += token->line != NULL;
    return token->line != NULL;
}

bool sv_token_list_read(FILE *file, sv_token_list *list) {
    char *line = NULL;
    size_t n_line = 0, number = 0;
    bool ok = true;
    *list = (sv_token_list){NULL, 0, 0};
    ssize_t n;
    errno = 0;
    while (ok && (n = getline(&line, &n_line, file)) > 0) {
        number++;
        if (line[n - 1] == '\n')
            line[--n] = 0;
        if (n != 0)
            ok = add_token_line(list, line, (size_t)n, number);
    }
    ok = ok && feof(file) != 0 && ferror(file) == 0;
    free(line);
    if (!ok)
        sv_token_list_free(list);
    return ok;
}

void sv_token_list_free(sv_token_list *list) {
    for (size_t i = 0; i < list->n_tokens; i++)
        free(list->tokens[i].line);
    free(list->tokens);
    *list = (sv_token_list){NULL, 0, 0};
}

bool sv_token_file_safe(const char *path, const struct stat *about, sv_why *why) {
    if (!S_ISREG(about->st_mode))
        return sv_fail(why, "%s is not a file", path);
    if (about->st_uid != geteuid() && about->st_uid != 0)
        return sv_fail(why,
                       "the file of tokens %s belongs to another user, who could add tokens; run "
                       "chown on it",
                       path);
    if ((about->st_mode & 022) != 0)
        return sv_fail(why,
                       "other users can write the file of tokens %s, and so add tokens; run chmod "
                       "600 on it",
                       path);
    return true;
}

/* ---------------------------------------------------------------- changes */

/* Opens and locks the file that has the name now: another change may give the name to a new file
 * while this one waits for the lock. */
static int open_locked(const char *path, bool create) {
    for (;;) {
        struct stat locked, named;
        const int file = open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0600);
        if (file < 0)
            return -1;
        if (flock(file, LOCK_EX) != 0 || fstat(file, &locked) != 0) {
            const int reason = errno;
            (void)close(file);
            errno = reason;
            return -1;
        }
        if (stat(path, &named) == 0 && named.st_ino == locked.st_ino &&
            named.st_dev == locked.st_dev)
            return file;
        (void)close(file);
    }
}

bool sv_token_change_begin(const char *path, bool create, sv_token_change *change, bool *absent,
                           sv_why *why) {
    struct stat about;
    *change = (sv_token_change){.path = path, .file = open_locked(path, create)};
    *absent = change->file < 0 && errno == ENOENT;
    if (change->file < 0)
        return sv_fail(why, "cannot open the file of tokens %s: %s", path, strerror(errno));
    const int again = dup(change->file);
    FILE *const file = again >= 0 ? fdopen(again, "r") : NULL;
    if (file == NULL && again >= 0)
        (void)close(again);
    bool ok = fstat(change->file, &about) == 0 && sv_token_file_safe(path, &about, why);
    if (ok && (file == NULL || !sv_token_list_read(file, &change->list))) {
        (void)sv_fail(why, "cannot read the file of tokens %s", path);
        ok = false;
    }
    if (ok && change->list.wrong_line != 0) {
        (void)sv_fail(why,
                      "line %zu of %s cannot be read; nothing was changed; correct or remove that "
                      "line",
                      change->list.wrong_line, path);
        ok = false;
    }
    if (file != NULL)
        (void)fclose(file);
    if (!ok)
        sv_token_change_end(change);
    return ok;
}

static bool write_token_lines(int file, const sv_token_list *list, const char *added) {
    FILE *const out = fdopen(file, "w");
    if (out == NULL) {
        (void)close(file);
        return false;
    }
    for (size_t i = 0; i < list->n_tokens; i++)
        if (list->tokens[i].line != NULL)
            fprintf(out, "%s\n", list->tokens[i].line);
    if (added != NULL)
        fprintf(out, "%s\n", added);
    const bool written = fflush(out) == 0 && ferror(out) == 0 && fsync(file) == 0;
    return fclose(out) == 0 && written;
}

bool sv_token_change_commit(sv_token_change *change, const char *added, sv_why *why) {
    char temporary[4096];
    const int n = snprintf(temporary, sizeof temporary, "%s.XXXXXX", change->path);
    const int file = n < (int)sizeof temporary ? mkostemp(temporary, O_CLOEXEC) : -1;
    struct stat about;
    /* The service may run as another user than whoever changes the file: it keeps its owner. */
    const bool kept = file >= 0 && fstat(change->file, &about) == 0 &&
                      (geteuid() != 0 || fchown(file, about.st_uid, about.st_gid) == 0);
    if (!kept || !write_token_lines(file, &change->list, added) ||
        rename(temporary, change->path) != 0) {
        (void)sv_fail(why,
                      "cannot write the file of tokens %s: %s; nothing was "
                      "changed",
                      change->path, strerror(errno));
        if (file >= 0)
            (void)unlink(temporary);
        return false;
    }
    (void)sv_sync_folder_of(change->path);
    return true;
}

void sv_token_change_end(sv_token_change *change) {
    sv_token_list_free(&change->list);
    if (change->file >= 0)
        (void)close(change->file);
    change->file = -1;
}
