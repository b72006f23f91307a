/* efface token: makes, lists and revokes tokens. */
#include "access/times.h"
#include "access/token_file.h"
#include "api/values.h"
#include "command/arguments.h"
#include "command/commands.h"
#include "command/saying.h"

#include <errno.h>
#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define DEFAULT_FILE "efface.tokens"

const char sv_token_help[] =
    "usage: efface token new NAME --role ROLES [--expires WHEN] [--tokens FILE]\n"
    "       efface token list [--tokens FILE]\n"
    "       efface token revoke NAME [--tokens FILE]\n"
    "Makes, lists and revokes the tokens that efface serve asks for. A new token is\n"
    "shown once; the file keeps its hash. A service that runs notices a change\n"
    "within a tenth of a second.\n"
    "  --role ROLES    some of read, predict, erase, admin, with commas\n"
    "                  read: look at stores, models, receipts and rows\n"
    "                  predict: ask models; erase: find people and forget them\n"
    "                  admin: all that, learn and update\n"
    "  --expires WHEN  90m, 12h, 30d, 8w from now, 2027-01-31, or\n"
    "                  2027-01-31T12:00:00Z; without it the token does not expire\n"
    "  --tokens FILE   the file of tokens (efface.tokens)\n"
    "  --json          as JSON: new: token, name, roles, expires; list: tokens;\n"
    "                  revoke: revoked\n"
    "Exit codes: 0 done, 1 failed, 2 usage, 4 there is no such token.\n"
    "example: efface token new crm --role erase --expires 90d\n";

static sv_token *find_token_named(const sv_token_list *list, const char *name) {
    for (size_t i = 0; i < list->n_tokens; i++)
        if (list->tokens[i].line != NULL && strcmp(list->tokens[i].caller.name, name) == 0)
            return &list->tokens[i];
    return NULL;
}

/* ---------------------------------------------------------------- new */

static void make_token(char text[SV_TOKEN_BYTES]) {
    unsigned char bytes[32];
    randombytes_buf(bytes, sizeof bytes);
    memcpy(text, "efface_", 7);
    (void)sodium_bin2base64(text + 7, SV_TOKEN_BYTES - 7, bytes, sizeof bytes,
                            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(bytes, sizeof bytes);
}

static char *token_line(const char *token, const char *name, unsigned roles, int64_t now,
                        int64_t expires) {
    unsigned char hash[SV_HASH_BYTES];
    char hex[2 * SV_HASH_BYTES + 1];
    sv_hash_token(token, hash);
    (void)sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    json_t *const json =
        json_pack("{s:s,s:o,s:o,s:I,s:s}", "name", name, "roles", sv_json_roles(roles), "expires",
                  expires != 0 ? json_integer(expires) : json_null(), "created", (json_int_t)now,
                  "hash", hex);
    char *const line = json != NULL ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    return line;
}

static int add_token(const char *path, const char *name, unsigned roles, int64_t expires,
                     bool as_json) {
    sv_why why;
    char token[SV_TOKEN_BYTES], when[32];
    sv_token_change change;
    bool absent;
    if (!sv_token_change_begin(path, true, &change, &absent, &why))
        return sv_failed("%s", why.text);
    int code = SV_DONE;
    char *line = NULL;
    if (find_token_named(&change.list, name) != NULL) {
        code =
            sv_failed("there is a token %s already; revoke it first, or choose another name", name);
    } else {
        make_token(token);
        line = token_line(token, name, roles, (int64_t)time(NULL), expires);
        if (line == NULL)
            code = sv_failed("out of memory");
        else if (!sv_token_change_commit(&change, line, &why))
            code = sv_failed("%s", why.text);
    }
    free(line);
    sv_token_change_end(&change);
    if (code != SV_DONE)
        return code;
    if (as_json) {
        sv_print_json(stdout, json_pack("{s:s,s:s,s:o,s:o}", "token", token, "name", name, "roles",
                                        sv_json_roles(roles), "expires", sv_json_time(expires)));
    } else {
        char words[32];
        sv_roles_to(roles, words);
        sv_time_write(expires, when);
        printf("%s\ntoken %s for %s, %s%s; it is not shown again\n", token, name, words,
               expires != 0 ? "until " : "without an end", expires != 0 ? when : "");
    }
    sodium_memzero(token, sizeof token);
    return SV_DONE;
}

static int run_new(int n_arguments, char **arguments) {
    const char *name = NULL, *role = NULL, *expires = NULL, *path = DEFAULT_FILE;
    bool as_json = false;
    const sv_argument table[] = {
        {"NAME", SV_PLACE, &name},        {"--role", SV_TEXT, &role},
        {"--expires", SV_TEXT, &expires}, {"--tokens", SV_TEXT, &path},
        {"--json", SV_FLAG, &as_json},    {NULL, SV_FLAG, NULL},
    };
    if (!sv_parse("token", table, n_arguments, arguments))
        return SV_USAGE;
    if (!sv_token_name_ok(name))
        return sv_wrong("a token cannot be named '%s': a name is 1 to 63 letters, digits, '-', "
                        "'_' or '.'",
                        name);
    if (role == NULL)
        return sv_wrong("token new needs --role, such as --role read,erase");
    const unsigned roles = sv_roles_from(role);
    if (roles == 0)
        return sv_wrong("--role cannot be '%s': it is some of read, predict, erase, admin, with "
                        "commas",
                        role);
    const int64_t now = (int64_t)time(NULL);
    int64_t end = 0;
    if (expires != NULL && !sv_expiry_read(expires, now, &end))
        return sv_wrong("--expires cannot be '%s': give a time from now, such as 90m, 12h, 30d or "
                        "8w, a date, or a time such as 2027-01-31T12:00:00Z",
                        expires);
    if (end != 0 && end <= now)
        sv_warn("the token has expired already");
    return add_token(path, name, roles, end, as_json);
}

/* ---------------------------------------------------------------- list */

static void print_list(const sv_token_list *list) {
    const int64_t now = (int64_t)time(NULL);
    printf("%-24s %-24s %s\n", "name", "roles", "expires");
    for (size_t i = 0; i < list->n_tokens; i++) {
        const sv_caller *const caller = &list->tokens[i].caller;
        char roles[32], when[32] = "never";
        sv_roles_to(caller->roles, roles);
        if (caller->expires != 0)
            sv_time_write(caller->expires, when);
        printf("%-24s %-24s %s%s\n", caller->name, roles, when,
               caller->expires != 0 && caller->expires <= now ? " (expired)" : "");
    }
}

static json_t *list_json(const sv_token_list *list) {
    const int64_t now = (int64_t)time(NULL);
    json_t *const tokens = json_array();
    for (size_t i = 0; i < list->n_tokens; i++) {
        const sv_token *const t = &list->tokens[i];
        sv_json_add(tokens,
                    json_pack("{s:s,s:o,s:o,s:o,s:b}", "name", t->caller.name, "roles",
                              sv_json_roles(t->caller.roles), "created", sv_json_time(t->created),
                              "expires", sv_json_time(t->caller.expires), "expired",
                              t->caller.expires != 0 && t->caller.expires <= now));
    }
    return json_pack("{s:o}", "tokens", tokens);
}

static int run_list(int n_arguments, char **arguments) {
    const char *path = DEFAULT_FILE;
    bool as_json = false;
    const sv_argument table[] = {
        {"--tokens", SV_TEXT, &path}, {"--json", SV_FLAG, &as_json}, {NULL, SV_FLAG, NULL}};
    sv_token_list list = {NULL, 0, 0};
    if (!sv_parse("token", table, n_arguments, arguments))
        return SV_USAGE;
    FILE *const file = fopen(path, "re");
    if (file == NULL && errno == ENOENT)
        return sv_not_found("there is no file of tokens %s; efface token new makes one", path);
    if (file == NULL)
        return sv_failed("cannot read %s: %s", path, strerror(errno));
    struct stat about;
    sv_why why;
    if (fstat(fileno(file), &about) == 0 && !sv_token_file_safe(path, &about, &why))
        sv_warn("%s", why.text);
    const bool read = sv_token_list_read(file, &list);
    (void)fclose(file);
    if (!read)
        return sv_failed("cannot read %s", path);
    if (list.wrong_line != 0)
        sv_warn("line %zu of %s cannot be read; nobody can use that token", list.wrong_line, path);
    if (as_json)
        sv_print_json(stdout, list_json(&list));
    else
        print_list(&list);
    sv_token_list_free(&list);
    return SV_DONE;
}

/* ---------------------------------------------------------------- revoke */

static int run_revoke(int n_arguments, char **arguments) {
    const char *name = NULL, *path = DEFAULT_FILE;
    bool as_json = false, absent;
    sv_why why;
    sv_token_change change;
    const sv_argument table[] = {{"NAME", SV_PLACE, &name},
                                 {"--tokens", SV_TEXT, &path},
                                 {"--json", SV_FLAG, &as_json},
                                 {NULL, SV_FLAG, NULL}};
    if (!sv_parse("token", table, n_arguments, arguments))
        return SV_USAGE;
    if (!sv_token_change_begin(path, false, &change, &absent, &why))
        return absent ? sv_not_found("there is no file of tokens %s", path)
                      : sv_failed("%s", why.text);
    int code = SV_DONE;
    if (find_token_named(&change.list, name) == NULL) {
        code = sv_not_found("there is no token %s; efface token list shows all", name);
    } else {
        /* All of that name, should somebody have written the file by hand. */
        for (sv_token *t; (t = find_token_named(&change.list, name)) != NULL; t->line = NULL)
            free(t->line);
        if (!sv_token_change_commit(&change, NULL, &why))
            code = sv_failed("%s", why.text);
    }
    sv_token_change_end(&change);
    if (code == SV_DONE && as_json)
        sv_print_json(stdout, json_pack("{s:s}", "revoked", name));
    else if (code == SV_DONE)
        printf("token %s revoked\n", name);
    return code;
}

int sv_token_command(int n_arguments, char **arguments) {
    if (n_arguments == 0)
        return sv_wrong("say what to do: token new, token list or token revoke; see efface token "
                        "--help");
    const char *const what = arguments[0];
    if (strcmp(what, "new") == 0)
        return run_new(n_arguments - 1, arguments + 1);
    if (strcmp(what, "list") == 0)
        return run_list(n_arguments - 1, arguments + 1);
    if (strcmp(what, "revoke") == 0)
        return run_revoke(n_arguments - 1, arguments + 1);
    return sv_wrong("token cannot '%s': it has new, list and revoke", what);
}
