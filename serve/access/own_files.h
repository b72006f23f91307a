/* Files that the service writes for itself, beside the file of tokens. */
#ifndef SV_OWN_FILES_H
#define SV_OWN_FILES_H

/* Names one: efface.tokens and ".jobs" make efface.jobs; a file of tokens of another name gets the
 * ending after it. NULL if out of memory; release with free. */
char *sv_name_beside(const char *tokens, const char *ending);

/* Has the names of files in the folder that a path is in on the disk. Returns 0 or an errno. */
int sv_sync_folder_of(const char *path);

#endif
