/*
 * A disk in memory under SQLite, for tests: the n-th thing that is done to it fails, or the power
 * goes at that moment.
 *
 * A file has what programs read and what is on the disk for good; a sync makes the two the same.
 * When the power goes, every sector that was written since the last sync is either kept or not,
 * each for itself and in any mixture; so are truncations, the birth of a file that was never synced
 * and its removal. Nothing can be done to the disk afterwards until disk_reboot.
 *
 * Files are known by the last part of their path. One that is not here is taken from the real
 * folder when it is opened, since the store makes its file before SQLite sees it.
 */
#ifndef EF_TESTS_FAULTY_VFS_H
#define EF_TESTS_FAULTY_VFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the disk's own memory comes from; never NULL. For tests in which memory runs out. */
extern void *(*disk_realloc)(void *memory, size_t n_bytes);

/* Makes the disk SQLite's default, or the real one again. */
void disk_use(void);
void disk_leave(void);

/* Takes all files out; puts one in, for good. */
void disk_clear(void);
void disk_put(const char *name, const void *bytes, size_t n_bytes);

/* What programs would read of a file; NULL if it is not there. */
const unsigned char *disk_get(const char *name, size_t *n_bytes);

enum {
    DISK_READ = 1,
    DISK_WRITE = 2,
    DISK_SYNC = 4,
    DISK_TRUNCATE = 8,
    DISK_OPEN = 16,
    DISK_DELETE = 32,
    DISK_CHANGE = DISK_WRITE | DISK_SYNC | DISK_TRUNCATE | DISK_OPEN | DISK_DELETE
};

typedef enum disk_fault {
    DISK_FAILS,  /* an error; of a write, the first half may be done */
    DISK_FULL,   /* this one and all that follow find the disk full: for writes */
    DISK_BROKEN, /* this one and all that follow are errors */
    DISK_POWER   /* the power goes */
} disk_fault;

/* The n-th, from 1, of these kinds of operations meets the fault; `seed` decides what remains of
 * writes that were not synced: 0 nothing, 1 all, else some. */
void disk_arm(disk_fault fault, unsigned kinds, long n, uint64_t seed);

/* From now on faults are met by files whose names begin so only; "": by all. */
void disk_spare_others(const char *beginning);

/* Ends that. Whether the fault was met, and of what kind the operation was. */
bool disk_disarm(unsigned *kind);

/* The power goes now; and comes back: files are what remained of them. */
void disk_cut_power(uint64_t seed);
void disk_reboot(void);

/* Writes all files into a real folder. */
bool disk_save(const char *folder);

/* Calls after each operation of these kinds; NULL: no more. */
void disk_watch(unsigned kinds, void (*after)(void *context), void *context);

/* Making a store ends with a link, which the real folder knows of and the disk does not: the
 * program that has this disk has its own link and unlink, which tell both. */

/* Files without a name that SQLite wanted to have: temporary ones, of which there must be none. */
unsigned disk_temporary_files(void);

#endif
