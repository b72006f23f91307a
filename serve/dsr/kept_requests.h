/*
 * The files of OpenDSR requests, in a folder of their own beside the file of tokens.
 *
 *     lock           held by the service that uses the folder
 *     key            32 random bytes, which hash the bodies of requests together with their tokens
 *     UUID.pending   a request that has not ended, with the names of people
 *     UUID.new       the same, before it was complete: it was never acknowledged
 *     ended.jsonl    a line for each request that has, without names
 *
 * The end of a request is its line in ended.jsonl; then its other file is overwritten and removed.
 * After a crash in between, the line counts, and the file is removed when the folder is read.
 */
#ifndef SV_DSR_KEPT_H
#define SV_DSR_KEPT_H

#include "dsr/register.h"

/* The folder that goes with a file of tokens; nothing is made before the first request comes.
 * Functions below return 0, or an errno. */
int sv_dsr_kept_open(const char *tokens, sv_dsr_kept **out);
void sv_dsr_kept_close(sv_dsr_kept *kept);

/* Reads all requests, those that have ended first, and hands them to the register
 * (sv_dsr_take_read). Errors: EBUSY if another process has the folder; EBADMSG for what the service
 * does not write like that; and those of the system. */
int sv_dsr_kept_read(sv_dsr_kept *kept, sv_dsr *dsr);

/* Makes the folder if it is not there. */
int sv_dsr_kept_make(sv_dsr_kept *kept);

/* The keyed hash of a body and of the token that it came with, which is in no file: so nobody who
 * reads the folder can test a guess of whom a body named. The folder must be there. */
void sv_dsr_kept_hash(const sv_dsr_kept *kept, const char *token, const void *body, size_t n_body,
                      unsigned char hash[SV_DSR_HASH_BYTES]);

/* Writes a request that has not ended. After success it is on the disk; after failure it is not. */
int sv_dsr_kept_add(sv_dsr_kept *kept, const sv_dsr_entry *entry);

/* Writes that requests have ended, and removes the names of people from the disk. After a failure
 * the same call may be made again. */
int sv_dsr_kept_end(sv_dsr_kept *kept, const sv_dsr_entry *entries, size_t n_entries);

#endif
