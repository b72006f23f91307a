/*
 * Who may do what.
 *
 * A token is 32 random bytes, written "efface_" and 43 letters. The file of tokens has a line of
 * JSON for each, with a name, roles, an expiry and the BLAKE2b-256 hash of the token: enough to
 * recognize a token, not to make one. The audit log has a line for each request: token and action,
 * and never an id, a value or the token itself.
 */
#ifndef SV_ACCESS_H
#define SV_ACCESS_H

#include "efface/efface.h"
#include "why.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum sv_role {
    SV_READ = 1,    /* look at stores, models, receipts and rows */
    SV_PREDICT = 2, /* ask models, and read metrics */
    SV_ERASE = 4,   /* forget */
    SV_ADMIN = 8    /* all that, learn and update */
} sv_role;
#define SV_ANY_ROLE (SV_READ | SV_PREDICT | SV_ERASE | SV_ADMIN)

#define SV_TOKEN_NAME_BYTES 64

/* Whoever made a request. */
typedef struct sv_caller {
    char name[SV_TOKEN_NAME_BYTES]; /* of the token; "" if there is none */
    unsigned roles;
    int64_t expires; /* seconds since 1970; 0: never */
} sv_caller;

typedef struct sv_tokens sv_tokens;

typedef enum sv_answer { SV_KNOWN, SV_UNKNOWN, SV_EXPIRED } sv_answer;

/* Reads a file of tokens; false, with a message, if that is not possible. A file that does not
 * exist has no tokens. */
bool sv_tokens_open(const char *path, sv_tokens **out, sv_why *why);
void sv_tokens_free(sv_tokens *tokens);

/* Whose token that is. A file that has changed is read again first: a new token can be used at
 * once, and one that was revoked is of no use a tenth of a second later. */
sv_answer sv_tokens_find(sv_tokens *tokens, const char *token, sv_caller *caller);

/* Whether there is any token that has not expired. */
bool sv_tokens_any(sv_tokens *tokens);

#endif
