/*
 * The file of tokens: a line of JSON for each token.
 *
 *   name      letters, digits, - _ . ; unique
 *   roles     some of read, predict, erase, admin
 *   expires   seconds since 1970, or null
 *   created   seconds since 1970
 *   hash      BLAKE2b-256 of the token, in hexadecimal digits
 *
 * The file belongs to the user of the service or to root, and nobody else may write it: whoever can
 * add a line can do everything. A change makes a new file, which takes the old one's name once it
 * is on the disk; a lock on the file keeps two changes apart. Lines that are not changed keep their
 * bytes; if a line cannot be read, nothing is changed, for it may be a token of somebody.
 */
#ifndef SV_TOKEN_FILE_H
#define SV_TOKEN_FILE_H

#include "access/access.h"

#include <jansson.h>
#include <stdio.h>

#define SV_HASH_BYTES 32
#define SV_TOKEN_BYTES (7 + 43 + 1) /* "efface_", 32 bytes as base64url, and a 0 */

typedef struct sv_token {
    unsigned char hash[SV_HASH_BYTES];
    sv_caller caller;
    int64_t created;
    char *line; /* as it stands in the file, without its end */
} sv_token;

typedef struct sv_token_list {
    sv_token *tokens;
    size_t n_tokens;
    size_t wrong_line; /* the first line that cannot be read, from 1; 0 if all can */
} sv_token_list;

/* The hash of a token. */
void sv_hash_token(const char *text, unsigned char hash[SV_HASH_BYTES]);

bool sv_token_name_ok(const char *name);

/* Roles from a text such as "read,erase"; 0 if there is another word in it, or none. And back. */
unsigned sv_roles_from(const char *text);
void sv_roles_to(unsigned roles, char text[32]);
json_t *sv_json_roles(unsigned roles); /* an array of words */

/* Reads all lines; false if out of memory or the file cannot be read. Release with free. */
bool sv_token_list_read(FILE *file, sv_token_list *list);
void sv_token_list_free(sv_token_list *list);

/* Whether other users cannot write a file; a message says what to do if they can. */
struct stat;
bool sv_token_file_safe(const char *path, const struct stat *about, sv_why *why);

/* A file that is being changed. */
typedef struct sv_token_change {
    const char *path;
    int file; /* the old one, locked */
    sv_token_list list;
} sv_token_change;

/* Locks the file and reads it; `create` makes one that is not there. False, with a message, if that
 * is not possible; *absent says that there is none. */
bool sv_token_change_begin(const char *path, bool create, sv_token_change *change, bool *absent,
                           sv_why *why);
/* Writes the lines of the list, except those that are NULL, and `added` if it is not NULL. */
bool sv_token_change_commit(sv_token_change *change, const char *added, sv_why *why);
void sv_token_change_end(sv_token_change *change);

#endif
